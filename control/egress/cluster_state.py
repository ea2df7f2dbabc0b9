"""What the watches have brought, by namespace, and which namespaces each change concerns."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import structlog

from control.egress.plan import Key
from core.decision.namespaces import Namespace
from core.egress.allowlists import EgressDestinations
from core.egress.enrolment import NOTHING_CLOSED, Closure
from egress.compiler.allowlists import NO_REFERENCES, References
from kube.egress.network_policies import LivePolicy
from kube.egress.watch import BrokenSet, EgressWatch, Intent, IntentStatus, WatchedNamespace

_log = structlog.get_logger(__name__)

CLUSTER: Final = ""
"""Stands for a namespace where what lies in none is meant."""

_Named = tuple[str, object]


@dataclass
class EgressState:
    """What is known of the cluster; `take` brings it up to date."""

    world: EgressWatch
    closure: Callable[[Namespace], Closure]
    places: dict[str, WatchedNamespace] = field(default_factory=dict)
    intents: dict[str, dict[str, Intent]] = field(default_factory=lambda: defaultdict(dict))
    policies: dict[str, dict[Key, LivePolicy]] = field(default_factory=lambda: defaultdict(dict))
    sets: dict[str, EgressDestinations] = field(default_factory=dict)
    references: dict[str, References] = field(default_factory=dict)
    _referring: dict[_Named, set[str]] = field(default_factory=lambda: defaultdict(set))
    _referred: References | None = None
    _written: dict[tuple[str, str], int] = field(default_factory=dict)
    """Versions of policies that were written and that the watch has not shown yet, by kind and
    `namespace/name`."""

    def closure_of(self, namespace: str) -> Closure:
        """Return what of a namespace is closed; nothing of one that is not there."""
        place = self.places.get(namespace)
        return self.closure(place.namespace) if place is not None else NOTHING_CLOSED

    def namespaces(self) -> set[str]:
        """Name all that have something to be looked at."""
        closed = {name for name in self.places if self.closure_of(name).closes}
        return {*closed, *self.intents, *self.policies}

    def uids(self) -> frozenset[str]:
        """Return the UIDs of all allowlists and sets."""
        intents = (each.uid for some in self.intents.values() for each in some.values())
        return frozenset((*intents, *(each.meta.uid for each in self.sets.values())))

    def take(self) -> tuple[set[str], set[tuple[str, str]]]:
        """Take in what has changed; give the namespaces, and the Services, that it concerns."""
        found: set[str] = set()
        found.update(self._take_places())
        found.update(self._take_intents())
        found.update(self._take_sets())
        found.update(self._take_policies())
        services = {key for change in self.world.services.changes() if (key := _service(change[0]))}
        for _, was, now in self.world.slices.changes():
            mark = now or was
            if mark is not None:
                services.add((mark.namespace, mark.service))
        return found, services

    def refer(self, namespace: str, references: References) -> None:
        """Note what a namespace depends on."""
        before = self.references.get(namespace, NO_REFERENCES)
        if before == references:
            return
        self._referred = None
        for each in _all(before):
            self._referring[each].discard(namespace)
            if not self._referring[each]:
                del self._referring[each]
        for each in _all(references):
            self._referring[each].add(namespace)
        if references == NO_REFERENCES:
            self.references.pop(namespace, None)
        else:
            self.references[namespace] = references

    def referring(self, kind: str, name: object) -> frozenset[str]:
        """Name the namespaces that depend on a set, service, name or right."""
        return frozenset(self._referring.get((kind, name), ()))

    def referred(self) -> References:
        """Return all that somebody depends on."""
        if self._referred is None:
            self._referred = self._all_referred()
        return self._referred

    def _all_referred(self) -> References:
        found: dict[str, set[Any]] = defaultdict(set)
        for kind, name in self._referring:
            found[kind].add(name)
        return References(
            frozenset(found["set"]),
            frozenset(found["service"]),
            frozenset(found["name"]),
            frozenset(found["right"]),
        )

    def referred_names(self) -> frozenset[str]:
        """Return the DNS names that somebody depends on."""
        return self.referred().names

    def intents_of(self, namespace: str) -> dict[str, Intent]:
        """Return the allowlists of a namespace by name, as they are now."""
        return dict(self.intents.get(namespace, {}))

    def opened(self, namespace: str) -> frozenset[str]:
        """Return the allowlists of a namespace that policies of ours say."""
        return frozenset(
            each.allowlist for each in self.policies.get(namespace, {}).values() if each.ours
        )

    def wrote(self, policy: LivePolicy) -> None:
        """Note what a write left there; the watch shows it later."""
        self.policies[policy.namespace][policy.kind, policy.name] = policy
        if policy.version.isdecimal():
            key = f"{policy.namespace}/{policy.name}" if policy.namespace else policy.name
            self._written[policy.kind, key] = int(policy.version)

    def deleted(self, policy: LivePolicy) -> None:
        """Note that a policy was taken away."""
        self._drop(policy.namespace, (policy.kind, policy.name))

    def said(self, intent: Intent, status: IntentStatus) -> None:
        """Note a status that was written, so that its coming back concerns nobody."""
        known = self.intents[intent.namespace].get(intent.name)
        if known is not None and known.uid == intent.uid:
            after = msgspec.structs.replace(known, status=status)
            self.intents[intent.namespace][intent.name] = after

    def finalized(self, intent: Intent, finalizer: str) -> None:
        """Note that an allowlist has a finalizer now."""
        known = self.intents[intent.namespace].get(intent.name)
        if known is not None and known.uid == intent.uid and finalizer not in known.finalizers:
            after = msgspec.structs.replace(known, finalizers=(*known.finalizers, finalizer))
            self.intents[intent.namespace][intent.name] = after

    def clear(self) -> None:
        """Forget what was noted of writes and dependencies, not what the watches have brought."""
        self.references.clear()
        self._referring.clear()
        self._referred = None

    def _take_places(self) -> Iterator[str]:
        for name, was, now in self.world.places.changes():
            if now is None:
                self.places.pop(name, None)
            else:
                self.places[name] = now
            before = self.closure(was.namespace) if was is not None else NOTHING_CLOSED
            after = self.closure(now.namespace) if now is not None else NOTHING_CLOSED
            ends = was is not None and now is not None and was.terminating != now.terminating
            if before != after or ends:
                yield name

    def _take_intents(self) -> Iterator[str]:
        for key, _, now in self.world.intents.changes():
            namespace, _, name = key.partition("/")
            known = self.intents[namespace].get(name)
            if now is None:
                self.intents[namespace].pop(name, None)
                if not self.intents[namespace]:
                    del self.intents[namespace]
                yield namespace
                continue
            self.intents[namespace][name] = now
            if known is None or _bare(known) != _bare(now):
                yield namespace

    def _take_sets(self) -> Iterator[str]:
        for name, _, now in self.world.sets.changes():
            self.sets.pop(name, None)
            if isinstance(now, BrokenSet):
                _log.error("EgressDestinations is left out", name=name, problem=now.problem)
            elif now is not None:
                self.sets[name] = now
            yield from self.referring("set", name)

    def _take_policies(self) -> Iterator[str]:
        for kind, followed in self.world.policies.items():
            for key, was, now in followed.changes():
                namespace, name = _split(key)
                known = self.policies.get(namespace, {}).get((kind, name))
                if now is None:
                    if known is not None and (was is None or known.uid == was.uid):
                        self._drop(namespace, (kind, name))
                        yield namespace
                elif not _older(now, known):
                    self.policies[namespace][kind, name] = now
                    if known is None or known.digest != now.digest or known.ours != now.ours:
                        yield namespace
            yield from self._vanished(kind, followed.seen, followed.objects)

    def _vanished(self, kind: str, seen: int, live: Mapping[str, LivePolicy]) -> Iterator[str]:
        """Find what was written and was gone again before the watch showed it."""
        shown = [
            each for each, version in self._written.items() if each[0] == kind and version <= seen
        ]
        for of, key in shown:
            del self._written[of, key]
            namespace, name = _split(key)
            if key not in live and (kind, name) in self.policies.get(namespace, {}):
                self._drop(namespace, (kind, name))
                yield namespace

    def _drop(self, namespace: str, key: Key) -> None:
        there = self.policies.get(namespace, {})
        there.pop(key, None)
        if not there:
            self.policies.pop(namespace, None)


def _bare(intent: Intent) -> Intent:
    """Return an allowlist without what changes by every write."""
    return msgspec.structs.replace(intent, version="")


def _older(now: LivePolicy, known: LivePolicy | None) -> bool:
    """Return whether what a watch brings was overtaken by a write."""
    if known is None or not (now.version.isdecimal() and known.version.isdecimal()):
        return False
    return int(now.version) < int(known.version)


def _split(key: str) -> tuple[str, str]:
    namespace, _, name = key.rpartition("/")
    return namespace, name


def _service(key: str) -> tuple[str, str] | None:
    namespace, slash, name = key.partition("/")
    return (namespace, name) if slash else None


def _all(references: References) -> Iterator[_Named]:
    yield from (("set", each) for each in references.sets)
    yield from (("service", each) for each in references.services)
    yield from (("name", each) for each in references.names)
    yield from (("right", each) for each in references.rights)
