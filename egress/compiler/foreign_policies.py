"""Says what a policy would open that is not open already: by what is reached, not by text. Pure.

Addresses and ports are compared exactly, over all that is open together: two halves of a network
are the network. Of Pods nothing is known but what selectors demand, so they are compared by what
surely follows. What is said to be open is open; of few rules it is not seen that they open nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address, summarize_address_range
from itertools import chain, islice, product
from typing import Final

import msgspec

from core.base.networks import Span, merge_spans, subtract_spans
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import Requirements, implies
from egress.compiler.reading import Rule
from egress.model.openings import Pods

_MOST_SPLIT: Final = 16
"""Combinations of values into which a selector is split."""
_MOST_CUTS: Final = 32
"""Parts of a range of ports; of more, only what is open on all of it counts. Each takes up to 10 ms
where 20,000 networks are open, and nothing else has its turn meanwhile."""
_SHOWN: Final = 3
"""Networks, or values of labels, in one description."""

EVERY_ADDRESS: Final = (Span(4, 0, 2**32 - 1), Span(6, 0, 2**128 - 1))

_FOUR: Final = 4

_Ports = PortRange | None
"""None is every port of every protocol."""


def cases(rule: Rule) -> Iterator[Rule]:
    """Yield rules of one range of ports, and of one value for each label, that say the same.

    So what is open to each of several service accounts is open to all of them.
    """
    for selects in _split(rule.selects):
        for ports in rule.ports or (None,):
            only = (ports,) if ports else ()
            yield msgspec.structs.replace(rule, selects=selects, ports=only)


def beyond(case: Rule, there: Sequence[Rule]) -> Iterator[str]:
    """Yield what one of the `cases` of a rule opens that is not open."""
    ports = case.ports[0] if case.ports else None
    mine = [each for each in there if implies(case.selects, each.selects)]
    spans = EVERY_ADDRESS if case.everywhere else merge_spans(case.spans)
    if spans:
        yield from _addresses_beyond(spans, ports, mine)
    for pods in case.pods:
        for wanted in _split(pods.requirements):
            one = msgspec.structs.replace(pods, requirements=wanted)
            for left in _ports_left(ports, [each for each in mine if _reaches(each, one)]):
                yield f"{_pods_shown(one)} {_ports_shown(left)}"
    if case.everywhere or case.unnamed:
        for left in _ports_left(ports, [each for each in mine if each.everywhere]):
            yield f"Pods of namespaces that it does not name {_ports_shown(left)}"


def _split(requirements: Requirements) -> list[Requirements]:
    choices = [
        [msgspec.structs.replace(each, values=(value,)) for value in each.values]
        if each.operator == "In"
        else [each]
        for each in requirements
    ]
    found = [*islice(product(*choices), _MOST_SPLIT + 1)]
    return found if len(found) <= _MOST_SPLIT else [requirements]


def _reaches(rule: Rule, pods: Pods) -> bool:
    """Say whether a rule is to Pods, on whatever ports."""
    return rule.everywhere or any(
        each.namespace == pods.namespace and implies(pods.requirements, each.requirements)
        for each in rule.pods
    )


def _ports_left(ports: _Ports, there: Sequence[Rule]) -> Iterator[_Ports]:
    """Yield the ports that no rule has."""
    if any(not each.ports for each in there):
        return
    if ports is None:
        yield None
        return
    held = [_span(one) for each in there for one in each.ports if one.protocol == ports.protocol]
    for left in subtract_spans(_span(ports), held):
        yield PortRange(ports.protocol, left.first, left.last)


def _span(ports: PortRange) -> Span:
    return Span(0, ports.first, ports.last)


def _addresses_beyond(spans: Sequence[Span], ports: _Ports, there: Sequence[Rule]) -> Iterator[str]:
    """Cut ports where what is open begins or ends; in each part, subtract what is open there."""
    known: dict[tuple[int, ...], list[Span]] = {}
    found: list[tuple[list[Span], _Ports]] = []
    for part in _parts(ports, there):
        holding = tuple(index for index, each in enumerate(there) if _has_ports(each, part))
        if holding not in known:
            held = merge_spans(span for index in holding for span in _open_spans(there[index]))
            known[holding] = [*_without(spans, held)]
        left, before = known[holding], found[-1] if found else None
        if left and before and before[0] == left and (joined := _join(before[1], part)):
            found[-1] = (left, joined)
        elif left:
            found.append((left, part))
    for left, part in found:
        yield f"{_spans_shown(left)} {_ports_shown(part)}"


def _open_spans(rule: Rule) -> tuple[Span, ...]:
    return EVERY_ADDRESS if rule.everywhere else rule.spans


def _has_ports(rule: Rule, ports: _Ports) -> bool:
    if not rule.ports or ports is None:
        return not rule.ports
    return any(each.holds(ports) for each in rule.ports)


def _parts(ports: _Ports, there: Iterable[Rule]) -> Iterator[_Ports]:
    """Cut a range wherever a range of what is open begins or ends."""
    if ports is None:
        yield None
        return
    same = [one for each in there for one in each.ports if one.protocol == ports.protocol]
    cuts = {*(one.first for one in same), *(one.last + 1 for one in same)}
    begins = [ports.first, *sorted(cut for cut in cuts if ports.first < cut <= ports.last)]
    if len(begins) > _MOST_CUTS:
        begins = begins[:1]
    ends = [*(begin - 1 for begin in begins[1:]), ports.last]
    for first, last in zip(begins, ends, strict=True):
        yield PortRange(ports.protocol, first, last)


def _join(one: _Ports, other: _Ports) -> PortRange | None:
    """Give two parts of a range as one, if they are next to one another."""
    if one is None or other is None or one.last + 1 != other.first:
        return None
    return PortRange(one.protocol, one.first, other.last)


def _without(spans: Iterable[Span], held: Sequence[Span]) -> Iterator[Span]:
    """Yield what is left of spans once others are taken out, all merged; one look at each."""
    begin = 0
    for span in spans:
        while begin < len(held) and (held[begin].version, held[begin].last) < span[:2]:
            begin += 1
        end = begin
        while end < len(held) and held[end][:2] <= (span.version, span.last):
            end += 1
        yield from subtract_spans(span, held[begin:end])


def _ports_shown(ports: _Ports) -> str:
    return "on every port" if ports is None else f"on {ports}"


def _spans_shown(spans: Sequence[Span]) -> str:
    """Write addresses as their first networks."""
    networks = chain.from_iterable(map(_networks, spans))
    shown = [*islice(networks, _SHOWN + 1)]
    more = " and more" if len(shown) > _SHOWN else ""
    return ", ".join(map(str, shown[:_SHOWN])) + more


def _networks(span: Span) -> Iterator[object]:
    make = IPv4Address if span.version == _FOUR else IPv6Address
    yield from summarize_address_range(make(span.first), make(span.last))


def _pods_shown(pods: Pods) -> str:
    if not pods.requirements:
        return f"all Pods of namespace {pods.namespace}"
    labels = [
        f"{each.key} {each.operator} {'|'.join(each.values[:_SHOWN])}".rstrip()
        for each in pods.requirements[:_SHOWN]
    ]
    return f"Pods of namespace {pods.namespace} with {', '.join(labels)}"
