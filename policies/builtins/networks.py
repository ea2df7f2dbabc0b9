"""`net.cidr_*`: networks and addresses as Go's net has them (OPA: topdown/cidr.go)."""

import ipaddress
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from policies.builtins import arguments
from policies.builtins.values import Set, of_key

_V4: Final = 32
_V6: Final = 128
_MAPPED: Final = 0xFFFF << 32
"""Where the addresses of IPv4 lie among those of IPv6."""

_PREFIX: Final = re.compile(r"0*([0-9]{1,4})")
_MOST_ADDRESSES: Final = 4096
_MOST_NETWORKS: Final = 1024
_MOST_PAIRS: Final = 4096


class Network(NamedTuple):
    """A block of addresses; those of IPv4 within IPv6 are IPv4's."""

    bits: int
    first: int
    prefix: int

    @property
    def last(self) -> int:
        """Its last address."""
        return self.first | ((1 << (self.bits - self.prefix)) - 1)

    def holds(self, other: "Network") -> bool:
        """Return whether all of another one lies in it."""
        return self.bits == other.bits and self.first <= other.first and other.last <= self.last


def contains(network: Any, other: Any) -> bool:
    """`net.cidr_contains`: whether all of a network or an address lies in a network."""
    block = _network(arguments.text(network, 1))
    return block.holds(_network_or_address(arguments.text(other, 1)))


def intersects(one: Any, other: Any) -> bool:
    """`net.cidr_intersects`: whether two networks have addresses in common."""
    a, b = _network(arguments.text(one, 1)), _network(arguments.text(other, 1))
    return a.bits == b.bits and a.first <= b.last and b.first <= a.last


def is_valid(value: Any) -> bool:
    """`net.cidr_is_valid`: of anything."""
    if not isinstance(value, str):
        return False
    try:
        _network(value)
    except ValueError:
        return False
    return True


def expand(value: Any) -> Set:
    """`net.cidr_expand`: every address of a network."""
    network = _network(arguments.text(value, 1))
    arguments.check_limit(
        network.last - network.first + 1, _MOST_ADDRESSES, "the number of addresses"
    )
    return Set(_shown(network.bits, each) for each in range(network.first, network.last + 1))


def contains_matches(networks: Any, others: Any) -> Set:
    """`net.cidr_contains_matches`: which contain which, by index, key or text."""
    ones = list(_indexed(networks, 1))
    twos = list(_indexed(others, 2)) if ones else []
    arguments.check_limit(len(ones) * len(twos), _MOST_PAIRS, "the number of pairs")
    blocks = [(index, _network(arguments.text(each, 1))) for index, each in ones if twos]
    within = [(index, _network_or_address(arguments.text(each, 1))) for index, each in twos]
    return Set([one, two] for one, a in blocks for two, b in within if a.holds(b))


def _indexed(value: Any, position: int) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, str):
        yield value, value
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield index, _first(each, position)
    elif isinstance(value, Set):
        for each in value:
            yield each, _first(each, position)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield of_key(key), _first(each, position)


def _first(value: Any, position: int) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value:
        return value[0]
    raise ValueError(f"operand {position}: element must be string or non-empty array")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Read an address; a zone is none of it."""
    if "%" in text or len(text) > 50:
        raise ValueError(f"invalid IP address: {text[:60]}")
    return ipaddress.ip_address(text)


def _network(text: str) -> Network:
    address, _, prefix = text.partition("/")
    problem = f"invalid CIDR address: {text[:60]}"
    try:
        parsed = _address(address)
    except ValueError:
        raise ValueError(problem) from None
    bits = parsed.max_prefixlen
    found = _PREFIX.fullmatch(prefix)
    length = int(found[1]) if found else bits + 1
    if length > bits:
        raise ValueError(problem)
    first = int(parsed) >> (bits - length) << (bits - length)
    return _unmapped(bits, first, length)


def _unmapped(bits: int, first: int, prefix: int) -> Network:
    if bits == _V6 and first >> _V4 == _MAPPED >> _V4 and prefix >= _V6 - _V4:
        return Network(_V4, first - _MAPPED, prefix - (_V6 - _V4))
    return Network(bits, first, prefix)


def _network_or_address(text: str) -> Network:
    try:
        parsed = _address(text)
    except ValueError:
        return _network(text)
    return _unmapped(parsed.max_prefixlen, int(parsed), parsed.max_prefixlen)


def _shown(bits: int, address: int) -> str:
    kind = ipaddress.IPv4Address if bits == _V4 else ipaddress.IPv6Address
    return str(kind(address))


class _Range(NamedTuple):
    """Addresses one after the other, those of IPv4 where they lie in IPv6."""

    last: int
    first: int
    text: str
    """Of the one network that it is; empty where it is of several."""


def merge(value: Any) -> Set:
    """`net.cidr_merge`: the fewest networks with the same addresses."""
    if not isinstance(value, (list, Set)):
        raise ValueError("operand must be an array")  # noqa: TRY004  As all errors of arguments.
    arguments.check_limit(len(value), _MOST_NETWORKS, "the number of networks")
    ranges = sorted((_range(each) for each in value), key=lambda each: each[:2])
    merged: list[_Range] = []
    for each in reversed(ranges):
        if merged and _previous(merged[-1].first) <= each.last:
            above = merged.pop()
            merged.append(_Range(above.last, min(above.first, each.first), ""))
        else:
            merged.append(each)
    return Set(text for each in merged for text in ([each.text] if each.text else _cover(each)))


def _range(value: Any) -> _Range:
    if not isinstance(value, str):
        raise ValueError("element must be string")  # noqa: TRY004  As all errors of arguments.
    try:
        parsed: Any = _address(value)
    except ValueError:
        return _of_network(value)
    parsed = getattr(parsed, "ipv4_mapped", None) or parsed
    if parsed.version != 4:
        raise ValueError("IPv6 invalid: needs prefix length")
    # Go's DefaultMask: the class of the address, of 1981.
    lead = int(parsed) >> 24
    prefix = 8 if lead < 0x80 else 16 if lead < 0xC0 else 24
    if lead >= 0xE0:
        raise ValueError(f"{value}: an address of no class needs a prefix length")
    first = int(parsed) >> (_V4 - prefix) << (_V4 - prefix)
    return _Range(
        _MAPPED + (first | ((1 << (_V4 - prefix)) - 1)), _MAPPED + first, f"{parsed}/{prefix}"
    )


def _of_network(text: str) -> _Range:
    network = _network(text)
    if network.bits == _V4 and ":" in text:
        raise ValueError(f"{text}: a network of IPv4 written as IPv6 is not supplied here")
    lift = _MAPPED if network.bits == _V4 else 0
    shown = f"{_shown(network.bits, network.first)}/{network.prefix}"
    return _Range(lift + network.last, lift + network.first, shown)


def _previous(address: int) -> int:
    return address if address in {0, _MAPPED} else address - 1


def _cover(found: _Range) -> Iterator[str]:
    """Yield the networks of which a range is made."""
    lift = _MAPPED if found.first >= _MAPPED and found.last < _MAPPED + (1 << _V4) else 0
    if not lift and found.first and found.first >> (_V6 - 8) == 0:
        # OPA 1.22 loses the leading zeros of such an address (internal/cidr/merge).
        raise ValueError("networks of IPv6 that begin with 00 cannot be merged here")
    kind: Any = ipaddress.IPv4Address if lift else ipaddress.IPv6Address
    blocks = ipaddress.summarize_address_range(kind(found.first - lift), kind(found.last - lift))
    yield from map(str, blocks)
