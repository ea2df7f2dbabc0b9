"""Which addresses of a DNS name may be opened, for an intent that names it. Pure.

Whoever owns a name chooses its addresses: so one that lies in a reserved range (metadata, loopback,
the cluster's own), or in a private one, stays closed, unless the intent names that range.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import Final

import msgspec

from core.base.networks import MAPPED, Address, Network, collapse, holds, single_address_network
from core.base.times import time_text
from egress.dns.learnt_names import UNASKED, LearntName, NamesSettings
from egress.model.facts import ResolvedName
from egress.model.reserved_ranges import PRIVATE, PRIVATE_OR_TRANSLATED

_ALL_ONES: Final = 0xFFFF_FFFF

_CARRIERS: Final = tuple(
    (int(network.network_address), int(network.broadcast_address), shift, mask)
    for network, shift, mask in (
        (IPv6Network("::/96"), 0, 0),  # IPv4-compatible: RFC 4291, 2.5.5.1.
        (IPv6Network("64:ff9b::/96"), 0, 0),  # NAT64: RFC 6052, 2.1.
        (IPv6Network("64:ff9b:1::/48"), 0, 0),  # NAT64 of one's own: RFC 8215, with a /96 of it.
        (IPv6Network("2002::/16"), 80, 0),  # 6to4: RFC 3056, 2.
        (IPv6Network("2001::/32"), 64, 0),  # Teredo's server: RFC 4380, 4.
        (IPv6Network("2001::/32"), 0, _ALL_ONES),  # Teredo's client, its bits inverted.
    )
)
"""IPv6 addresses that lead to an IPv4 one: first, last, bits behind it, what it is XORed with."""

_INSTEAD: Final = (
    "name a network or a service tag instead, or use an engine that learns names by itself "
    "(egress.engine: cilium, cilium-aks)"
)

_MOST_REMEMBERED: Final = 16_384
"""Sets of addresses: nearly all names have, at each look, those that they had before."""
_FEW: Final = 16
"""Addresses and networks of `within` in a set that is remembered: all sets take some 80 MB."""

_Spans = Mapping[int, Sequence[tuple[int, int, Network]]]


class UsableAddresses(msgspec.Struct, frozen=True):
    """Addresses of a name, told apart."""

    addresses: tuple[Network, ...] = ()
    """Those that may be opened, collapsed."""
    dropped: tuple[str, ...] = ()
    """Those that may not, each with the reason; for people."""


def split_usable(
    addresses: Iterable[Address], within: Sequence[Network], reserved: Sequence[Network]
) -> UsableAddresses:
    """Tell the addresses that may be opened from those that may not.

    With `within`, only addresses in it may. An address in a reserved range may only where a
    network of `within` lies in that range too, all of it: `0.0.0.0/0` names no range. An IPv6
    address that leads to an IPv4 one (NAT64, 6to4, Teredo) is judged by that as well.
    """
    asked = tuple(addresses), tuple(within), tuple(reserved)
    few = len(asked[0]) + len(asked[1]) <= _FEW
    return (_remembered_usable if few else _usable)(*asked)


def _usable(
    addresses: tuple[Address, ...], within: tuple[Network, ...], reserved: tuple[Network, ...]
) -> UsableAddresses:
    spans = _spans_of(reserved)
    good, dropped = [], []
    for address in addresses:
        if reason := _why_not(address, within, spans):
            dropped.append(f"{address} {reason}")
        else:
            good.append(single_address_network(address))
    return UsableAddresses(collapse(good), tuple(dropped))


_remembered_usable = lru_cache(maxsize=_MOST_REMEMBERED)(_usable)


@dataclass(frozen=True)
class LearntNames:
    """What was learnt of names, as one snapshot (an `egress.model.facts.NameSource`)."""

    state: Mapping[str, LearntName]
    reserved: tuple[Network, ...]
    settings: NamesSettings
    _resolved: dict[tuple[str, tuple[Network, ...]], ResolvedName] = field(
        default_factory=dict, compare=False
    )

    def resolved(self, name: str, within: Sequence[Network]) -> ResolvedName:
        """Return the addresses of a name (no pattern). Worked out once."""
        key = (name, tuple(within))
        if (found := self._resolved.get(key)) is None:
            learnt = self.state.get(name, UNASKED)
            closed = (*self.reserved, *PRIVATE_OR_TRANSLATED)
            split = split_usable((seen.address for seen in learnt.seen), within, closed)
            problem = resolution_problem(name, learnt, self.settings)
            learning = learning_message(name, learnt, self.settings)
            aliases = tuple(seen.name for seen in learnt.aliases)
            found = ResolvedName(split.addresses, split.dropped, problem, learning, aliases)
            self._resolved[key] = found
        return found


def resolution_problem(name: str, learnt: LearntName, settings: NamesSettings) -> str:
    """Say why a name may have more addresses than are known, or why it has none."""
    if learnt.asked is None and not learnt.seen:
        return f"{name} has not been resolved yet"
    said = []
    if learnt.problems:
        stays = "what was learnt before stays open" if learnt.seen else "nothing is known of it"
        said.append(f"{name}: {'; '.join(learnt.problems)} ({stays})")
    elif not learnt.seen:
        said.append(f"{name} has no address: no such name, or none of its own")
    if learnt.capped is not None:
        said.append(
            f"{name} has more than {settings.max_addresses} addresses: some stay closed; {_INSTEAD}"
        )
    return "; ".join(said)


def learning_message(name: str, learnt: LearntName, settings: NamesSettings) -> str:
    """Say how many connections to a name are refused until it is learnt; empty once it is."""
    if learnt.learning is None:
        return ""
    since, count = time_text(learnt.learning), len(learnt.seen)
    known = f"{count} {'address is' if count == 1 else 'addresses are'} known"
    if learnt.refused is None:
        return f"{name} is being learnt since {since}: {known}, it may have more"
    said = (
        f"{name} is being learnt since {since}: {known}, and up to an estimated "
        f"{learnt.refused} % of connections to it are refused"
    )
    if learnt.pool:
        return (
            f"{said}; it has some {learnt.pool:,} addresses or more, over the "
            f"{settings.max_addresses} that are kept (egress.names.max_addresses): {_INSTEAD}"
        )
    return said


def _why_not(address: Address, within: Sequence[Network], spans: _Spans) -> str:
    if isinstance(address, IPv6Address) and address in MAPPED:
        return "is IPv4-mapped: the name needs an A record instead"
    named = [network for network in within if address in network]
    if within and not named:
        return "is not in `within`"
    for version, bits in ((address.version, int(address)), *_carried(address)):
        for first, last, closed in spans[version]:
            if first <= bits <= last and not any(lies_in(one, closed) for one in named):
                leads = (
                    "" if version == address.version else f"leads to {IPv4Address(bits)}, which "
                )
                kind = "private" if closed in PRIVATE else "reserved"
                return f"{leads}is in the {kind} range {closed}: it needs a `within` inside that"
    return ""


@lru_cache(maxsize=16)
def _spans_of(reserved: tuple[Network, ...]) -> _Spans:
    """Return the first and the last address of each range, by family: numbers compare fast."""
    spans: dict[int, list[tuple[int, int, Network]]] = {4: [], 6: []}
    for each in reserved:
        span = (int(each.network_address), int(each.broadcast_address), each)
        spans[each.version].append(span)
    return spans


def lies_in(network: Network, closed: Network) -> bool:
    """Return whether a network lies in a reserved range, it or what it leads to."""
    return holds(closed, network) or any(
        one in closed and other in closed for one, other in leads_to(network)
    )


def leads_to(network: Network) -> list[tuple[IPv4Address, IPv4Address]]:
    """Return the first and last IPv4 address to which an IPv6 network leads, by each way.

    The ways are NAT64, 6to4 and Teredo; most networks have none.
    """
    ends = zip(_carried(network.network_address), _carried(network.broadcast_address), strict=False)
    return [(IPv4Address(one), IPv4Address(other)) for (_, one), (_, other) in ends]


def _carried(address: Address) -> Iterator[tuple[int, int]]:
    """Yield the IPv4 addresses that an IPv6 one leads to, each with its version."""
    if isinstance(address, IPv6Address):
        bits = int(address)
        for first, last, shift, mask in _CARRIERS:
            if first <= bits <= last:
                yield 4, bits >> shift & _ALL_ONES ^ mask
