"""Gathers the facts of a request from the cluster and the engine; it decides nothing.

What it reads, for a Pod: memory, and access reviews that are not cached. At 7,500 nodes the
memory holds the labels of 2,000 namespaces (about 2 MB) and the profiles (300: about 1 MB).
"""

import time
from dataclasses import dataclass, replace

import msgspec

from admission.candidates import candidates
from admission.facts import Facts, MarkFacts, NamedProfile, PodFacts
from admission.recorded import recorded_needs
from admission.rights import Rights
from core import names
from core.cluster import Cluster
from core.document import DecisionDocument
from core.errors import InvalidObjectError
from core.namespaces import Mode, Namespace, guarded_marks
from core.pod import ObjectMeta, Pod, decode_pod
from core.request import Operation, Request
from core.subject import Subject
from identity.subjects import Controllers, is_mirror, pod_service_account, whose_right
from policies.engine import Engine
from policies.projection import Projection, encode, project

_JUDGED = frozenset({Operation.CREATE, Operation.UPDATE})


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
        uid = pod.metadata.uid or ""
        if is_mirror(request.subject, pod):
            why = "a node shows a static Pod that it already runs"
            return replace(facts, left_alone=why, object_uid=uid)
        encoded = encode(projection)
        named = _named_profile(request, pod, namespace)
        if request.operation is Operation.UPDATE and request.old_object is not None:
            before, old = _read_pod(request.old_object)
            if encode(old) == encoded and _named_profile(request, before, namespace) == named:
                why = "the update changes nothing that is judged"
                return replace(facts, left_alone=why, object_uid=uid)
        began = time.perf_counter()
        needs = tuple(await self.engine.needs(encoded))
        evaluated = time.perf_counter()
        privileges = frozenset(need.privilege for need in needs)
        ceiling = None if named and named.whoever_asks else namespace
        known = PodFacts(
            needs=needs,
            privileges=privileges,
            subjects=self._subjects(request, pod, facts.mode),
            root=not pod.metadata.owner_references,
            candidates=candidates(facts.profiles, ceiling, privileges),
            named=named,
            projection=encoded,
            evaluation_seconds=evaluated - began,
        )
        rights = Rights(self.cluster, known.subjects, request.namespace)
        usable = await _usable(known, rights, facts.mode)
        return replace(
            facts,
            object_uid=uid,
            pod=replace(
                known,
                usable=usable,
                access=tuple(rights.heard),
                access_seconds=time.perf_counter() - evaluated,
            ),
        )

    async def regather(
        self, document: DecisionDocument, request: Request, default_mode: Mode
    ) -> Facts:
        """Give the facts of now about what a recorded decision says its Pod needs.

        Raises:
            CannotJudgeError: something that must be known cannot be.
        """
        namespace = await self.cluster.namespace(request.namespace)
        mode = namespace.mode(default_mode)
        revision = document.revisions.policy
        facts = Facts(self.cluster.profiles(), revision, self.engine.rules, mode, namespace)
        known = recorded_needs(document, request.subject, facts)
        rights = Rights(self.cluster, known.subjects, request.namespace)
        usable = await _usable(known, rights, mode)
        return replace(facts, pod=replace(known, usable=usable, access=tuple(rights.heard)))

    def _subjects(self, request: Request, pod: Pod, mode: Mode) -> tuple[Subject, ...]:
        """Give whose rights count.

        Of a Pod that runs, nothing says who made it. A profile noted on one that nothing owns
        was its maker's when the gate admitted it, where the namespace enforces; every other Pod
        stands on its service account (docs/adr/0013).
        """
        if not request.running:
            return whose_right(request.subject, pod, request.namespace, self.controllers)
        if mode is Mode.ENFORCE and _noted(pod) and not pod.metadata.owner_references:
            return ()
        return (pod_service_account(pod, request.namespace),)

    async def _of_namespace(self, request: Request, facts: Facts) -> Facts:
        metadata = _metadata(request.object)
        new = _marks(metadata)
        old = _marks(_metadata(request.old_object)) if request.old_object is not None else {}
        paths = sorted(new.keys() | old.keys())
        changed = tuple(path for path in paths if new.get(path) != old.get(path))
        exempt = bool(changed) and await self.cluster.allowed(
            request.subject, names.EXEMPT_VERB, names.NAMESPACES_RESOURCE, request.name, ""
        )
        return replace(facts, marks=MarkFacts(changed, exempt), object_uid=metadata.uid or "")


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


def _metadata(raw: msgspec.Raw | None) -> ObjectMeta:
    if raw is None:
        raise InvalidObjectError("Namespace", "object", "the review holds none")
    try:
        return msgspec.json.decode(raw, type=_Object).metadata
    except _UNREADABLE as error:
        raise _invalid("Namespace", error) from error


def _marks(metadata: ObjectMeta) -> dict[str, str]:
    return guarded_marks(metadata.labels or {}, metadata.annotations or {})


def _invalid(kind: str, error: Exception) -> InvalidObjectError:
    """Turn msgspec's `Expected … - at `$.spec…`` into a field and what is wrong with it."""
    problem, _, path = str(error).partition(" - at `$")
    return InvalidObjectError(kind, path.strip("`."), problem or "nested too deeply")


def _noted(pod: Pod) -> str | None:
    return (pod.metadata.annotations or {}).get(names.PROFILE_ANNOTATION)


async def _usable(pod: PodFacts, rights: Rights, mode: Mode) -> dict[str, bool]:
    named = pod.named
    if named and named.whoever_asks:
        return {named.name: True}
    wanted = [c for c in pod.candidates if named is None or c.name == named.name]
    return await rights.usable(wanted, advise=named is None and mode is not Mode.AUDIT)


def _named_profile(request: Request, pod: Pod, namespace: Namespace) -> NamedProfile | None:
    if request.asked_profile is not None:
        return NamedProfile(request.asked_profile, "", whoever_asks=True)
    path = f"metadata.annotations[{names.PROFILE_ANNOTATION}]"
    if name := _noted(pod):
        return NamedProfile(name, path)
    if name := namespace.profile:
        return NamedProfile(name, f"{path} of Namespace {namespace.name}")
    return None
