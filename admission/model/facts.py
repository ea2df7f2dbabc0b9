"""The facts of one request: all that the checks may look at, known before they run."""

from collections.abc import Callable, Mapping

import msgspec

from admission.model.candidates import Candidates
from admission.model.outcome import Outcome
from core.approvals.break_glass import BreakGlass
from core.approvals.exceptions import PolicyException
from core.base import names
from core.decision.decision import AccessReview, AssessedRisk, Finding, Need
from core.decision.namespaces import Mode, Namespace
from core.decision.request import Request
from core.decision.requester_notes import RootWorkload
from core.kubernetes.pod import Pod
from core.kubernetes.pod_templates import PodTemplate
from core.people.subject import Subject
from core.profiles.container_profiles import ProfileSet
from core.risk.model import AssessedIdentity, Effect, OperationClass
from core.sandbox.capacity import NodePool
from core.sandbox.decision import Feature, SandboxDecision, Signal
from core.weights.access_paths import AccessPath, UngrantedPath
from core.weights.grant_coverage import NOBODY, GrantAsker
from identity.requester_note_rules import NoteChange
from policies.bundle.format import Rule
from policies.projection.model import NO_STANDINGS, Standings
from sandbox.runtime_choice import Refusal


class NamedProfile(msgspec.Struct, frozen=True, gc=False):
    """The one profile by which an object is to be judged."""

    name: str
    path: str
    """The field that names it, from the object's root; empty where a person asked for it."""
    whoever_asks: bool = False
    """Whether no right and no ceiling matters (`sallyport review --profile`)."""
    of_namespace: bool = False
    """Whether the namespace names it for all."""


class SandboxPart(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A Pod, or a template of one, by which it is decided whether it runs in a sandbox."""

    template: PodTemplate | None = None
    """None for the Pod itself."""
    named: str | None
    """The RuntimeClass that it names; None where it names none."""
    asked: bool
    """Whether its author asks for a sandbox."""
    needs: tuple[Need, ...]
    signals: tuple[Signal, ...] = ()
    features: tuple[Feature, ...] = ()

    def place(self, path: str) -> str:
        """Return a path of the Pod as one from the object's root."""
        return self.template.place(path) if self.template else path


class SandboxOutcome(msgspec.Struct, frozen=True, gc=False):
    """What was decided about one Pod, or one template."""

    part: SandboxPart
    decision: SandboxDecision
    refusals: tuple[Refusal, ...] = ()

    @property
    def lacks(self) -> str:
        """The RuntimeClass that it must have and has not; empty where it needs none."""
        lacking = self.part.named is None and not self.refusals
        return self.decision.runtime if lacking else ""


class SandboxFacts(msgspec.Struct, frozen=True, gc=False):
    """What is known of an object of which somebody may ask that its Pods run in a sandbox."""

    decided: tuple[SandboxOutcome, ...]
    """About each part: worked out once, since every check and patch goes by it."""
    is_root: bool
    """Whether nothing owns the object."""
    chosen: Outcome
    """What the check of profiles says: the mode depends on it, and it is worked out once."""
    pools: Mapping[str, NodePool] = {}
    """What is known of the nodes of RuntimeClasses, where somebody may be warned that they are
    full."""


class PodFacts(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What is known of a Pod, or of another object that carries privileges."""

    needs: tuple[Need, ...]
    privileges: frozenset[str]
    """The different ones among what is needed."""
    subjects: tuple[Subject, ...]
    """All of them must have the `use` of the profile."""
    namespace: str
    """Where they must have it; empty for the right in all namespaces."""
    is_complete: bool = True
    """Whether it says all of the Pods that it makes."""
    candidates: Candidates
    """Profiles that may be tried, and what each lacks."""
    denials: tuple[Finding, ...] = ()
    """What no profile makes good."""
    entered: str = ""
    """The Pod that a connection enters."""
    named: NamedProfile | None = None
    usable: Mapping[str, bool] = {}
    """For each profile that was asked about: whether all subjects may use it."""
    access: tuple[AccessReview, ...] = ()
    """The answers of access reviews, as they came."""
    exceptions: tuple[PolicyException, ...] = ()
    """What was used of what is excused."""
    excepted_needs: tuple[Need, ...] = ()
    """What it needs besides `needs`, and has by an exception."""
    sandbox: SandboxFacts | None = None
    """None where nobody may ask for a sandbox."""
    projection: bytes = b""
    """What the policies were evaluated on."""
    evaluation_seconds: float = 0.0
    access_seconds: float = 0.0


class PolicyInputFacts(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What policies are shown of a request: JSON, kept for the record (`admission.evidence`)."""

    projections: tuple[bytes, ...] = ()
    """Of its Pods."""
    contexts: tuple[bytes, ...]
    """Of its Pods, then of the object itself where rules are asked about it; without names of
    groups."""
    parts: tuple[bytes, ...] = ()
    """The fields of its Pods that rules read; empty where they read none."""
    own: bytes = b""
    """The object's own; empty where no rule is asked about it, or an update leaves them as they
    were."""
    declared: Mapping[str, bytes] = {}
    """Which fields those are, by kind."""


class SiteRuleFacts(msgspec.Struct, frozen=True, gc=False):
    """What a site's rules say of an object, after exceptions."""

    denied: tuple[Finding, ...] = ()
    warned: tuple[Finding, ...] = ()
    exceptions: tuple[PolicyException, ...] = ()
    """What was used of what is excused."""


class NamespaceLabelFacts(msgspec.Struct, frozen=True, gc=False):
    """What is known of a change to the guarded marks of a Namespace."""

    changed: tuple[str, ...]
    """Paths of the marks that the request sets, changes or takes away."""
    exempt: bool
    """Whether the requester has the verb `exempt` on the Namespace."""
    broken: str = ""
    """Why its IDs cannot be read; empty where they can, or stay as they were."""


class GuardFacts(msgspec.Struct, frozen=True, gc=False):
    """What is known of a change to an exception, or to an approval."""

    recorded: Mapping[str, str]
    """Annotations as they must be; an empty one must not be there."""
    found: Mapping[str, str]
    """The same as they are."""
    findings: tuple[Finding, ...] = ()
    """What else speaks against the request."""


class EgressFacts(msgspec.Struct, frozen=True, gc=False):
    """What a request does to what holds egress: labels of Pods, and policies."""

    findings: tuple[Finding, ...] = ()
    """What speaks against the request, whatever its namespace's mode is."""
    headline: str = ""
    advice: tuple[str, ...] = ()
    due: Mapping[str, str] = {}
    """Labels that the mutating pass sets."""
    beside: tuple[Finding, ...] = ()
    """Warnings: Pods that no policy holds."""


class FieldFacts(msgspec.Struct, frozen=True, gc=False):
    """Fields of an object that the table does not know."""

    unknown: tuple[Finding, ...]
    """Warnings, or refusals where that is the rule."""


class RiskFacts(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What is known of the identities of a request, and what the risk table says of each."""

    operation: OperationClass
    assessed: tuple[AssessedIdentity, ...] = ()
    """The strictest first; more than one of an identity of which more than one standing holds."""
    recorded: tuple[AssessedRisk, ...] = ()
    """The same as it is recorded: made once, of all Pods that share it."""
    seen_at: Mapping[str, str] = {}
    """By `AssessedIdentity.who` of what a Pod can sign in as: the field that shows it."""
    said: Mapping[str, str] = {}
    """What the site tells people, by the row that has words of its own."""
    meanwhile: tuple[OperationClass, ...] = ()
    """Where it is refused: what the table still lets all of these identities do here."""
    standings: Standings = NO_STANDINGS
    """What policies see of them."""
    behaviour: tuple[str, ...] = ()
    """What the people behind it do that is unusual."""
    version: int = 0
    """Of the snapshot."""
    table: str = ""
    """The table's digest."""

    requires_sandbox: bool = False
    """Whether the Pods must run in a sandbox for it."""
    has_findings: bool = False
    """Whether there is anything to be said of it."""

    @property
    def effect(self) -> Effect:
        """The strictest."""
        return self.assessed[0].effect if self.assessed else Effect.ALLOW


class OriginFacts(msgspec.Struct, frozen=True, gc=False):
    """Where what a configured controller makes comes from."""

    root: RootWorkload | None
    """None where its owner is not there any more."""
    gaps: frozenset[str] | None = frozenset()
    """What the profile noted on the root does not cover of what is needed; None: it is gone."""


class WeightFacts(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What is known of a request whose Pods reach model weights."""

    ungranted: tuple[UngrantedPath, ...] = ()
    """Ways that no live grant covers."""
    around: tuple[AccessPath, ...] = ()
    """Ways that go past the private endpoints."""
    findings: tuple[Finding, ...] = ()
    """What speaks against a volume of weights, or against an object of theirs."""
    grants: tuple[str, ...] = ()
    """`AccessGrant.id` of those that cover the rest."""
    noted: str = ""
    """What is to be noted of them on a workload."""
    stores: tuple[str, ...] = ()
    """Names of the stores that are reached."""
    namespace: str = ""
    asker: GrantAsker = NOBODY


class Facts(msgspec.Struct, frozen=True, gc=False):
    """Everything a decision is made of besides the request: one revision of each."""

    profiles: ProfileSet
    policy_revision: str
    rules: Mapping[str, Rule]
    """What the METADATA of the policies in force says, by rule id."""
    mode: Mode = Mode.ENFORCE
    namespace: Namespace | None = None
    pod: PodFacts | None = None
    namespace_labels: NamespaceLabelFacts | None = None
    notes: NoteChange | None = None
    """What the request does to the notes of an object; None where nothing is to be said of it."""
    origin: OriginFacts | None = None
    """None where no configured controller makes the object."""
    noted_profile: str | None = None
    """The profile noted on a Pod that is entered, or where one that runs says it comes from: nobody
    checked that it does, so it may demand a sandbox and no more."""
    guard: GuardFacts | None = None
    egress: EgressFacts | None = None
    """None where nothing is to be said of it."""
    risk: RiskFacts | None = None
    """None where the installation asks nobody for risk, or the request is not one that it is asked
    of."""
    weights: WeightFacts | None = None
    """None where nothing reaches model weights."""
    fields: FieldFacts | None = None
    """None where the table knows each field."""
    site_rules: SiteRuleFacts | None = None
    """None where no rule of a site says anything."""
    policy_inputs: PolicyInputFacts | None = None
    """None where policies are shown no Pod, and nothing to a site's rules."""
    break_glasses: tuple[BreakGlass, ...] = ()
    """What makes warnings of all that would refuse the request."""
    remarks: tuple[str, ...] = ()
    """What the person who is refused should know besides: exceptions that are not in force."""
    object_uid: str = ""
    """Of the object; empty before it has one."""
    left_alone: str = ""
    """Why the object is not judged, if it is not."""

    @property
    def may_ask_for_sandbox(self) -> bool:
        """Whether a profile, the namespace or somebody's risk may ask that Pods be sandboxed."""
        if self.profiles.sandboxes or (self.risk is not None and self.risk.requires_sandbox):
            return True
        return self.namespace is not None and names.SANDBOX_LABEL in self.namespace.labels

    def weighs(self, *pods: Pod) -> bool:
        """Return whether anybody, also an author, may ask that one of these be sandboxed."""
        return self.may_ask_for_sandbox or any(map(asks_for_sandbox, pods))

    @property
    def root(self) -> RootWorkload | None:
        """The workload that a configured controller makes the object for, where it is there."""
        return self.origin.root if self.origin else None


CheckRun = Callable[[Request, Facts], list[Outcome]]
"""Runs the chain of checks (`admission.chain.run_checks`)."""


def asks_for_sandbox(pod: Pod) -> bool:
    """Return whether a Pod's author asks that it run in a sandbox.

    Any word of the label counts as `required`, so that none asks out.
    """
    labels = pod.metadata.labels
    return labels is not None and names.SANDBOX_LABEL in labels
