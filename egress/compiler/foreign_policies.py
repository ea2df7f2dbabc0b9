"""What NetworkPolicies that others write would open beyond what allowlists open. Pure.

Fields mean what the comments of k8s.io/api networking/v1 types.go say. Addresses and ports are
compared exactly, over all that is open together; of Pods nothing is known but what selectors
demand, so they are compared by what surely follows. What is said to be open is open; of few rules
it is not seen that they open nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address, summarize_address_range
from itertools import chain, islice, product
from math import prod
from typing import Final

import msgspec

from core.base import names
from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_json
from core.base.networks import Span, merge_spans, subtract_spans
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import (
    LabelSelector,
    Requirement,
    Requirements,
    implies,
    requirements_of,
)
from egress.model.address_spans import EVERY_ADDRESS
from egress.model.network_policies import KIND, EgressEntry, EgressSpec, PortName, selectors_of

MOST_NETWORKS: Final = 2_000
MOST_PARTS: Final = 128
"""Rules, ports and peers by labels of a policy that somebody writes: to compare more takes long."""
MOST_VALUES: Final = 2_000
"""Values that its selectors list."""
MOST_CASES: Final = 4_096
"""Combinations of whom a rule is from, whom it is to and on what ports, of a whole policy."""

_MOST_SPLIT: Final = 16
"""Combinations of values into which a selector is split."""
_MOST_CUTS: Final = 32
"""Parts of a range of ports; of more, only what is open on all of it counts. Each takes up to 10 ms
where 20,000 networks are open."""
_SHOWN: Final = 3
"""Networks, or values of labels, in one description."""

_FOUR: Final = 4


class PodPeer(msgspec.Struct, frozen=True, gc=False):
    """Pods with such labels, in namespaces with such labels."""

    namespaces: Requirements
    pods: Requirements
    name: str = ""
    """The one namespace that it can be, where its name is demanded: others are quickly told."""


EVERY_POD: Final = PodPeer((), ())


class EgressRule(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A rule of `spec.egress`: from Pods, to any of its peers, on any of its ports."""

    path: str
    """`spec.egress[2]`."""
    selects: Requirements
    """Which Pods of the policy's namespace."""
    spans: tuple[Span, ...] = ()
    """Addresses, those of `except` left out."""
    pods: tuple[PodPeer, ...] = ()
    everywhere: bool = False
    """Whether it has no peers: it is to all addresses, and all Pods."""
    ports: tuple[PortRange | PortName, ...] = ()
    """None of them: every port of every protocol."""


class _Policy(msgspec.Struct, frozen=True):
    spec: EgressSpec = EgressSpec()


_DECODER: Final = msgspec.json.Decoder(_Policy)


def read_rules(
    raw: bytes | msgspec.Raw, namespace: str, *, trusted: bool = False
) -> tuple[EgressRule, ...]:
    """Return the egress rules of a policy of a namespace, whatever its `policyTypes` say.

    Of one that is `trusted` the size does not matter, since Sallyport wrote it.

    Raises:
        InvalidObjectError: the policy has not its kind's shape, says more than is compared, or a
            network otherwise than in its canonical form.
    """
    spec = decode_json(_DECODER, raw, KIND).spec
    if not trusted:
        _check_size(spec)
    selects = requirements_of(spec.pod_selector, field="spec.podSelector", what=KIND)
    found = tuple(
        _rule(each, f"spec.egress[{index}]", selects, namespace)
        for index, each in enumerate(spec.egress or ())
    )
    if not trusted:
        _check_cases(found)
    return found


def _check_size(spec: EgressSpec) -> None:
    rules = spec.egress or ()
    blocks = [peer.ip_block for rule in rules for peer in rule.to or () if peer.ip_block]
    networks = sum(1 + len(block.except_ or ()) for block in blocks)
    peers = sum(len(rule.to or ()) for rule in rules) - len(blocks)
    parts = len(rules) + peers + sum(len(rule.ports or ()) for rule in rules)
    if networks > MOST_NETWORKS or parts > MOST_PARTS:
        message = (
            f"more than {MOST_NETWORKS} networks, or {MOST_PARTS} rules, peers and ports in all, "
            "are not compared with what is open: write several policies"
        )
        raise InvalidObjectError(KIND, "spec.egress", message)
    if sum(map(_value_count, selectors_of(spec))) > MOST_VALUES:
        message = (
            f"selectors that list more than {MOST_VALUES:,} values are not compared with what is "
            "open: write several policies"
        )
        raise InvalidObjectError(KIND, "spec", message)


def _value_count(selector: LabelSelector | None) -> int:
    if selector is None:
        return 0
    listed = sum(len(each.values or ()) for each in selector.match_expressions or ())
    return len(selector.match_labels or ()) + listed


def _check_cases(rules: Sequence[EgressRule]) -> None:
    if sum(map(_case_count, rules)) > MOST_CASES:
        message = (
            f"more than {MOST_CASES:,} combinations of Pods, peers and ports are not compared with "
            "what is open: write several policies, or select by fewer values"
        )
        raise InvalidObjectError(KIND, "spec.egress", message)


def _case_count(rule: EgressRule) -> int:
    """Return how many steps `find_excess` takes for a rule, but those of addresses."""
    peers = 1 + sum(_split_count(each.namespaces) * _split_count(each.pods) for each in rule.pods)
    return _split_count(rule.selects) * max(1, len(rule.ports)) * peers


def _split_count(requirements: Requirements) -> int:
    count = prod(len(each.values) for each in requirements if each.operator == "In")
    return count if count <= _MOST_SPLIT else 1


def _rule(rule: EgressEntry, path: str, selects: Requirements, namespace: str) -> EgressRule:
    spans: list[Span] = []
    pods: list[PodPeer] = []
    for index, peer in enumerate(rule.to or ()):
        place = f"{path}.to[{index}]"
        if peer.ip_block is not None:
            spans += peer.ip_block.spans(f"{place}.ipBlock")
            continue
        wanted = requirements_of(peer.pod_selector, field=f"{place}.podSelector", what=KIND)
        within = peer.namespace_selector
        if within is None:
            if peer.pod_selector is None:
                raise InvalidObjectError(KIND, place, "must say whom it is to")
            pods.append(PodPeer((_named(namespace),), wanted, namespace))
            continue
        chosen = requirements_of(within, field=f"{place}.namespaceSelector", what=KIND)
        pods += [PodPeer(each, wanted, name) for each, name in _by_name(chosen)]
    return EgressRule(
        path=path,
        selects=selects,
        spans=tuple(spans),
        pods=tuple(pods),
        everywhere=not rule.to,
        ports=tuple(each.meaning for each in rule.ports or ()),
    )


def _named(namespace: str) -> Requirement:
    """Return the label that every namespace has, and that no other can have."""
    return Requirement(names.NAMESPACE_NAME_LABEL, "In", (namespace,))


def _by_name(chosen: Requirements) -> Iterator[tuple[Requirements, str]]:
    """Yield requirements of one name each, and the name; together they say the same."""
    for place, each in enumerate(chosen):
        if each.key == names.NAMESPACE_NAME_LABEL and each.operator == "In":
            for name in each.values:
                yield (*chosen[:place], _named(name), *chosen[place + 1 :]), name
            return
    yield chosen, ""


_Range = PortRange | None
"""None is every port of every protocol."""
_Ports = PortRange | PortName | None
"""None is every port of every protocol."""


def split_rule(rule: EgressRule) -> Iterator[EgressRule]:
    """Yield rules of one range of ports, and of one value for each label, that say the same.

    So what is open to each of several service accounts is open to all of them.
    """
    for selects in _split(rule.selects):
        for ports in rule.ports or (None,):
            only = (ports,) if ports else ()
            yield msgspec.structs.replace(rule, selects=selects, ports=only)


def find_excess(case: EgressRule, there: Sequence[EgressRule]) -> Iterator[list[str]]:
    """Yield the openings of one case of a rule (`split_rule`) that are not open yet.

    What each step finds, often nothing: who shares a thread with others lets them go on between.
    """
    ports = case.ports[0] if case.ports else None
    selects = case.selects
    mine = [each for each in there if each.selects == selects or implies(selects, each.selects)]
    spans = EVERY_ADDRESS if case.everywhere else merge_spans(case.spans)
    if isinstance(ports, PortName):
        spans = _not_by_name(spans, ports, mine)
    if spans:
        yield from _addresses_beyond(spans, _widest(ports), mine)
    for peer in (EVERY_POD,) if case.everywhere else case.pods:
        for namespaces, pods in product(_split(peer.namespaces), _split(peer.pods)):
            one = PodPeer(namespaces, pods, peer.name)
            reaching = [each for each in mine if _reaches(each, one)]
            whom = _pods_shown(one)
            yield [f"{whom} {_ports_shown(left)}" for left in _ports_left(ports, reaching)]


def _split(requirements: Requirements) -> list[Requirements]:
    choices = [
        [msgspec.structs.replace(each, values=(value,)) for value in each.values]
        if each.operator == "In"
        else [each]
        for each in requirements
    ]
    found = [*islice(product(*choices), _MOST_SPLIT + 1)]
    return found if len(found) <= _MOST_SPLIT else [requirements]


def _reaches(rule: EgressRule, peer: PodPeer) -> bool:
    """Return whether a rule is to Pods, on whatever ports."""
    return rule.everywhere or any(
        each.name in {"", peer.name}
        and implies(peer.namespaces, each.namespaces)
        and implies(peer.pods, each.pods)
        for each in rule.pods
    )


def _ports_left(ports: _Ports, there: Sequence[EgressRule]) -> Iterator[_Range]:
    """Yield the ports that no rule has; a name is also had by rules that say the same name."""
    if any(not each.ports or ports in each.ports for each in there):
        return
    wanted = _widest(ports)
    if wanted is None:
        yield None
        return
    held = [_span(one) for each in there for one in _ranges(each, wanted)]
    for left in subtract_spans(_span(wanted), held):
        yield PortRange(wanted.protocol, left.first, left.last)


def _widest(ports: _Ports) -> _Range:
    """Return all ports that may be meant: a name may stand for any that a Pod declares."""
    return ports.widest if isinstance(ports, PortName) else ports


def _ranges(rule: EgressRule, ports: PortRange) -> Iterator[PortRange]:
    """Yield the ports of a rule that are surely open; what a name stands for is not known."""
    for each in rule.ports:
        if isinstance(each, PortRange) and each.protocol == ports.protocol:
            yield each


def _not_by_name(spans: Sequence[Span], ports: PortName, there: Iterable[EgressRule]) -> list[Span]:
    """Return the addresses to which ports of a name are not open by the same name."""
    held = (span for each in there if ports in each.ports for span in _open_spans(each))
    return [*_without(spans, merge_spans(held))]


def _span(ports: PortRange) -> Span:
    return Span(0, ports.first, ports.last)


def _addresses_beyond(
    spans: Sequence[Span], ports: _Range, there: Sequence[EgressRule]
) -> Iterator[list[str]]:
    """Cut ports where what is open begins or ends; in each part, subtract what is open there."""
    known: dict[tuple[int, ...], list[Span]] = {}
    found: list[tuple[list[Span], _Range]] = []
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
        yield []
    yield [f"{_spans_shown(left)} {_ports_shown(part)}" for left, part in found]


def _open_spans(rule: EgressRule) -> tuple[Span, ...]:
    return EVERY_ADDRESS if rule.everywhere else rule.spans


def _has_ports(rule: EgressRule, ports: _Range) -> bool:
    if not rule.ports or ports is None:
        return not rule.ports
    return any(each.holds(ports) for each in _ranges(rule, ports))


def _parts(ports: _Range, there: Iterable[EgressRule]) -> Iterator[_Range]:
    """Cut a range wherever a range of what is open begins or ends."""
    if ports is None:
        yield None
        return
    same = [one for each in there for one in _ranges(each, ports)]
    cuts = {*(one.first for one in same), *(one.last + 1 for one in same)}
    begins = [ports.first, *sorted(cut for cut in cuts if ports.first < cut <= ports.last)]
    if len(begins) > _MOST_CUTS:
        begins = begins[:1]
    ends = [*(begin - 1 for begin in begins[1:]), ports.last]
    for first, last in zip(begins, ends, strict=True):
        yield PortRange(ports.protocol, first, last)


def _join(one: _Range, other: _Range) -> PortRange | None:
    """Return two parts of a range as one, if they are next to one another."""
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


def _ports_shown(ports: _Range) -> str:
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


def _pods_shown(peer: PodPeer) -> str:
    whom = f"Pods with {_labels_shown(peer.pods)}" if peer.pods else "all Pods"
    match peer.namespaces:
        case ():
            return f"{whom} of all namespaces"
        case (Requirement(names.NAMESPACE_NAME_LABEL, "In", (namespace,)),):
            return f"{whom} of namespace {namespace}"
        case _:
            return f"{whom} of namespaces with {_labels_shown(peer.namespaces)}"


def _labels_shown(requirements: Requirements) -> str:
    return ", ".join(
        f"{each.key} {each.operator} {'|'.join(each.values[:_SHOWN])}".rstrip()
        for each in requirements[:_SHOWN]
    )
