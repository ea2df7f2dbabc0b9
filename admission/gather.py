"""Gathers the facts of a request from the cluster and the engine; it decides nothing.

What it reads, for a Pod: memory, and access reviews that are not cached. At 7,500 nodes the
memory holds the labels of 2,000 namespaces (about 2 MB), the profiles (300: about 1 MB) and what
is kept of PersistentVolumes (20,000: about 6 MB).
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec

from admission.candidates import Candidates, candidates
from admission.facts import Facts, MarkFacts, NamedProfile, PodFacts
from admission.reading import Reader, Reading, noted
from admission.recorded import recorded_needs
from admission.rights import Rights
from admission.wording import rule_message
from core import names
from core.cluster import Cluster
from core.decision import Action, Denial, Finding, Need
from core.decoding import UNREADABLE, unreadable
from core.document import DecisionDocument
from core.errors import InvalidObjectError
from core.namespaces import Mode, Namespace, guarded_marks
from core.pod import ObjectMeta
from core.request import Operation, Request
from identity.subjects import Controllers
from policies.bundle import Rule
from policies.engine import Answer, Engine
from policies.projection import encode

_JUDGED = frozenset({Operation.CREATE, Operation.UPDATE})


@dataclass(frozen=True)
class Gatherer:
    """Knows where facts come from."""

    cluster: Cluster
    engine: Engine
    controllers: Controllers

    def judges(self, request: Request) -> bool:
        """Say whether the privileges of the request's object are judged."""
        return request.operation in _JUDGED and self._reader.judges(request)

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
        if request.operation not in _JUDGED:
            return replace(facts, left_alone=f"{request.operation.value} is not judged")
        if self._reader.judges(request):
            return await self._of_object(request, facts)
        if (request.kind.group, request.kind.kind) == ("", "Namespace"):
            return await self._of_namespace(request, facts)
        return replace(facts, left_alone=f"{request.kind.kind} is not a kind that is judged")

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self.cluster, self.controllers)

    async def _of_object(self, request: Request, facts: Facts) -> Facts:
        reading = self._reader.read(request, facts.mode)
        if isinstance(reading, str):
            return replace(facts, left_alone=reading)
        encoded = encode(reading.projection)
        began = time.perf_counter()
        answer = _placed(await self.engine.ask(encoded), reading.prefix)
        evaluated = time.perf_counter()
        if not (answer.needs or answer.denials or reading.always):
            return replace(facts, left_alone="it needs no privilege")
        named = _named_profile(request, reading, facts.namespace)
        ceiling = None if named and named.whoever_asks else facts.namespace
        privileges = _since(answer.needs, facts.rules)
        tried = candidates(facts.profiles, ceiling, privileges)
        rights = Rights(self.cluster, reading.subjects, reading.namespace)
        usable = await _usable(named, tried, rights, facts.mode)
        known = PodFacts(
            needs=answer.needs,
            privileges=frozenset(privileges),
            subjects=reading.subjects,
            namespace=reading.namespace,
            root=reading.pod is not None and not reading.pod.metadata.owner_references,
            denials=tuple(_denied(denial, facts.rules) for denial in answer.denials),
            candidates=tried,
            named=named,
            usable=usable,
            access=tuple(rights.heard),
            projection=encoded,
            evaluation_seconds=evaluated - began,
            access_seconds=time.perf_counter() - evaluated,
        )
        return replace(facts, object_uid=reading.uid, pod=known)

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
        privileges = _since(document.needs, facts.rules)
        known = recorded_needs(document, request.subject, facts, privileges)
        rights = Rights(self.cluster, known.subjects, request.namespace)
        usable = await _usable(known.named, known.candidates, rights, mode)
        return replace(facts, pod=replace(known, usable=usable, access=tuple(rights.heard)))

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


def _placed(answer: Answer, prefix: str) -> Answer:
    """Give an answer about a template with paths from the object's root."""
    if not prefix:
        return answer
    put = msgspec.structs.replace
    return Answer(
        tuple(put(need, path=prefix + need.path) for need in answer.needs),
        tuple(put(denial, path=prefix + denial.path) for denial in answer.denials),
    )


def _since(needs: Iterable[Need], rules: Mapping[str, Rule]) -> dict[str, int]:
    """Give the different privileges, each with the catalogue in which it appeared."""
    found: dict[str, int] = {}
    for need in needs:
        rule = rules.get(need.rule)
        since = rule.since if rule else 1
        found[need.privilege] = min(since, found.get(need.privilege, since))
    return found


def _denied(denial: Denial, rules: Mapping[str, Rule]) -> Finding:
    rule = rules.get(denial.rule)
    message = rule_message(rule.message, denial.value) if rule else "may never be set"
    remedy = rule.remedy if rule else "Remove it."
    return Finding(denial.rule, Action.DENY, denial.path, message, remedy)


class _Object(msgspec.Struct):
    metadata: ObjectMeta = ObjectMeta()


def _metadata(raw: msgspec.Raw | None) -> ObjectMeta:
    if raw is None:
        raise InvalidObjectError("Namespace", "object", "the review holds none")
    try:
        return msgspec.json.decode(raw, type=_Object).metadata
    except UNREADABLE as error:
        raise unreadable("Namespace", error) from error


def _marks(metadata: ObjectMeta) -> dict[str, str]:
    return guarded_marks(metadata.labels or {}, metadata.annotations or {})


async def _usable(
    named: NamedProfile | None, tried: Candidates, rights: Rights, mode: Mode
) -> dict[str, bool]:
    if named and named.whoever_asks:
        return {named.name: True}
    wanted = tried.only(named.name) if named else tried
    return await rights.usable(wanted, advise=named is None and mode is not Mode.AUDIT)


def _named_profile(
    request: Request, reading: Reading, namespace: Namespace | None
) -> NamedProfile | None:
    if request.asked_profile is not None:
        return NamedProfile(request.asked_profile, "", whoever_asks=True)
    path = f"metadata.annotations[{names.PROFILE_ANNOTATION}]"
    if reading.pod is not None and (name := noted(reading.pod)):
        return NamedProfile(name, path)
    if namespace is not None and (name := namespace.profile):
        return NamedProfile(name, f"{path} of Namespace {namespace.name}")
    return None
