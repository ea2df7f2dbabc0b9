"""What names in Kubernetes are made of (RFC 1123; apimachinery pkg/util/validation)."""

import re
from typing import Final

KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]*")

SUBDOMAIN: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
"""Names of most objects, such as service accounts and workloads, if they are not too long."""

SUBDOMAIN_CHARACTERS: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
"""As `SUBDOMAIN`, but for what stands beside the dots."""

LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
"""Names of namespaces, Services and containers."""

MAX_SUBDOMAIN: Final = 253


def is_subdomain(text: str) -> bool:
    """Return whether a text can be the name of most objects."""
    return len(text) <= MAX_SUBDOMAIN and SUBDOMAIN.fullmatch(text) is not None
