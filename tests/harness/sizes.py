"""Two sizes of the same test: what CI can afford, and what `make proof` runs."""

import os

PROOF = os.environ.get("SALLYPORT_PROOF") == "1"


def size(ci: int, proof: int) -> int:
    """Return the size for this run."""
    return proof if PROOF else ci
