"""Picks from the facts of a request what the record keeps of them. Pure."""

from collections.abc import Iterable
from itertools import islice, takewhile
from typing import Final

from admission.model.candidates import Candidate
from admission.model.facts import (
    Facts,
    OriginFacts,
    PodFacts,
    RiskFacts,
    RuledFacts,
    SeenFacts,
    WeightFacts,
)
from admission.replayable import context_of, fields_of, projection_of
from core.decision.decision import Evidence, Named, ProfileAttempt, TraceOutcome
from core.risk.model import OperationClass
from identity.subject_kind import SubjectKind

_MOST_COVERING: Final = 8
"""Profiles kept of those that cover all."""

_NOBODYS: Final = RiskFacts(operation=OperationClass.CREATE_WORKLOAD)
"""Where nobody was asked for risk."""

_NO_WEIGHTS: Final = WeightFacts()
_UNSEEN: Final = SeenFacts(contexts=())
_UNRULED: Final = RuledFacts()


def evidence_of(facts: Facts, chosen: str | None, requester: SubjectKind) -> Evidence:
    """Give what the record keeps; `chosen` is the profile that the object is admitted under."""
    pod, risk = facts.pod, facts.risk or _NOBODYS
    ceiling = facts.namespace.ceiling if facts.namespace else None
    kept = tuple(sorted(ceiling)) if ceiling is not None else None
    reached, ruled = facts.weights or _NO_WEIGHTS, facts.ruled or _UNRULED
    seen = facts.seen or _UNSEEN
    if pod is None:
        return Evidence(
            projection=projection_of(seen),
            context=context_of(seen),
            fields=fields_of(seen),
            requester_kind=requester.value,
            exceptions=tuple(each.id for each in ruled.exceptions),
            ceiling=kept,
            left_alone=facts.left_alone,
            weight_stores=reached.stores,
            grants=reached.grants,
            object_uid=facts.object_uid,
            risk=risk.recorded,
            behaviour=risk.behaviour,
            risk_version=risk.version,
            risk_table=risk.table,
        )
    tried = _tried(pod, chosen)
    return Evidence(
        needs=(*pod.needs, *pod.excused),
        exceptions=tuple(dict.fromkeys(each.id for each in (*pod.exceptions, *ruled.exceptions))),
        break_glass=tuple(each.id for each in facts.relaxed_by),
        subjects=pod.subjects,
        named=Named(pod.named.name, pod.named.path) if pod.named else None,
        ceiling=kept,
        tried=tried,
        more_tried=0 if chosen else len(pod.candidates) - len(tried),
        access=pod.access,
        namespace=pod.namespace,
        projection=pod.projection,
        context=context_of(seen),
        fields=fields_of(seen),
        object_uid=facts.object_uid,
        requester_kind=requester.value,
        root=facts.root,
        traced=_traced(facts.origin) if facts.origin else None,
        risk=risk.recorded,
        behaviour=risk.behaviour,
        risk_version=risk.version,
        risk_table=risk.table,
        weight_stores=reached.stores,
        grants=reached.grants,
        evaluation_seconds=pod.evaluation_seconds,
        access_seconds=pod.access_seconds,
    )


def _traced(origin: OriginFacts) -> TraceOutcome:
    if origin.root is None:
        return TraceOutcome.GONE
    return TraceOutcome.UNNOTED if origin.root.requester is None else TraceOutcome.NOTED


def _tried(pod: PodFacts, chosen: str | None) -> tuple[ProfileAttempt, ...]:
    """Give the profiles in the order of choice: up to the chosen one, else the closest as well."""
    if pod.named is not None:
        one = pod.candidates.only(pod.named.name).first()
        return tuple(_each([one] if one else [], pod))
    covers = islice(pod.candidates.covering(), _MOST_COVERING)
    if chosen is not None:
        before = takewhile(lambda candidate: candidate.name != chosen, covers)
        kept = list(before)[: _MOST_COVERING - 1]
        return (*_each(kept, pod), ProfileAttempt(chosen, usable=True))
    return tuple(_each([*covers, *pod.candidates.nearest], pod))


def _each(candidates: Iterable[Candidate], pod: PodFacts) -> Iterable[ProfileAttempt]:
    return (ProfileAttempt(c.name, c.gaps, pod.usable.get(c.name)) for c in candidates)
