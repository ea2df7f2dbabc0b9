"""How all objects of a cluster stand that need approval, or give it; each looked at when it is due.

An object is looked at again when it, its approvals, the risk of people or its time changes, and
once a minute besides: the right of an approver may have been taken away. 2,000 exceptions with two
approvals each cost up to 0.15 s of CPU a run, and 0.35 s once a minute; then each approver is asked
about once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from control.approvals.conditions import (
    UNRECORDED,
    ApprovalConditions,
    ApprovalJudge,
    ApprovalTarget,
    conditions_of_approval,
    missing_object,
    unreadable,
)
from core.approvals import approvals, break_glass, exceptions
from core.approvals.approvals import Approval
from core.approvals.break_glass import BreakGlass
from core.approvals.exceptions import PolicyException
from core.base.errors import AccessReviewError
from core.egress import allowlists
from core.people.two_person import Approvable, Consent
from core.risk.snapshot import RiskSnapshot
from core.weights import access_grants
from core.weights.access_grants import AccessGrant
from kube.cluster.live import LiveCluster
from kube.watch.statuses import ObjectWithStatus, StatusHead

CONSIDER_S: Final = 60.0
"""So long an answer counts while nothing that it rests on has changed."""

_AT_ONCE: Final = 50
"""Objects that are looked at before others of the process have their turn."""

IntentSource = Callable[[str, str], Approvable | None]
"""Gives an EgressAllowlist by `namespace/name`, or EgressDestinations by name; first its kind."""

_OWN: Final = frozenset({exceptions.KIND, access_grants.KIND, break_glass.KIND})
_INTENTS: Final = frozenset({allowlists.KIND, allowlists.SET_KIND})
_CHANGE: Final = "change"

_Key = tuple[str, str]
_Ask = Callable[[Any, float], Awaitable[ApprovalConditions]]
_T = TypeVar("_T")


@dataclass(frozen=True)
class FoundConditions:
    """How one object stands."""

    kind: str
    head: StatusHead
    conditions: ApprovalConditions


@dataclass(frozen=True)
class _Evaluation:
    rests_on: tuple[object, ...]
    began: float
    until: float
    found: Any


@dataclass
class EvaluationCache:
    """Looks at all of them; `trouble` is the first thing that the last look could not know."""

    questions: ApprovalJudge
    cluster: LiveCluster
    intent: IntentSource
    trouble: AccessReviewError | None = None
    _known: dict[_Key, _Evaluation] = field(default_factory=dict)
    """By kind and `namespace/name`; a change by its UID and digest."""
    _kept: dict[_Key, _Evaluation] = field(default_factory=dict)
    """Those of them that this run has seen."""
    _targets: dict[_Key, ApprovalTarget | None] = field(default_factory=dict)
    """What approvals of this run are of; None where that could not be known."""
    _risk: RiskSnapshot | None = None
    _asked: int = 0

    async def find_all(self, now: float) -> list[FoundConditions]:
        """Return how each of them stands that can be known now.

        Raises:
            NotSyncedError: objects or approvals have not been loaded.
        """
        self.trouble = None
        risk = self.cluster.risk()
        self._known = self._kept if risk is self._risk else {}
        self._kept, self._targets, self._risk = {}, {}, risk
        excepted, sealed = self.cluster.exceptions, self.cluster.break_glasses
        excused = excepted.objects.with_status()
        grants = self.cluster.weights.grant_objects.with_status()
        glasses = sealed.objects.with_status()
        cluster_wide = sealed.approvals.with_status()
        ask = self.questions
        return [
            *await self._of(exceptions.KIND, excused, ask.of_exception, now),
            *await self._of(access_grants.KIND, grants, ask.of_grant, now),
            *await self._of(break_glass.KIND, glasses, ask.of_break_glass, now),
            *await self._of_approvals(approvals.KIND, excepted.approvals.with_status(), now),
            *await self._of_approvals(approvals.CLUSTER_KIND, cluster_wide, now),
        ]

    async def _of(
        self, kind: str, objects: Mapping[str, ObjectWithStatus[Any]], ask: _Ask, now: float
    ) -> list[FoundConditions]:
        """Look at the objects of a kind that needs approval."""
        found = []
        for key, one in list(objects.items()):
            if one.value is None:
                conditions: ApprovalConditions | None = unreadable(one.head.problem)
            else:
                rests_on, times = self._basis(one.value)

                async def asked(value: Any = one.value) -> ApprovalConditions:
                    return await ask(value, now)

                conditions = await self._evaluate((kind, key), rests_on, times, now, asked)
            self._targets[kind, key] = _target_of(one, conditions)
            if conditions is not None:
                found.append(FoundConditions(kind, one.head, conditions))
        return found

    def _basis(
        self, one: PolicyException | AccessGrant | BreakGlass
    ) -> tuple[tuple[object, ...], Iterable[float]]:
        """Return what the conditions of an object rest on, and when time changes them."""
        match one:
            case BreakGlass():
                consents = self.cluster.break_glasses.consents(one.meta.uid)
                times, more = (one.began or 0.0, one.ends), None
            case AccessGrant():
                consents = self.cluster.exceptions.consents(one.meta.namespace, one.meta.uid)
                times = (one.begins, one.expires)
                more = self.cluster.weights.stores().named(one.spec.store) is None
            case PolicyException():
                consents = self.cluster.exceptions.consents(one.meta.namespace, one.meta.uid)
                times, more = (one.expires, one.expires), None
        return (one, consents, more), (*times, *(each.expires for each in consents))

    async def _of_approvals(
        self, kind: str, objects: Mapping[str, ObjectWithStatus[Approval]], now: float
    ) -> list[FoundConditions]:
        """Look at approvals, after what they approve."""
        found = []
        for one in list(objects.values()):
            if one.value is None:
                found.append(FoundConditions(kind, one.head, unreadable(one.head.problem)))
                continue
            target = await self._target(one.value, now)
            if target is not None:
                conditions = conditions_of_approval(one.value, target, self.questions.terms)
                found.append(FoundConditions(kind, one.head, conditions))
        return found

    async def _target(self, approval: Approval, now: float) -> ApprovalTarget | None:
        """Return what an approval is of; None where that cannot be known now."""
        wanted, consent = approval.spec.for_, approval.consent
        if consent is None:
            return UNRECORDED
        place = approval.meta.namespace
        key = f"{place}/{wanted.name}" if place else wanted.name
        if wanted.kind in _OWN:
            missing = missing_object(wanted.kind, wanted.name)
            return self._targets.get((wanted.kind, key), missing)
        if wanted.kind in _INTENTS:
            return await self._intent(wanted.kind, key, place, now)
        consents = [
            each
            for each in self.cluster.break_glasses.consents(consent.uid)
            if each.digest == consent.digest
        ]

        async def asked() -> ApprovalTarget:
            return await self.questions.of_change(consents, wanted.kind, now)

        change = (_CHANGE, f"{consent.uid} {consent.digest}")
        return await self._evaluate(change, tuple(consents), _ends(consents), now, asked)

    async def _intent(self, kind: str, key: str, place: str, now: float) -> ApprovalTarget | None:
        what = self.intent(kind, key)
        if what is None:
            return missing_object(kind, key.rpartition("/")[-1])
        consents = (
            self.cluster.exceptions.consents(place, what.uid)
            if place
            else self.cluster.break_glasses.consents(what.uid)
        )

        async def asked() -> ApprovalTarget:
            return await self.questions.of_intent(what, consents, kind, now)

        return await self._evaluate((kind, key), (what, consents), _ends(consents), now, asked)

    async def _evaluate(
        self,
        key: _Key,
        rests_on: tuple[object, ...],
        times: Iterable[float],
        now: float,
        ask: Callable[[], Awaitable[_T]],
    ) -> _T | None:
        """Return what is known, or ask; None where the cluster does not say."""
        known = self._kept.get(key) or self._known.get(key)
        if known is None or known.rests_on != rests_on or not known.began <= now < known.until:
            self._asked += 1
            if self._asked % _AT_ONCE == 0:
                await asyncio.sleep(0)
            try:
                found = await ask()
            except AccessReviewError as error:
                self.trouble = self.trouble or error
                return None
            until = min([now + CONSIDER_S, *(each for each in times if each > now)])
            known = _Evaluation(rests_on, now, until, found)
        self._kept[key] = known
        answer: _T = known.found
        return answer


def _target_of(
    one: ObjectWithStatus[Any], conditions: ApprovalConditions | None
) -> ApprovalTarget | None:
    """Return an object as what its approvals are of."""
    if conditions is None:
        return None
    uid = "" if one.value is None else one.head.uid
    return ApprovalTarget(uid, conditions.approved, conditions.consents)


def _ends(consents: Sequence[Consent]) -> list[float]:
    return [each.expires for each in consents]
