"""Gathers the facts of a request from the cluster and the engine; it decides nothing.

For a Pod it reads memory, access reviews that are not cached and, for what a controller made,
owners that are not remembered. A connection's Pod and a binding's role are read from the cluster
each time. READ_STEPS and JUDGED_STEPS list what is gathered, in which order, from what. At 7,500
nodes the memory holds the labels of 2,000 namespaces (about 2 MB), the profiles (300: about 1 MB)
and what is kept of PersistentVolumes (20,000: about 6 MB).
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import msgspec

from admission.approvals.break_glass import BreakGlassGatherer
from admission.approvals.exceptions import ExceptionGatherer, ExceptionLookup
from admission.chain import run_checks
from admission.egress.network_policies import NetworkPolicyGatherer
from admission.egress.pod_labels import PodLabelGatherer
from admission.evidence import facts_from_record
from admission.guarded_objects import GuardedObjects
from admission.model.candidates import candidates, find_privileges
from admission.model.facts import Facts, PodFacts
from admission.model.judged_object import LeftAlone, Reading
from admission.objects.connect_requests import EntryReader, place_in_pod
from admission.objects.evaluation import PartJudge, PolicyContexts, evaluate
from admission.objects.namespace_labels import add_namespace_facts
from admission.objects.rbac_changes import RightsReader
from admission.objects.reader import JUDGED_KINDS, WRITES, ObjectReader, changes_rights, is_entry
from admission.profiles.access_reviews import ProfileRights, ask_usable, denial_finding
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
from core.cluster import Cluster
from core.decision.document import DecisionDocument
from core.decision.namespaces import Mode, Modes, Namespace
from core.decision.request import Request
from core.people.subject import Subject
from core.people.two_person import ORDINARY_TERMS, ApprovalTerms
from egress.limits.settings import DEFAULT_INTENT_SETTINGS as ORDINARY_GROUND
from egress.limits.settings import IntentSettings
from identity.risk.standings import DEFAULT_FRESHNESS as ORDINARY_FRESHNESS
from identity.risk.standings import Freshness
from identity.subjects import Controllers, SubjectKind, kind_of
from policies.engine.interface import Engine, PolicyAnswer
from sandbox.runtime_choice import DEFAULT_SANDBOX_SETTINGS as ORDINARY_SITE
from sandbox.runtime_choice import SandboxSettings


@dataclass(slots=True)
class Judged:
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
    """Knows where facts come from: READ_STEPS and JUDGED_STEPS say in which order."""

    cluster: Cluster
    engine: Engine
    controllers: Controllers
    terms: ApprovalTerms = ORDINARY_TERMS
    """Whose approvals never count."""
    pipelines: frozenset[str] = frozenset()
    """User names of pipelines."""
    site: SandboxSettings = ORDINARY_SITE
    """Which sandboxes there are, and when what runs must run in one."""
    ground: IntentSettings = ORDINARY_GROUND
    """What the installation says of egress."""
    freshness: Freshness = ORDINARY_FRESHNESS
    """How old what is known of risk may be."""
    clock: Callable[[], float] = time.time
    """Unix seconds, by which exceptions expire."""

    def kind_of(self, subject: Subject) -> SubjectKind:
        """Say what sort of identity a subject is."""
        return kind_of(subject, self.controllers.kinds, self.pipelines)

    def judges(self, request: Request) -> bool:
        """Return whether the privileges of the request's object are judged."""
        if is_entry(request):
            return True
        read = request.operation in WRITES and self._reader.judges(request)
        return read or (request.namespace != "" and self._ruling.judges(request))

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
        facts = await self._of_kind(request, facts)
        if not self._ruling.judges(request):
            return facts
        return await self._breaker.facts_of(request, await self._ruling.of_object(request, facts))

    async def _of_kind(self, request: Request, facts: Facts) -> Facts:
        if is_entry(request) or changes_rights(request):
            return await self._of_reading(request, facts, await self._read(request, facts))
        kind = request.kind.group, request.kind.kind
        if kind not in JUDGED_KINDS and self._policing.judges(request):
            return await self._policing.facts_of(request, facts)
        if request.operation in WRITES or self._guards.judges(request):
            return await self._of_written(request, facts)
        left_alone = f"{request.operation.value} is not judged"
        return msgspec.structs.replace(facts, left_alone=left_alone)

    async def _of_written(self, request: Request, facts: Facts) -> Facts:
        if request.operation in WRITES and self._reader.judges(request):
            return await self._of_reading(request, facts, await self._read(request, facts))
        if self._guards.judges(request):
            guard = await self._guards.gather(request, facts)
            facts = msgspec.structs.replace(facts, guard=guard)
        elif (request.kind.group, request.kind.kind) == ("", "Namespace"):
            facts = await add_namespace_facts(self.cluster, request, facts)
        else:
            left_alone = f"{request.kind.kind} is not a kind that is judged"
            facts = msgspec.structs.replace(facts, left_alone=left_alone)
        return await self._risking.of_guarded(request, facts)

    @cached_property
    def _guards(self) -> GuardedObjects:
        return GuardedObjects(self.cluster, self.terms, self.clock, self.ground)

    @cached_property
    def labelling(self) -> PodLabelGatherer:
        """Knows the labels that policies know Pods by."""
        return PodLabelGatherer(self.cluster, self.ground)

    @cached_property
    def _policing(self) -> NetworkPolicyGatherer:
        return NetworkPolicyGatherer(self.cluster, self.ground)

    @cached_property
    def _excuser(self) -> ExceptionLookup:
        return ExceptionLookup(self.cluster, self.terms, self.clock, run_checks)

    @cached_property
    def _excepting(self) -> ExceptionGatherer:
        return ExceptionGatherer(self._excuser)

    @cached_property
    def _situations(self) -> PolicyContexts:
        return PolicyContexts(self.cluster, self.kind_of, self.clock, self.site.new_account_s)

    @cached_property
    def _isolating(self) -> SandboxGatherer:
        return SandboxGatherer(self._excuser, self._situations, self.site)

    @cached_property
    def _ruling(self) -> SiteRuleGatherer:
        return SiteRuleGatherer(self.engine, self._situations, self._excuser)

    @cached_property
    def _breaker(self) -> BreakGlassGatherer:
        return BreakGlassGatherer(self.cluster, self.terms, self.clock, run_checks)

    @cached_property
    def _reader(self) -> ObjectReader:
        return ObjectReader(self.cluster, self.controllers, self.engine.reads)

    @cached_property
    def _noting(self) -> RequesterGatherer:
        return RequesterGatherer(self.cluster, self.controllers)

    @cached_property
    def _entries(self) -> EntryReader:
        return EntryReader(self._reader)

    @cached_property
    def _grants(self) -> RightsReader:
        return RightsReader(self.cluster)

    @cached_property
    def _weights(self) -> WeightGatherer:
        return WeightGatherer(self.cluster, self.terms, self.clock)

    @cached_property
    def _risking(self) -> RiskGatherer:
        return RiskGatherer(self.cluster, self.freshness, self.clock)

    async def _read(self, request: Request, facts: Facts) -> Reading | LeftAlone:
        if is_entry(request):
            return await self._entries.read(request, facts)
        if changes_rights(request):
            return await self._grants.read(request)
        return self._reader.read(request, facts)

    async def _of_reading(
        self, request: Request, facts: Facts, reading: Reading | LeftAlone
    ) -> Facts:
        for step in READ_STEPS:
            facts = await step.gather(self, request, reading, facts)
        if not isinstance(reading, LeftAlone) and _sandboxed_by_risk_alone(reading, facts):
            reading = await self._read(request, facts)  # With what decides about a sandbox.
        if isinstance(reading, LeftAlone):
            return msgspec.structs.replace(facts, left_alone=reading.why)
        judged = await self._evaluate(request, reading, facts)
        for judged_step in JUDGED_STEPS:
            judged.facts = await judged_step.gather(self, judged)
            if judged.harmless:
                break
        return judged.facts

    async def _evaluate(self, request: Request, reading: Reading, facts: Facts) -> Judged:
        began = time.perf_counter()
        evaluated = await evaluate(self.engine, reading)
        answer = evaluated.answer
        if reading.entered:
            answer = place_in_pod(answer, reading.entered)
        if reading.gives:
            answer = await self._grants.beyond(request, answer)
        parts = tuple([PartJudge(self.engine, each) for each in evaluated.parts])
        return Judged(request, reading, facts, answer, parts, evaluated.projection, began)

    async def gather_notes(
        self, request: Request, reading: Reading | LeftAlone, facts: Facts
    ) -> Facts:
        """Add what notes say of who asked, and the owners that the object is traced to."""
        return await self._noting.facts_of(request, reading, facts)

    async def gather_pod_labels(
        self, request: Request, reading: Reading | LeftAlone, facts: Facts
    ) -> Facts:
        """Add the labels by which egress policies know Pods, and who changes them."""
        return await self.labelling.facts_of(request, reading, facts)

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
        return self._risking.of_reading(request, reading, facts)

    async def gather_site_rules(self, judged: Judged) -> Facts:
        """Add what a site's rules say, and what policies were shown."""
        return await self._ruling.of_pods(
            judged.request, judged.reading, judged.parts, judged.facts
        )

    async def gather_profiles(self, judged: Judged) -> Facts:
        """Ask which profiles the subjects may use: not where nothing is needed."""
        request, reading, facts, answer = (
            judged.request,
            judged.reading,
            judged.facts,
            judged.answer,
        )
        ended = time.perf_counter()
        if not (answer.needs or answer.denials or reading.always):
            judged.harmless = True
            speaks = facts.weights or (facts.risk and facts.risk.speaks)
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
            whole=reading.whole,
            denials=tuple(denial_finding(denial, facts.rules) for denial in answer.denials),
            candidates=tried,
            entered=reading.entered,
            named=named,
            usable=usable,
            access=tuple(rights.heard),
            projection=judged.projection,
            evaluation_seconds=ended - judged.began,
            access_seconds=time.perf_counter() - ended,
        )
        origin = await self._noting.covered(request, reading, facts, privileges, tried)
        return msgspec.structs.replace(facts, object_uid=reading.uid, pod=pod, origin=origin)

    async def gather_exceptions(self, judged: Judged) -> Facts:
        """Take away what exceptions in force excuse."""
        return await self._excepting.facts_of(judged.request, judged.facts, judged.answer)

    async def gather_sandbox(self, judged: Judged) -> Facts:
        """Add what decides about a sandbox, where somebody can ask for one."""
        reading, facts = judged.reading, judged.facts
        if not reading.pods or not facts.weighs(*reading.pods):
            return facts
        return await self._isolating.facts_of(judged.request, reading, judged.parts, facts)

    async def gather_break_glass(self, judged: Judged) -> Facts:
        """Add the BreakGlasses that relax a request which is refused without them."""
        return await self._breaker.facts_of(judged.request, judged.facts)

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
        facts = self._risking.again(request, document, msgspec.structs.replace(facts, pod=pod))
        facts = await self._excepting.facts_again(request, facts, document)
        return self._isolating.facts_again(request, facts, document)


def _sandboxed_by_risk_alone(reading: Reading, facts: Facts) -> bool:
    """Return whether only somebody's risk asks for a sandbox: then Pods were read without."""
    if facts.risk is None or not facts.risk.isolates:
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


class JudgedStep(NamedTuple):
    """What is gathered of an object once the policies have said what it needs."""

    fills: str
    source: str
    cost: str
    gather: Callable[[Gatherer, Judged], Awaitable[Facts]]


READ_STEPS: Final = (
    ReadStep(
        "notes, origin, told",
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
)
"""In this order, each from what those before have found. After them the policies say what the
object needs (`admission.objects.evaluation`): 0.1 to 1 ms, remembered by the projection."""

JUDGED_STEPS: Final = (
    JudgedStep(
        "seen, ruled",
        "a site's rules, by the engine",
        "one evaluation; nothing where no rule asks about Pods",
        Gatherer.gather_site_rules,
    ),
    JudgedStep(
        "pod, origin, object_uid",
        "ContainerProfiles in memory, access reviews",
        "a SubjectAccessReview for each subject and profile that is not remembered",
        Gatherer.gather_profiles,
    ),
    JudgedStep(
        "pod, asides",
        "PolicyExceptions and Approvals, in memory",
        "nothing where the object is admitted without them",
        Gatherer.gather_exceptions,
    ),
    JudgedStep(
        "pod: its sandbox",
        "RuntimeClasses and nodes' capacity, in memory",
        "nothing where nobody can ask for a sandbox",
        Gatherer.gather_sandbox,
    ),
    JudgedStep(
        "relaxed_by, asides",
        "BreakGlasses and Approvals, in memory",
        "nothing where the object is admitted without them",
        Gatherer.gather_break_glass,
    ),
)
"""In this order; the profiles end it for an object that needs nothing."""
