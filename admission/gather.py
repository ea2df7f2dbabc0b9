"""Gathers the facts of a request from the cluster and the engine; it decides nothing.

What it reads, for a Pod: memory, access reviews that are not cached, and of what a controller made
the owners that are not remembered. A connection's Pod and a binding's role are asked for each time.
At 7,500 nodes the memory holds the labels of 2,000 namespaces (about 2 MB), the profiles (300:
about 1 MB) and what is kept of PersistentVolumes (20,000: about 6 MB).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import msgspec

from admission.approvals.break_glass import Breaker
from admission.approvals.excepting import Excepting
from admission.approvals.exceptions import Excuser
from admission.egress.network_policies import Policing
from admission.egress.pod_labels import Labelling
from admission.guarded_objects import Guards
from admission.model.candidates import candidates
from admission.model.facts import Facts, PodFacts
from admission.model.judged_object import Reading
from admission.objects.connect_requests import EntryReader, enters, in_entered
from admission.objects.evaluation import Judging, evaluate
from admission.objects.namespace_labels import with_marks
from admission.objects.rbac_changes import GrantReader, gives
from admission.objects.reader import Reader
from admission.objects.situation import Situations
from admission.profiles.access_reviews import Rights
from admission.profiles.needing import ask_usable, denied, since
from admission.recorded import recorded_needs
from admission.requester.facts import Noting, keeps_profile
from admission.requester.naming_profiles import named_profile, of_namespace, stands
from admission.risk.facts import Risking
from admission.sandbox.facts import Isolating, may_be_asked
from admission.site_rules.facts import Ruling
from admission.weights.facts import WeightGranting
from core.cluster import Cluster
from core.decision.document import DecisionDocument
from core.decision.namespaces import Mode, Namespace
from core.decision.request import Operation, Request
from core.decision.rollout import Modes
from core.people.subject import Subject
from core.people.two_person import ORDINARY_TERMS, ApprovalTerms
from egress.limits.settings import DEFAULT_INTENT_SETTINGS as ORDINARY_GROUND
from egress.limits.settings import IntentSettings
from identity.profile_subjects import Controllers
from identity.risk.standings import DEFAULT_FRESHNESS as ORDINARY_FRESHNESS
from identity.risk.standings import Freshness
from identity.subject_kind import SubjectKind, kind_of
from policies.engine.interface import Engine
from sandbox.runtime_choice import DEFAULT_SANDBOX_SETTINGS as ORDINARY_SITE
from sandbox.runtime_choice import SandboxSettings

_JUDGED = frozenset({Operation.CREATE, Operation.UPDATE})


@dataclass(frozen=True)
class Gatherer:
    """Knows where facts come from."""

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
        """Say whether the privileges of the request's object are judged."""
        if enters(request):
            return True
        read = request.operation in _JUDGED and self._reader.judges(request)
        return read or (request.namespace != "" and self._ruling.judges(request))

    async def namespace_of(self, request: Request) -> Namespace | None:
        """Give the namespace whose mode governs a request; None where no mode does.

        Raises:
            NotSyncedError: the namespace is unknown.
        """
        if not self.judges(request):
            return None
        if not request.namespace and (request.kind.group, request.kind.kind) != ("", "Pod"):
            return None
        return await self.cluster.namespace(request.namespace)

    async def gather(self, request: Request, namespace: Namespace | None, mode: Mode) -> Facts:
        """Give the facts of a request.

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
        if enters(request) or gives(request):
            return await self._of_reading(request, facts, await self._read(request, facts))
        if self._policing.judges(request):
            return await self._policing.facts_of(request, facts)
        if request.operation in _JUDGED or self._guards.judges(request):
            return await self._of_written(request, facts)
        left_alone = f"{request.operation.value} is not judged"
        return msgspec.structs.replace(facts, left_alone=left_alone)

    async def _of_written(self, request: Request, facts: Facts) -> Facts:
        if request.operation in _JUDGED and self._reader.judges(request):
            return await self._of_reading(request, facts, await self._read(request, facts))
        if self._guards.judges(request):
            guard = await self._guards.gather(request, facts)
            facts = msgspec.structs.replace(facts, guard=guard)
        elif (request.kind.group, request.kind.kind) == ("", "Namespace"):
            facts = await with_marks(self.cluster, request, facts)
        else:
            left_alone = f"{request.kind.kind} is not a kind that is judged"
            facts = msgspec.structs.replace(facts, left_alone=left_alone)
        return await self._risking.of_guarded(request, facts)

    @cached_property
    def _guards(self) -> Guards:
        return Guards(self.cluster, self.terms, self.clock, self.ground)

    @cached_property
    def labelling(self) -> Labelling:
        """Knows the labels that policies know Pods by."""
        return Labelling(self.cluster, self.ground)

    @cached_property
    def _policing(self) -> Policing:
        return Policing(self.cluster, self.ground)

    @cached_property
    def _excuser(self) -> Excuser:
        return Excuser(self.cluster, self.terms, self.clock)

    @cached_property
    def _excepting(self) -> Excepting:
        return Excepting(self._excuser)

    @cached_property
    def _situations(self) -> Situations:
        return Situations(self.cluster, self.kind_of, self.clock, self.site.new_account_s)

    @cached_property
    def _isolating(self) -> Isolating:
        return Isolating(self._excuser, self._situations, self.site)

    @cached_property
    def _ruling(self) -> Ruling:
        return Ruling(self.engine, self._situations, self._excuser)

    @cached_property
    def _breaker(self) -> Breaker:
        return Breaker(self.cluster, self.terms, self.clock)

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self.cluster, self.controllers, self.engine.reads)

    @cached_property
    def _noting(self) -> Noting:
        return Noting(self.cluster, self.controllers)

    @cached_property
    def _entries(self) -> EntryReader:
        return EntryReader(self._reader)

    @cached_property
    def _grants(self) -> GrantReader:
        return GrantReader(self.cluster)

    @cached_property
    def _weights(self) -> WeightGranting:
        return WeightGranting(self.cluster, self.terms, self.clock)

    @cached_property
    def _risking(self) -> Risking:
        return Risking(self.cluster, self.freshness, self.clock)

    async def _read(self, request: Request, facts: Facts) -> Reading | str:
        if enters(request):
            return await self._entries.read(request, facts)
        if gives(request):
            return await self._grants.read(request)
        return self._reader.read(request, facts)

    async def _of_reading(self, request: Request, facts: Facts, reading: Reading | str) -> Facts:
        facts = await self._noting.facts_of(request, reading, facts)
        facts = await self.labelling.facts_of(request, reading, facts)
        facts = await self._weights.facts_of(request, reading, facts)
        if not isinstance(reading, str):
            before, facts = facts, self._risking.of_reading(request, reading, facts)
            isolates = facts.risk is not None and facts.risk.isolates
            if isolates and not before.weighs(*reading.pods):
                reading = await self._read(request, facts)  # With what decides about a sandbox.
        if isinstance(reading, str):
            return msgspec.structs.replace(facts, left_alone=reading)
        began = time.perf_counter()
        evaluated = await evaluate(self.engine, reading)
        answer = evaluated.answer
        if reading.entered:
            answer = in_entered(answer, reading.entered)
        if reading.gives:
            answer = await self._grants.beyond(request, answer)
        parts = tuple([Judging(self.engine, each) for each in evaluated.parts])
        facts = await self._ruling.of_pods(request, reading, parts, facts)
        ended = time.perf_counter()
        if not (answer.needs or answer.denials or reading.always):
            speaks = facts.weights or (facts.risk and facts.risk.speaks)
            harmless = "" if speaks else "it needs no privilege"
            return msgspec.structs.replace(facts, left_alone=harmless)
        named = named_profile(request, reading, facts)
        ceiling = None if named and named.whoever_asks else facts.namespace
        privileges = since(answer.needs, facts.rules)
        tried = candidates(facts.profiles, ceiling, privileges)
        rights = Rights(self.cluster, reading.subjects, reading.namespace)
        usable = await ask_usable(named, tried, rights, facts.mode)
        if named and keeps_profile(facts, request) and not stands(named, tried, usable):
            named = of_namespace(facts.namespace)
            usable |= await ask_usable(named, tried, rights, facts.mode)
        known = PodFacts(
            needs=answer.needs,
            privileges=frozenset(privileges),
            subjects=reading.subjects,
            namespace=reading.namespace,
            whole=reading.whole,
            denials=tuple(denied(denial, facts.rules) for denial in answer.denials),
            candidates=tried,
            entered=reading.entered,
            named=named,
            usable=usable,
            access=tuple(rights.heard),
            projection=evaluated.projection,
            evaluation_seconds=ended - began,
            access_seconds=time.perf_counter() - ended,
        )
        origin = await self._noting.covered(request, reading, facts, privileges, tried)
        facts = msgspec.structs.replace(facts, object_uid=reading.uid, pod=known, origin=origin)
        facts = await self._excepting.facts_of(request, facts, answer)
        if may_be_asked(reading, facts):
            facts = await self._isolating.facts_of(request, reading, parts, facts)
        return await self._breaker.facts_of(request, facts)

    async def regather(self, document: DecisionDocument, request: Request, modes: Modes) -> Facts:
        """Give the facts of now about what a recorded decision says its Pod needs.

        Raises:
            CannotJudgeError: something that must be known cannot be.
        """
        namespace = await self.cluster.namespace(request.namespace)
        mode = modes.of(namespace)
        revision = document.revisions.policy
        facts = Facts(self.cluster.profiles(), revision, self.engine.rules, mode, namespace)
        privileges = since(document.needs, facts.rules)
        known = recorded_needs(document, request.subject, facts, privileges)
        rights = Rights(self.cluster, known.subjects, request.namespace)
        usable = await ask_usable(known.named, known.candidates, rights, mode)
        pod = msgspec.structs.replace(known, usable=usable, access=tuple(rights.heard))
        facts = self._risking.again(request, document, msgspec.structs.replace(facts, pod=pod))
        facts = await self._excepting.facts_again(request, facts, document)
        return self._isolating.facts_again(request, facts, document)
