"""The outcome of a review: needs, findings, the decision made of them, and its evidence."""

import enum
from typing import Any, Final, Literal

import msgspec

from core.base.document_part import DocumentPart
from core.base.times import second_text
from core.decision.requester_notes import RootWorkload
from core.people.subject import Subject
from core.risk.model import AssessedIdentity
from core.sandbox.decision import SandboxDecision

MOST_ASSESSED: Final = 32
"""Identities kept; a Pod may name many client ids."""


class AssessedRisk(DocumentPart, frozen=True):
    """What the risk table said of one identity that counted."""

    role: str
    """`requester`, `author` (who submitted what a controller makes it for) or `workload`."""
    who: str
    """`Subject.label`; of a workload `client:` and the client id."""
    standing: str
    """`clean`, `low`, `medium`, `high`, `confirmed-compromised`, `stale` …"""
    effect: str
    """`allow`, `warn`, `sandbox` or `deny`."""
    row: str
    """The row of the table that decided."""
    events: list[str] = []
    """Ids of the detections or events that it rests on."""
    event_types: list[str] = []
    age_s: float | None = None
    """Seconds since what was known of such identities was complete; absent where it never was."""
    since: str = ""
    """Of the risk, RFC 3339; empty where it is not at risk."""


def record_risk(one: AssessedIdentity) -> AssessedRisk:
    """Return what is kept of what the risk table says of an identity."""
    return AssessedRisk(
        role=one.role.value,
        who=one.who,
        standing=one.standing.value,
        effect=one.effect.value,
        row=one.row,
        events=list(one.events),
        event_types=list(one.event_types),
        age_s=None if one.age_s is None else round(one.age_s, 1),
        since=second_text(one.since) + "Z" if one.since else "",
    )


IfEnforced = Literal["", "admitted", "refused"]
"""Where a namespace does not enforce: what would become of the request if it did. Empty where it
enforces, where it could not be judged, and in records of earlier releases."""

Patch = dict[str, Any]
"""An operation of a JSONPatch (RFC 6902)."""


class Need(msgspec.Struct, frozen=True, gc=False):
    """One privilege that an object needs, and the field that makes it so."""

    rule: str
    """Rule id: the Rego package path without its first part, `privileges/host/network`."""
    privilege: str
    path: str
    """From the submitted object's root: `spec.containers[0].securityContext.privileged`."""
    container: str | None = None


class Denial(msgspec.Struct, frozen=True, gc=False):
    """Something of an object that no profile and no right makes good."""

    rule: str
    """Rule id: `rules/runtime/annotations`."""
    path: str
    value: str = ""
    """What the rule's message speaks of, such as an annotation's name."""
    message: str = ""
    """The rule's own words, where it has some for each thing that it denies."""
    container: str | None = None


class Action(enum.Enum):
    """What a finding does to the request."""

    DENY = "deny"
    WARN = "warn"


class Verdict(enum.Enum):
    """How a review ends. ERROR is a refusal because nobody could judge, never a denial."""

    ALLOW = "allow"
    WARN = "warn"
    DENY = "deny"
    ERROR = "error"


class Finding(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One thing that is wrong, where, and how to put it right."""

    rule: str
    action: Action
    path: str
    message: str
    remedy: str
    privilege: str | None = None
    container: str | None = None
    covered_by: list[str] = []


class Named(msgspec.Struct, frozen=True, gc=False):
    """The one profile that an object was to be judged by."""

    profile: str
    path: str = ""
    """The field that names it; empty where a person asked for it."""


class ProfileAttempt(msgspec.Struct, frozen=True, gc=False):
    """A profile that was tried: what it lacks, and whether it may be used (None: not asked)."""

    profile: str
    lacks: frozenset[str] = frozenset()
    usable: bool | None = None


class AccessReview(msgspec.Struct, frozen=True, gc=False):
    """One access review's answer: whether `subject` may use `profile`."""

    subject: Subject
    profile: str
    allowed: bool


class TraceOutcome(enum.Enum):
    """What became of tracing what a controller made to its root."""

    NOTED = "noted"
    UNNOTED = "unnoted"
    """Its root has no requester note: the namespace's choice decided."""
    GONE = "gone"
    """Its owner is not there any more."""


class Running(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a Pod that runs shows of itself; nobody vouches for it."""

    workload: str = ""
    """What made it, `Deployment/web` or `Job/pretrain`; empty where it names nothing."""
    runtime: str = ""
    """Its RuntimeClass; empty without one."""


class Evidence(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a decision was made of, kept for the record and for `sallyport explain`."""

    needs: tuple[Need, ...] = ()
    subjects: tuple[Subject, ...] = ()
    named: Named | None = None
    ceiling: tuple[str, ...] | None = None
    left_alone: str = ""
    tried: tuple[ProfileAttempt, ...] = ()
    more_tried: int = 0
    access: tuple[AccessReview, ...] = ()
    namespace: str = ""
    """Where the rights were asked; empty for all namespaces."""
    projection: bytes = b""
    """JSON that the policies were evaluated on; empty where they were not."""
    context: bytes = b""
    """JSON of what `judge` sees of the request; empty where no Pod and no site's rule is judged."""
    fields: bytes = b""
    """JSON of what a site's rules see of the object besides; empty where they read nothing."""
    object_uid: str = ""
    requester_kind: str = ""
    """What sort of identity asked: the values of `identity.subjects.SubjectKind`."""
    root: RootWorkload | None = None
    """Where what a controller made comes from."""
    traced: TraceOutcome | None = None
    exceptions: tuple[str, ...] = ()
    """`name@uid` of the PolicyExceptions without which it would need more."""
    break_glass: tuple[str, ...] = ()
    """`name@uid` of the BreakGlasses without which it would be refused."""
    running: Running | None = None
    """Of a sweep."""
    sweep: str = ""
    """Its id."""
    risk: tuple[AssessedRisk, ...] = ()
    """What the risk table says of the identities that count, as it is recorded."""
    behaviour: tuple[str, ...] = ()
    """What they do that is unusual: `core.risk.model.Behaviour`'s words."""
    risk_version: int = 0
    """Of the snapshot; 0 where nobody was asked for risk."""
    risk_table: str = ""
    """Digest of the table."""
    weight_stores: tuple[str, ...] = ()
    """Names of the WeightStores that it reaches."""
    grants: tuple[str, ...] = ()
    """`namespace/name@uid` of the AccessGrants under which it reaches them."""
    evaluation_seconds: float = 0.0
    access_seconds: float = 0.0


class WhenUnrecorded(enum.Enum):
    """What becomes of a request whose decision cannot be recorded."""

    REFUSE = "refuse"
    ADMIT = "admit"
    """It is admitted, and counted."""


class Decision(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The outcome of one review, complete: nothing else is consulted to answer it."""

    id: str
    """UUIDv7, in the message, the audit annotation and the log."""
    verdict: Verdict
    allowed: bool
    """What the caller is told. A DENY or ERROR is allowed only in a namespace that says so."""
    message: str = ""
    """For the person who asked; empty when there is nothing to say."""
    warnings: list[str] = []
    findings: list[Finding] = []
    answered: list[Finding] | None = None
    """What the caller is told of the findings, where it is not told all (`admission.answers`)."""
    profile: str | None = None
    """The profile it was admitted under, or was judged by."""
    mode: str = "enforce"
    if_enforced: IfEnforced = ""
    error_kind: str | None = None
    reason: str = ""
    """With Verdict.ERROR: why nobody could judge."""
    field: str = ""
    """With Verdict.ERROR: the field of the object that is at fault, if one is."""
    policy_revision: str = ""
    profiles_revision: str = ""
    subjects: list[str] = []
    """Whose rights were asked, as `Subject.label`."""
    recorded: dict[str, str] = {}
    """Annotations that the mutating webhook sets, or takes away where they are empty."""
    filled: list[Patch] = []
    """What the mutating webhook fills in besides: the profile's defaults, the RuntimeClass."""
    sandbox: SandboxDecision | None = msgspec.field(default=None, name="isolation")
    """What was decided about its sandbox; None where nobody may ask for one."""
    when_unrecorded: WhenUnrecorded = WhenUnrecorded.REFUSE
    evidence: Evidence = Evidence()
