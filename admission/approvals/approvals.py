"""Asks whether two people have approved an object, and may do so still."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from core.approvals.approvals import SUSPENDABLE, TIERS
from core.base import names
from core.base.sallyport_objects import Metadata
from core.base.times import DAY_S, time_text
from core.cluster import Cluster
from core.decision.decision import Action, Finding
from core.people.two_person import (
    Approvable,
    ApprovalTerms,
    Approved,
    Consent,
    JudgedConsent,
    NotApproved,
    Person,
    judge_approval,
    judge_consents,
    read_people,
    read_person,
    why_suspended,
    write_people,
    write_person,
)

Approve = Callable[[Approvable, Sequence[Consent], str, float], Awaitable[Approved | NotApproved]]
"""Says whether an object of a kind is approved at a time: `ask_in_force` of one cluster."""


async def ask_approved(  # noqa: PLR0913, PLR0917  All that the rule looks at.
    cluster: Cluster,
    what: Approvable,
    consents: Sequence[Consent],
    tier: str,
    now: float,
    terms: ApprovalTerms,
    *,
    endures: bool = False,
) -> Approved | NotApproved:
    """Return the approval of an object, or why there is none.

    Nobody is asked where the answer is no anyway.

    `endures` is as in `core.people.two_person.judge_approval`.

    Raises:
        AccessReviewError: the cluster did not say whether an approver may approve.
    """
    everyone = {each.approval for each in consents}
    answer = judge_approval(what, consents, everyone, now, terms, endures=endures)
    if isinstance(answer, NotApproved):
        return answer
    holders = await _ask_holders(cluster, what, consents, tier)
    return judge_approval(what, consents, holders, now, terms, endures=endures)


async def ask_consents(  # noqa: PLR0913, PLR0917  As `ask_approved`.
    cluster: Cluster,
    what: Approvable,
    consents: Sequence[Consent],
    tier: str,
    now: float,
    terms: ApprovalTerms,
    *,
    endures: bool = False,
) -> tuple[JudgedConsent, ...]:
    """Return each approval of an object with why it does not count; for status and not for a gate.

    Raises:
        AccessReviewError: the cluster did not say whether an approver may approve.
    """
    holders = await _ask_holders(cluster, what, consents, tier)
    return judge_consents(what, consents, holders, now, terms, endures=endures)


async def _ask_holders(
    cluster: Cluster, what: Approvable, consents: Sequence[Consent], tier: str
) -> set[str]:
    """Return the UIDs of the approvals of an object as it is whose approver may approve now."""
    return {
        each.approval
        for each in consents
        if each.digest == what.digest
        and await cluster.allowed(each.approver, names.APPROVE_VERB, names.TIERS_RESOURCE, tier, "")
    }


async def ask_in_force(  # noqa: PLR0913, PLR0917  As `ask_approved`.
    cluster: Cluster,
    what: Approvable,
    consents: Sequence[Consent],
    kind: str,
    now: float,
    terms: ApprovalTerms,
) -> Approved | NotApproved:
    """Return the approval by which an object of a kind is in force, or why there is none.

    As `ask_approved`, but that exceptions and grants may be suspended. Its own time is not looked
    at.

    Raises:
        AccessReviewError: the cluster did not say whether an approver may approve.
    """
    if kind in SUSPENDABLE and (why := why_suspended(what, terms)):
        return NotApproved((why,), suspended=True)
    return await ask_approved(cluster, what, consents, TIERS[kind], now, terms)


def annotations_of(
    annotations: Mapping[str, str] | None, wanted: tuple[str, ...]
) -> dict[str, str]:
    """Return those annotations that are wanted; empty where there are none."""
    return {name: (annotations or {}).get(name, "") for name in wanted}


def writers_of(old: Metadata | None, who: Person) -> Mapping[str, str]:
    """Return author and editors after this request has written the `spec`."""
    if old is None:
        return {names.AUTHOR_ANNOTATION: write_person(who), names.EDITORS_ANNOTATION: ""}
    author = old.annotation(names.AUTHOR_ANNOTATION)
    editors = read_people(old.annotation(names.EDITORS_ANNOTATION))
    if not any(who <= known for known in (read_person(author), *editors)):
        editors += (who,)
    return {names.AUTHOR_ANNOTATION: author, names.EDITORS_ANNOTATION: write_people(editors)}


def guard_finding(rule: str, path: str, message: str, remedy: str) -> Finding:
    """Return what speaks against a request."""
    return Finding(rule, Action.DENY, path, message, remedy)


def check_expiry(now: float, expires: float, days: int) -> tuple[Finding, ...]:
    """Demand a time that is to come, and not too far ahead."""
    return check_end(now, expires, days, "spec.expiresAt")


def check_end(now: float, end: float, days: int, path: str) -> tuple[Finding, ...]:
    """Demand of the field at `path` a time that is to come, and not too far ahead."""
    if now < end <= now + days * DAY_S:
        return ()
    message = f"must be a time to come, at most {days} days ahead"
    remedy = f"Set it to {time_text(now + days * DAY_S)} or before."
    return (guard_finding("guards/expiry", path, message, remedy),)
