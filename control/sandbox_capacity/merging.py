"""Counts nodes that are alike together, so that a pool of any size is said in a few words. Pure.

Where there are too many different ones, those that are most alike count as the largest of them:
the gate says "at most", and would rather stay silent than warn without need.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

import msgspec

from core.sandbox.capacity import NodeShape, Taint

_with: Final = msgspec.structs.replace

_Point = tuple[int, ...]
"""What nodes have and what is free of it, resource by resource."""


def merged(shapes: Iterable[NodeShape], most: int) -> tuple[NodeShape, ...]:
    """Give at most so many shapes, in a fixed order, in which as many Pods fit or more."""
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
        """Give how far they lie apart, times how many they are, and in which place of a point."""
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
