"""The record of a decision: what it keeps of a request's facts, and how it is read back. Pure.

It also says what becomes of a request whose decision cannot be recorded. The *contexts* are those
of the request's Pods in their order, then that of the object itself where rules are asked about it:
a JSON list, or the context alone where there is one. The *fields* are an object: `declared` gives
by kind which fields were copied, so that what was not recorded differs from what is absent; `parts`
holds those of the Pods, `object` the object's own.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, takewhile
from typing import Final

import msgspec

from admission.model.candidates import Candidate, candidates
from admission.model.facts import (
    Facts,
    NamedProfile,
    OriginFacts,
    PodFacts,
    PolicyInputFacts,
    RiskFacts,
    SiteRuleFacts,
    WeightFacts,
)
from admission.model.messages import error_message, recorded_id
from admission.profiles.check import is_denial
from core.base.errors import LedgerError, NotRecordedError
from core.decision.decision import (
    Decision,
    Evidence,
    Named,
    ProfileAttempt,
    TraceOutcome,
    Verdict,
    WhenUnrecorded,
)
from core.decision.document import DecisionDocument, recorded_sandbox
from core.decision.request import Kind, Operation, Request
from core.people.subject import SERVICE_ACCOUNT_PREFIX, Subject, service_account_subject
from core.risk.model import OperationClass
from core.sandbox.decision import SandboxMode
from identity.subjects import SubjectKind
from policies.site.fields import POD, DeclaredFields
from sandbox.risk_score import NO_RISK, RiskScore

_ENCODER = msgspec.json.Encoder()

_REMEDY = "Try again in a minute; if it stays, tell your cluster's operators the decision's id."

_MOST_COVERING: Final = 8
"""Profiles kept of those that cover all."""

_NOBODYS: Final = RiskFacts(operation=OperationClass.CREATE_WORKLOAD)
"""Where nobody was asked for risk."""

_NO_WEIGHTS: Final = WeightFacts()
_UNSEEN: Final = PolicyInputFacts(contexts=())
_UNRULED: Final = SiteRuleFacts()


def request_from_record(document: DecisionDocument, subject: Subject) -> Request:
    """Return the request again, without its object, as if `subject` had made it.

    Raises:
        LedgerError: it is not about a Pod, or the record does not hold all that the Pod needs.
    """
    asked = document.request
    if (asked.group, asked.version, asked.kind) != ("", "v1", "Pod"):
        what = f"is about a {asked.kind}; only Pods are judged again from the record"
        raise LedgerError(f"decision {document.id} {what}: give the manifest instead")
    cut = document.more_needs or any(need.privilege.endswith("…") for need in document.needs)
    if document.error_kind or document.left_alone or cut:
        what = "does not record all that its object needs"
        raise LedgerError(f"decision {document.id} {what}: give the manifest instead")
    return Request(
        uid="",
        kind=Kind(asked.kind, asked.version, asked.group),
        operation=Operation(asked.operation),
        subject=subject,
        namespace=asked.namespace,
        name=asked.name,
        subresource=asked.subresource,
        dry_run=True,
    )


def facts_from_record(
    document: DecisionDocument, subject: Subject, facts: Facts, privileges: Mapping[str, int]
) -> PodFacts:
    """Return what was recorded of a Pod, with `subject` in its requester's place."""
    named = document.named
    return PodFacts(
        needs=tuple(document.needs),
        privileges=frozenset(privileges),
        subjects=tuple(_subjects(document, subject)),
        namespace=document.request.namespace,
        denials=tuple(f for f in document.findings if is_denial(f)),
        candidates=candidates(facts.profiles, facts.namespace, privileges),
        named=NamedProfile(named.profile, named.path) if named else None,
    )


def weight_from_record(document: DecisionDocument, mode: SandboxMode) -> RiskScore:
    """Return what counted when it was decided; it counts the same whoever asks.

    Raises:
        LedgerError: nobody asked for a sandbox then, so nothing was weighed, and now the risk
            decides.
    """
    was = recorded_sandbox(document)
    if was is not None:
        return RiskScore(was.signals, was.score)
    if mode is SandboxMode.BY_RISK:
        what = "does not record how risky its object is, since nobody asked for a sandbox then"
        raise LedgerError(f"decision {document.id} {what}: give the manifest instead")
    return NO_RISK


def _subjects(document: DecisionDocument, subject: Subject) -> list[Subject]:
    """Return whose rights count: service accounts as recorded, anyone else is the requester."""
    accounts = [label for label in document.subjects if label.startswith(SERVICE_ACCOUNT_PREFIX)]
    kept = [
        service_account_subject(*label.removeprefix(SERVICE_ACCOUNT_PREFIX).split(":", 1))
        for label in accounts
        if label != document.requester
    ]
    asks = not document.subjects or document.requester in document.subjects
    return [subject, *kept] if asks else kept


def add_pod_inputs(
    facts: Facts,
    reads: DeclaredFields,
    projections: tuple[bytes, ...],
    contexts: tuple[bytes, ...],
    fields: tuple[bytes, ...],
) -> Facts:
    """Add what is shown of the Pods of an object: one of each for each Pod."""
    if reads.reads(POD):
        declared = {POD: reads.declared(POD)}
        seen = PolicyInputFacts(
            projections=projections, contexts=contexts, parts=fields, declared=declared
        )
    else:
        seen = PolicyInputFacts(projections=projections, contexts=contexts)
    return msgspec.structs.replace(facts, policy_inputs=seen)


def add_object_inputs(
    facts: Facts, reads: DeclaredFields, kind: str, context: bytes, fields: bytes
) -> Facts:
    """Add what is shown of an object that is no Pod, beside what is shown of its Pods.

    `fields` is empty where an update leaves them as they were.
    """
    before = facts.policy_inputs or PolicyInputFacts(contexts=())
    seen = msgspec.structs.replace(
        before,
        contexts=(*before.contexts, context) if context else before.contexts,
        own=fields,
        declared={**before.declared, kind: reads.declared(kind)},
    )
    return msgspec.structs.replace(facts, policy_inputs=seen)


def projection_of(seen: PolicyInputFacts) -> bytes:
    """Return what is recorded of the projections."""
    return join_json(seen.projections)


def context_of(seen: PolicyInputFacts) -> bytes:
    """Return what is recorded of the contexts."""
    return join_json(seen.contexts)


def fields_of(seen: PolicyInputFacts) -> bytes:
    """Return what is recorded of the fields; empty where no rule reads any."""
    if not seen.declared:
        return b""
    declared = [b"%b:%b" % (_ENCODER.encode(kind), each) for kind, each in seen.declared.items()]
    parts = b',"parts":[%b]' % b",".join(seen.parts) if seen.parts else b""
    own = b',"object":%b' % seen.own if seen.own else b""
    return b'{"declared":{%b}%b%b}' % (b",".join(declared), parts, own)


def join_json(several: Sequence[bytes]) -> bytes:
    """Return JSON of several as a list, of one as it is, of none as nothing."""
    return several[0] if len(several) == 1 else b"[%b]" % b",".join(several) if several else b""


def refuse_unrecorded(request: Request, decision: Decision, error: NotRecordedError) -> Decision:
    """Return the decision to answer with: what would be admitted is refused, unless a rule says so.

    A refusal stays what it is.
    """
    if not decision.allowed or decision.when_unrecorded is WhenUnrecorded.ADMIT:
        return decision
    why = f"Nothing is admitted here whose decision cannot be recorded: {error}."
    return msgspec.structs.replace(
        decision,
        verdict=Verdict.ERROR,
        allowed=False,
        message=error_message(
            request.what, why, _REMEDY, recorded_id(decision.id, dry_run=request.dry_run)
        ),
        warnings=[],
        findings=[],
        answered=None if decision.answered is None else [],
        error_kind=error.kind,
        reason=str(error),
        recorded={},
    )


def evidence_of(facts: Facts, chosen: str | None, requester: SubjectKind) -> Evidence:
    """Return what the record keeps; `chosen` is the profile that the object is admitted under."""
    pod, risk = facts.pod, facts.risk or _NOBODYS
    ceiling = facts.namespace.ceiling if facts.namespace else None
    kept = tuple(sorted(ceiling)) if ceiling is not None else None
    reached, ruled = facts.weights or _NO_WEIGHTS, facts.site_rules or _UNRULED
    seen = facts.policy_inputs or _UNSEEN
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
        needs=(*pod.needs, *pod.excepted_needs),
        exceptions=tuple(dict.fromkeys(each.id for each in (*pod.exceptions, *ruled.exceptions))),
        break_glass=tuple(each.id for each in facts.break_glasses),
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
    """Return the profiles in the order of choice.

    Up to the chosen one, else the closest as well.
    """
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
