"""The stored form of a risk snapshot: a small head, and shards named by their digests.

Every byte is under a SHA-256: the head's stands beside it, a shard's stands in the head, at the
shard's place. So a shard that is broken, cut off, swapped with another or of another generation is
told from the right one. Columns are packed one after the other by zlib: like bytes side by side
pack best. Equal snapshots give equal bytes.
"""

import hashlib
import itertools
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_error
from core.risk.columns import (
    KEY,
    SHARDS,
    BaseChanges,
    RecordSection,
    Shard,
    SnapshotBase,
    sections_of,
    shard_of,
)
from core.risk.records import WIDTHS, not_at_risk_since
from core.risk.snapshot import FORMAT, Changes, Head, RiskSnapshot

SHARD_KEY: Final = "shard"
"""Key of its Secret's `data`."""

FIELD: Final = f"data[{SHARD_KEY}]"

READABLE: Final = range(FORMAT - 1, FORMAT + 2)
"""Formats that this release reads."""

MOST_SHARD: Final = 760 * 1024
"""Bytes of a shard: in base64, with the Secret around it, it is below 1 MiB, and so is the
Secret's own limit (`MaxSecretSize`, 1 MiB of decoded bytes)."""

HEAD_NAME: Final = "sallyport-risk"
"""Name of the head's Secret; gates watch this one alone."""

GENERATIONS: Final = ("a", "b")
"""Of the shards: one is in use, the other one is written next."""

HEAD_KEY: Final = "head"

DIGEST_KEY: Final = "sha256"
"""Keys of the Secret's `data`."""

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
    base: SnapshotBase
    """What they hold."""
    left_out: frozenset[bytes] = frozenset()
    """Keys of the records for which there was no room: they say of nobody that they are at risk."""


def digest_of(content: bytes) -> str:
    """Return the SHA-256 of bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def encode_base(records: Iterable[tuple[bytes, bytes]], most: int = MOST_SHARD) -> StoredBase:
    """Return the shards of these records, each of at most so many bytes.

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
        SnapshotBase(tuple(shard for _, shard, _ in stored)),
        frozenset(key for _, _, left_out in stored for key in left_out),
    )


def _fitting(
    number: int, part: list[tuple[bytes, bytes]], most: int
) -> tuple[bytes, Shard, list[bytes]]:
    """Return a shard as it is stored and as it is kept, and whose records were left out of it."""
    shard = sections_of(part, WIDTHS)
    content = pack_shard(shard)
    if len(content) <= most:
        return content, shard, []
    spared = [
        (at, key) for key, record in part if (at := not_at_risk_since(key, record)) is not None
    ]
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
        content = pack_shard(shard)
    return content, shard, left_out


def decode_shard(content: bytes, digest: str) -> Shard:
    """Read a shard that must have this digest.

    Raises:
        InvalidObjectError: it has another one, or is no shard.
    """
    if digest_of(content) != digest:
        raise _broken(FIELD, "is not the one that the head names")
    return unpack_shard(content, FIELD)


def pack_shard(shard: Shard) -> bytes:
    """Write sections: the columns one after the other, since like bytes side by side pack best."""
    parts = [_START.pack(_MAGIC, FORMAT)]
    for sort, each in sorted(shard.items()):
        columns = (each.rows[at :: each.width] for at in range(each.width))
        lengths = bytes(end - start for start, end in itertools.pairwise(each.ends))
        head = _SECTION.pack(sort, each.width, each.count, len(each.tails))
        parts += (head, each.keys, *columns, lengths, each.tails)
    return zlib.compress(b"".join(parts), _COMPRESSION)


def unpack_shard(content: bytes, field: str) -> Shard:
    """Read what `pack_shard` wrote; `field` is where it stands.

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


def _sections(plain: bytes) -> Iterator[tuple[int, RecordSection]]:
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
            RecordSection.of(
                plain[keys:columns],
                known,
                bytes(rows),
                plain[lengths : lengths + count],
                plain[end - tails : end],
            ),
        )


def _broken(field: str, problem: str) -> InvalidObjectError:
    return InvalidObjectError(_WHAT, field, problem)


class StoredHead(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """What the head's Secret holds, as JSON."""

    format: int
    head: Head
    event_types: tuple[str, ...] = ("",)
    generation: str = ""
    """Of the shards in use; empty where there are none."""
    shards: tuple[str, ...] = ()
    """Their digests, SHA-256 in hexadecimal digits."""
    changes: bytes = b""
    """Records that are new or changed since, packed as those of a shard are."""
    gone: bytes = b""
    """Keys of records that are gone since."""
    rebase: str = ""
    """Who writes the generation that is not in use: a nonce. See `kube.risk.store`."""
    rebase_at: float = 0.0
    """Since when, Unix seconds."""


class _Format(msgspec.Struct):
    format: int


_HEAD: Final = msgspec.json.Decoder(StoredHead)


def shard_name(generation: str, number: int) -> str:
    """Return the name of a shard's Secret: `sallyport-risk-a0` … `sallyport-risk-b15`."""
    return f"{HEAD_NAME}-{generation}{number}"


SECRET_NAMES: Final = (
    HEAD_NAME,
    *itertools.starmap(shard_name, itertools.product(GENERATIONS, range(SHARDS))),
)
"""All Secrets of a snapshot: what RBAC names."""


def build_head(snapshot: RiskSnapshot, generation: str, digests: tuple[str, ...]) -> StoredHead:
    """Return the head of a snapshot whose base is stored so."""
    kept = {key: record for key, record in snapshot.changes.items() if record is not None}
    gone = sorted(key for key, record in snapshot.changes.items() if record is None)
    return StoredHead(
        format=FORMAT,
        head=snapshot.head,
        event_types=snapshot.event_types,
        generation=generation,
        shards=digests,
        changes=pack_shard(sections_of(kept.items(), WIDTHS)) if kept else b"",
        gone=b"".join(gone),
    )


def encode_head(stored: StoredHead) -> dict[str, bytes]:
    """Return the `data` of the head's Secret."""
    content = msgspec.json.encode(stored)
    return {HEAD_KEY: content, DIGEST_KEY: digest_of(content).encode()}


def decode_head(data: Mapping[str, bytes]) -> StoredHead:
    """Read the `data` of the head's Secret.

    Raises:
        InvalidObjectError: something is missing, its digest does not fit, or it is of a format
            that this release cannot read.
    """
    content = data.get(HEAD_KEY, b"")
    if not content or data.get(DIGEST_KEY, b"").decode(errors="replace") != digest_of(content):
        raise _broken(f"data[{DIGEST_KEY}]", f"does not fit data[{HEAD_KEY}]")
    try:
        stored = _HEAD.decode(content)
    except DECODE_ERRORS as error:
        raise decode_error(_WHAT, error, f"data[{HEAD_KEY}]") from None
    if stored.format not in READABLE:
        known = f"{READABLE.start} to {READABLE.stop - 1}"
        problem = f"is {stored.format}; this release reads {known}: run the release that wrote it"
        raise _broken(f"data[{HEAD_KEY}].format", problem)
    sound = stored.generation in GENERATIONS and len(stored.shards) == SHARDS
    if not sound and (stored.generation or stored.shards):
        raise _broken(f"data[{HEAD_KEY}].shards", f"must be {SHARDS}, of generation a or b")
    return stored


def is_newer(data: Mapping[str, bytes]) -> bool:
    """Return whether a head is of a format that only a later release can read."""
    try:
        return msgspec.json.decode(data.get(HEAD_KEY, b""), type=_Format).format >= READABLE.stop
    except DECODE_ERRORS:
        return False


def decode_changes(stored: StoredHead) -> Changes:
    """Read the changes of a head.

    Raises:
        InvalidObjectError: they are no such records.
    """
    gone = stored.gone
    if len(gone) % KEY:
        raise _broken(f"data[{HEAD_KEY}].gone", f"must be keys of {KEY} bytes")
    changed = unpack_shard(stored.changes, f"data[{HEAD_KEY}].changes") if stored.changes else {}
    keys = frozenset(gone[at : at + KEY] for at in range(0, len(gone), KEY))
    return BaseChanges(changed, keys)


def snapshot_of(stored: StoredHead, base: SnapshotBase) -> RiskSnapshot:
    """Return the snapshot of a head and its base.

    Raises:
        InvalidObjectError: the changes are broken.
    """
    return RiskSnapshot(stored.head, base, decode_changes(stored), stored.event_types)


def snapshot_without_base(data: Mapping[str, bytes], version: int) -> RiskSnapshot:
    """Return what can be kept of a snapshot whose shards are lost: the table, and the changes.

    Nothing in it says any more that all who are at risk are in it: its coverage is gone.
    """
    try:
        stored = decode_head(data)
        changes = decode_changes(stored)
    except InvalidObjectError:
        return RiskSnapshot(Head(version=version))
    found = stored.head
    head = Head(
        version=max(version, found.version),
        written=found.written,
        tenant=found.tenant,
        table=found.table,
    )
    return RiskSnapshot(head, SnapshotBase(), changes, stored.event_types)
