"""Gathers the facts of a request from the cluster and the engine; it decides nothing.

What it reads, for a Pod: memory, and access reviews that are not cached. At 7,500 nodes the
memory holds the labels of 2,000 namespaces (about 2 MB) and the profiles (300: about 1 MB).
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from admission.candidates import Candidate, candidates, covering, nearest
from admission.facts import Facts, MarkFacts, NamedProfile, PodFacts
from core import names
from core.cluster import Cluster
from core.errors import AccessReviewError, InvalidObjectError
from core.namespaces import Mode, Namespace, guarded_marks
from core.pod import ObjectMeta, Pod, decode_pod
from core.request import Operation, Request
from core.subject import Subject
from identity.subjects import Controllers, is_mirror, whose_right
from policies.engine import Engine
from policies.projection import Projection, encode, project

_JUDGED = frozenset({Operation.CREATE, Operation.UPDATE})

_GROWTH = 4
"""The first profile is asked about alone, for most subjects have it; then 4 at once, 16, 64 …"""

_ADVICE = 8
"""Access reviews asked at most to tell a refused person what they have (docs/adr/0006)."""

_ADVICE_SECONDS = 0.5


@dataclass(frozen=True)
class Gatherer:
    """Knows where facts come from."""

    cluster: Cluster
    engine: Engine
    controllers: Controllers

    async def namespace_of(self, request: Request) -> Namespace | None:
        """Give the namespace whose mode governs a request; None where no mode does.

        Raises:
            NotSyncedError: the namespace is unknown.
        """
        if request.operation not in _JUDGED or _group_kind(request) != ("", "Pod"):
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
        if request.operation not in _JUDGED:
            return replace(facts, left_alone=f"{request.operation.value} is not judged")
        if namespace is not None:
            return await self._of_pod(request, namespace, facts)
        if _group_kind(request) == ("", "Namespace"):
            return await self._of_namespace(request, facts)
        return replace(facts, left_alone=f"{request.kind.kind} is not a kind that is judged")

    async def _of_pod(self, request: Request, namespace: Namespace, facts: Facts) -> Facts:
        pod, projection = _read_pod(request.object)
        if is_mirror(request.subject, pod):
            return replace(facts, left_alone="a node shows a static Pod that it already runs")
        encoded = encode(projection)
        named = _named_profile(request, pod, namespace)
        if request.operation is Operation.UPDATE and request.old_object is not None:
            before, old = _read_pod(request.old_object)
            if encode(old) == encoded and _named_profile(request, before, namespace) == named:
                return replace(facts, left_alone="the update changes nothing that is judged")
        needs = tuple(await self.engine.needs(encoded))
        privileges = frozenset(need.privilege for need in needs)
        ceiling = None if named and named.whoever_asks else namespace
        known = PodFacts(
            needs=needs,
            privileges=privileges,
            subjects=whose_right(request.subject, pod, request.namespace, self.controllers),
            root=not pod.metadata.owner_references,
            candidates=candidates(facts.profiles, ceiling, privileges),
            named=named,
        )
        usable = await self._usable(known, facts.mode, request.namespace)
        return replace(facts, pod=replace(known, usable=usable))

    async def _usable(self, pod: PodFacts, mode: Mode, namespace: str) -> dict[str, bool]:
        """Ask who may use the profiles that matter: those that cover all, in their order."""
        named = pod.named
        if named and named.whoever_asks:
            return {named.name: True}
        waiting = covering(c for c in pod.candidates if named is None or c.name == named.name)
        answers: dict[str, bool] = {}
        batch = 1
        while waiting and not any(answers.values()):
            answers |= await self._ask(waiting[:batch], pod.subjects, namespace)
            waiting, batch = waiting[batch:], batch * _GROWTH
        if any(answers.values()) or named or mode is Mode.AUDIT:
            return answers
        return answers | await self._advice(nearest(pod.candidates), pod.subjects, namespace)

    async def _ask(
        self, profiles: Sequence[Candidate], subjects: Sequence[Subject], namespace: str
    ) -> dict[str, bool]:
        """Say of each profile whether all subjects may use it.

        Profiles are in the order of choice: an answer that fails matters only where no profile
        before it may be used. What comes after is left out.
        """

        async def one(profile: Candidate) -> bool:
            for subject in subjects:
                if not await self.cluster.allowed(
                    subject, names.USE_VERB, names.PROFILES_RESOURCE, profile.name, namespace
                ):
                    return False
            return True

        if len(profiles) == 1:
            return {profiles[0].name: await one(profiles[0])}
        answers = await asyncio.gather(*map(one, profiles), return_exceptions=True)
        usable: dict[str, bool] = {}
        for profile, answer in zip(profiles, answers, strict=True):
            if isinstance(answer, BaseException):
                if any(usable.values()):
                    break
                raise answer
            usable[profile.name] = answer
        return usable

    async def _advice(
        self, profiles: Sequence[Candidate], subjects: Sequence[Subject], namespace: str
    ) -> dict[str, bool]:
        """Ask which of the nearest profiles may be used, only to word the refusal well.

        The refusal is settled by now, so a cluster that does not answer costs the advice alone.
        """
        try:
            async with asyncio.timeout(_ADVICE_SECONDS):
                return await self._ask(profiles[:_ADVICE], subjects, namespace)
        except (AccessReviewError, TimeoutError):
            return {}

    async def _of_namespace(self, request: Request, facts: Facts) -> Facts:
        new = _marks(request.object)
        old = _marks(request.old_object) if request.old_object is not None else {}
        paths = sorted(new.keys() | old.keys())
        changed = tuple(path for path in paths if new.get(path) != old.get(path))
        exempt = bool(changed) and await self.cluster.allowed(
            request.subject, names.EXEMPT_VERB, names.NAMESPACES_RESOURCE, request.name, ""
        )
        return replace(facts, marks=MarkFacts(changed, exempt))


_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises on JSON that is none, has another shape, or is nested too deeply."""


def _group_kind(request: Request) -> tuple[str, str]:
    return request.kind.group, request.kind.kind


def _read_pod(raw: msgspec.Raw | None) -> tuple[Pod, Projection]:
    if raw is None:
        raise InvalidObjectError("Pod", "object", "the review holds none")
    try:
        pod = decode_pod(raw)
        if not pod.spec.containers:
            raise InvalidObjectError("Pod", "spec.containers", "must hold at least one container")
        return pod, project(pod)
    except _UNREADABLE as error:
        raise _invalid("Pod", error) from error


class _Object(msgspec.Struct):
    metadata: ObjectMeta = ObjectMeta()


def _marks(raw: msgspec.Raw | None) -> dict[str, str]:
    if raw is None:
        raise InvalidObjectError("Namespace", "object", "the review holds none")
    try:
        metadata = msgspec.json.decode(raw, type=_Object).metadata
    except _UNREADABLE as error:
        raise _invalid("Namespace", error) from error
    return guarded_marks(metadata.labels or {}, metadata.annotations or {})


def _invalid(kind: str, error: Exception) -> InvalidObjectError:
    """Turn msgspec's `Expected … - at `$.spec…`` into a field and what is wrong with it."""
    problem, _, path = str(error).partition(" - at `$")
    return InvalidObjectError(kind, path.strip("`."), problem or "nested too deeply")


def _named_profile(request: Request, pod: Pod, namespace: Namespace) -> NamedProfile | None:
    if request.asked_profile is not None:
        return NamedProfile(request.asked_profile, "", whoever_asks=True)
    path = f"metadata.annotations[{names.PROFILE_ANNOTATION}]"
    if name := (pod.metadata.annotations or {}).get(names.PROFILE_ANNOTATION):
        return NamedProfile(name, path)
    if name := namespace.profile:
        return NamedProfile(name, f"{path} of Namespace {namespace.name}")
    return None
