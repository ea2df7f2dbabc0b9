"""Reads what Nodes have and what Pods on them ask for, and sums it up for the gate. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from control.sandbox_capacity.merging import merged
from core.base.errors import ClusterError, InvalidObjectError
from core.kubernetes.quantities import Amounts, parse_amounts
from core.sandbox.capacity import Capacity, NodeShape, Taint, Toleration
from core.sandbox.pod_resources import parse_pod_resources, sum_amounts

NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/pods"

MOST_SHAPES: Final = 128
"""Shapes that are written of one pool, about 20 KB; a question takes the gate 0.1 ms then."""

READY: Final = "ready"
NOT_READY: Final = "not-ready"
CORDONED: Final = "cordoned"
STATES: Final = (READY, NOT_READY, CORDONED)

_PREFERS: Final = "PreferNoSchedule"
"""The one effect of a taint that keeps no Pod away."""


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    name: str
    uid: str = ""


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
    metadata: _Metadata
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
        raise ClusterError(f"GET {NODES}: an item is no Node: {error}") from None
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


def used_by(pods: Iterable[msgspec.Raw]) -> dict[str, int]:
    """Add up what Pods ask of their node.

    Raises:
        ClusterError: one is no Pod, which kube-apiserver never says.
    """
    try:
        return sum_amounts(parse_pod_resources(raw).demand for raw in pods)
    except InvalidObjectError as error:
        raise ClusterError(f"GET {PODS}: an item is no Pod: {error}") from None


def summary(
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
    return Capacity(as_of, len(ready), merged(shapes, most), left_out)


def _shape(node: Node, usage: Usage | None, tolerations: Sequence[Toleration]) -> NodeShape:
    used: Amounts = usage.used if usage else {}
    free = {r: max(value - used.get(r, 0), 0) for r, value in node.allocatable.items()}
    taints = (each for each in node.taints if not any(t.tolerates(each) for t in tolerations))
    return NodeShape(1, node.allocatable, free, tuple(taints))
