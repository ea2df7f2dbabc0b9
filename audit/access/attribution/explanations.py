"""Explains an attribution to a reviewer, in words. Pure."""

import math
from collections.abc import Sequence
from typing import Final

from audit.access.attribution.admissions import PodDecision
from audit.access.attribution.identities import IdentityClaim
from audit.access.attribution.lives import Life
from core.base.times import time_text
from core.weights.documents.access import Access, Caller, SignedBy

MOST_NAMED: Final = 3
"""Service accounts that are named; the others are counted."""

WITHOUT_IDENTITY: Final = "the record names neither an application nor an object id"

ENDED_JUST_BEFORE: Final = (
    "it had just ended by kubelet's clock: whoever had the address next may have used its token"
)

CARRIED: Final = "a SAS can be carried: anything on that node may have had it"

UNDECIDED: Final = "the ledger has no decision that admitted it"

_MOST_NAME: Final = 128
"""Characters of a requester's name."""

_NOBODY: Final = {
    SignedBy.ACCOUNT_KEY: "signed with the account's key: whoever has it is nobody",
    SignedBy.SAS: "signed with a SAS of the account's key: whoever has it is nobody",
    SignedBy.ANONYMOUS: "anonymous: nobody signed in",
    SignedBy.KERBEROS: "signed in with Kerberos: no Pod's identity does",
    SignedBy.UNKNOWN: "signed in a way that this release does not know: see `extra`",
}


def explain_nobody(signed_by: SignedBy) -> str:
    """Say why what was signed so has no one to attribute to."""
    return _NOBODY[signed_by]


def explain_strangers(access: Access) -> str:
    """Say that nobody in the cluster signs in so."""
    return (
        f"no service account signs in as {access.who}: a person, or something outside this cluster"
        f"{_from(access)}"
    )


def explain_here(claim: IdentityClaim, access: Access, lives: Sequence[Life], *, own: bool) -> str:
    """Say what the address narrowed the Pods of an identity to."""
    accounts = _accounts(claim.accounts)
    if len(lives) > 1:
        where = "had the address" if own else "were on the node of"
        return f"{claim.who} is {accounts}, of which {len(lives)} Pods {where} {access.address}"
    where = (
        f"had the address {access.address}"
        if own
        else f"was on the node of {access.address}, whose address its Pods share"
    )
    return f"{claim.who} is {accounts}, of which only {lives[0].pod} {where}"


def explain_anywhere(claim: IdentityClaim, access: Access, count: int) -> str:
    """Say that the address narrowed nothing."""
    why = (
        f"{access.address} is shared"
        if access.caller is not Caller.NONE and access.address
        else "the record has no address"
    )
    pods = "one Pod" if count == 1 else f"{count} Pods"
    return f"{claim.who} is {_accounts(claim.accounts)}, of which {pods} lived then; {why}"


def explain_mounted(claim: IdentityClaim, access: Access, lives: Sequence[Life]) -> str:
    """Say that a node read for those that mount the container."""
    pods = "one Pod mounts" if len(lives) == 1 else f"{len(lives)} Pods mount"
    place = f"{access.account}/{access.container}"
    return f"read as {claim.who} from a node's address, {access.address}, where {pods} {place}"


def explain_node(claim: IdentityClaim, access: Access, *, known: bool) -> str:
    """Say that a node's identity was used for no Pod that is known to mount the container."""
    where = "where no Pod mounts" if known else "which is no known node's with a Pod that mounts"
    return (
        f"{claim.who} is the nodes' own identity, used from {access.address}, {where} "
        f"{access.account}/{access.container}: something on a node may have asked for its token"
    )


def explain_elsewhere(claim: IdentityClaim, access: Access, alive: int, before: Life | None) -> str:
    """Say that no Pod of the identity had the address."""
    pods = {0: "no Pod", 1: "one Pod"}.get(alive, f"{alive} Pods")
    said = f"{claim.who} is {_accounts(claim.accounts)}, of which {pods} lived then"
    if alive:
        said += f", and none had the address {access.address}: its token was used elsewhere"
    if before is not None:
        ago = _span(claim.unix_s - before.ended)
        said += f"; {before.pod} had that address and ended {ago} before"
    return said


def explain_gap(log: str, begin: float, end: float) -> str:
    """Say that the record has a gap there."""
    if math.isinf(begin) and math.isinf(end):
        return "nothing is recorded of Pods: another may have been there"
    of = {"pods": "Pods", "identities": "identities"}[log]
    until = f" until {time_text(end)}" if math.isfinite(end) else ""
    since = f" from {time_text(begin)}" if math.isfinite(begin) else ""
    return f"the record of {of} has a gap{since}{until}: another may have been there"


def explain_hint(access: Access, lives: Sequence[Life]) -> str:
    """Say which of the Pods the caller's own request id names; it proves nothing."""
    named = access.client_request
    if not named:
        return ""
    for life in lives:
        if life.uid in named or (life.decision and life.decision in named):
            return f"; its request id, which the caller chose, names {life.pod}"
    return ""


def explain_undecided(decisions: Sequence[PodDecision], against: Sequence[PodDecision]) -> str:
    """Say why no decision is named that admitted a Pod; the Pod contradicts those `against`."""
    if len(decisions) == 1:
        if not against:
            return UNDECIDED
        said = "the Pod contradicts, by its noted requester or its spec, what says it admitted it"
        return f"{said}: {', '.join(map(_name, against))}"
    named = [_name(each) for each in decisions]
    if not decisions[0].id:
        named = [*named[1:], "more that are not kept"]
    said = "several decisions say that they admitted it, and nothing shows which did"
    return f"{said}: {', '.join(named)}"


def _name(decision: PodDecision) -> str:
    return f"{decision.id} for {decision.admission.requester[:_MOST_NAME]}"


def _from(access: Access) -> str:
    return f", calling from {access.address}" if access.address else ""


def _accounts(accounts: Sequence[str]) -> str:
    named = ", ".join(accounts[:MOST_NAMED])
    more = len(accounts) - MOST_NAMED
    return f"{named} and {more} more" if more > 0 else named


def _span(seconds: float) -> str:
    if seconds < 120:  # noqa: PLR2004  Two minutes.
        return f"{seconds:.0f} s"
    if seconds < 7200:  # noqa: PLR2004  Two hours.
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"
