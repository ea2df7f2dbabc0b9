"""Gathers what decides about the sandbox of an object, where anybody may require one.

It reads memory: the cluster's RuntimeClasses (a dozen), exceptions and their approvals. Where no
profile, no namespace and no author asks for a sandbox it costs a look at the Pod's labels. What one
Pod of a gang weighs is kept for the others (docs/adr/0028).
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from admission.approvals.exceptions import ExceptionLookup, find_naming, not_in_force_message
from admission.evidence import weight_from_record
from admission.model.facts import Facts, SandboxFacts, SandboxOutcome, SandboxPart, asks_for_sandbox
from admission.model.judged_object import Reading
from admission.model.second_cache import MOST_KEPT
from admission.objects.evaluation import ClusterContext, PartJudge, PolicyContexts
from admission.profiles.check import check_profiles
from admission.sandbox.capacity import may_lack_room
from admission.sandbox.decision import decide_sandbox, mode_of, needs_sandbox, weigh_part
from core.approvals.exceptions import PolicyException
from core.decision.decision import Denial
from core.decision.document import DecisionDocument
from core.decision.namespaces import Namespace
from core.decision.other_objects import path_in_pod
from core.decision.request import Request
from core.kubernetes.pod import Pod
from core.people.two_person import NotApproved
from core.sandbox.capacity import NodePool
from core.sandbox.decision import REQUIRED, EffectiveMode, RuntimeClass
from policies.engine.interface import PolicyAnswer
from sandbox.risk_score import RiskScore
from sandbox.runtime_choice import SandboxSettings

MOST_BYTES: Final = 8 * 1024
"""Of a projection, and what is kept with it, whose answer is kept, which takes some twenty times
that: of hostile ones, MOST_KEPT would be gigabytes."""

_DEMAND: Final = Denial(REQUIRED, "")
"""What an exception excuses."""

_with = msgspec.structs.replace


class WeighedPod(NamedTuple):
    """What one Pod weighs, and what that was worked out from."""

    answer: PolicyAnswer
    """Told by its identity, as the namespace is: kept, so that nothing else gets that."""
    namespace: Namespace | None
    part: SandboxPart
    weighed: RiskScore
    decided: tuple[SandboxOutcome, ...] = ()
    """What that comes to where it need not run in a sandbox; empty where it must."""


class GangCache:
    """The last few of what controllers made, by all that decides how much it weighs."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, WeighedPod] = OrderedDict()

    def find(self, key: Hashable) -> WeighedPod | None:
        """Return what is kept under a key."""
        return self._kept.get(key)

    def keep(self, key: Hashable, kept: WeighedPod) -> None:
        """Keep it, and forget the oldest where there are too many."""
        self._kept[key] = kept
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)


@dataclass(frozen=True)
class SandboxGatherer:
    """Weighs Pods, and gathers what decides whether they run in a sandbox, and in which."""

    exceptions: ExceptionLookup
    contexts: PolicyContexts
    settings: SandboxSettings
    gangs: GangCache = field(default_factory=GangCache)

    async def facts_of(
        self, request: Request, reading: Reading, parts: tuple[PartJudge, ...], facts: Facts
    ) -> Facts:
        """Add what decides about the sandbox, after exceptions.

        Raises:
            CannotJudgeError: something that must be known cannot be.
        """
        pod = facts.pod
        if pod is None:
            return facts
        risky = facts.risk is not None and facts.risk.requires_sandbox
        chosen = check_profiles(request, facts)
        mode = mode_of(facts, chosen.profile)
        weighed = []
        for part, each in zip(parts, reading.pods, strict=True):
            kept = await self._weigh(request, facts, part, each, mode)
            if kept.decided:
                sandbox = SandboxFacts(kept.decided, reading.root, chosen)
                return _with(facts, pod=_with(pod, sandbox=sandbox))
            weighed.append((kept.part, kept.weighed))
        excusable = any(
            needs_sandbox(part, mode.mode, sum_, self.settings) for part, sum_ in weighed
        )
        wanted = excusable or risky
        cluster = self.exceptions.cluster
        runtimes = self.settings.runtimes if wanted else ()
        classes = {name: cluster.runtime_class(name) for name in runtimes}
        warned = wanted and reading.root and may_lack_room(request, facts)
        pools = self._pools(classes) if warned else {}

        def known(*, excused: bool) -> Facts:
            decided = tuple(
                [
                    decide_sandbox(
                        part, sum_, mode, self.settings, classes, excused=excused, risky=risky
                    )
                    for part, sum_ in weighed
                ]
            )
            sandbox = SandboxFacts(decided, reading.root, chosen, pools)
            return _with(facts, pod=_with(pod, sandbox=sandbox))

        found = known(excused=False)
        if not excusable:
            return found
        by, remarks = await self._in_force(request, found)
        if by is None:
            return _with(found, remarks=(*found.remarks, *remarks)) if remarks else found
        found = known(excused=True)
        if found.pod is None or by in found.pod.exceptions:
            return found
        return _with(found, pod=_with(found.pod, exceptions=(*found.pod.exceptions, by)))

    def facts_again(self, request: Request, facts: Facts, document: DecisionDocument) -> Facts:
        """Add what decides about the sandbox of a recorded Pod, for those who ask now.

        What a sandbox cannot run is not on record: where one is demanded, it is taken to run it.

        Raises:
            LedgerError: as `weight_from_record`.
            NotSyncedError: RuntimeClasses are not known.
        """
        pod, was = facts.pod, document.isolation
        if pod is None or not (was or facts.may_ask_for_sandbox):
            return facts
        chosen = check_profiles(request, facts)
        mode = mode_of(facts, chosen.profile)
        weighed = weight_from_record(document, mode.mode)
        first = self.settings.runtimes[0]
        asked = was is not None and was.asked
        part = SandboxPart(named=document.sandbox or first, asked=asked, needs=pod.needs)
        risky = facts.risk is not None and facts.risk.requires_sandbox
        wanted = risky or needs_sandbox(part, mode.mode, weighed, self.settings)
        cluster = self.exceptions.cluster
        classes = {name: cluster.runtime_class(name) for name in self.settings.runtimes if wanted}
        excused = was is not None and was.excused
        decided = decide_sandbox(
            part, weighed, mode, self.settings, classes, excused=excused, risky=risky
        )
        return _with(
            facts, pod=_with(pod, sandbox=SandboxFacts((decided,), is_root=True, chosen=chosen))
        )

    async def _weigh(
        self, request: Request, facts: Facts, judging: PartJudge, pod: Pod, mode: EffectiveMode
    ) -> WeighedPod:
        """Weigh one part: what its object shows, and what only the request does.

        What a controller makes of one template weighs the same, and is worked out once: the answer
        is told by its identity, since an engine that remembers gives the same value again.
        """
        subject, namespace, part = request.subject, facts.namespace, judging.of
        seen = self.contexts.read_cluster_context(request, pod, mode.mode)
        texts = (part.projection, part.part.fields, pod.spec.runtime_class_name or "")
        large = sum(map(len, texts)) > MOST_BYTES
        alone = (
            facts.pod is None or facts.pod.excepted_needs or facts.pod.entered or part.part.template
        )
        if alone or large or not subject.is_system:
            anew = await self._weigh_anew(request, facts, judging, pod, seen)
            return WeighedPod(part.answer, namespace, *anew)
        asker = (mode, subject.username, *subject.groups)
        asked = (
            request.operation,
            request.subresource,
            pod.spec.runtime_class_name,
            asks_for_sandbox(pod),
        )
        risk = facts.risk
        known_risk = risk and (risk.requires_sandbox, risk.standings, risk.behaviour)
        fields = part.part.fields
        key = (id(part.answer), id(namespace), seen, asker, asked, known_risk, fields)
        known = self.gangs.find(key)
        if known is None:
            made, weighed = await self._weigh_anew(request, facts, judging, pod, seen)
            risky = risk is not None and risk.requires_sandbox
            free = not (risky or needs_sandbox(made, mode.mode, weighed, self.settings))
            decided = (decide_sandbox(made, weighed, mode, self.settings, {}),) if free else ()
            known = WeighedPod(part.answer, namespace, made, weighed, decided)
            self.gangs.keep(key, known)
        return known

    async def _weigh_anew(
        self, request: Request, facts: Facts, judging: PartJudge, pod: Pod, seen: ClusterContext
    ) -> tuple[SandboxPart, RiskScore]:
        part = judging.of
        context = self.contexts.context(request, facts, seen)
        signals = (*part.answer.signals, *await judging.signals(context))
        if facts.pod and facts.pod.entered:
            name = facts.pod.entered
            signals = tuple([_with(s, path=s.path and path_in_pod(s.path, name)) for s in signals])
        made = SandboxPart(
            template=part.part.template,
            named=pod.spec.runtime_class_name,
            asked=asks_for_sandbox(pod),
            needs=part.answer.needs,
            signals=signals,
            features=part.answer.features,
        )
        excused = facts.pod.excepted_needs if facts.pod else ()
        return made, weigh_part(made, excused, facts.rules, self.settings)

    def _pools(self, classes: Mapping[str, RuntimeClass | None]) -> dict[str, NodePool]:
        """Return what is known of the nodes of RuntimeClasses."""
        known = self.exceptions.cluster.capacity
        found = {one.name: (known(one.name), one.overhead) for one in classes.values() if one}
        return {name: NodePool(nodes, taken) for name, (nodes, taken) in found.items() if nodes}

    async def _in_force(
        self, request: Request, facts: Facts
    ) -> tuple[PolicyException | None, list[str]]:
        """Return the exception that takes the demand away; of those that would, why they do not."""
        remarks = []
        for exception in self._naming(request, facts):
            answer = await self.exceptions.check_in_force(exception)
            if not isinstance(answer, NotApproved):
                return exception, []
            remarks.append(not_in_force_message(exception.meta.name, answer.reasons[0]))
        return None, remarks

    def _naming(self, request: Request, facts: Facts) -> list[PolicyException]:
        """Return the exceptions that name the rule, and the object or what it comes from.

        Raises:
            NotSyncedError: they are not known, and it would be refused without them.
        """
        found = self.exceptions.loaded(request, facts)
        meant = [e for e in found if any(one.covers_denial(_DEMAND) for one in e.spec.excuses)]
        return find_naming(meant, request, facts.root)
