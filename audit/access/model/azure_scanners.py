"""Tells the deletes of Azure's own lifecycle scanner from those of who claims to be it. Pure.

Lifecycle management deletes and moves blobs by requests that are logged, with a user agent of
`ObjectLifeCycleScanner` or `OLCMScanner` ("Monitor lifecycle management policies", Azure Storage).
Anybody can send that user agent. A tenant cannot sign a request as a trusted service of Azure's.
"""

import enum
from typing import Final

from core.weights.documents.access import Access, Caller, SignedBy

_AGENTS: Final = ("objectlifecyclescanner", "olcmscanner")
_TRUSTED: Final = "trustedaccess"


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
    agent = access.user_agent.lower()
    is_named = bool(access.principal or access.application)
    if is_named or access.caller is Caller.PUBLIC or not any(one in agent for one in _AGENTS):
        return ScannerClaim.NONE
    word = str(access.extra.get("identityType", "")).replace(" ", "").lower()
    is_trusted = access.signed_by is SignedBy.UNKNOWN and word == _TRUSTED
    return ScannerClaim.SHOWN if is_trusted else ScannerClaim.CLAIMED
