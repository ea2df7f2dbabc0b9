"""What of some connections others do not have: the arithmetic behind `egress.analysis.plan`. Pure.

Connections are compared, not texts: two halves of a network are the network.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import summarize_address_range

import msgspec

from core.base.networks import Network, collapse, subtract
from core.egress.destinations import PortRange
from core.egress.dns_names import ANY, is_wildcard, matches_name
from core.kubernetes.label_selectors import implies
from egress.model.openings import Addresses, Block, Name, Peer, Pods, Service


class Connection(msgspec.Struct, frozen=True):
    """To one peer, on ports next to one another."""

    peer: Peer
    ports: PortRange
    source: str
    """Which intent says so: it makes no difference to what is open."""


def missing(wanted: Sequence[Connection], there: Sequence[Connection]) -> list[Connection]:
    """Give what of `wanted` is not in `there`, in the order of `wanted`."""
    known = {(each.peer, each.ports) for each in there}
    left: list[Connection] = []
    for each in wanted:
        if (each.peer, each.ports) in known:
            continue
        if isinstance(each.peer, Addresses):
            left += _addresses_left(each, each.peer, there)
        else:
            left += _others_left(each, there)
    return left


def covers(wide: Peer, narrow: Peer) -> bool:
    """Say whether whoever reaches the one reaches the other, by what intents say."""
    match wide, narrow:
        case Name(), Name():
            return _name_covers(wide, narrow)
        case Service(), Service():
            return (wide.namespace, wide.name) == (narrow.namespace, narrow.name)
        case Pods(), Pods():
            same = wide.namespace == narrow.namespace
            return same and implies(narrow.requirements, wide.requirements)
        case _:
            return False


def _name_covers(wide: Name, narrow: Name) -> bool:
    if wide.pinned or narrow.pinned:
        held = set(narrow.addresses) <= set(wide.addresses)
        return wide.pinned == narrow.pinned and wide.pattern == narrow.pattern and held
    if wide.pattern in {ANY, narrow.pattern}:
        return True
    if not is_wildcard(wide.pattern) or narrow.pattern == ANY:
        return False
    return matches_name(wide.pattern, narrow.pattern.removeprefix("*."))


def _others_left(each: Connection, there: Iterable[Connection]) -> Iterator[Connection]:
    held = [one.ports for one in there if covers(one.peer, each.peer)]
    for ports in _ports_left(each.ports, held):
        yield msgspec.structs.replace(each, ports=ports)


def _addresses_left(
    each: Connection, peer: Addresses, there: Iterable[Connection]
) -> list[Connection]:
    """Cut ports where any other opening begins or ends; in each part, subtract addresses."""
    others = [
        (one.ports, _whole(one.peer.blocks))
        for one in there
        if isinstance(one.peer, Addresses) and one.ports.protocol == each.ports.protocol
    ]
    whole = _whole(peer.blocks)
    left: list[Connection] = []
    for ports in _parts(each.ports, [one for one, _ in others]):
        held = [network for one, some in others if one.holds(ports) for network in some]
        rest = _networks_left(whole, held)
        if not rest:
            continue
        blocks = peer.blocks if rest == whole else tuple(Block(one) for one in rest)
        last = left[-1] if left else None
        if last and last.ports.last + 1 == ports.first and last.peer == Addresses(blocks):
            ports = PortRange(ports.protocol, last.ports.first, ports.last)  # noqa: PLW2901
            left.pop()
        left.append(Connection(Addresses(blocks), ports, each.source))
    return left


def _whole(blocks: Iterable[Block]) -> tuple[Network, ...]:
    return collapse(one for block in blocks for one in subtract(block.network, block.excepts))


def _networks_left(whole: Sequence[Network], held: Iterable[Network]) -> tuple[Network, ...]:
    """Give what of sorted networks is in none of the others; one look at each."""
    holes = collapse(held)
    left: list[Network] = []
    for version in (4, 6):
        rest = deque(one for one in holes if one.version == version)
        for network in (one for one in whole if one.version == version):
            left += _span_left(network, rest)
    return collapse(left)


def _span_left(network: Network, rest: deque[Network]) -> Iterator[Network]:
    """Give what is left of a network; of `rest`, sorted, what lies before it is taken away."""
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
            part = PortRange(part.protocol, left.pop().first, part.last)  # noqa: PLW2901
        left.append(part)
    return left


def _parts(ports: PortRange, others: Iterable[PortRange]) -> Iterator[PortRange]:
    """Cut a range wherever one of the others begins or ends."""
    same = [one for one in others if one.protocol == ports.protocol]
    cuts = {ports.first, *(one.first for one in same), *(one.last + 1 for one in same)}
    begins = sorted(cut for cut in cuts if ports.first <= cut <= ports.last)
    ends = [*(begin - 1 for begin in begins[1:]), ports.last]
    for first, last in zip(begins, ends, strict=True):
        yield PortRange(ports.protocol, first, last)
