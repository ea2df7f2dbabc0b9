"""In which phase of an attack each detection sees something: the order of a case's techniques."""

from typing import Final

PHASES: Final[tuple[str, ...]] = (
    "blinding",
    "access",
    "discovery",
    "collection",
    "exfiltration",
    "destruction",
)
"""Defence evasion first: who switches a log off does so before. Named for what is done to weights;
ATT&CK and ATLAS have more tactics, and the techniques of a finding name them."""

PHASE_OF: Final = {
    "log-gap": "blinding",
    "protection-off": "blinding",
    "keys-and-logging": "access",
    "federated-credential": "access",
    "role-assignment": "access",
    "delegation-key": "access",
    "sftp-or-local-users": "access",
    "private-endpoint": "access",
    "token-two-addresses": "access",
    "access-at-risk": "access",
    "no-live-pod": "access",
    "new-caller": "access",
    "enumeration": "discovery",
    "ungranted": "collection",
    "key-or-anonymous-read": "collection",
    "volume-above-baseline": "collection",
    "slow-exfiltration": "exfiltration",
    "copy-out": "exfiltration",
    "object-replication": "exfiltration",
    "create-read-delete": "destruction",
}


def phase_of(detection: str) -> str:
    """Give the phase of a detection; what is not known collects."""
    return PHASE_OF.get(detection, "collection")
