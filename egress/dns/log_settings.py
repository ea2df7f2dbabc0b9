"""Where the logs of the cluster's DNS are read, and what proves who is at both ends."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DnsLogSettings:
    """How the log of each Pod of the cluster's DNS is reached."""

    server_name: str
    """Which name the certificate of each of them must have."""
    port: int
    """Where they listen for readers, TCP."""
    authority: Path
    """PEM of the authority that signs their certificates."""
    certificate: Path
    """PEM of the certificate that is shown to them."""
    key: Path
    """PEM of its key."""
