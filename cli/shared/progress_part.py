"""Progress of what takes long, on standard error."""

import sys
from typing import Final

_PROGRESS_EVERY: Final = 500


def tell_progress(count: int, done: str) -> None:
    """Say on standard error how many objects are done, once in a while."""
    if count % _PROGRESS_EVERY == 0:
        sys.stderr.write(f"{count} objects {done}\n")
