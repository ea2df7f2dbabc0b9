"""The minors of Kubernetes that this release knows."""

import re
from typing import Final

from policies.fields.minors import built_in_lacks

_MINOR: Final = re.compile(r"v?(\d+\.\d+)(?!\d)")


def supported_minors() -> list[str]:
    """Return the minors of which this release knows each field, oldest first."""
    return sorted(built_in_lacks(), key=lambda each: tuple(map(int, each.split("."))))


def is_supported(version: str) -> bool:
    """Return whether a version of kube-apiserver (`v1.36.2`) is of one of them."""
    found = _MINOR.match(version)
    return found is not None and found[1] in supported_minors()
