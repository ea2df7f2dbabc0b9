"""Ids of what is recorded: UUIDs that sort by time."""

import hashlib
import os
from typing import Final

from core.base.short_text_cache import cache_short_text
from core.base.times import milli_text

_TIME_BITS: Final = 48
_BITS: Final = 74
_BYTES: Final = 10
"""What 74 bits are drawn from."""

_WRITER_BYTES: Final = 4
_OWN_BITS: Final = _BITS - 8 * _WRITER_BYTES
"""Random bits of an id whose writer it names: 4 million million in each millisecond."""

_AT_ONCE: Final = 256
"""Ids whose random bytes are asked of the kernel together: alone each took 15 µs of 18."""

_drawn: list[bytes] = []
os.register_at_fork(after_in_child=_drawn.clear)


def uuid7(unix_ms: int, bits: int | None = None) -> str:
    """Make a UUID of version 7 (RFC 9562, section 5.7) for a time in ms since the epoch.

    `bits` are its 74 random bits, where they must be the same each time.

    Raises:
        ValueError: the time is past the year 10889, and so no 128-bit number holds it.
    """
    if unix_ms >> _TIME_BITS:
        message = f"{unix_ms} ms do not fit into a 128-bit id"
        raise ValueError(message)
    bits = _draw() if bits is None else bits
    value = unix_ms << 80 | 7 << 76 | bits >> 62 << 64 | 2 << 62 | bits & (1 << 62) - 1
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def writer_uuid7(unix_ms: int, writer: str) -> str:
    """Make a UUID of version 7 that only one writer makes: 32 of its bits are those of its name.

    So whoever may write in its own name alone cannot take an id that another one will use.
    """
    return uuid7(unix_ms, writer_bits(writer) << _OWN_BITS | _draw() & (1 << _OWN_BITS) - 1)


@cache_short_text(256, longest=256)
def writer_bits(writer: str) -> int:
    """Return the 32 bits by which the ids of a writer begin after their time."""
    return int.from_bytes(hashlib.sha256(f"writer\n{writer}".encode()).digest()[:_WRITER_BYTES])


def writer_bits_of(uuid: bytes) -> int:
    """Return these bits of a UUIDv7's 16 bytes, whoever made it."""
    value = int.from_bytes(uuid)
    bits = (value >> 64 & (1 << 12) - 1) << 62 | value & (1 << 62) - 1
    return bits >> _OWN_BITS


def uuid7_time(uuid: str) -> str:
    """Return the time that a UUIDv7 holds, as RFC 3339 with milliseconds."""
    return milli_text(uuid7_unix_ms(uuid))


def uuid7_unix_ms(uuid: str) -> int:
    """Return the time that a UUIDv7 holds, in milliseconds since the epoch (RFC 9562, 5.7)."""
    return int(uuid[:8] + uuid[9:13], 16)


def stable_id(unix_ms: int, kind: str, *words: str) -> str:
    """Return the id of what these words tell from all else of its kind: the same each time."""
    digest = hashlib.sha256("\n".join((kind, *words)).encode()).digest()
    return uuid7(unix_ms, int.from_bytes(digest[:_BYTES], "big") >> (8 * _BYTES - _BITS))


def _draw() -> int:
    """Return 74 bits that nobody can foresee; each is given once, in whatever thread or process."""
    try:
        drawn = _drawn.pop()
    except IndexError:
        fresh = os.urandom(_BYTES * _AT_ONCE)
        parts = [fresh[at : at + _BYTES] for at in range(0, len(fresh), _BYTES)]
        drawn = parts.pop()
        _drawn.extend(parts)
    return int.from_bytes(drawn, "big") >> (8 * _BYTES - _BITS)
