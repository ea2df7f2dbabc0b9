"""Gathers the facts of a request from the cluster and the engine; it decides nothing.

For a Pod it reads memory, access reviews that are not cached and, for what a controller made,
owners that are not remembered. A connection's Pod and a binding's role are read from the cluster
each time. READ_STEPS and EVALUATED_STEPS list what is gathered, in which order, from what. At 7,500
nodes the memory holds the labels of 2,000 namespaces (about 2 MB), the profiles (300: about 1 MB)
and what is kept of PersistentVolumes (20,000: about 6 MB).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

import msgspec

from admission.approvals.break_glass import BreakGlassGatherer
from admission.approvals.exceptions import ExceptionGatherer, ExceptionLookup
from admission.chain import run_checks
from admission.egress.network_policies import NetworkPolicyGatherer
from admission.egress.pod_labels import PodLabelGatherer
from admission.evidence import facts_from_record
from admission.fields.facts import FieldGatherer
from admission.guarded_objects import GuardedObjects
from admission.model.candidates import candidates, find_privileges
from admission.model.facts import Facts, PodFacts
from admission.model.judged_object import LeftAlone, Reading
from admission.model.messages import denial_finding
from admission.objects.connect_requests import ConnectRequestReader, place_in_pod
from admission.objects.evaluation import FairEngine, PartJudge, PolicyContexts, evaluate
from admission.objects.namespace_labels import add_namespace_facts
from admission.objects.rbac_changes import FILLED, RightsReader, is_filled_as_before
from admission.objects.reader import (
    JUDGED_KINDS,
    UNCHANGED,
    ObjectReader,
    changes_rights,
    is_connect_or_credential,
    is_pod_as_before,
)
from admission.objects.size_limits import (
    LARGE_VALUES,
    MAX_SKIPPED_VALUES,
    bytes_of_objects,
    drop_status,
    problem_of_size,
)
from admission.objects.workloads import TOO_LARGE
from admission.profiles.access_reviews import ProfileRights, ask_usable
from admission.requester.facts import (
    RequesterGatherer,
    keeps_profile,
    named_profile,
    namespace_profile,
    would_admit,
)
from admission.risk.facts import RiskGatherer
from admission.sandbox.facts import SandboxGatherer
from admission.site_rules.facts import SiteRuleGatherer
from admission.weights.facts import WeightGatherer
from core.base.errors import InvalidObjectError
from core.base.fair_queue import FairQueue, Flow
from core.cluster import Cluster
from core.decision.document import DecisionDocument
from core.decision.namespaces import Mode, Modes, Namespace, WhenFieldUnknown
from core.decision.request import WRITES, Request
from core.kubernetes.workload_kinds import may_carry
from core.people.subject import Subject
from core.people.two_person import ORDINARY_TERMS, ApprovalTerms
from egress.limits.settings import DEFAULT_INTENT_SETTINGS, IntentSettings
from identity.risk.standings import DEFAULT_FRESHNESS, Freshness
from identity.subjects import Controllers, SubjectKind, kind_of
from policies.engine.interface import Engine, PolicyAnswer
from sandbox.runtime_choice import DEFAULT_SANDBOX_SETTINGS, SandboxSettings

_SEATS: Final = 2
"""As many evaluations run in threads (`EvaluationLimits.concurrent`)."""

_MOST_WAITING: Final = 256
"""Of one namespace."""


@dataclass(slots=True)
class EvaluatedObject:
    """An object that the policies were asked about, and the facts of it so far."""

    request: Request
    reading: Reading
    facts: Facts
    answer: PolicyAnswer
    """What it needs, and what is denied to everyone; with paths from the request's object."""
    parts: tuple[PartJudge, ...]
    """Each Pod, or template of one, to ask a site's rules about."""
    projection: bytes
    began: float
    """Of the evaluation, as `time.perf_counter`."""
    harmless: bool = False
    """Whether it needs nothing, so that no more is asked."""


@dataclass(frozen=True)
class Gatherer:
    """Gathers the facts of a request, in the order of READ_STEPS and EVALUATED_STEPS."""

    cluster: Cluster
    engine: Engine
    controllers: Controllers
    terms: ApprovalTerms = ORDINARY_TERMS
    """Whose approvals never count."""
    pipelines: frozenset[str] = frozenset()
    """User names of pipelines."""
    sandbox_settings: SandboxSettings = DEFAULT_SANDBOX_SETTINGS
    """Which sandboxes there are, and when what runs must run in one."""
    intent_settings: IntentSettings = DEFAULT_INTENT_SETTINGS
    """What the installation says of egress."""
    freshness: Freshness = DEFAULT_FRESHNESS
    """How old what is known of risk may be."""
    when_field_unknown: WhenFieldUnknown = WhenFieldUnknown.WARN
    """The rule of namespaces without the label."""
    clock: Callable[[], float] = time.time
    """Unix seconds, by which exceptions expire."""
    seats: FairQueue = field(default_factory=lambda: FairQueue(_SEATS, _MOST_WAITING))
    """Of objects that take long to read or to evaluate: whoever submits many waits for himself."""

    def kind_of(self, subject: Subject) -> SubjectKind:
        """Say what sort of identity a subject is."""
        return kind_of(subject, self.controllers.kinds, self.pipelines)

    def holds(self, request: Request, namespace: Namespace | None) -> bool:
        """Return whether a request that cannot be judged is refused in every mode.

        What opens egress is refused in all of them, so what nobody could look at is too.
        """
        if self._network_policies.judges(request):
            return namespace is None or self.intent_settings.enrolment.closure(namespace).closes
        return self.pod_labels.holds(request, namespace)

    def judges(self, request: Request) -> bool:
        """Return whether the privileges of the request's object are judged."""
        if is_connect_or_credential(request):
            return True
        read = request.operation in WRITES and self._reader.judges(request)
        return read or (request.namespace != "" and self._site_rules.judges(request))

    async def namespace_of(self, request: Request) -> Namespace | None:
        """Return the namespace whose mode governs a request; None where no mode does.

        Raises:
            NotSyncedError: the namespace is unknown.
        """
        if not self.judges(request):
            return None
        if not request.namespace and (request.kind.group, request.kind.kind) != ("", "Pod"):
            return None
        return await self.cluster.namespace(request.namespace)

    async def gather(self, request: Request, namespace: Namespace | None, mode: Mode) -> Facts:
        """Return the facts of a request.

        Raises:
            CannotJudgeError: something that must be known cannot be.
            InvalidObjectError: the object does not have its kind's shape.
        """
        facts = Facts(
            self.cluster.profiles(), self.engine.revision, self.engine.rules, mode, namespace
        )
        whole = request
        if LARGE_VALUES < request.value_count <= MAX_SKIPPED_VALUES:
            request = await drop_status(request)
        if request.value_count and self._must_be_read(request):
            if problem := problem_of_size(request):
                if why := _why_left_alone_unread(request):
                    return msgspec.structs.replace(facts, left_alone=why)
                raise InvalidObjectError(request.kind.kind, "object", problem)
        elif request.value_count > MAX_SKIPPED_VALUES:
            return msgspec.structs.replace(facts, left_alone=TOO_LARGE)
        facts = await self._of_kind(request, facts)
        if not self._site_rules.judges(request):
            return facts
        engine = self._fair_engine(request, facts)
        facts = await self._site_rules.of_object(whole, facts, engine)
        return await self._break_glass.facts_of(request, facts)

    def _must_be_read(self, request: Request) -> bool:
        """Return whether an object must be read whole; one of an unlisted kind only may be."""
        kind = request.kind.group, request.kind.kind
        return (
            kind in JUDGED_KINDS
            or not may_carry(*kind)
            or is_connect_or_credential(request)
            or changes_rights(request)
            or self._network_policies.judges(request)
            or self._site_rules.judges(request)
        )

    async def _of_kind(self, request: Request, facts: Facts) -> Facts:
        if is_connect_or_credential(request) or changes_rights(request):
            return await self._of_reading(request, facts, await self._read(request, facts))
        kind = request.kind.group, request.kind.kind
        if kind not in JUDGED_KINDS and self._network_policies.judges(request):
            facts = await self._network_policies.facts_of(request, facts)
            return await self._fields.facts_of(request, facts)
        if request.operation in WRITES or self._guarded_objects.judges(request):
            return await self._of_written(request, facts)
        left_alone = f"{request.operation.value} is not judged"
        return msgspec.structs.replace(facts, left_alone=left_alone)

    async def _of_written(self, request: Request, facts: Facts) -> Facts:
        if request.operation in WRITES and self._reader.judges(request):
            return await self._of_reading(request, facts, await self._read(request, facts))
        if self._guarded_objects.judges(request):
            guard = await self._guarded_objects.gather(request, facts)
            facts = msgspec.structs.replace(facts, guard=guard)
        elif (request.kind.group, request.kind.kind) == ("", "Namespace"):
            facts = await add_namespace_facts(self.cluster, request, facts)
            facts = await self._fields.facts_of(request, facts)
        else:
            left_alone = f"{request.kind.kind} is not a kind that is judged"
            facts = msgspec.structs.replace(facts, left_alone=left_alone)
        return await self._risk.of_guarded(request, facts)

    @cached_property
    def _guarded_objects(self) -> GuardedObjects:
        return GuardedObjects(self.cluster, self.terms, self.clock, self.intent_settings)

    @cached_property
    def pod_labels(self) -> PodLabelGatherer:
        """The gatherer of the labels by which egress policies know Pods."""
        return PodLabelGatherer(self.cluster, self.intent_settings, self.terms, self.clock)

    @cached_property
    def _network_policies(self) -> NetworkPolicyGatherer:
        return NetworkPolicyGatherer(self.cluster, self.intent_settings)

    @cached_property
    def _exception_lookup(self) -> ExceptionLookup:
        return ExceptionLookup(self.cluster, self.terms, self.clock, run_checks)

    @cached_property
    def _exceptions(self) -> ExceptionGatherer:
        return ExceptionGatherer(self._exception_lookup)

    @cached_property
    def _policy_contexts(self) -> PolicyContexts:
        return PolicyContexts(
            self.cluster, self.kind_of, self.clock, self.sandbox_settings.new_account_s
        )

    @cached_property
    def _sandbox(self) -> SandboxGatherer:
        return SandboxGatherer(self._exception_lookup, self._policy_contexts, self.sandbox_settings)

    @cached_property
    def _site_rules(self) -> SiteRuleGatherer:
        return SiteRuleGatherer(self.engine, self._policy_contexts, self._exception_lookup)

    @cached_property
    def _break_glass(self) -> BreakGlassGatherer:
        return BreakGlassGatherer(self.cluster, self.terms, self.clock, run_checks)

    @cached_property
    def _fields(self) -> FieldGatherer:
        return FieldGatherer(self.cluster, self.when_field_unknown)

    @cached_property
    def _reader(self) -> ObjectReader:
        return ObjectReader(self.cluster, self.controllers, self.engine.reads)

    @cached_property
    def _requester(self) -> RequesterGatherer:
        return RequesterGatherer(self.cluster, self.controllers)

    @cached_property
    def _connections(self) -> ConnectRequestReader:
        return ConnectRequestReader(self._reader)

    @cached_property
    def _rbac_changes(self) -> RightsReader:
        return RightsReader(self.cluster)

    @cached_property
    def _weights(self) -> WeightGatherer:
        return WeightGatherer(self.cluster, self.terms, self.clock)

    @cached_property
    def _risk(self) -> RiskGatherer:
        return RiskGatherer(self.cluster, self.freshness, self.clock)

    async def _read(self, request: Request, facts: Facts) -> Reading | LeftAlone:
        if is_connect_or_credential(request):
            return await self._connections.read(request, facts)
        if changes_rights(request):
            return await self._rbac_changes.read(request)
        if request.value_count <= LARGE_VALUES:
            return await self._reader.read(request, facts)
        async with self.seats.seat(_flow(request, facts), bytes_of_objects(request)):
            return await self._reader.read(request, facts)

    async def _of_reading(
        self, request: Request, facts: Facts, reading: Reading | LeftAlone
    ) -> Facts:
        for read_step in READ_STEPS:
            if request.value_count:
                await asyncio.sleep(0)  # A large object may be read by each: others go on between.
            facts = await read_step.gather(self, request, reading, facts)
        if not isinstance(reading, LeftAlone) and _sandboxed_by_risk_alone(reading, facts):
            reading = await self._read(request, facts)  # With what decides about a sandbox.
        if isinstance(reading, LeftAlone):
            return msgspec.structs.replace(facts, left_alone=reading.why)
        evaluated = await self._evaluate(request, reading, facts)
        for step in EVALUATED_STEPS:
            evaluated.facts = await step.gather(self, evaluated)
            if evaluated.harmless:
                break
        return evaluated.facts

    async def _evaluate(self, request: Request, reading: Reading, facts: Facts) -> EvaluatedObject:
        began = time.perf_counter()
        engine = self._fair_engine(request, facts)
        evaluation = await evaluate(engine, reading)
        answer = evaluation.answer
        if reading.entered:
            answer = place_in_pod(answer, reading.entered)
        if reading.gives:
            answer = await self._rbac_changes.without_own_rights(request, answer)
        parts = tuple([PartJudge(engine, each) for each in evaluation.parts])
        return EvaluatedObject(request, reading, facts, answer, parts, evaluation.projection, began)

    def _fair_engine(self, request: Request, facts: Facts) -> FairEngine:
        size = bytes_of_objects(request) if request.value_count else 0
        return FairEngine(self.engine, self.seats, _flow(request, facts), size)

    async def gather_notes(
        self, request: Request, reading: Reading | LeftAlone, facts: Facts
    ) -> Facts:
        """Add what notes say of who asked, and the owners that the object is traced to."""
        return await self._requester.facts_of(request, reading, facts)

    async def gather_pod_labels(
        self, request: Request, reading: Reading | LeftAlone, facts: Facts
    ) -> Facts:
        """Add the labels by which egress policies know Pods, and who changes them."""
        return await self.pod_labels.facts_of(request, reading, facts)

    async def gather_weights(
        self, request: Request, reading: Reading | LeftAlone, facts: Facts
    ) -> Facts:
        """Add the ways to model weights, and the grants that cover them."""
        return await self._weights.facts_of(request, reading, facts)

    async def gather_risk(
        self, request: Request, reading: Reading | LeftAlone, facts: Facts
    ) -> Facts:
        """Add the risk of who asks, who asked first, and of what the Pods sign in as."""
        if isinstance(reading, LeftAlone):
            return facts
        return self._risk.of_reading(request, reading, facts)

    async def gather_fields(
        self, request: Request, reading: Reading | LeftAlone, facts: Facts
    ) -> Facts:
        """Add the fields that nobody has judged."""
        return await self._fields.of_reading(request, reading, facts)

    async def gather_site_rules(self, evaluated: EvaluatedObject) -> Facts:
        """Add what a site's rules say, and what policies were shown."""
        return await self._site_rules.of_pods(
            evaluated.request, evaluated.reading, evaluated.parts, evaluated.facts
        )

    async def gather_profiles(self, evaluated: EvaluatedObject) -> Facts:
        """Ask which profiles the subjects may use: not where nothing is needed."""
        request, reading, facts, answer = (
            evaluated.request,
            evaluated.reading,
            evaluated.facts,
            evaluated.answer,
        )
        ended = time.perf_counter()
        if not (answer.needs or answer.denials or reading.always):
            evaluated.harmless = True
            speaks = facts.weights or (facts.risk and facts.risk.has_findings)
            return msgspec.structs.replace(
                facts, left_alone="" if speaks else "it needs no privilege"
            )
        named = named_profile(request, reading, facts)
        ceiling = None if named and named.whoever_asks else facts.namespace
        privileges = find_privileges(answer.needs, facts.rules)
        tried = candidates(facts.profiles, ceiling, privileges)
        rights = ProfileRights(self.cluster, reading.subjects, reading.namespace)
        usable = await ask_usable(named, tried, rights, facts.mode)
        if named and keeps_profile(facts, request) and not would_admit(named, tried, usable):
            named = namespace_profile(facts.namespace)
            usable |= await ask_usable(named, tried, rights, facts.mode)
        pod = PodFacts(
            needs=answer.needs,
            privileges=frozenset(privileges),
            subjects=reading.subjects,
            namespace=reading.namespace,
            is_complete=reading.is_complete,
            denials=tuple(denial_finding(denial, facts.rules) for denial in answer.denials),
            candidates=tried,
            entered=reading.entered,
            named=named,
            usable=usable,
            access=tuple(rights.heard),
            projection=evaluated.projection,
            evaluation_seconds=ended - evaluated.began,
            access_seconds=time.perf_counter() - ended,
        )
        origin = await self._requester.trace_gaps(request, reading, facts, privileges, tried)
        return msgspec.structs.replace(facts, object_uid=reading.uid, pod=pod, origin=origin)

    async def gather_exceptions(self, evaluated: EvaluatedObject) -> Facts:
        """Take away what exceptions in force excuse."""
        return await self._exceptions.facts_of(evaluated.request, evaluated.facts, evaluated.answer)

    async def gather_sandbox(self, evaluated: EvaluatedObject) -> Facts:
        """Add what decides about a sandbox, where somebody can ask for one."""
        reading, facts = evaluated.reading, evaluated.facts
        if not reading.pods or not facts.weighs(*reading.pods):
            return facts
        return await self._sandbox.facts_of(evaluated.request, reading, evaluated.parts, facts)

    async def gather_break_glass(self, evaluated: EvaluatedObject) -> Facts:
        """Add the BreakGlasses that relax a request which is refused without them."""
        return await self._break_glass.facts_of(evaluated.request, evaluated.facts)

    async def regather(self, document: DecisionDocument, request: Request, modes: Modes) -> Facts:
        """Return the facts of now about what a recorded decision says its Pod needs.

        Raises:
            CannotJudgeError: something that must be known cannot be.
        """
        namespace = await self.cluster.namespace(request.namespace)
        mode = modes.of(namespace)
        revision = document.revisions.policy
        facts = Facts(self.cluster.profiles(), revision, self.engine.rules, mode, namespace)
        privileges = find_privileges(document.needs, facts.rules)
        known = facts_from_record(document, request.subject, facts, privileges)
        rights = ProfileRights(self.cluster, known.subjects, request.namespace)
        usable = await ask_usable(known.named, known.candidates, rights, mode)
        pod = msgspec.structs.replace(known, usable=usable, access=tuple(rights.heard))
        facts = self._risk.regather(request, document, msgspec.structs.replace(facts, pod=pod))
        facts = await self._exceptions.facts_again(request, facts, document)
        return self._sandbox.facts_again(request, facts, document)


def _why_left_alone_unread(request: Request) -> str:
    """Say why an update need not be read to be left alone; empty where it must."""
    if is_pod_as_before(request):
        return UNCHANGED
    return FILLED if is_filled_as_before(request) else ""


def _flow(request: Request, facts: Facts) -> Flow:
    """Return whose turn it is; names that nobody knows could be made up without end."""
    known = facts.namespace is not None
    return Flow(request.namespace if known else "", request.subject.username)


def _sandboxed_by_risk_alone(reading: Reading, facts: Facts) -> bool:
    """Return whether only somebody's risk asks for a sandbox: then Pods were read without."""
    if facts.risk is None or not facts.risk.requires_sandbox:
        return False
    return not msgspec.structs.replace(facts, risk=None).weighs(*reading.pods)


class ReadStep(NamedTuple):
    """What is gathered of an object as it was read, before the policies are asked about it."""

    fills: str
    """Fields of `Facts`."""
    source: str
    cost: str
    """Of a Pod's review."""
    gather: Callable[[Gatherer, Request, Reading | LeftAlone, Facts], Awaitable[Facts]]


class EvaluatedStep(NamedTuple):
    """What is gathered of an object once the policies have said what it needs."""

    fills: str
    source: str
    cost: str
    gather: Callable[[Gatherer, EvaluatedObject], Awaitable[Facts]]


READ_STEPS: Final = (
    ReadStep(
        "notes, origin, noted_profile",
        "the object's annotations, its owners",
        "one GET of metadata for each owner that is not remembered",
        Gatherer.gather_notes,
    ),
    ReadStep(
        "egress",
        "EgressAllowlists and the namespace's labels, in memory",
        "nothing where the namespace is not enrolled",
        Gatherer.gather_pod_labels,
    ),
    ReadStep(
        "weights",
        "WeightStores, AccessGrants and volumes, in memory",
        "an access review for each approver of a grant; nothing without weights",
        Gatherer.gather_weights,
    ),
    ReadStep(
        "risk",
        "the snapshot of identities' risk, in memory",
        "about 10 µs; nothing where no tenant is connected",
        Gatherer.gather_risk,
    ),
    ReadStep(
        "fields",
        "the table of fields, and what two ConfigMaps add to it, in memory",
        "about 3 µs: the object is decoded once more",
        Gatherer.gather_fields,
    ),
)
"""In this order, each from what those before have found. After them the policies say what the
object needs (`admission.objects.evaluation`): 0.1 to 1 ms, remembered by the projection."""

EVALUATED_STEPS: Final = (
    EvaluatedStep(
        "policy_inputs, site_rules",
        "a site's rules, by the engine",
        "one evaluation; nothing where no rule asks about Pods",
        Gatherer.gather_site_rules,
    ),
    EvaluatedStep(
        "pod, origin, object_uid",
        "ContainerProfiles in memory, access reviews",
        "a SubjectAccessReview for each subject and profile that is not remembered",
        Gatherer.gather_profiles,
    ),
    EvaluatedStep(
        "pod, remarks",
        "PolicyExceptions and Approvals, in memory",
        "nothing where the object is admitted without them",
        Gatherer.gather_exceptions,
    ),
    EvaluatedStep(
        "pod: its sandbox",
        "RuntimeClasses and nodes' capacity, in memory",
        "nothing where nobody can ask for a sandbox",
        Gatherer.gather_sandbox,
    ),
    EvaluatedStep(
        "break_glasses, remarks",
        "BreakGlasses and Approvals, in memory",
        "nothing where the object is admitted without them",
        Gatherer.gather_break_glass,
    ),
)
"""In this order; the profiles end it for an object that needs nothing."""
