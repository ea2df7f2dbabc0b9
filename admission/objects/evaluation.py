"""Asks the policy engine what an object's parts need, in the context of the request.

The answers are given as one, with paths from the object's root. The context (`Context` of
`policies.projection.model`) is read from memory: the Services that let traffic in from outside, and
when service accounts were made.
"""

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from admission.model.facts import Facts
from admission.model.judged_object import Part, Reading
from admission.objects.size_limits import LARGE_BYTES
from core.base.errors import NotSyncedError
from core.base.fair_queue import FairQueue, Flow
from core.cluster import Cluster
from core.decision.decision import Need
from core.decision.namespaces import Namespace
from core.decision.request import Request
from core.kubernetes.pod import Pod
from core.people.subject import Subject, pseudonymous_group
from core.sandbox.decision import SandboxMode, Signal
from identity.subjects import SubjectKind
from policies.engine.interface import A_POD, Engine, Judgement, PolicyAnswer, ShownFields
from policies.projection.model import (
    ABSENT,
    ABSENT_BESIDES_RISK,
    NO_STANDINGS,
    Context,
    encode,
    encode_context,
)

_MOST_SERVICES: Final = 8
"""Services that are named: one is enough to count, and thousands may select a Pod."""

_MOST_KEPT: Final = 512
"""Contexts; each takes about 1 KB."""

_MOST_GROUPS: Final = 64
"""Of a requester whose context is kept."""

_UNSEEN: Final = ("services", "service-accounts")


class ClusterContext(NamedTuple):
    """What the cluster shows of a Pod's surroundings."""

    services: tuple[str, ...] = ()
    """Names of the first that let in from outside of the cluster what the Pod serves."""
    new_account: bool = False
    """Whether its service account was made lately."""
    absent: tuple[str, ...] = ()
    """What of these is not known."""


NO_CLUSTER_CONTEXT: Final = ClusterContext()
"""Of what is no Pod."""


@dataclass(frozen=True)
class PolicyContexts:
    """Makes the context that policies see of a request."""

    cluster: Cluster
    kind_of: Callable[[Subject], SubjectKind]
    clock: Callable[[], float]
    new_account_s: float
    """Age in seconds below which a service account counts as new."""
    _kept: dict[Hashable, tuple[Namespace | None, tuple[bytes, bytes]]] = field(
        default_factory=dict
    )
    """Told by the namespace's identity too."""

    def read_cluster_context(self, request: Request, pod: Pod, mode: SandboxMode) -> ClusterContext:
        """Return what the cluster shows of a Pod of the request.

        Raises:
            NotSyncedError: it is not known, and the score decides.
        """
        if not request.namespace:
            return NO_CLUSTER_CONTEXT
        try:
            services = self.cluster.exposing_services(request.namespace, pod.metadata.labels or {})
            return ClusterContext(services[:_MOST_SERVICES], self._is_new(request.namespace, pod))
        except NotSyncedError:
            if mode is SandboxMode.BY_RISK:
                raise
            return ClusterContext(absent=_UNSEEN)

    def context(self, request: Request, facts: Facts, shown: ClusterContext) -> bytes:
        """Return what policies see, as JSON."""
        return self.contexts(request, facts, shown)[0]

    def contexts(
        self, request: Request, facts: Facts, shown: ClusterContext
    ) -> tuple[bytes, bytes]:
        """Return what policies see, and what is recorded of it: without names of groups.

        What is asked again is made once: of one Pod, and of all that a controller makes.
        """
        subject, risk = request.subject, facts.risk
        if len(subject.groups) > _MOST_GROUPS:
            return self._made(request, facts, shown)
        known_risk = risk and (risk.standings, risk.behaviour)
        asked = (request.operation, request.subresource, request.namespace)
        key = (asked, subject.username, subject.label, *subject.groups, shown, known_risk)
        kept = self._kept.get(key)
        if kept is None or kept[0] is not facts.namespace:
            kept = (facts.namespace, self._made(request, facts, shown))
            self._kept[key] = kept
            if len(self._kept) > _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        return kept[1]

    def _made(self, request: Request, facts: Facts, shown: ClusterContext) -> tuple[bytes, bytes]:
        subject, namespace, risk = request.subject, facts.namespace, facts.risk
        groups = tuple(sorted(subject.groups))
        context = Context(
            operation=request.operation.value,
            subresource=request.subresource,
            namespace=request.namespace,
            requester=self.kind_of(subject).value,
            groups=groups,
            namespace_labels=namespace.labels if namespace else {},
            new_service_account=shown.new_account,
            services=shown.services,
            risk=risk.standings if risk else NO_STANDINGS,
            behaviour=risk.behaviour if risk else (),
            absent=(*(ABSENT_BESIDES_RISK if risk else ABSENT), *shown.absent),
        )
        encoded = encode_context(context)
        unnamed = tuple(map(pseudonymous_group, groups))
        if unnamed == groups:
            return encoded, encoded
        return encoded, encode_context(msgspec.structs.replace(context, groups=unnamed))

    def _is_new(self, namespace: str, pod: Pod) -> bool:
        made = self.cluster.service_account_made(namespace, pod.spec.account)
        return made is None or self.clock() - made < self.new_account_s


class PartEvaluation(msgspec.Struct, frozen=True, gc=False):
    """One part, and what the policies say of it."""

    part: Part
    projection: bytes
    """As JSON: what they were evaluated on."""
    said: PolicyAnswer
    """With paths from the part's root, as the policies gave it."""
    answer: PolicyAnswer
    """With paths from the object's root, without what is not certain."""


class Evaluation(msgspec.Struct, frozen=True, gc=False):
    """What the policies say of an object."""

    parts: tuple[PartEvaluation, ...]
    answer: PolicyAnswer
    """What all parts need and what is denied of any, with paths from the object's root."""
    projection: bytes
    """What was evaluated: the projection, or a JSON list of the projections of several parts."""


_AT_ONCE: Final = 200
"""Needs that are placed before others may go on: 20 us for each."""

_OF_NEED: Final = 80
"""Bytes of a need, as it is told to who judges."""


class FairEngine:
    """An engine that is asked about what is large once it is the turn of whoever submits it."""

    __slots__ = ("_engine", "_flow", "_size", "_turns")

    def __init__(self, engine: Engine, turns: FairQueue, flow: Flow, size: int = 0) -> None:
        """Take the engine, and who waits with how many bytes of a body."""
        self._size = size
        self._engine = engine
        self._turns = turns
        self._flow = flow

    async def ask(self, projection: bytes) -> PolicyAnswer:
        """As `Engine.ask`.

        Raises:
            EvaluationError: the policies failed.
            OverloadError: too much waits for its turn.
        """
        if len(projection) <= LARGE_BYTES:
            return await self._engine.ask(projection)
        async with self._turns.seat(self._flow, self._size):
            return await self._engine.ask(projection)

    async def judge(
        self, projection: bytes, answer: PolicyAnswer, context: bytes, shown: ShownFields = A_POD
    ) -> Judgement:
        """As `Engine.judge`.

        Raises:
            EvaluationError: the policies failed.
            OverloadError: too much waits for its turn.
        """
        size = len(projection) + len(context) + len(shown.fields) + _OF_NEED * len(answer.needs)
        if size <= LARGE_BYTES:
            return await self._engine.judge(projection, answer, context, shown)
        async with self._turns.seat(self._flow, self._size):
            return await self._engine.judge(projection, answer, context, shown)


async def evaluate(engine: FairEngine, reading: Reading) -> Evaluation:
    """Return what all parts need, and what each does.

    Raises:
        EvaluationError: the policies failed.
    """
    if len(reading.parts) == 1:
        only = await _evaluate(engine, reading.parts[0])
        return Evaluation((only,), only.answer, only.projection)
    parts = []
    for part in reading.parts:
        parts.append(await _evaluate(engine, part))
        # An engine in this process does not wait for anyone: let others go on, and deadlines end.
        await asyncio.sleep(0)
    needs = tuple(need for each in parts for need in each.answer.needs)
    denials = tuple(denial for each in parts for denial in each.answer.denials)
    projection = b"[" + b",".join(each.projection for each in parts) + b"]"
    return Evaluation(tuple(parts), PolicyAnswer(needs, denials), projection)


class PartJudge:
    """Asks the engine to judge a part of an object: once of each context."""

    def __init__(self, engine: FairEngine, part: PartEvaluation) -> None:
        self.of = part
        self._engine = engine
        self._said: dict[bytes, Judgement] = {}

    async def judge(self, context: bytes) -> Judgement:
        """As `Engine.judge`, with paths from the part's root.

        Raises:
            EvaluationError: the policies failed.
        """
        said = self._said.get(context)
        if said is None:
            part = self.of
            shown = ShownFields(fields=part.part.fields)
            said = await self._engine.judge(part.projection, part.said, context, shown)
            self._said[context] = said
        return said

    async def signals(self, context: bytes) -> tuple[Signal, ...]:
        """Return what makes the part riskier that it does not show by itself.

        Raises:
            EvaluationError: the policies failed.
        """
        said = await self.judge(context)
        return _signals(said.signals, self.of.part) if said.signals else ()


async def _evaluate(engine: FairEngine, part: Part) -> PartEvaluation:
    projection = encode(part.projection)
    said = await engine.ask(projection)
    return PartEvaluation(part, projection, said, await _of_part(said, part))


async def _of_part(answer: PolicyAnswer, part: Part) -> PolicyAnswer:
    """Leave out what is not certain, and say where in the object the rest lies."""
    template = part.template
    if template is None:
        return answer
    put = msgspec.structs.replace
    needs: list[Need] = []
    for start in range(0, len(answer.needs), _AT_ONCE):
        if start:
            await asyncio.sleep(0)
        needs += [
            put(need, path=template.place(need.path))
            for need in answer.needs[start : start + _AT_ONCE]
            if part.counts(need.path)
        ]
    return PolicyAnswer(
        tuple(needs),
        tuple(map(part.with_object_path, answer.denials)),
        _signals(answer.signals, part),
        tuple(put(feature, path=template.place(feature.path)) for feature in answer.features),
    )


def _signals(signals: tuple[Signal, ...], part: Part) -> tuple[Signal, ...]:
    template = part.template
    if template is None:
        return signals
    return tuple(
        msgspec.structs.replace(signal, path=template.place(signal.path) if signal.path else "")
        for signal in signals
        if part.counts(signal.path)
    )
