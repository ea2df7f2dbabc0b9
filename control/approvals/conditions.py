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
class ConditionAnswer:
    """A condition before it is stamped."""

    holds: bool
    reason: str
    message: str

    @classmethod
    def yes(cls, reason: str, message: str) -> "ConditionAnswer":
        """Return that the condition holds."""
        return cls(holds=True, reason=reason, message=message)

    @classmethod
    def no(cls, reason: str, message: str) -> "ConditionAnswer":
        """Return that the condition does not hold, and why."""
        return cls(holds=False, reason=reason, message=message)


@dataclass(frozen=True)
class ApprovalConditions:
    """How an object stands, as of one look at it."""

    approved: ConditionAnswer
    active: ConditionAnswer
    ends: float | None = None
    """Unix seconds at which it ends or ended; None where nothing is to end."""
    approvers: tuple[str, ...] = ()
    """`Subject.label` of those whose approval counts."""
    consents: Mapping[str, JudgedConsent] = field(default_factory=dict)
    """Its approvals by their UIDs."""


@dataclass(frozen=True)
class ApprovalTarget:
    """What approvals are of: an object, or a change that is not written yet."""

    uid: str
    """Empty where there is none, or it cannot be read."""
    approved: ConditionAnswer
    consents: Mapping[str, JudgedConsent] = field(default_factory=dict)
    """Its approvals by their UIDs."""


UNRECORDED: Final = ApprovalTarget(
    "",
    ConditionAnswer.no(
        NOT_RECORDED,
        "the gate recorded no approver: delete it, and create it again through the gate",
    ),
)
"""What an Approval is of whose approver nobody recorded: it counts for nothing."""


@dataclass(frozen=True)
class ApprovalJudge:
    """Asks how objects of one cluster stand.

    Each raises NotSyncedError where approvals are not known, and AccessReviewError where the
    cluster did not say whether an approver may approve.
    """

    cluster: Cluster
    terms: ApprovalTerms

    async def of_exception(self, one: PolicyException, now: float) -> ApprovalConditions:
        """Say how a PolicyException stands."""
        consents = self.cluster.exceptions.consents(one.meta.namespace, one.meta.uid)
        judged, approved = await self._judged(one.approvable, consents, exceptions.KIND, now)
        answer = await ask_exception(self.cluster, one, now, self.terms)
        ends = _earlier(one.expires, judged)
        if isinstance(answer, Approved):
            active = ConditionAnswer.yes(IN_FORCE, f"in force until {time_text(ends)}")
        elif one.meta.deletion_timestamp is not None:
            active = ConditionAnswer.no(DELETED, "it is being deleted")
        elif not one.in_time(now):
            active = ConditionAnswer.no(EXPIRED, f"it expired at {time_text(one.expires)}")
        else:
            active = _inactive(answer, approved)
        return _conditions(approved, active, ends, judged)

    async def of_grant(self, one: AccessGrant, now: float) -> ApprovalConditions:
        """Say how an AccessGrant stands."""
        what, kind = one.approvable, access_grants.KIND
        consents = self.cluster.exceptions.consents(one.meta.namespace, one.meta.uid)
        judged, approved = await self._judged(what, consents, kind, now)
        answer = await ask_in_force(self.cluster, what, consents, kind, now, self.terms)
        lapse = find_lapse(one, now, approved=isinstance(answer, Approved))
        ends = _earlier(one.expires, judged)
        if lapse in _GRANT_LAPSES:
            active = ConditionAnswer.no(_GRANT_LAPSES[lapse], describe_lapse(lapse, one))
        elif isinstance(answer, NotApproved):
            active = _inactive(answer, approved)
        else:
            active = ConditionAnswer.yes(IN_FORCE, f"in force until {time_text(ends)}")
            if self.cluster.weights.stores().named(one.spec.store) is None:
                gone = f"; there is no WeightStore {one.spec.store}, so it gives nothing"
                active = ConditionAnswer.yes(IN_FORCE, active.message + gone)
        return _conditions(approved, active, ends, judged)

    async def of_break_glass(self, one: BreakGlass, now: float) -> ApprovalConditions:
        """Say how a BreakGlass stands."""
        consents = self.cluster.break_glasses.consents(one.meta.uid)
        judged, approved = await self._judged(
            one.approvable, consents, break_glass.KIND, now, endures=True
        )
        ends = _earlier(one.ends, judged)
        active = await self._glass(one, approved, ends, now)
        return _conditions(approved, active, ends if one.began is not None else None, judged)

    async def _glass(
        self, one: BreakGlass, approved: ConditionAnswer, ends: float, now: float
    ) -> ConditionAnswer:
        if (closed := _closed(one, approved, now)) is not None:
            return closed
        if await is_in_force(self.cluster, one, now, self.terms):
            return ConditionAnswer.yes(OPEN, f"open until {time_text(ends)}")
        if not approved.holds:
            return approved
        told = "whoever activated it is at risk: it relaxes nothing until the risk is gone"
        return ConditionAnswer.no(OPENER_AT_RISK, told)

    async def of_change(self, consents: Sequence[Consent], kind: str, now: float) -> ApprovalTarget:
        """Say which approvals count of a change that is not written yet: those of one digest."""
        what = Approvable(consents[0].uid, consents[0].digest, frozenset())
        judged = await ask_consents(self.cluster, what, consents, TIERS[kind], now, self.terms)
        return ApprovalTarget(what.uid, _of_change(judged), _by_uid(judged))

    async def of_intent(
        self, what: Approvable, consents: Sequence[Consent], kind: str, now: float
    ) -> ApprovalTarget:
        """Say which approvals count of an allowlist, or of a set of destinations."""
        judged, approved = await self._judged(what, consents, kind, now)
        return ApprovalTarget(what.uid, approved, _by_uid(judged))

    async def _judged(
        self,
        what: Approvable,
        consents: Sequence[Consent],
        kind: str,
        now: float,
        *,
        endures: bool = False,
    ) -> tuple[tuple[JudgedConsent, ...], ConditionAnswer]:
        tier, terms = TIERS[kind], self.terms
        judged = await ask_consents(self.cluster, what, consents, tier, now, terms, endures=endures)
        answer = await ask_approved(self.cluster, what, consents, tier, now, terms, endures=endures)
        return judged, _approved(what, answer, judged)


def _closed(one: BreakGlass, approved: ConditionAnswer, now: float) -> ConditionAnswer | None:
    """Return why a BreakGlass is not open, whoever approved it; None where it is."""
    if one.is_open(now):
        return None
    if one.meta.deletion_timestamp is not None:
        return ConditionAnswer.no(DELETED, "it is being deleted")
    if not one.spec.activated:
        sealed = "sealed: setting spec.activated to true opens it"
        return ConditionAnswer.no(SEALED, sealed) if approved.holds else approved
    if one.began is None:
        told = "nobody recorded when it was activated: delete it, and create another one"
        return ConditionAnswer.no(NOT_RECORDED, told)
    if now < one.began:
        return ConditionAnswer.no(NOT_BEGUN, f"it begins at {time_text(one.began)}")
    return ConditionAnswer.no(OVER, f"it ended at {one.until}; it is used once")


def conditions_of_approval(
    approval: Approval, what: ApprovalTarget, terms: ApprovalTerms
) -> ApprovalConditions:
    """Return how an Approval stands by what it approves."""
    counts = _counts(approval, what, terms)
    return ApprovalConditions(
        what.approved, counts, approval.expires, _approvers(what.consents.values())
    )


def _counts(approval: Approval, what: ApprovalTarget, terms: ApprovalTerms) -> ConditionAnswer:
    wanted, consent = approval.spec.for_, approval.consent
    if consent is None or not what.uid:
        return what.approved
    if what.uid != consent.uid:
        told = f"it is of an earlier {wanted.kind} {wanted.name}, which was deleted"
        return ConditionAnswer.no(REPLACED, told)
    if wanted.kind == PROFILE and not terms.profiles:
        return ConditionAnswer.no(NOT_NEEDED, "changes of profiles need no approval here")
    entry = what.consents.get(consent.approval)
    if entry is None or entry.lapse is None:
        return ConditionAnswer.yes(COUNTS, f"counts until {time_text(approval.expires)}")
    return ConditionAnswer.no(LAPSES[entry.lapse], entry.why)


def missing_object(kind: str, name: str) -> ApprovalTarget:
    """Return what an approval is of that names nothing."""
    return ApprovalTarget("", ConditionAnswer.no(NO_OBJECT, f"there is no {kind} {name}"))


def unreadable(problem: str) -> ApprovalConditions:
    """Return how an object stands that cannot be read: the gate leaves it out."""
    verdict = ConditionAnswer.no(INVALID, f"it counts for nothing: {problem}")
    return ApprovalConditions(verdict, verdict)


def _approved(
    what: Approvable, answer: Approved | NotApproved, judged: Iterable[JudgedConsent]
) -> ConditionAnswer:
    if isinstance(answer, Approved):
        return ConditionAnswer.yes(TWO_PEOPLE, f"approved by {', '.join(answer.approvers)}")
    told = "; ".join(answer.reasons)
    if not (what.author and what.uid):
        return ConditionAnswer.no(NO_AUTHOR, told)
    lapses = {each.lapse for each in judged}
    reason = next((reason for lapse, reason in LAPSES.items() if lapse in lapses), "")
    if reason:
        return ConditionAnswer.no(reason, told)
    return ConditionAnswer.no(WAITS, f"{told}: it waits for approval by others (sallyport approve)")


def _of_change(judged: tuple[JudgedConsent, ...]) -> ConditionAnswer:
    people = _approvers(judged)
    if len(people) >= PEOPLE_NEEDED:
        return ConditionAnswer.yes(TWO_PEOPLE, f"the change is approved by {', '.join(people)}")
    told = f"{len(people)} of {PEOPLE_NEEDED} people have approved the change"
    return ConditionAnswer.no(WAITS, told)


def _inactive(answer: NotApproved, approved: ConditionAnswer) -> ConditionAnswer:
    if answer.suspended:
        return ConditionAnswer.no(SUSPENDED, "; ".join(answer.reasons))
    return approved


def _earlier(expires: float, judged: Iterable[JudgedConsent]) -> float:
    until = approved_until(judged)
    return expires if until is None else min(expires, until)


def _conditions(
    approved: ConditionAnswer,
    active: ConditionAnswer,
    ends: float | None,
    judged: tuple[JudgedConsent, ...],
) -> ApprovalConditions:
    return ApprovalConditions(approved, active, ends, _approvers(judged), _by_uid(judged))


def _approvers(judged: Iterable[JudgedConsent]) -> tuple[str, ...]:
    """Name each person once whose approval counts."""
    people = {each.person: each.consent.approver.label for each in judged if each.lapse is None}
    return tuple(people.values())


def _by_uid(judged: Iterable[JudgedConsent]) -> dict[str, JudgedConsent]:
    return {each.consent.approval: each for each in judged}
