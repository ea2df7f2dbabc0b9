"""Says what a change of intents opens and closes: connections, by who makes them. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

import msgspec

from core.kubernetes.label_selectors import implies, matches
from egress.analysis.cluster_egress import World
from egress.analysis.connection import knows_names
from egress.analysis.differing import Connection, missing
from egress.model.descriptions import Subject, destination_of, entry_of, ports_shown, subjects_of
from egress.model.openings import Name, Opening, Peer, Problem

FORMAT: Final = 1

EVERYWHERE: Final = "everywhere"
_EXAMPLES: Final = 3
_ASKED: Final = frozenset({"NotApproved", "MayNotUse"})


class Change(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A connection that opens (`+`) or closes (`-`)."""

    sign: Literal["+", "-"]
    namespace: str
    service_account: str
    """Empty for every one."""
    workload: str = ""
    """`Kind.name`; empty for any."""
    who: str
    """All of it in words, with the author's selector."""
    to: str
    ports: str
    allowlists: list[str]
    """The intents that say so."""
    pods: int = 0
    """That run now, and that it is about."""
    examples: list[str] = []
    waits: str = ""
    """What must be given before it opens; empty where nothing must."""


class Beside(msgspec.Struct, frozen=True):
    """A Pod that intents do not hold, or do not reach."""

    namespace: str
    pod: str
    why: str


class Plan(msgspec.Struct, frozen=True):
    """What a change comes to (`sallyport egress plan -o json`)."""

    format: int
    changes: list[Change]
    problems: list[Problem]
    """That come with the change: what it says and stays closed all the same."""
    beside: list[Beside]
    """In the namespaces that change."""
    notes: list[str]


def plan(before: World, after: World, touched: Iterable[str]) -> Plan:
    """Compare two states of a cluster; `touched` are the namespaces that may differ."""
    changes: list[Change] = []
    problems: list[Problem] = []
    beside: list[Beside] = []
    notes: list[str] = []
    promised = after.with_all_granted()
    for namespace in sorted(set(touched)):
        changes += _changes(before, after, promised, namespace)
        known = set(before.problems(namespace))
        said = {each.waits for each in changes}
        problems += [
            each
            for each in after.problems(namespace)
            if each not in known and not any(each.message in waits for waits in said)
        ]
        if after.enrolled(namespace):
            beside += [Beside(namespace, pod.name, why) for pod, why in after.beside(namespace)]
        if after.allowlists(namespace) and not after.enrolled(namespace):
            notes.append(
                f"namespace {namespace} is not enrolled: its Pods connect everywhere, and its "
                "allowlists change nothing (label sallyport.dev/egress: deny)"
            )
    return Plan(FORMAT, changes, problems, beside, notes)


def _changes(before: World, after: World, promised: World, namespace: str) -> Iterator[Change]:
    was, now = before.enrolled(namespace), after.enrolled(namespace)
    if was != now:
        pods = [each.name for each in after.snapshot.pods if each.namespace == namespace]
        yield Change(
            sign="-" if now else "+",
            namespace=namespace,
            service_account="",
            who=f"{namespace}/*",
            to=f"{EVERYWHERE}{' but where allowlists say' if now else ''}",
            ports="every port",
            allowlists=[],
            pods=len(pods),
            examples=sorted(pods)[:_EXAMPLES],
        )
        return
    if not now:
        return
    opened = _compare("+", after, before, namespace)
    later = _compare("+", promised, before, namespace)
    known = {(each.who, each.to, each.ports) for each in opened}
    waiting = (each for each in later if (each.who, each.to, each.ports) not in known)
    closed = _compare("-", before, after, namespace)
    yield from _sorted([*opened, *closed, *(_waiting(each, after) for each in waiting)])


def _sorted(changes: Iterable[Change]) -> list[Change]:
    return sorted(changes, key=lambda each: (each.who, each.sign, each.to, each.ports))


def _waiting(change: Change, after: World) -> Change:
    reasons = {
        problem.message
        for problem in after.problems(change.namespace)
        if problem.allowlist in change.allowlists and problem.reason in _ASKED
    }
    return msgspec.structs.replace(change, waits="; ".join(sorted(reasons)) or "an approval")


def _compare(sign: Literal["+", "-"], wanted: World, there: World, namespace: str) -> list[Change]:
    """Give what is open in one state and not in the other."""
    openings, others = wanted.openings(namespace), there.openings(namespace)
    subjects = sorted({one for each in openings for one in subjects_of(namespace, each.selects)})
    left: dict[Subject, list[Connection]] = {}
    for subject in subjects:
        if found := missing(_of(subject, openings), _of(subject, others)):
            left[subject] = found
    changes: dict[tuple[str, str, str], Change] = {}
    for subject, found in left.items():
        wider = [other for other in left if other != subject and _narrows(subject, other)]
        held = [connection for other in wider for connection in left[other]]
        for connection in missing(found, held):
            change = _change(sign, wanted, subject, connection)
            key = (change.who, change.to, change.ports)
            merged = {*change.allowlists, *(changes[key].allowlists if key in changes else ())}
            changes[key] = msgspec.structs.replace(change, allowlists=sorted(merged))
    return _joined(changes.values())


def _joined(changes: Iterable[Change]) -> list[Change]:
    """Join lines that differ in their ports alone."""
    found: dict[tuple[object, ...], Change] = {}
    for each in changes:
        key = (each.who, each.to, tuple(each.allowlists), each.ports.partition(" ")[0])
        if key in found:
            ports = each.ports.partition(" ")[2]
            found[key] = msgspec.structs.replace(found[key], ports=f"{found[key].ports}, {ports}")
        else:
            found[key] = each
    return list(found.values())


def _narrows(subject: Subject, other: Subject) -> bool:
    return implies(subject.requirements, other.requirements)


def _of(subject: Subject, openings: Sequence[Opening]) -> list[Connection]:
    """Give all that a subject's Pods may reach."""
    mine = (
        each
        for each in openings
        if any(
            implies(subject.requirements, one.requirements)
            for one in subjects_of(subject.namespace, each.selects)
        )
    )
    return [Connection(each.peer, ports, _source(each)) for each in mine for ports in each.ports]


def _source(opening: Opening) -> str:
    return f"{opening.allowlist} {opening.path}"


def _change(
    sign: Literal["+", "-"], world: World, subject: Subject, connection: Connection
) -> Change:
    name, _, path = connection.source.partition(" ")
    opening = next(
        each
        for each in world.openings(subject.namespace)
        if (each.allowlist, each.path) == (name, path)
    )
    allowlist = world.snapshot.allowlists[f"{subject.namespace}/{name}"]
    whole = opening.peer == connection.peer
    entry = entry_of(opening, allowlist, world.snapshot) if whole else None
    wanted = subject.requirements
    pods = sorted(
        pod.name
        for pod in world.snapshot.pods
        if pod.namespace == subject.namespace
        and not pod.host_network
        and matches(wanted, pod.labels)
    )
    return Change(
        sign=sign,
        namespace=subject.namespace,
        service_account=subject.account,
        workload=subject.workload,
        who=str(subject),
        to=destination_of(connection.peer, entry),
        ports=ports_shown([connection.ports]),
        allowlists=[name],
        pods=len(pods),
        examples=pods[:_EXAMPLES],
        waits=_unresolved(connection.peer, world) if sign == "+" else "",
    )


def _unresolved(peer: Peer, world: World) -> str:
    """Say of a name that it has no address yet, where the engine goes by addresses."""
    if not isinstance(peer, Name) or peer.addresses or knows_names(world):
        return ""
    return world.known.names.resolved(peer.pattern, ()).problem
