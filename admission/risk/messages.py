"""Messages about the risk of an identity, and what its owner can do. Pure.

Ids of events and times, and what Entra ID calls a state: no name, no address.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from core.base.safe_text import printable
from core.base.times import second_text
from core.decision.requester_notes import RootWorkload
from core.risk.model import AT_RISK, AssessedIdentity, OperationClass, Role, Standing

SIGN_INS: Final = "https://mysignins.microsoft.com"
"""Where a person sees their own sign-ins (learn.microsoft.com, "View your account activity")."""

_NAME: Final = 60
"""Characters shown of a workload's name."""

_EVENTS: Final = 2
"""Ids shown: at most one of each family."""

_WHAT: Final[Mapping[Standing, str]] = {
    Standing.CLEAN: "is not at risk",
    Standing.LOW: "is at risk (level low{since})",
    Standing.MEDIUM: "is at risk (level medium{since})",
    Standing.HIGH: "is at risk (level high{since})",
    Standing.COMPROMISED: "is confirmed to be compromised{since}",
    Standing.HIDDEN: "may be at risk: the licence of the tenant shows no level",
    Standing.UNKNOWN: "has a risk of a level or state that is new{since}",
    Standing.CONFIRMED_SAFE: "was at risk, and is confirmed safe",
    Standing.REMEDIATED: "was at risk, and has put it right",
    Standing.DISMISSED: "was at risk, and an administrator has dismissed it",
    Standing.DELETED: "was deleted in Entra ID",
    Standing.REVOKED: "had its sessions revoked a while ago",
    Standing.MANAGED_IDENTITY: "is a managed identity, whose risk nobody assesses",
    Standing.GUEST: "is a guest's, whose risk is known to their own tenant only",
    Standing.FOREIGN: "is of another tenant, which alone knows its risk",
    Standing.OUTSIDE: "is none of Entra ID's, so nobody knows its risk",
    Standing.UNIDENTIFIED: "is not identified, so nobody knows its risk",
    Standing.STALE: "cannot be assessed: {age}",
}

_DOING: Final[Mapping[OperationClass, str]] = {
    OperationClass.CREATE_WORKLOAD: "start workloads",
    OperationClass.EXEC: "enter Pods",
    OperationClass.MAKE_CREDENTIALS: "make credentials",
    OperationClass.CHANGE_RIGHTS: "change rights",
    OperationClass.ASK: "ask for exceptions and allowlists",
    OperationClass.APPROVE: "approve",
    OperationClass.BREAK_GLASS: "break glass",
    OperationClass.READ_WEIGHTS: "read weights",
}


def name_identity(one: AssessedIdentity, root: RootWorkload | None) -> str:
    """Name the identity to the person who asks."""
    if one.role is Role.REQUESTER:
        return "your account"
    if one.role is Role.AUTHOR:
        what = f"{root.kind} {printable(root.name, _NAME)}" if root else "the workload"
        return f"the account that submitted {what}"
    return "what it signs in as"


def describe_risk(one: AssessedIdentity) -> str:
    """Say what is known of an identity: `is at risk (level medium, since …)`."""
    since = f", since {_minute(one.since)}" if one.since else ""
    return _WHAT[one.standing].format(since=since, age=_age(one))


def suggest_remedy(one: AssessedIdentity, said: str) -> str:
    """Say what helps; `said` is what the site tells people of this row."""
    own = f"{printable(said, 200)} " if said else ""
    return f"{own}{_remedy(one)} (row {one.row} of the risk table)"


def list_allowed_operations(meanwhile: Iterable[OperationClass]) -> str:
    """Say what the identities of a refused request may do until it is put right."""
    words = ", ".join(_DOING[each] for each in meanwhile)
    return f"Until then you may still: {words}." if words else ""


def _remedy(one: AssessedIdentity) -> str:
    if one.standing in AT_RISK or one.standing is Standing.UNKNOWN:
        return _at_risk(one)
    if one.standing is Standing.STALE:
        return "Try again in some minutes; operators see the reason with: sallyport risk status."
    if one.standing is Standing.REVOKED:
        return "Sign in again; what a token from before may do comes back within 90 minutes."
    if one.standing is Standing.UNIDENTIFIED:
        return (
            "Let the service account name it (annotation azure.workload.identity/client-id); "
            "a new one is looked up within minutes."
        )
    return "Ask your cluster's operators, who decide what such identities may do."


def _at_risk(one: AssessedIdentity) -> str:
    events = " and ".join(one.events[:_EVENTS])
    tell = f"event {events}" if events else "this decision's id"
    if one.role is Role.REQUESTER:
        return f"Sign in again as Entra ID asks ({SIGN_INS}), or give your security team {tell}."
    if one.role is Role.AUTHOR:
        return f"They must sign in again; or have someone else submit it. Security team: {tell}."
    return f"Give your security team {tell}, or run it as another identity ({one.who})."


def _age(one: AssessedIdentity) -> str:
    if one.age_s is None:
        return "nothing is known of anybody's risk yet"
    minutes = int(one.age_s // 60)
    return f"what is known of risks is {minutes} minutes old"


def _minute(seconds: int) -> str:
    return f"{second_text(seconds)[:16]}Z"
