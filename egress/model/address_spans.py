"""Spans of addresses with what holds on them: put together, compared, written. Pure."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import reduce
from ipaddress import IPv4Address, IPv6Address
from itertools import pairwise
from typing import Final, TypeVar

from core.base.networks import Span
from egress.model.port_sets import NO_PORT, PortSet

EVERY_ADDRESS: Final = (Span(4, 0, 2**32 - 1), Span(6, 0, 2**128 - 1))

_FOUR: Final = 4
_BEYOND: Final = 2**128
"""No address is as high."""


def after(span: Span) -> tuple[int, int]:
    """Return the version and the number of the first address that follows a span."""
    return span.version, span.last + 1


def overlaps(spans: Sequence[Span], other: Span) -> bool:
    """Return whether merged spans and another have an address in common."""
    before = bisect_right(spans, (other.version, other.last, _BEYOND)) - 1
    if before < 0 or spans[before].version != other.version:
        return False
    return spans[before].last >= other.first


def merge_layers(layers: Sequence[tuple[Span, PortSet]]) -> Iterator[tuple[Span, PortSet]]:
    """Yield spans, sorted, with the union of the ports of all layers that hold them."""
    begins: dict[tuple[int, int], list[PortSet]] = defaultdict(list)
    ends: dict[tuple[int, int], list[PortSet]] = defaultdict(list)
    for span, ports in layers:
        begins[span[:2]].append(ports)
        ends[after(span)].append(ports)
    edges = sorted(begins.keys() | ends.keys())
    active: Counter[PortSet] = Counter()
    before: tuple[Span, PortSet] | None = None
    for edge, following in pairwise(edges):
        active.subtract(ends.get(edge, ()))
        active.update(begins.get(edge, ()))
        ports = reduce(PortSet.union, (each for each, count in active.items() if count), NO_PORT)
        if not ports:
            continue
        span = Span(edge[0], edge[1], following[1] - 1)
        if before and before[1] == ports and after(before[0]) == edge:
            before = Span(edge[0], before[0].first, span.last), ports
            continue
        if before:
            yield before
        before = span, ports
    if before:
        yield before


_Value = TypeVar("_Value")


def join_spans(
    one: Sequence[tuple[Span, _Value]], other: Sequence[tuple[Span, _Value]], *, empty: _Value
) -> Iterator[tuple[Span, tuple[_Value, _Value]]]:
    """Yield spans, sorted, on which both have one value each, and neighbours differ.

    Where one of them says nothing, its value is `empty`. Both are sorted, without overlaps.
    """
    edges = sorted({edge for span, _ in (*one, *other) for edge in (span[:2], after(span))})
    values = [_at_edges(edges, each, empty) for each in (one, other)]
    before: tuple[Span, tuple[_Value, _Value]] | None = None
    for place, (edge, following) in enumerate(pairwise(edges)):
        if edge[0] != following[0]:
            continue
        pair = values[0][place], values[1][place]
        if before and before[1] == pair and after(before[0]) == edge:
            before = Span(edge[0], before[0].first, following[1] - 1), pair
            continue
        if before:
            yield before
        before = Span(edge[0], edge[1], following[1] - 1), pair
    if before:
        yield before


def _at_edges(
    edges: Sequence[tuple[int, int]], spans: Sequence[tuple[Span, _Value]], empty: _Value
) -> list[_Value]:
    """Return the value that begins at each edge."""
    begins = {span[:2]: value for span, value in spans}
    ends = {after(span) for span, _ in spans}
    found, value = [], empty
    for edge in edges:
        if edge in begins:
            value = begins[edge]
        elif edge in ends:
            value = empty
        found.append(value)
    return found


def show_span(span: Span) -> str:
    """Write addresses outside of the cluster: `10.0.0.0-10.255.255.255[External]`."""
    make = IPv4Address if span.version == _FOUR else IPv6Address
    return f"{make(span.first)}-{make(span.last)}[External]"
