"""IP networks as allowlists write them: read strictly, put together, taken apart. Pure.

IPv4 and IPv6 never mix; where both are given, IPv4 comes first.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from ipaddress import IPV4LENGTH, IPV6LENGTH, IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final, NamedTuple

from core.base.errors import InvalidObjectError
from core.base.short_text_cache import cache_short_text

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

MAPPED: Final = IPv6Network("::ffff:0:0/96")
"""IPv4-mapped addresses (RFC 4291, 2.5.5.2): they never travel, and hide an IPv4 address."""

_FOUR: Final = 4
_HIDES: Final = 64
"""A network so small that overlaps `MAPPED` says nothing else than IPv4 addresses."""


def parse_network(text: str, *, field: str, what: str) -> Network:
    """Read a network in its canonical form, such as `10.0.0.0/8` or `2001:db8::/32`.

    Raises:
        InvalidObjectError: naming `field`, what is wrong, and how it must be written.
    """
    found = _read(text)
    if isinstance(found, str):
        raise InvalidObjectError(what, field, f"{text!r} {found}")
    return found


@cache_short_text(65_536, longest=64)
def _read(text: str) -> Network | str:
    """Return the network, or what is wrong with it; networks are shared, for few differ."""
    try:
        found = ipaddress.ip_network(text, strict=False)
    except ValueError:
        found = None
    if found is None or "%" in text:
        return "must be a network in CIDR notation, such as 10.0.0.0/8 or 2001:db8::/32"
    if isinstance(found, IPv6Network) and found.overlaps(MAPPED) and found.prefixlen >= _HIDES:
        return "holds IPv4-mapped addresses: write the IPv4 network itself"
    if str(found) != text:
        return f"is not in its canonical form: write {found}"
    return found


def network_of(text: str) -> Network:
    """Return a network that our own code wrote.

    Raises:
        ValueError: it is none.
    """
    known = _read(text)
    return ipaddress.ip_network(text) if isinstance(known, str) else known


def network_at(version: int, first: int, free: int) -> Network:
    """Return the network that begins at a number, of so many free bits.

    Raises:
        ValueError: there is none.
    """
    if version == _FOUR:
        return IPv4Network((first, IPV4LENGTH - free))
    return IPv6Network((first, IPV6LENGTH - free))


def single_address_network(address: Address) -> Network:
    """Return the network of one address."""
    return ipaddress.ip_network(address)


def collapse(networks: Iterable[Network]) -> tuple[Network, ...]:
    """Return the fewest networks that hold the same addresses, sorted, IPv4 first."""
    four: list[IPv4Network] = []
    six: list[IPv6Network] = []
    for each in networks:
        if isinstance(each, IPv4Network):
            four.append(each)
        else:
            six.append(each)
    return (*ipaddress.collapse_addresses(four), *ipaddress.collapse_addresses(six))


def holds(outer: Network, inner: Network) -> bool:
    """Return whether `outer` has every address of `inner`."""
    if isinstance(outer, IPv4Network):
        return isinstance(inner, IPv4Network) and inner.subnet_of(outer)
    return isinstance(inner, IPv6Network) and inner.subnet_of(outer)


def any_holds(outers: Iterable[Network], inner: Network) -> bool:
    """Return whether one of the networks has every address of `inner`."""
    return any(holds(each, inner) for each in outers)


def overlap(one: Network, other: Network) -> bool:
    """Return whether they have an address in common."""
    return holds(one, other) or holds(other, one)


def subtract(network: Network, without: Sequence[Network]) -> tuple[Network, ...]:
    """Return what is left of a network, collapsed, once the others are taken out."""
    kept = subtract_spans(span_of(network), map(span_of, without))
    return tuple(part for span in kept for part in _networks_of(span))


class Span(NamedTuple):
    """Addresses of one IP version, from the first to the last."""

    version: int
    first: int
    last: int

    @property
    def size(self) -> int:
        """How many they are."""
        return self.last - self.first + 1


def span_of(network: Network) -> Span:
    """Return the addresses of a network."""
    return Span(network.version, int(network.network_address), int(network.broadcast_address))


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Return the fewest spans of the same addresses, sorted."""
    found: list[Span] = []
    for span in sorted(spans):
        before = found[-1] if found else None
        if before and before.version == span.version and span.first <= before.last + 1:
            found[-1] = Span(span.version, before.first, max(before.last, span.last))
        else:
            found.append(span)
    return found


def subtract_spans(span: Span, holes: Iterable[Span]) -> list[Span]:
    """Return what is left of a span, sorted, once the others are taken out."""
    found: list[Span] = []
    first = span.first
    for hole in merge_spans(hole for hole in holes if hole.version == span.version):
        if hole.last < first:
            continue
        if hole.first > span.last:
            break
        if first < hole.first:
            found.append(Span(span.version, first, hole.first - 1))
        first = hole.last + 1
    if first <= span.last:
        found.append(Span(span.version, first, span.last))
    return found


def are_within(inner: Sequence[Span], outer: Sequence[Span]) -> bool:
    """Return whether `outer` has all of `inner`; both are merged, and gone through once."""
    place = 0
    for span in inner:
        while place < len(outer) and outer[place][::2] < span[::2]:
            place += 1
        if place == len(outer):
            return False
        held = outer[place]
        if held.version != span.version or held.first > span.first:
            return False
    return True


def _networks_of(span: Span) -> Iterable[Network]:
    if span.version == _FOUR:
        four = IPv4Address(span.first), IPv4Address(span.last)
        return ipaddress.summarize_address_range(*four)
    six = IPv6Address(span.first), IPv6Address(span.last)
    return ipaddress.summarize_address_range(*six)
