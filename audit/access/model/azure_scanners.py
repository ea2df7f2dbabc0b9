"""Tells requests of Azure's own scanners from those of who claims to be one. Pure.

Lifecycle management deletes and moves blobs by requests that are logged, with a user agent of
`ObjectLifeCycleScanner` or `OLCMScanner` ("Monitor lifecycle management policies", Azure Storage).
Anybody can send that user agent. A tenant cannot sign a request as a trusted service of Azure's.

Microsoft Defender for Storage reads each new blob and tags it, as a managed identity that it makes.
Its requests are told by the right that let them in: Azure's role for it and no other, and by an
address that is neither public nor of a network that the operator named (docs/adr/0072).
"""

import enum
from typing import Final

from core.weights.documents.access import Access, Act, Caller, SignedBy

SCANNER_ROLE: Final = "1e7ca9b1-60d1-4db8-a914-f2ca1ff27c40"
"""Azure's built-in role Defender for Storage Data Scanner: it reads blobs and tags them."""

_AGENTS: Final = ("objectlifecyclescanner", "olcmscanner")
_TRUSTED: Final = "trustedaccess"
_SCANS: Final = frozenset({Act.READ, Act.LIST})
_TAGS: Final = frozenset({"SetBlobTags", "GetBlobTags"})
_OF_AZURE: Final = frozenset({Caller.PRIVATE, Caller.NONE})


class ScannerClaim(enum.Enum):
    """What a request shows of being the lifecycle scanner's."""

    NONE = "none"
    CLAIMED = "claimed"
    """By its user agent alone."""
    SHOWN = "shown"
    """By its authentication, too."""


def scanner_claim(access: Access) -> ScannerClaim:
    """Say whether a request is the lifecycle scanner's.

    One from a public address, or that signed in with Entra ID, never is.
    """
    if access.principal or access.application or access.caller is Caller.PUBLIC:
        return ScannerClaim.NONE
    agent = access.user_agent.lower()
    if not any(one in agent for one in _AGENTS):
        return ScannerClaim.NONE
    word = str(access.extra.get("identityType", "")).replace(" ", "").lower()
    is_trusted = access.signed_by is SignedBy.UNKNOWN and word == _TRUSTED
    return ScannerClaim.SHOWN if is_trusted else ScannerClaim.CLAIMED


def is_malware_scan(access: Access) -> bool:
    """Return whether a request is one that Defender's scanner makes, by Azure's role for it."""
    if access.extra.get("role") != SCANNER_ROLE or access.caller not in _OF_AZURE:
        return False
    return access.act in _SCANS or access.operation in _TAGS
