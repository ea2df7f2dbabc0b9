"""What a change of allowlists opens and closes: connections, by who makes them. Pure.

Connections are compared, not texts: two halves of a network are the network.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import summarize_address_range
from typing import Final, Literal

import msgspec

from core.approvals.break_glass_egress import describe_openings
from core.base import names
from core.base.networks import Network, collapse, subtract
from core.egress.destinations import PortRange
from core.egress.dns_names import ANY, WILDCARD, is_wildcard, matches_name
from core.kubernetes.label_selectors import Requirement, Requirements, implies, matches
from egress.analysis.cluster_egress import ClusterEgress
from egress.analysis.connection import learns_names
from egress.compiler.allowlists import no_backends_message
from egress.model.descriptions import (
    PodSubject,
    describe_ports,
    destination_of,
    entry_of,
    subjects_of,
)
from egress.model.openings import (
    Addresses,
    Block,
    Name,
    Opening,
    Peer,
    Pods,
    Problem,
    Service,
    opens_nothing,
)

FORMAT: Final = 1

EVERYWHERE: Final = "everywhere"
_EXAMPLES: Final = 3
_ASKED: Final = frozenset({"NotApproved", "MayNotUse"})


class PeerPorts(msgspec.Struct, frozen=True):
    """To one peer, on ports next to one another."""

    peer: Peer
    ports: PortRange
    source: str
    """Which intent says so: it makes no difference to what is open."""


def missing_connections(wanted: Sequence[PeerPorts], there: Sequence[PeerPorts]) -> list[PeerPorts]:
    """Return the part of `wanted` that is not in `there`, in the order of `wanted`."""
    known = {(each.peer, each.ports) for each in there}
    left: list[PeerPorts] = []
    for each in wanted:
        if (each.peer, each.ports) in known:
            continue
        if isinstance(each.peer, Addresses):
            left += _addresses_left(each, each.peer, there)
        else:
            left += _others_left(each, there)
    return left


def covers(wide: Peer, narrow: Peer) -> bool:
    """Return whether whoever reaches the one reaches the other, by what intents say."""
    match wide, narrow:
        case Name(), Name():
            return _name_covers(wide, narrow)
        case Service(), Service():
            return (wide.namespace, wide.name) == (narrow.namespace, narrow.name)
        case Pods(), Pods():
            there = wide.namespace == narrow.namespace
            if wide.namespaces is not None:
                there = implies(_namespaces(narrow), wide.namespaces)
            return there and implies(narrow.requirements, wide.requirements)
        case _:
            return False


def _namespaces(pods: Pods) -> Requirements:
    """Return what is known of the labels of Pods' namespaces."""
    if pods.namespaces is not None:
        return pods.namespaces
    return (Requirement(names.NAMESPACE_NAME_LABEL, "In", (pods.namespace,)),)


def _name_covers(wide: Name, narrow: Name) -> bool:
    if wide.pinned or narrow.pinned:
        held = set(narrow.addresses) <= set(wide.addresses)
        return wide.pinned == narrow.pinned and wide.pattern == narrow.pattern and held
    if wide.pattern in {ANY, narrow.pattern}:
        return True
    if not is_wildcard(wide.pattern) or narrow.pattern == ANY:
        return False
    if not narrow.pattern.startswith(WILDCARD):
        return matches_name(wide.pattern, narrow.pattern)
    one = f"a.{narrow.pattern.removeprefix(WILDCARD)}"
    return wide.pattern.startswith(WILDCARD) and matches_name(wide.pattern, one)


def _others_left(each: PeerPorts, there: Iterable[PeerPorts]) -> Iterator[PeerPorts]:
    held = [one.ports for one in there if covers(one.peer, each.peer)]
    for ports in _ports_left(each.ports, held):
        yield msgspec.structs.replace(each, ports=ports)


def _addresses_left(
    each: PeerPorts, peer: Addresses, there: Iterable[PeerPorts]
) -> list[PeerPorts]:
    """Cut ports where any other opening begins or ends; in each part, subtract addresses."""
    others = [
        (one.ports, _whole(one.peer.blocks))
        for one in there
        if isinstance(one.peer, Addresses) and one.ports.protocol == each.ports.protocol
    ]
    whole = _whole(peer.blocks)
    left: list[PeerPorts] = []
    for ports in _parts(each.ports, [one for one, _ in others]):
        held = [network for one, some in others if one.holds(ports) for network in some]
        rest = _networks_left(whole, held)
        if not rest:
            continue
        blocks = peer.blocks if rest == whole else tuple(Block(one) for one in rest)
        last = left[-1] if left else None
        if last and last.ports.last + 1 == ports.first and last.peer == Addresses(blocks):
            ports = msgspec.structs.replace(ports, first=last.ports.first)  # noqa: PLW2901
            left.pop()
        left.append(PeerPorts(Addresses(blocks), ports, each.source))
    return left


def _whole(blocks: Iterable[Block]) -> tuple[Network, ...]:
    return collapse(one for block in blocks for one in subtract(block.network, block.excepts))


def _networks_left(whole: Sequence[Network], held: Iterable[Network]) -> tuple[Network, ...]:
    """Return the parts of sorted networks that are in none of the others; one look at each."""
    holes = collapse(held)
    left: list[Network] = []
    for version in (4, 6):
        rest = deque(one for one in holes if one.version == version)
        for network in (one for one in whole if one.version == version):
            left += _span_left(network, rest)
    return collapse(left)


def _span_left(network: Network, rest: deque[Network]) -> Iterator[Network]:
    """Yield what is left of a network; of `rest`, sorted, what lies before it is taken away."""
    first, last = int(network.network_address), int(network.broadcast_address)
    make = type(network.network_address)
    while rest and int(rest[0].network_address) <= last:
        begin, end = int(rest[0].network_address), int(rest[0].broadcast_address)
        if end > last or first > last:
            break
        if begin > first:
            yield from summarize_address_range(make(first), make(begin - 1))
        first = max(first, end + 1)
        rest.popleft()
    if rest and int(rest[0].network_address) <= first:
        first = max(first, int(rest[0].broadcast_address) + 1)
    if first <= last:
        yield from summarize_address_range(make(first), make(last))


def _ports_left(ports: PortRange, held: Sequence[PortRange]) -> list[PortRange]:
    left: list[PortRange] = []
    for part in _parts(ports, held):
        if any(one.holds(part) for one in held):
            continue
        if left and left[-1].last + 1 == part.first:
            part = msgspec.structs.replace(part, first=left.pop().first)  # noqa: PLW2901
        left.append(part)
    return left


def _parts(ports: PortRange, others: Iterable[PortRange]) -> Iterator[PortRange]:
    """Cut a range wherever one of the others begins or ends."""
    same = [one for one in others if (one.protocol, one.name) == (ports.protocol, ports.name)]
    cuts = {ports.first, *(one.first for one in same), *(one.last + 1 for one in same)}
    begins = sorted(cut for cut in cuts if ports.first <= cut <= ports.last)
    ends = [*(begin - 1 for begin in begins[1:]), ports.last]
    for first, last in zip(begins, ends, strict=True):
        yield msgspec.structs.replace(ports, first=first, last=last)


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


class UnheldPod(msgspec.Struct, frozen=True):
    """A Pod that intents do not hold, or do not reach."""

    namespace: str
    pod: str
    why: str


class AllowlistPlan(msgspec.Struct, frozen=True):
    """What a change comes to (`sallyport egress plan -o json`)."""

    format: int
    changes: list[Change]
    problems: list[Problem]
    """That come with the change: what it says and stays closed all the same."""
    beside: list[UnheldPod]
    """In the namespaces that change."""
    notes: list[str]


def plan(before: ClusterEgress, after: ClusterEgress, touched: Iterable[str]) -> AllowlistPlan:
    """Compare two states of a cluster; `touched` are the namespaces that may differ."""
    changes: list[Change] = []
    problems: list[Problem] = []
    beside: list[UnheldPod] = []
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
        if opened := describe_openings(after.opened(namespace)):
            notes.append(f"namespace {namespace}: {opened}")
        if after.enrolled(namespace):
            beside += [UnheldPod(namespace, pod.name, why) for pod, why in after.beside(namespace)]
        if after.allowlists(namespace) and not after.enrolled(namespace):
            how = "audited" if after.closure(namespace).labels_pods else "not enrolled"
            notes.append(
                f"namespace {namespace} is {how}: its Pods connect everywhere, and its "
                "allowlists change nothing (label sallyport.dev/egress: deny)"
            )
    return AllowlistPlan(FORMAT, changes, problems, beside, notes)


def _changes(
    before: ClusterEgress, after: ClusterEgress, promised: ClusterEgress, namespace: str
) -> Iterator[Change]:
    was, now = before.closure(namespace), after.closure(namespace)
    if was != now:
        yield from _closing("-", after, before, namespace)
        yield from _closing("+", before, after, namespace)
        return
    if not now.closes:
        return
    opened = _compare("+", after, before, namespace)
    later = _compare("+", promised, before, namespace)
    known = {(each.who, each.to, each.ports) for each in opened}
    waiting = (each for each in later if (each.who, each.to, each.ports) not in known)
    closed = _compare("-", before, after, namespace)
    yield from _sorted([*opened, *closed, *(_waiting(each, after) for each in waiting)])


def _closing(
    sign: Literal["+", "-"], closed: ClusterEgress, open_: ClusterEgress, namespace: str
) -> Iterator[Change]:
    """Yield whose Pods are closed in the one state, and open to everything in the other."""
    more, less = closed.closure(namespace), open_.closure(namespace)
    if less.is_whole or not more.closes:
        return
    workloads = [each for each in more.workloads if each not in less.workloads]
    if more.is_whole:
        who = f"{namespace}/*"
        if less.workloads:
            who = f"{who} but {', '.join(less.workloads)}"
    elif workloads:
        who = f"{namespace}/* {', '.join(workloads)}"
    else:
        return
    pods = [
        each.name
        for each in closed.snapshot.pods
        if each.namespace == namespace and closed.closes(each) and not open_.closes(each)
    ]
    yield Change(
        sign=sign,
        namespace=namespace,
        service_account="",
        who=who,
        to=f"{EVERYWHERE}{' but where allowlists say' if sign == '-' else ''}",
        ports="every port",
        allowlists=[],
        pods=len(pods),
        examples=sorted(pods)[:_EXAMPLES],
    )


def _sorted(changes: Iterable[Change]) -> list[Change]:
    return sorted(changes, key=lambda each: (each.who, each.sign, each.to, each.ports))


def _waiting(change: Change, after: ClusterEgress) -> Change:
    reasons = {
        problem.message
        for problem in after.problems(change.namespace)
        if problem.allowlist in change.allowlists and problem.reason in _ASKED
    }
    return msgspec.structs.replace(change, waits="; ".join(sorted(reasons)) or "an approval")


def _compare(
    sign: Literal["+", "-"], wanted: ClusterEgress, there: ClusterEgress, namespace: str
) -> list[Change]:
    """Return the connections that are open in `wanted` and not in `there`."""
    openings, others = wanted.openings(namespace), there.openings(namespace)
    subjects = sorted({one for each in openings for one in subjects_of(namespace, each.selects)})
    left: dict[PodSubject, list[PeerPorts]] = {}
    for subject in subjects:
        if found := missing_connections(_of(subject, openings), _of(subject, others)):
            left[subject] = found
    changes: dict[tuple[str, str, str], Change] = {}
    for subject, found in left.items():
        wider = [other for other in left if other != subject and _narrows(subject, other)]
        held = [connection for other in wider for connection in left[other]]
        for connection in missing_connections(found, held):
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


def _narrows(subject: PodSubject, other: PodSubject) -> bool:
    return implies(subject.requirements, other.requirements)


def _of(subject: PodSubject, openings: Sequence[Opening]) -> list[PeerPorts]:
    """Return all that a subject's Pods may reach."""
    mine = (
        each
        for each in openings
        if any(
            implies(subject.requirements, one.requirements)
            for one in subjects_of(subject.namespace, each.selects)
        )
    )
    return [PeerPorts(each.peer, ports, _source(each)) for each in mine for ports in each.ports]


def _source(opening: Opening) -> str:
    return f"{opening.allowlist} {opening.path}"


def _change(
    sign: Literal["+", "-"], world: ClusterEgress, subject: PodSubject, connection: PeerPorts
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
        ports=describe_ports([connection.ports]),
        allowlists=[name],
        pods=len(pods),
        examples=pods[:_EXAMPLES],
        waits=_lacking(opening, world) if sign == "+" else "",
    )


def _lacking(opening: Opening, world: ClusterEgress) -> str:
    """Say what an opening has no address for yet; empty where it opens something."""
    peer = opening.peer
    if not opens_nothing(opening, learns_names=learns_names(world)):
        return ""
    if isinstance(peer, Service):
        of = (peer.namespace, peer.name)
        return no_backends_message(of, world.known.services.get(of))
    return world.known.names.resolved(peer.pattern, ()).problem if isinstance(peer, Name) else ""
