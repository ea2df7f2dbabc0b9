"""Who may reach what, as a graph of nodes and edges; `egress.analysis.graph_svg` draws it. Pure.

Three columns: who connects, where to, and what lies behind that without an entry saying so.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

from core.base.times import time_text
from egress.analysis.cluster_egress import ClusterEgress
from egress.analysis.connection import learns_names
from egress.model.descriptions import (
    PodSubject,
    describe_ports,
    destination_of,
    entry_of,
    subjects_of,
)
from egress.model.openings import Addresses, Name, Opening, Pods, Service, opens_nothing

FORMAT: Final = 1

EVERYWHERE: Final = "everywhere"
DNS: Final = "dns"
_SHOWN: Final = 3

Kind = Literal["subject", "closed", "beside", "name", "network", "inside", "dns", "everywhere"]
_SECTIONS: Final[dict[Kind, str]] = {
    "name": "DNS names",
    "network": "Addresses",
    "inside": "In the cluster",
    "dns": "Open to all of them",
}


class Node(msgspec.Struct, frozen=True):
    """Somebody who connects, or a destination."""

    id: str
    kind: Kind
    column: Literal[0, 1, 2]
    group: str
    """The namespace, or the kind of destination."""
    text: str
    below: str = ""
    """Its second line: Pods, or ports."""


class Edge(msgspec.Struct, frozen=True):
    """A way from one node to another."""

    source: str
    target: str
    said: bool
    """Whether an intent says so; else it is reach that comes with it, or around it."""
    why: str


class EgressGraph(msgspec.Struct, frozen=True, rename="camel"):
    """What `sallyport egress graph -o json` prints."""

    format: int
    engine: str
    nodes: list[Node]
    edges: list[Edge]
    left_out: list[str]
    """Namespaces that are not enrolled: their Pods connect everywhere."""


def build_graph(world: ClusterEgress, namespaces: Iterable[str]) -> EgressGraph:
    """Return the picture of some namespaces."""
    nodes: dict[str, Node] = {}
    edges: dict[tuple[str, str], Edge] = {}
    left_out = []
    for namespace in sorted(namespaces):
        if not world.enrolled(namespace):
            left_out.append(namespace)
            continue
        for each in _of_namespace(world, namespace):
            if isinstance(each, Node):
                nodes.setdefault(each.id, each)
            else:
                before = edges.get((each.source, each.target))
                why = f"{before.why}\n{each.why}" if before else each.why
                edges[each.source, each.target] = msgspec.structs.replace(each, why=why)
    if nodes:
        for each in _dns(world, [one for one in nodes.values() if one.kind == "subject"]):
            if isinstance(each, Node):
                nodes[each.id] = each
            else:
                edges[each.source, each.target] = each
    if any(edge.target == EVERYWHERE for edge in edges.values()):
        nodes[EVERYWHERE] = Node(
            EVERYWHERE, "everywhere", 2, "", "Everywhere", "the cluster, and beyond it"
        )
    kind = world.site.target.engine.kind
    return EgressGraph(FORMAT, kind, list(nodes.values()), list(edges.values()), left_out)


def _of_namespace(world: ClusterEgress, namespace: str) -> Iterator[Node | Edge]:
    running = _pods_of(world, namespace)
    drawn = set()
    for opening in world.openings(namespace):
        target = _target(opening, namespace, world)
        yield target
        yield from _onward(opening, target, world)
        for subject in subjects_of(namespace, opening.selects):
            drawn.add(subject.account)
            yield _subject(subject, running.get(subject.account, []))
            yield Edge(_id(subject), target.id, said=True, why=_why(opening, subject, world))
    for account, pods in sorted(running.items()):
        if account not in drawn:
            text = f"{namespace}/{account}"
            nothing = (
                "no allowlist opens anything" if world.opened(namespace) else "reaches nothing"
            )
            below = f"{_count(pods)}, {nothing}"
            yield Node(f"subject {text}", "closed", 0, namespace, text, below)
    yield from _beside(world, namespace)


def _pods_of(world: ClusterEgress, namespace: str) -> dict[str, list[str]]:
    beside = {pod.name for pod, _ in world.beside(namespace)}
    found: dict[str, list[str]] = defaultdict(list)
    for pod in world.snapshot.pods:
        if pod.namespace == namespace and pod.name not in beside and world.closes(pod):
            found[pod.service_account].append(pod.name)
    return found


def _id(subject: PodSubject) -> str:
    return f"subject {subject}"


def _subject(subject: PodSubject, pods: list[str]) -> Node:
    text, below = str(subject), _count(pods)
    return Node(_id(subject), "subject", 0, subject.namespace, text, below)


def _count(pods: list[str]) -> str:
    return f"{len(pods)} Pod{'' if len(pods) == 1 else 's'}"


def _target(opening: Opening, namespace: str, world: ClusterEgress) -> Node:
    allowlist = world.snapshot.allowlists[f"{namespace}/{opening.allowlist}"]
    text = destination_of(opening.peer, entry_of(opening, allowlist, world.snapshot))
    ports = describe_ports(opening.ports)
    kind: Kind = "inside"
    if isinstance(opening.peer, Name):
        kind = "name"
    elif isinstance(opening.peer, Addresses):
        kind = "network"
    is_empty = opens_nothing(opening, learns_names=learns_names(world))
    below = f"{ports}, closed so far" if is_empty else ports
    return Node(f"{text} {ports}", kind, 1, _SECTIONS[kind], text, below)


def _onward(opening: Opening, target: Node, world: ClusterEgress) -> Iterator[Edge]:
    peer = opening.peer
    if not isinstance(peer, Pods | Service):
        return
    named = [peer.namespace]
    if isinstance(peer, Pods) and peer.namespaces is not None:
        known = world.snapshot.namespaces.values()
        named = [each.name for each in known if peer.has_namespace(each.name, each.labels)]
    for each in sorted(named):
        closure = world.closure(each)
        if not closure.is_whole:
            how = "audited" if closure.labels_pods else "not enrolled"
            why = (
                f"namespace {each} is {how}: its Pods connect everywhere, and what they do "
                "for others they do there too"
            )
            yield Edge(target.id, EVERYWHERE, said=False, why=why)
            return


def _why(opening: Opening, subject: PodSubject, world: ClusterEgress) -> str:
    spec = world.snapshot.allowlists[f"{subject.namespace}/{opening.allowlist}"].spec
    return (
        f"{subject.namespace}/{opening.allowlist} {opening.path}: {spec.reason} "
        f"(owner {spec.owner}, until {spec.expires_at})"
    )


def _beside(world: ClusterEgress, namespace: str) -> Iterator[Node | Edge]:
    if not world.closure(namespace).is_whole:
        named = f"open {namespace}"
        text = f"{namespace}: Pods of other workloads"
        yield Node(named, "beside", 0, namespace, text, "audited, and not closed")
        why = "the namespace is audited: only the workloads that it lists are closed"
        yield Edge(named, EVERYWHERE, said=False, why=why)
    for each in world.opened(namespace):
        named = f"glass {namespace} {each.name}"
        below = f"BreakGlass {each.name} until {time_text(each.ends)}"
        yield Node(named, "beside", 0, namespace, f"{namespace}: {each.pods}", below)
        yield Edge(named, EVERYWHERE, said=False, why=str(each))
    found = world.beside(namespace)
    hosts = [pod.name for pod, _ in found if pod.host_network]
    others = [pod.name for pod, _ in found if not pod.host_network]
    if hosts:
        named = f"beside {namespace}"
        text = f"{namespace}: {_named(hosts)}"
        yield Node(named, "beside", 0, namespace, text, "on their node's network")
        why = "Pods on their node's network: no policy holds them"
        yield Edge(named, EVERYWHERE, said=False, why=why)
    if others:
        text = f"{namespace}: {_named(others)}"
        below = "without the gate's labels, reach nothing but DNS"
        if any(not each.workloads for each in world.opened(namespace)):
            below = "without the gate's labels, no allowlist is for them"
        yield Node(f"closed {namespace}", "closed", 0, namespace, text, below)


def _named(pods: list[str]) -> str:
    more = len(pods) - _SHOWN
    return ", ".join(sorted(pods)[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _dns(world: ClusterEgress, subjects: list[Node]) -> Iterator[Node | Edge]:
    """Yield the cluster's DNS, by which whoever may ask it for any name can send something out."""
    filtered = learns_names(world)
    below = "for names of intents alone" if filtered else "for every name"
    yield Node(DNS, "dns", 1, _SECTIONS["dns"], "the cluster's DNS", below)
    for subject in subjects:
        yield Edge(subject.id, DNS, said=False, why="every Pod may ask the cluster's DNS")
    if not filtered:
        why = "this engine cannot filter names: what is asked for travels to whoever answers"
        yield Edge(DNS, EVERYWHERE, said=False, why=why)
