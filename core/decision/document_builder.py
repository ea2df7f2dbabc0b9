"""Builds the document of a decision, for the record and for `sallyport explain`. Pure."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from core.base.ids import uuid7_time
from core.decision.decision import MOST_ASSESSED, CountedSignal, Decision, Evidence, Isolated, Named
from core.decision.document import (
    FORMAT,
    MOST_ACCESS,
    MOST_FINDINGS,
    MOST_NEEDS,
    MOST_TEXT,
    AccessAnswer,
    Asked,
    DecisionDocument,
    DecisionSource,
    Durations,
    Revisions,
    TracedRoot,
    TriedProfile,
)
from core.decision.request import Request
from core.kubernetes.requester_notes import RootWorkload
from core.people.subject import Subject
from core.sandbox.decision import SandboxDecision


def build_document(  # noqa: PLR0913  A decision and all that surrounds it.
    source: DecisionSource,
    request: Request,
    decision: Decision,
    *,
    cluster: str,
    seconds: float,
    name_subject: Callable[[Subject], str],
    patches: Sequence[Mapping[str, Any]] = (),
    digest: str = "",
    context: str = "",
    fields: str = "",
) -> DecisionDocument:
    """Put a decision and its request into a document; `digest` is its projection's. Pure.

    `context` and `fields` are the digests of what else the policies saw.
    """
    evidence = decision.evidence
    requester = name_subject(request.subject)

    def name(subject: Subject) -> str:
        return requester if subject is request.subject else name_subject(subject)

    return DecisionDocument(
        format=FORMAT,
        id=decision.id,
        time=uuid7_time(decision.id),
        cluster=cluster,
        source=source,
        request=Asked(
            uid=request.uid,
            operation=request.operation.value,
            kind=request.kind.kind,
            version=request.kind.version,
            group=request.kind.group,
            namespace=request.namespace,
            name=request.name,
            subresource=request.subresource,
            object_uid=evidence.object_uid[:MOST_TEXT],
            dry_run=request.dry_run,
        ),
        requester=requester,
        requester_kind=evidence.requester_kind,
        root=_root(evidence.root) if evidence.root else None,
        traced=evidence.traced.value if evidence.traced else "",
        subjects=[name(subject) for subject in evidence.subjects],
        verdict=decision.verdict,
        allowed=decision.allowed,
        mode=decision.mode,
        if_enforced=decision.if_enforced,
        profile=decision.profile and decision.profile[:MOST_TEXT],
        named=evidence.named and Named(evidence.named.profile[:MOST_TEXT], evidence.named.path),
        ceiling=list(evidence.ceiling) if evidence.ceiling is not None else None,
        exceptions=list(evidence.exceptions),
        break_glass=list(evidence.break_glass),
        left_alone=evidence.left_alone,
        error_kind=decision.error_kind,
        reason=decision.reason[:MOST_TEXT],
        field=decision.field[:MOST_TEXT],
        findings=decision.findings[:MOST_FINDINGS],
        more_findings=max(len(decision.findings) - MOST_FINDINGS, 0),
        needs=list(evidence.needs[:MOST_NEEDS]),
        more_needs=max(len(evidence.needs) - MOST_NEEDS, 0),
        tried=[
            TriedProfile(
                profile=t.profile,
                usable=t.usable,
                lacks=sorted(t.lacks)[:MOST_NEEDS],
                more_lacks=max(len(t.lacks) - MOST_NEEDS, 0),
            )
            for t in evidence.tried
        ],
        more_tried=evidence.more_tried,
        access_reviews=[
            AccessAnswer(
                subject=name(answer.subject),
                profile=answer.profile,
                namespace=evidence.namespace,
                allowed=answer.allowed,
            )
            for answer in evidence.access[:MOST_ACCESS]
        ],
        more_access_reviews=max(len(evidence.access) - MOST_ACCESS, 0),
        patches=[dict(patch) for patch in patches],
        sandbox=(decision.isolation.runtime or None) if decision.isolation else None,
        isolation=_isolated(decision.isolation) if decision.isolation else None,
        risk=list(evidence.risk[:MOST_ASSESSED]),
        more_risk=max(len(evidence.risk) - MOST_ASSESSED, 0),
        behaviour=list(evidence.behaviour),
        weight_stores=list(evidence.weight_stores),
        grants=list(evidence.grants),
        running=evidence.running,
        revisions=_revisions(decision, evidence),
        durations=Durations(
            total=round(seconds * 1000, 3),
            evaluation=round(evidence.evaluation_seconds * 1000, 3),
            access=round(evidence.access_seconds * 1000, 3),
        ),
        projection=digest,
        context=context,
        fields=fields,
    )


@lru_cache(maxsize=256)
def _isolated(isolation: SandboxDecision) -> Isolated:
    return Isolated(
        mode=isolation.mode.value,
        score=isolation.score,
        threshold=isolation.threshold,
        asked=isolation.asked,
        excused=isolation.excused,
        identity=isolation.identity,
        signals=[
            CountedSignal(
                rule=each.rule,
                points=each.points,
                path=each.path[:MOST_TEXT],
                reason=each.reason,
            )
            for each in isolation.signals[:MOST_FINDINGS]
        ],
    )


def _revisions(decision: Decision, evidence: Evidence) -> Revisions:
    return Revisions(
        policy=decision.policy_revision,
        profiles=decision.profiles_revision,
        risk=evidence.risk_version,
        risk_table=evidence.risk_table,
    )


def _root(root: RootWorkload) -> TracedRoot:
    return TracedRoot(
        kind=root.kind,
        name=root.name[:MOST_TEXT],
        uid=root.uid,
        requester=(root.requester or "")[:MOST_TEXT],
        profile=(root.profile or "")[:MOST_TEXT],
    )
