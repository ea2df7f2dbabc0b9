"""How many Pods a pool of nodes can take: `control` keeps the numbers, the gate warns by them.

Pure. What is said is always "at most": nobody here knows a Pod's affinity, its own node selector,
its spread over zones, or where its volumes lie.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_json
from core.base.times import LATEST_S
from core.kubernetes.quantities import Amounts

FORMAT: Final = 1
"""Version of the summary. Release N reads N - 1 and N + 1 as well; fields only come on top."""

MOST_SHAPES: Final = 1024
"""Shapes that are read; `control` writes far fewer."""

UNLIMITED: Final = 2**31
"""So many Pods fit that ask for nothing."""

Measure = Literal["free", "allocatable"]
"""What is free now, or what there is when nothing runs."""

_Natural = Annotated[int, msgspec.Meta(ge=0)]


class Taint(msgspec.Struct, frozen=True, order=True, omit_defaults=True, gc=False):
    """A taint of a node (core v1)."""

    key: str
    effect: str
    value: str = ""


class Toleration(msgspec.Struct, frozen=True, gc=False):
    """A toleration of a Pod (core v1). A null is an absent field."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Return whether it lets a Pod onto a node with a taint.

        As k8s.io/api core/v1 toleration.go, ToleratesTaint; the operators Lt and Gt, which
        compare numbers, always do here, since what is said is "at most".
        """
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if (self.operator or "Equal") == "Equal":
            return (self.value or "") == taint.value
        return True


class NodeShape(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Nodes that are alike."""

    count: _Natural
    allocatable: dict[str, _Natural]
    free: dict[str, _Natural]
    """What no Pod on them asks for."""
    taints: tuple[Taint, ...] = ()
    """Those that keep Pods away and that the RuntimeClass does not tolerate."""

    def room(self, of: Measure) -> Amounts:
        """Return what there is."""
        return self.free if of == "free" else self.allocatable


class Capacity(msgspec.Struct, frozen=True, gc=False):
    """The nodes of one RuntimeClass."""

    as_of: float
    """Unix seconds: no number is older."""
    nodes: _Natural
    """That are ready, and take Pods."""
    shapes: tuple[NodeShape, ...]
    left_out: dict[str, _Natural] = {}
    """How many nodes take no Pods now, by why: `cordoned`, `not-ready`."""


class NodePool(msgspec.Struct, frozen=True, gc=False):
    """Where the Pods of a RuntimeClass run, and what each takes besides its own requests."""

    capacity: Capacity
    overhead: Mapping[str, int] = {}


class PodBatch(msgspec.Struct, frozen=True, gc=False):
    """Identical Pods: how many, and what each asks for."""

    count: int
    demand: Mapping[str, int]
    tolerations: tuple[Toleration, ...] = ()


def admits(shape: NodeShape, tolerations: Iterable[Toleration]) -> bool:
    """Return whether no taint of the nodes keeps a Pod away."""
    return all(any(each.tolerates(taint) for each in tolerations) for taint in shape.taints)


def count_fitting(
    capacity: Capacity, demand: Amounts, tolerations: Sequence[Toleration], *, of: Measure = "free"
) -> int:
    """Return how many identical Pods fit: exact, for what the summary knows.

    Such Pods hinder one another only on the same node: each takes as many as its scarcest resource
    allows (k8s.io/kubernetes pkg/scheduler/framework/plugins/noderesources/fit.go, fitsRequest).
    """
    asked = [(resource, value) for resource, value in demand.items() if value > 0]
    found = 0
    for shape in capacity.shapes:
        if shape.taints and not admits(shape, tolerations):
            continue
        room, most = shape.room(of), UNLIMITED
        for resource, value in asked:
            most = min(most, room.get(resource, 0) // value)
            if not most:
                break
        found += shape.count * most
    return found


def count_fitting_together(
    capacity: Capacity, wants: Sequence[PodBatch], *, of: Measure = "free"
) -> int:
    """Return how many Pods of several templates fit: never fewer than really do.

    Of each template no more than would fit alone, and of all together no more than there is of
    each resource on all nodes, the smallest Pods first.
    """
    alone = [
        min(want.count, count_fitting(capacity, want.demand, want.tolerations, of=of))
        for want in wants
    ]
    if len(wants) == 1:
        return alone[0]
    usable = [
        shape for shape in capacity.shapes if any(admits(shape, want.tolerations) for want in wants)
    ]
    resources = {resource for want in wants for resource in want.demand}
    bounds = (_packed(resource, wants, alone, usable, of) for resource in resources)
    return min(sum(alone), *bounds)


def _packed(
    resource: str,
    wants: Sequence[PodBatch],
    alone: Sequence[int],
    usable: Iterable[NodeShape],
    of: Measure,
) -> int:
    """Return how many Pods there is enough of one resource for."""
    left = sum(shape.count * shape.room(of).get(resource, 0) for shape in usable)
    count = 0
    sizes = sorted((want.demand.get(resource, 0), n) for want, n in zip(wants, alone, strict=True))
    for size, most in sizes:
        taken = min(most, left // size) if size > 0 else most
        count, left = count + taken, left - taken * size
    return count


def largest_allocatable(
    capacity: Capacity, resource: str, tolerations: Sequence[Toleration]
) -> int:
    """Return how much the largest node has of a resource when nothing runs on it."""
    return max(
        (
            shape.allocatable.get(resource, 0)
            for shape in capacity.shapes
            if shape.count and admits(shape, tolerations)
        ),
        default=0,
    )


class _Written(msgspec.Struct, frozen=True, rename="camel"):
    format: int
    as_of: Annotated[float, msgspec.Meta(ge=0, le=LATEST_S)]
    nodes: _Natural
    shapes: Annotated[tuple[NodeShape, ...], msgspec.Meta(max_length=MOST_SHAPES)]
    left_out: dict[str, _Natural] = {}


_DECODER: Final = msgspec.json.Decoder(_Written)


def encode_capacity(capacity: Capacity) -> str:
    """Return a summary as JSON, the same whenever it says the same."""
    fields: dict[str, Any] = msgspec.structs.asdict(capacity)
    return msgspec.json.encode(_Written(format=FORMAT, **fields), order="sorted").decode()


def decode_capacity(text: str, what: str) -> Capacity:
    """Read a summary of this format, the one before or the one after; `what` names it.

    Raises:
        InvalidObjectError: it is none; names the field.
    """
    read = decode_json(_DECODER, text, what)
    if not FORMAT - 1 <= read.format <= FORMAT + 1:
        raise InvalidObjectError(what, "format", f"is {read.format}: this release reads {FORMAT}")
    return Capacity(read.as_of, read.nodes, read.shapes, read.left_out)
