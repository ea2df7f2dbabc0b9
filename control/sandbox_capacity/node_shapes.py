"""Shapes of nodes: what they have and what Pods on them ask for, summed up for the gate. Pure.

Nodes that are alike count together, so that a pool of any size takes a few words. Where there are
too many different ones, those most alike count as the largest of them: the gate says "at most", and
would rather stay silent than warn without need.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

import msgspec

from core.base.errors import ClusterError, InvalidObjectError
from core.kubernetes.object_meta import IdentityMeta
from core.kubernetes.quantities import Amounts, parse_amounts
from core.sandbox.capacity import Capacity, NodeShape, Taint, Toleration
from core.sandbox.pod_resources import parse_pod_resources, sum_amounts
from kube.resources.paths import NODES_PATH, PODS_PATH

_with: Final = msgspec.structs.replace

_Point = tuple[int, ...]
"""What nodes have and what is free of it, resource by resource."""

MOST_SHAPES: Final = 128
"""Shapes that are written of one pool, about 20 KB; a question takes the gate 0.1 ms then."""

READY: Final = "ready"
NOT_READY: Final = "not-ready"
CORDONED: Final = "cordoned"
STATES: Final = (READY, NOT_READY, CORDONED)

_PREFERS: Final = "PreferNoSchedule"
"""The one effect of a taint that keeps no Pod away."""


def merge_shapes(shapes: Iterable[NodeShape], most: int) -> tuple[NodeShape, ...]:
    """Return at most so many shapes, in a fixed order, in which as many Pods fit or more."""
    shapes = list(shapes)
    if len({shape.taints for shape in shapes}) > most:
        shapes = [_with(shape, taints=()) for shape in shapes]
    resources = sorted({resource for shape in shapes for resource in shape.allocatable})
    groups = _split([*_by_taints(shapes, resources)], most)
    found = (_largest(group, resources) for group in groups)
    return tuple(sorted(found, key=lambda shape: (shape.taints, _point(shape, resources))))


@dataclass(frozen=True)
class _Group:
    """Nodes that count as one shape."""

    taints: tuple[Taint, ...]
    nodes: tuple[tuple[_Point, int], ...]
    """Different ones, and how many there are of each."""

    def widest(self, scale: Sequence[int]) -> tuple[float, int]:
        """Return how far they lie apart, times how many they are, and in which place of a point."""
        columns = zip(*(point for point, _ in self.nodes), strict=True)
        spans = [(max(each) - min(each)) / most for each, most in zip(columns, scale, strict=True)]
        at = max(range(len(spans)), key=spans.__getitem__, default=0)
        return (spans[at] if spans else 0.0) * sum(n for _, n in self.nodes), at


def _by_taints(shapes: Iterable[NodeShape], resources: Sequence[str]) -> Iterable[_Group]:
    counted: dict[tuple[Taint, ...], dict[_Point, int]] = defaultdict(lambda: defaultdict(int))
    for shape in shapes:
        counted[shape.taints][_point(shape, resources)] += shape.count
    return (_Group(taints, tuple(sorted(of.items()))) for taints, of in sorted(counted.items()))


def _split(groups: list[_Group], most: int) -> list[_Group]:
    """Divide the groups whose nodes lie farthest apart until there are so many."""
    points = (point for group in groups for point, _ in group.nodes)
    scale = [max(*each, 1) for each in zip(*points, strict=True)]
    number = count()
    heap = [(-group.widest(scale)[0], next(number), group) for group in groups]
    heapq.heapify(heap)
    while heap and len(heap) < most and heap[0][0] < 0:
        _, _, group = heapq.heappop(heap)
        for half in _halves(group, group.widest(scale)[1]):
            heapq.heappush(heap, (-half.widest(scale)[0], next(number), half))
    return [group for _, _, group in heap]


def _halves(group: _Group, at: int) -> tuple[_Group, _Group]:
    """Divide nodes in the middle of where they lie apart; neither half is empty."""
    values = [point[at] for point, _ in group.nodes]
    middle = (max(values) + min(values)) // 2
    low = tuple(each for each in group.nodes if each[0][at] <= middle)
    high = tuple(each for each in group.nodes if each[0][at] > middle)
    return _Group(group.taints, low), _Group(group.taints, high)


def _point(shape: NodeShape, resources: Sequence[str]) -> _Point:
    has = (shape.allocatable.get(resource, 0) for resource in resources)
    return (*has, *(shape.free.get(resource, 0) for resource in resources))


def _largest(group: _Group, resources: Sequence[str]) -> NodeShape:
    largest = [max(each) for each in zip(*(point for point, _ in group.nodes), strict=True)]
    has, free = largest[: len(resources)], largest[len(resources) :]
    return NodeShape(
        sum(n for _, n in group.nodes),
        {resource: value for resource, value in zip(resources, has, strict=True) if value},
        {resource: value for resource, value in zip(resources, free, strict=True) if value},
        group.taints,
    )


class _Spec(msgspec.Struct, frozen=True, gc=False):
    unschedulable: bool | None = None
    taints: list[Taint] | None = None


class _Condition(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, frozen=True, gc=False):
    allocatable: dict[str, str | int | float] | None = None
    conditions: list[_Condition] | None = None


class _Node(msgspec.Struct, frozen=True, gc=False):
    metadata: IdentityMeta
    spec: _Spec = _Spec()
    status: _Status = _Status()


_DECODER: Final = msgspec.json.Decoder(_Node)


class Node(msgspec.Struct, frozen=True, gc=False):
    """What is read of a Node."""

    name: str
    uid: str
    state: str
    """One of STATES."""
    allocatable: dict[str, int]
    taints: tuple[Taint, ...] = ()
    """Those that keep Pods away."""


class Usage(msgspec.Struct, frozen=True, gc=False):
    """What the Pods of a Node asked for when it was looked at."""

    uid: str
    """Of the Node: another one may have its name later."""
    at: float
    """Unix seconds."""
    used: dict[str, int]


def read_node(raw: msgspec.Raw) -> Node:
    """Read an item of a list of Nodes.

    Raises:
        ClusterError: it is no Node, which kube-apiserver never says.
    """
    try:
        node = _DECODER.decode(raw)
        allocatable = parse_amounts(node.status.allocatable)
    except (ValueError, RecursionError) as error:  # of ValueError, msgspec's own are some
        raise ClusterError(f"GET {NODES_PATH}: an item is no Node: {error}") from None
    taints = (each for each in node.spec.taints or () if each.effect != _PREFERS)
    return Node(
        node.metadata.name,
        node.metadata.uid,
        _state(node),
        {resource: value for resource, value in sorted(allocatable.items()) if value},
        tuple(sorted(taints)),
    )


def _state(node: _Node) -> str:
    conditions = node.status.conditions or ()
    if not any(each.type == "Ready" and each.status == "True" for each in conditions):
        return NOT_READY
    return CORDONED if node.spec.unschedulable else READY


def sum_usage(pods: Iterable[msgspec.Raw]) -> dict[str, int]:
    """Add up what Pods ask of their node.

    Raises:
        ClusterError: one is no Pod, which kube-apiserver never says.
    """
    try:
        return sum_amounts(parse_pod_resources(raw).demand for raw in pods)
    except InvalidObjectError as error:
        raise ClusterError(f"GET {PODS_PATH}: an item is no Pod: {error}") from None


def summarize_nodes(
    nodes: Sequence[Node],
    usages: Mapping[str, Usage],
    tolerations: Sequence[Toleration],
    now: float,
    most: int = MOST_SHAPES,
) -> Capacity:
    """Sum the nodes of a pool up in at most so many shapes; `tolerations` are its RuntimeClass's.

    A Node at which nobody has looked yet counts as empty: what is said is "at most".
    """
    ready = [node for node in nodes if node.state == READY]
    counted = Counter(node.state for node in nodes)
    shapes = [_shape(node, usages.get(node.name), tolerations) for node in ready]
    as_of = min((usages[node.name].at for node in ready if node.name in usages), default=now)
    left_out = {state: counted[state] for state in STATES[1:] if counted[state]}
    return Capacity(as_of, len(ready), merge_shapes(shapes, most), left_out)


def _shape(node: Node, usage: Usage | None, tolerations: Sequence[Toleration]) -> NodeShape:
    used: Amounts = usage.used if usage else {}
    free = {r: max(value - used.get(r, 0), 0) for r, value in node.allocatable.items()}
    taints = (each for each in node.taints if not any(t.tolerates(each) for t in tolerations))
    return NodeShape(1, node.allocatable, free, tuple(taints))
