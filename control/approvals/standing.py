"""Whether an object that needs approval is approved and active now, and why not.

Asked of the very functions by which the gate decides; here they only get words for a condition.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from admission.approvals.approvals import ask_approved, ask_consents, ask_in_force
from admission.approvals.break_glass import is_in_force
from admission.approvals.exceptions import ask_exception
from core.approvals import break_glass, exceptions
from core.approvals.approvals import PROFILE, TIERS, Approval
from core.approvals.break_glass import BreakGlass
from core.approvals.exceptions import PolicyException
from core.base.times import time_text
from core.cluster import Cluster
from core.people.two_person import (
    PEOPLE_NEEDED,
    Approvable,
    ApprovalTerms,
    Approved,
    Consent,
    ConsentLapse,
    JudgedConsent,
    NotApproved,
    approved_until,
)
from core.weights import access_grants
from core.weights.access_grants import AccessGrant
from core.weights.grant_coverage import describe_lapse
from core.weights.grants_in_force import GrantLapse, find_lapse

IN_FORCE: Final = "InForce"
TWO_PEOPLE: Final = "TwoPeople"
WAITS: Final = "WaitsForApproval"
NO_AUTHOR: Final = "AuthorNotRecorded"
SUSPENDED: Final = "Suspended"
EXPIRED: Final = "Expired"
NOT_BEGUN: Final = "NotBegun"
DELETED: Final = "BeingDeleted"
INVALID: Final = "Invalid"
SEALED: Final = "Sealed"
OPEN: Final = "Open"
OVER: Final = "Over"
NOT_RECORDED: Final = "NotRecorded"
OPENER_AT_RISK: Final = "OpenerAtRisk"
COUNTS: Final = "Counts"
NO_OBJECT: Final = "NoSuchObject"
REPLACED: Final = "ObjectReplaced"
NOT_NEEDED: Final = "NotNeeded"

LAPSES: Final = {
    ConsentLapse.CHANGED: "ChangedAfterApproval",
    ConsentLapse.AT_RISK: "ApproverAtRisk",
    ConsentLapse.NO_RIGHT: "ApproverMayNot",
    ConsentLapse.NEVER_APPROVES: "ApproverIsNoPerson",
    ConsentLapse.EXPIRED: "ApprovalExpired",
    ConsentLapse.WITHDRAWN: "ApprovalWithdrawn",
    ConsentLapse.OWN: "OwnApproval",
}
"""The reason of a condition for an approval that does not count; the first that is found is told of
an object with several."""

_GRANT_LAPSES: Final = {
    GrantLapse.NOT_BEGUN: NOT_BEGUN,
    GrantLapse.EXPIRED: EXPIRED,
    GrantLapse.DELETED: DELETED,
}


@dataclass(frozen=True)
class Verdict:
    """A condition before it is stamped."""

    holds: bool
    reason: str
    message: str

    @classmethod
    def yes(cls, reason: str, message: str) -> "Verdict":
        """Return that the condition holds."""
        return cls(holds=True, reason=reason, message=message)

    @classmethod
    def no(cls, reason: str, message: str) -> "Verdict":
        """Return that the condition does not hold, and why."""
        return cls(holds=False, reason=reason, message=message)


@dataclass(frozen=True)
class ApprovalStanding:
    """How an object stands, as of one look at it."""

    approved: Verdict
    active: Verdict
    ends: float | None = None
    """Unix seconds at which it ends or ended; None where nothing is to end."""
    approvers: tuple[str, ...] = ()
    """`Subject.label` of those whose approval counts."""
    consents: Mapping[str, JudgedConsent] = field(default_factory=dict)
    """Its approvals by their UIDs."""


@dataclass(frozen=True)
class ApprovedThing:
    """What approvals are of: an object, or a change that is not written yet."""

    uid: str
    """Empty where there is none, or it cannot be read."""
    approved: Verdict
    consents: Mapping[str, JudgedConsent] = field(default_factory=dict)
    """Its approvals by their UIDs."""


UNRECORDED: Final = ApprovedThing(
    "",
    Verdict.no(
        NOT_RECORDED,
        "the gate recorded no approver: delete it, and create it again through the gate",
    ),
)
"""What an Approval is of whose approver nobody recorded: it counts for nothing."""


@dataclass(frozen=True)
class StandingQuestions:
    """Asks how objects of one cluster stand.

    Each raises NotSyncedError where approvals are not known, and AccessReviewError where the
    cluster did not say whether an approver may approve.
    """

    cluster: Cluster
    terms: ApprovalTerms

    async def of_exception(self, one: PolicyException, now: float) -> ApprovalStanding:
        """Say how a PolicyException stands."""
        consents = self.cluster.exceptions.consents(one.meta.namespace, one.meta.uid)
        judged, approved = await self._judged(one.approvable, consents, exceptions.KIND, now)
        answer = await ask_exception(self.cluster, one, now, self.terms)
        ends = _earlier(one.expires, judged)
        if isinstance(answer, Approved):
            active = Verdict.yes(IN_FORCE, f"in force until {time_text(ends)}")
        elif one.meta.deletion_timestamp is not None:
            active = Verdict.no(DELETED, "it is being deleted")
        elif not one.in_time(now):
            active = Verdict.no(EXPIRED, f"it expired at {time_text(one.expires)}")
        else:
            active = _inactive(answer, approved)
        return _standing(approved, active, ends, judged)

    async def of_grant(self, one: AccessGrant, now: float) -> ApprovalStanding:
        """Say how an AccessGrant stands."""
        what, kind = one.approvable, access_grants.KIND
        consents = self.cluster.exceptions.consents(one.meta.namespace, one.meta.uid)
        judged, approved = await self._judged(what, consents, kind, now)
        answer = await ask_in_force(self.cluster, what, consents, kind, now, self.terms)
        lapse = find_lapse(one, now, approved=isinstance(answer, Approved))
        ends = _earlier(one.expires, judged)
        if lapse in _GRANT_LAPSES:
            active = Verdict.no(_GRANT_LAPSES[lapse], describe_lapse(lapse, one))
        elif isinstance(answer, NotApproved):
            active = _inactive(answer, approved)
        else:
            active = Verdict.yes(IN_FORCE, f"in force until {time_text(ends)}")
            if self.cluster.weights.stores().named(one.spec.store) is None:
                gone = f"; there is no WeightStore {one.spec.store}, so it gives nothing"
                active = Verdict.yes(IN_FORCE, active.message + gone)
        return _standing(approved, active, ends, judged)

    async def of_break_glass(self, one: BreakGlass, now: float) -> ApprovalStanding:
        """Say how a BreakGlass stands."""
        consents = self.cluster.break_glasses.consents(one.meta.uid)
        judged, approved = await self._judged(
            one.approvable, consents, break_glass.KIND, now, endures=True
        )
        ends = _earlier(one.ends, judged)
        active = await self._glass(one, approved, ends, now)
        return _standing(approved, active, ends if one.began is not None else None, judged)

    async def _glass(self, one: BreakGlass, approved: Verdict, ends: float, now: float) -> Verdict:
        if (closed := _closed(one, approved, now)) is not None:
            return closed
        if await is_in_force(self.cluster, one, now, self.terms):
            return Verdict.yes(OPEN, f"open until {time_text(ends)}")
        if not approved.holds:
            return approved
        told = "whoever activated it is at risk: it relaxes nothing until the risk is gone"
        return Verdict.no(OPENER_AT_RISK, told)

    async def of_change(self, consents: Sequence[Consent], kind: str, now: float) -> ApprovedThing:
        """Say which approvals count of a change that is not written yet: those of one digest."""
        what = Approvable(consents[0].uid, consents[0].digest, frozenset())
        judged = await ask_consents(self.cluster, what, consents, TIERS[kind], now, self.terms)
        return ApprovedThing(what.uid, _of_change(judged), _by_uid(judged))

    async def of_intent(
        self, what: Approvable, consents: Sequence[Consent], kind: str, now: float
    ) -> ApprovedThing:
        """Say which approvals count of an allowlist, or of a set of destinations."""
        judged, approved = await self._judged(what, consents, kind, now)
        return ApprovedThing(what.uid, approved, _by_uid(judged))

    async def _judged(
        self,
        what: Approvable,
        consents: Sequence[Consent],
        kind: str,
        now: float,
        *,
        endures: bool = False,
    ) -> tuple[tuple[JudgedConsent, ...], Verdict]:
        tier, terms = TIERS[kind], self.terms
        judged = await ask_consents(self.cluster, what, consents, tier, now, terms, endures=endures)
        answer = await ask_approved(self.cluster, what, consents, tier, now, terms, endures=endures)
        return judged, _approved(what, answer, judged)


def _closed(one: BreakGlass, approved: Verdict, now: float) -> Verdict | None:
    """Return why a BreakGlass is not open, whoever approved it; None where it is."""
    if one.is_open(now):
        return None
    if one.meta.deletion_timestamp is not None:
        return Verdict.no(DELETED, "it is being deleted")
    if not one.spec.activated:
        sealed = "sealed: setting spec.activated to true opens it"
        return Verdict.no(SEALED, sealed) if approved.holds else approved
    if one.began is None:
        told = "nobody recorded when it was activated: delete it, and create another one"
        return Verdict.no(NOT_RECORDED, told)
    if now < one.began:
        return Verdict.no(NOT_BEGUN, f"it begins at {time_text(one.began)}")
    return Verdict.no(OVER, f"it ended at {one.until}; it is used once")


def standing_of_approval(
    approval: Approval, what: ApprovedThing, terms: ApprovalTerms
) -> ApprovalStanding:
    """Return how an Approval stands by what it approves."""
    counts = _counts(approval, what, terms)
    return ApprovalStanding(
        what.approved, counts, approval.expires, _approvers(what.consents.values())
    )


def _counts(approval: Approval, what: ApprovedThing, terms: ApprovalTerms) -> Verdict:
    wanted, consent = approval.spec.for_, approval.consent
    if consent is None or not what.uid:
        return what.approved
    if what.uid != consent.uid:
        told = f"it is of an earlier {wanted.kind} {wanted.name}, which was deleted"
        return Verdict.no(REPLACED, told)
    if wanted.kind == PROFILE and not terms.profiles:
        return Verdict.no(NOT_NEEDED, "changes of profiles need no approval here")
    entry = what.consents.get(consent.approval)
    if entry is None or entry.lapse is None:
        return Verdict.yes(COUNTS, f"counts until {time_text(approval.expires)}")
    return Verdict.no(LAPSES[entry.lapse], entry.why)


def missing_object(kind: str, name: str) -> ApprovedThing:
    """Return what an approval is of that names nothing."""
    return ApprovedThing("", Verdict.no(NO_OBJECT, f"there is no {kind} {name}"))


def unreadable(problem: str) -> ApprovalStanding:
    """Return how an object stands that cannot be read: the gate leaves it out."""
    verdict = Verdict.no(INVALID, f"it counts for nothing: {problem}")
    return ApprovalStanding(verdict, verdict)


def _approved(
    what: Approvable, answer: Approved | NotApproved, judged: Iterable[JudgedConsent]
) -> Verdict:
    if isinstance(answer, Approved):
        return Verdict.yes(TWO_PEOPLE, f"approved by {', '.join(answer.approvers)}")
    told = "; ".join(answer.reasons)
    if not (what.author and what.uid):
        return Verdict.no(NO_AUTHOR, told)
    lapses = {each.lapse for each in judged}
    reason = next((reason for lapse, reason in LAPSES.items() if lapse in lapses), "")
    if reason:
        return Verdict.no(reason, told)
    return Verdict.no(WAITS, f"{told}: it waits for approval by others (sallyport approve)")


def _of_change(judged: tuple[JudgedConsent, ...]) -> Verdict:
    people = _approvers(judged)
    if len(people) >= PEOPLE_NEEDED:
        return Verdict.yes(TWO_PEOPLE, f"the change is approved by {', '.join(people)}")
    told = f"{len(people)} of {PEOPLE_NEEDED} people have approved the change"
    return Verdict.no(WAITS, told)


def _inactive(answer: NotApproved, approved: Verdict) -> Verdict:
    if answer.suspended:
        return Verdict.no(SUSPENDED, "; ".join(answer.reasons))
    return approved


def _earlier(expires: float, judged: Iterable[JudgedConsent]) -> float:
    until = approved_until(judged)
    return expires if until is None else min(expires, until)


def _standing(
    approved: Verdict, active: Verdict, ends: float | None, judged: tuple[JudgedConsent, ...]
) -> ApprovalStanding:
    return ApprovalStanding(approved, active, ends, _approvers(judged), _by_uid(judged))


def _approvers(judged: Iterable[JudgedConsent]) -> tuple[str, ...]:
    """Name each person once whose approval counts."""
    people = {each.person: each.consent.approver.label for each in judged if each.lapse is None}
    return tuple(people.values())


def _by_uid(judged: Iterable[JudgedConsent]) -> dict[str, JudgedConsent]:
    return {each.consent.approval: each for each in judged}
