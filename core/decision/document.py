"""The decision document: what is kept of a decision, in every store and on every wire.

Its JSON Schema is published as `docs/reference/decision.schema.json`, made from this module.
What is absent has its default. It holds no value of an environment variable, no secret, and
no person's name that the operator did not choose to keep.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from core.base.document_part import DocumentPart, require_format
from core.base.ids import uuid7_time
from core.base.short_text_cache import cache_short_text
from core.decision.decision import (
    MOST_ASSESSED,
    AssessedRisk,
    Decision,
    Evidence,
    Finding,
    IfEnforced,
    Named,
    Need,
    Running,
    Verdict,
)
from core.decision.request import DecodedPod, Operation, Request
from core.decision.requester_notes import RootWorkload
from core.kubernetes.spec_digest import digest_of_spec, spec_digest
from core.people.subject import Subject
from core.sandbox.decision import ModeSource, SandboxDecision, SandboxMode, WeighedSignal

FORMAT: Final = 1
"""Version of the document. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""

MOST_NEEDS: Final = 256
"""Needs kept; a Pod of 1.5 MiB can have tens of thousands."""

MOST_FINDINGS: Final = 256

MOST_ACCESS: Final = 256
"""Answers of access reviews that are kept."""

MOST_TEXT: Final = 1024
"""Characters kept of a reason, of the field at fault, of a profile's name that an object names,
and of the object's uid. What else a request may choose is bounded where it is read
(`webhooks.review_decoder`) or where it is recorded (`audit.ledger.records.recorder`)."""

_REMEMBERED_BYTES: Final = 8192
"""Of a projection whose digest is remembered; at most 512 are, so 4 MiB. Characters of signals
whose record is."""

DecisionSource = Literal["validate", "mutate", "sweep"]
"""Which judgement it was: of the final state, of the change on the way to it, of what runs."""


def is_final(source: str, *, allowed: bool) -> bool:
    """Return whether a decision ended a request: one of the mutating pass does where it refuses."""
    return source == "validate" or (source == "mutate" and not allowed)


class Asked(DocumentPart, frozen=True):
    """What was asked of kube-apiserver."""

    uid: str
    """Of the AdmissionReview; of a sweep, empty."""
    operation: str
    kind: str
    version: str
    group: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    object_uid: str = ""
    """Of the object, by which a decision is matched with what lives; empty before it has one."""
    digest: str = ""
    """Of the `spec` of a Pod that somebody creates themselves, for the same
    (`core.kubernetes.spec_digest`); empty for all else, and in records of earlier releases."""
    dry_run: bool = False


class AccessAnswer(DocumentPart, frozen=True):
    """One answer to "may this subject use this profile here?"."""

    subject: str
    profile: str
    namespace: str
    """Where it was asked; empty for the right in all namespaces."""
    allowed: bool


class TriedProfile(DocumentPart, frozen=True):
    """A profile that was tried, and what it lacks."""

    profile: str
    usable: bool | None = None
    """Whether all subjects may use it; None where nobody was asked."""
    lacks: list[str] = []
    """Privileges; at most MOST_NEEDS."""
    more_lacks: int = 0
    """How many are not in `lacks`."""


class TracedRoot(DocumentPart, frozen=True):
    """The workload that somebody submitted and that a controller made the object for."""

    kind: str
    name: str
    uid: str
    requester: str = ""
    """`Subject.label` of who submitted it or last changed its templates; empty where not noted."""
    profile: str = ""
    """The profile that is noted on it; empty without one."""


class CountedSignal(DocumentPart, frozen=True):
    """A signal of risk that counted."""

    rule: str
    points: int
    path: str = ""
    reason: str = ""


class Isolated(DocumentPart, frozen=True):
    """What decided about the sandbox."""

    mode: str
    """The strictest of namespace, profile and root's profile: `never`, `by-risk`, `required`."""
    mode_by: ModeSource | None = None
    """Who set the mode; absent for `never`."""
    score: int = 0
    threshold: int = 0
    asked: bool = False
    """Whether its author asked for a sandbox."""
    excused: bool = False
    """Whether a PolicyException took away what the mode demands."""
    identity: bool = False
    """Whether the risk of an identity demanded it, and nothing else did."""
    signals: list[CountedSignal] = []
    """The heaviest first; each rule once."""


class Revisions(DocumentPart, frozen=True):
    """What the decision depended on, one revision of each."""

    policy: str = ""
    profiles: str = ""
    risk: int = 0
    """Version of the risk snapshot; 0 where nobody was asked for risk."""
    risk_table: str = ""
    """Digest of the risk table."""


class Durations(DocumentPart, frozen=True):
    """Milliseconds."""

    total: float = 0.0
    evaluation: float = 0.0
    access: float = 0.0


class DecisionDocument(DocumentPart, frozen=True):
    """One decision, complete: who asked for what, what was said, and all that it depended on."""

    format: int
    id: str
    """UUIDv7. Its time is the decision's."""
    time: str
    """RFC 3339, UTC, milliseconds."""
    cluster: str
    """The installation's id of the cluster; ids are unique within one."""
    source: DecisionSource
    request: Asked
    requester: str
    """`Subject.label`, or the user name where the operator chose names."""
    verdict: Verdict
    allowed: bool
    instance: str = ""
    """Name of the Pod of the gate that took it; empty where the gate does not know its own, in
    sweeps, and in records of earlier releases."""
    requester_kind: str = ""
    """`entra-human`, `human`, `service-account`, `node`, `controller`, `pipeline`, `component` or
    `anonymous`; empty in records of earlier releases."""
    root: TracedRoot | None = None
    """Of what a controller made: where it comes from, which names the human who asked."""
    traced: str = ""
    """Of what a controller made: `noted`, `unnoted` (its root has no note: older than the
    installation, or of a kind without a webhook) or `gone` (its owner is not there)."""
    subjects: list[str] = []
    """Whose rights counted, as `requester`."""
    mode: str = "enforce"
    if_enforced: IfEnforced = ""
    """Where the mode is not `enforce`: what that would make of the request; empty in records of
    earlier releases, and where it could not be judged."""
    profile: str | None = None
    named: Named | None = None
    """The one profile that it was to be judged by, and the field that names it."""
    exceptions: list[str] = []
    """`name@uid` of the PolicyExceptions that were used: what they excuse is not missing."""
    break_glass: list[str] = []
    """`name@uid` of the BreakGlasses that were open and made warnings of its refusal."""
    ceiling: list[str] | None = None
    """The profiles that no right exceeds in the namespace; None without a ceiling."""
    left_alone: str = ""
    """Why the object was not judged, if it was not."""
    error_kind: str | None = None
    reason: str = ""
    field: str = ""
    findings: list[Finding] = []
    more_findings: int = 0
    """How many findings are not in `findings`."""
    needs: list[Need] = []
    more_needs: int = 0
    tried: list[TriedProfile] = []
    """In the order of choice: those that cover all, then the closest."""
    more_tried: int = 0
    access_reviews: list[AccessAnswer] = []
    """At most MOST_ACCESS."""
    more_access_reviews: int = 0
    patches: list[dict[str, Any]] = []
    """JSONPatch (RFC 6902) that the mutating webhook answered with."""
    more_patches: int = 0
    sandbox: str | None = None
    """The RuntimeClass that it must run with; None where any will do."""
    isolation: Isolated | None = None
    """How that was decided; None where nobody may ask for a sandbox."""
    risk: list[AssessedRisk] = []
    """The strictest first; at most `core.decision.decision.MOST_ASSESSED`."""
    more_risk: int = 0
    behaviour: list[str] = []
    """What the people behind it did that they had not done before: `new-namespace` and so on."""
    weight_stores: list[str] = []
    """Names of the WeightStores that its Pods reach."""
    grants: list[str] = []
    """`namespace/name@uid` of the AccessGrants under which they do."""
    running: Running | None = None
    """Of a sweep: what the Pod shows of itself."""
    sweep: str = ""
    """Id of the sweep, from which and the object's UID this one's follows
    (`core.decision.sweep_document.sweep_decision_id`); empty of a review, and in records of earlier
    releases."""
    revisions: Revisions = Revisions()
    durations: Durations = Durations()
    projection: str = ""
    """`sha256:` and the digest of the projection, which is stored once; empty without one."""
    context: str = ""
    """The same of what `judge` sees of the request (`admission.evidence`), which is stored beside
    the projections; empty in records of earlier releases."""
    fields: str = ""
    """The same of the fields that a site's rules read; empty where they read none."""
    caller_known: bool = False
    """Whether the caller that brought the review proved to be kube-apiserver."""
    cut: dict[str, int] = {}
    """Of a decision that is too large for a record: how many entries a list lacks, by its name,
    where no `more…` counts them; and of `texts`, how many are shortened. They end in `…`."""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(DecisionDocument)


def encode_document(document: DecisionDocument) -> bytes:
    """Return the document as JSON."""
    return _ENCODER.encode(document)


def decode_document(content: bytes) -> DecisionDocument:
    """Read a document of this format, the one before or the one after.

    Raises:
        ValueError: it is none; the message names the field.
    """
    document = _DECODER.decode(content)
    require_format(document.format, FORMAT)
    return document


@cache_short_text(512, _REMEMBERED_BYTES)
def projection_digest(projection: bytes) -> str:
    """Name a projection by its content; those of a gang, which are the same, are hashed once."""
    return f"sha256:{hashlib.sha256(projection).hexdigest()}"


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
    instance: str = "",
) -> DecisionDocument:
    """Put a decision and its request into a document; `digest` is its projection's. Pure.

    `context` and `fields` are the digests of what else the policies saw; `instance` is the gate's.
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
            digest=_digest_of(source, request, decision),
            dry_run=request.dry_run,
        ),
        requester=requester,
        instance=instance,
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
        sandbox=(decision.sandbox.runtime or None) if decision.sandbox else None,
        isolation=_record_sandbox(decision.sandbox) if decision.sandbox else None,
        risk=list(evidence.risk[:MOST_ASSESSED]),
        more_risk=max(len(evidence.risk) - MOST_ASSESSED, 0),
        behaviour=list(evidence.behaviour),
        weight_stores=list(evidence.weight_stores),
        grants=list(evidence.grants),
        running=evidence.running,
        sweep=evidence.sweep,
        revisions=_revisions(decision, evidence),
        durations=Durations(
            total=round(seconds * 1000, 3),
            evaluation=round(evidence.evaluation_seconds * 1000, 3),
            access=round(evidence.access_seconds * 1000, 3),
        ),
        projection=digest,
        context=context,
        fields=fields,
        caller_known=request.authenticated,
    )


def _digest_of(source: DecisionSource, request: Request, decision: Decision) -> str:
    """Return the digest by which the Pod is known again that somebody creates themselves."""
    is_pod = request.kind.kind == "Pod" and not request.kind.group and not request.subresource
    created = request.operation is Operation.CREATE and source == "validate" and decision.allowed
    if not (is_pod and created) or request.dry_run or decision.evidence.traced:
        return ""
    if isinstance(request.submitted, DecodedPod):
        return digest_of_spec(request.submitted.spec())
    return spec_digest(request.object) if request.object is not None else ""


def _record_sandbox(decided: SandboxDecision) -> Isolated:
    """Return what is recorded of a decision; that of a gang is made once."""
    length = sum(len(each.path) + len(each.reason) for each in decided.signals)
    return (_remembered_isolated if length <= _REMEMBERED_BYTES else _isolated)(decided)


def _isolated(decided: SandboxDecision) -> Isolated:
    return Isolated(
        mode=decided.mode.value,
        mode_by=decided.mode_by,
        score=decided.score,
        threshold=decided.threshold,
        asked=decided.asked,
        excused=decided.excused,
        identity=decided.identity,
        signals=[
            CountedSignal(
                rule=each.rule,
                points=each.points,
                path=each.path[:MOST_TEXT],
                reason=each.reason,
            )
            for each in decided.signals[:MOST_FINDINGS]
        ],
    )


_remembered_isolated = lru_cache(maxsize=256)(_isolated)


def recorded_sandbox(document: DecisionDocument) -> SandboxDecision | None:
    """Return what a document says was decided about the sandbox; None where nobody asked for one.

    A mode that this release does not know counts as `required`, as the word of a label does.
    """
    was = document.isolation
    if was is None:
        return None
    known = any(was.mode == mode.value for mode in SandboxMode)
    return SandboxDecision(
        mode=SandboxMode(was.mode) if known else SandboxMode.REQUIRED,
        mode_by=was.mode_by,
        asked=was.asked,
        score=was.score,
        threshold=was.threshold,
        signals=tuple(WeighedSignal(s.rule, s.points, s.path, s.reason) for s in was.signals),
        runtime=document.sandbox or "",
        excused=was.excused,
        identity=was.identity,
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
