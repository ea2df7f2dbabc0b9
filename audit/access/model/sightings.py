"""What detections remember by: bounded maps, networks, families of user agents."""

import hashlib
import re
from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Final, TypeVar

from core.base.short_text_cache import cache_short_text
from core.weights.documents.access import Access, Caller

K = TypeVar("K", str, int)
T = TypeVar("T")

MOST_RAISED: Final = 4096
"""Findings of one detection that are remembered, so that they are not repeated."""

LISTED: Final = frozenset({Caller.POD, Caller.NODE, Caller.NETWORK})
"""Callers in a network that the operator named."""

_LONGEST_FAMILY: Final = 48
_AGENT: Final = re.compile(r"[A-Za-z][A-Za-z._-]*[A-Za-z]")
_V4: Final = 24
_V6: Final = 48


def touch(room: dict[K, T], key: K, make: Callable[[], T], most: int) -> T:
    """Return what is kept under a key, and make it the last that was used.

    Where the room is full, what was used longest ago is forgotten for a new one.
    """
    value = room.pop(key, None)
    if value is None:
        if len(room) >= most:
            del room[next(iter(room))]
        value = make()
    room[key] = value
    return value


def is_news(raised: dict[str, int], key: str, level: int = 1) -> bool:
    """Return whether this was not raised yet, or only at a lower level; and note it."""
    if raised.get(key, 0) >= level:
        return False
    if key not in raised and len(raised) >= MOST_RAISED:
        del raised[next(iter(raised))]
    raised[key] = level
    return True


def is_change(kept: dict[str, str], key: str, value: str, *, asked: bool) -> bool:
    """Return whether a setting is another than it was, and note it.

    One that was never seen before is a change where the request itself set it, and else is how
    things stand.
    """
    before = kept.pop(key, None)
    if before is None and len(kept) >= MOST_RAISED:
        del kept[next(iter(kept))]
    kept[key] = value
    return asked if before is None else before != value


def count_crowd(crowds: dict[str, dict[int, int]], store: str, day: int) -> int:
    """Count one more at a store; give how many others there were on this day and the one before."""
    days = crowds.setdefault(store, {})
    for old in [each for each in days if each < day - 1]:
        del days[old]
    others = days.get(day, 0) + days.get(day - 1, 0)
    days[day] = days.get(day, 0) + 1
    return others


@lru_cache(maxsize=8)
def digest_of(container: str, blob: str) -> int:
    """Return 63 bits that stand for a blob; detections that look at one event share the work."""
    name = f"{container}/{blob}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest()) >> 1


@cache_short_text(4096, longest=64)
def network_of(address: str) -> str:
    """Return the /24 or /48 in which an address lies: what one site or NAT pool uses."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    return str(ip_network((parsed, _V4 if parsed.version == 4 else _V6), strict=False))  # noqa: PLR2004


@cache_short_text(4096, longest=512)
def agent_family(user_agent: str) -> str:
    """Return a user agent's first product without its version, in lower case."""
    product = user_agent.strip().split("/", 1)[0]
    words = _AGENT.findall(product)
    return "-".join(words).lower()[:_LONGEST_FAMILY]


def origin_of(access: Access) -> str:
    """Say where a caller lies, for a person."""
    return f"{access.address or 'no address'} ({access.caller.value})"
