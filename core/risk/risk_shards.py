"""How records are packed into shards, and into the changes that stand in a snapshot's head.

Columns one after the other, packed by zlib: like bytes side by side pack best. Equal records give
equal bytes.
"""

import hashlib
import itertools
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from core.base.errors import InvalidObjectError
from core.risk.columns import KEY, SHARDS, Base, Section, Shard, sections_of, shard_of
from core.risk.records import WIDTHS, spared_since
from core.risk.snapshot import FORMAT

SHARD_KEY: Final = "shard"
"""Key of its Secret's `data`."""

FIELD: Final = f"data[{SHARD_KEY}]"

READABLE: Final = range(FORMAT - 1, FORMAT + 2)
"""Formats that this release reads."""

MOST_SHARD: Final = 760 * 1024
"""Bytes of a shard: in base64, with the Secret around it, it is below 1 MiB, and so is the
Secret's own limit (`MaxSecretSize`, 1 MiB of decoded bytes)."""

_MOST_PLAIN: Final = 16 * 1024 * 1024
"""Bytes that a shard may have unpacked: what claims more is no shard of ours."""

_MAGIC: Final = b"SPRB"
_START: Final = struct.Struct("<4sB")
_SECTION: Final = struct.Struct("<BBII")
"""Sort, width, how many, bytes of their tails."""

_COMPRESSION: Final = 6
_WHAT: Final = "stored risk snapshot"


@dataclass(frozen=True)
class StoredBase:
    """The shards of a generation, as they are written."""

    shards: tuple[bytes, ...]
    digests: tuple[str, ...]
    base: Base
    """What they hold."""
    left_out: frozenset[bytes] = frozenset()
    """Keys of the records for which there was no room: they say of nobody that they are at risk."""


def digest_of(content: bytes) -> str:
    """Give the SHA-256 of bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def encode_base(records: Iterable[tuple[bytes, bytes]], most: int = MOST_SHARD) -> StoredBase:
    """Give the shards of these records, each of at most so many bytes.

    Where they are more, those are left out that say of nobody that they are at risk, and of these
    the ones that changed the longest ago.

    Raises:
        InvalidObjectError: those at risk alone are more.
    """
    parts: list[list[tuple[bytes, bytes]]] = [[] for _ in range(SHARDS)]
    for key, record in records:
        parts[shard_of(key)].append((key, record))
    stored = [_fitting(number, part, most) for number, part in enumerate(parts)]
    return StoredBase(
        tuple(content for content, _, _ in stored),
        tuple(digest_of(content) for content, _, _ in stored),
        Base(tuple(shard for _, shard, _ in stored)),
        frozenset(key for _, _, left_out in stored for key in left_out),
    )


def _fitting(
    number: int, part: list[tuple[bytes, bytes]], most: int
) -> tuple[bytes, Shard, list[bytes]]:
    """Give a shard as it is stored and as it is kept, and whose records were left out of it."""
    shard = sections_of(part, WIDTHS)
    content = pack(shard)
    if len(content) <= most:
        return content, shard, []
    spared = [(at, key) for key, record in part if (at := spared_since(key, record)) is not None]
    oldest = [key for _, key in sorted(spared)]
    left_out: list[bytes] = []
    while len(content) > most:
        if len(left_out) == len(oldest):
            problem = f"those at risk alone take {len(content)} bytes, more than {most}"
            raise _broken(f"shard {number}", problem)
        over = (len(content) - most) * len(part) // len(content)
        left_out = oldest[: len(left_out) + over + len(part) // 100 + 1]
        without = frozenset(left_out)
        shard = sections_of((each for each in part if each[0] not in without), WIDTHS)
        content = pack(shard)
    return content, shard, left_out


def decode_shard(content: bytes, digest: str) -> Shard:
    """Read a shard that must have this digest.

    Raises:
        InvalidObjectError: it has another one, or is no shard.
    """
    if digest_of(content) != digest:
        raise _broken(FIELD, "is not the one that the head names")
    return unpack(content, FIELD)


def pack(shard: Shard) -> bytes:
    """Write sections: the columns one after the other, since like bytes side by side pack best."""
    parts = [_START.pack(_MAGIC, FORMAT)]
    for sort, each in sorted(shard.items()):
        columns = (each.rows[at :: each.width] for at in range(each.width))
        lengths = bytes(end - start for start, end in itertools.pairwise(each.ends))
        head = _SECTION.pack(sort, each.width, each.count, len(each.tails))
        parts += (head, each.keys, *columns, lengths, each.tails)
    return zlib.compress(b"".join(parts), _COMPRESSION)


def unpack(content: bytes, field: str) -> Shard:
    """Read what `pack` wrote; `field` is where it stands.

    Raises:
        InvalidObjectError: it is cut off, or something else.
    """
    try:
        unpacking = zlib.decompressobj()
        plain = unpacking.decompress(content, _MOST_PLAIN)
        if not unpacking.eof or unpacking.unused_data:
            raise _broken(field, "is cut off, or too large")
        magic, written = _START.unpack_from(plain)
        if magic != _MAGIC or written not in READABLE:
            raise _broken(field, f"is no shard of a format that this release reads ({written})")
        return dict(_sections(plain))
    except (zlib.error, struct.error) as error:
        raise _broken(field, f"cannot be unpacked: {type(error).__name__}") from None


def _sections(plain: bytes) -> Iterator[tuple[int, Section]]:
    """Read the sections; those of sorts that only a later release knows are left out.

    A later release may have made a sort's rows longer, and an earlier one shorter: what is
    missing is zero.
    """
    at = _START.size
    while at < len(plain):
        sort, width, count, tails = _SECTION.unpack_from(plain, at)
        keys = at + _SECTION.size
        columns = keys + count * (KEY - 1)
        lengths = columns + count * width
        end = lengths + count + tails
        if end > len(plain):
            raise struct.error("a section goes on behind the end")
        at = end
        known = WIDTHS.get(sort)
        if known is None:
            continue
        rows = bytearray(count * known)
        for column in range(min(width, known)):
            begin = columns + column * count
            rows[column::known] = plain[begin : begin + count]
        yield (
            sort,
            Section.of(
                plain[keys:columns],
                known,
                bytes(rows),
                plain[lengths : lengths + count],
                plain[end - tails : end],
            ),
        )


def _broken(field: str, problem: str) -> InvalidObjectError:
    return InvalidObjectError(_WHAT, field, problem)
