"""The records of a risk snapshot in memory: sorted columns of bytes, and no object for each record.

100,000 identities in a dict of bytes take 25 MiB, and twice that while one snapshot takes the place
of another; columns take 9. They come in shards, so that what has not changed is shared.
"""

import sys
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

SHARDS: Final = 16
KEY: Final = 17
"""Bytes of a record's key: one for what it is, and 16 of whom."""

_WHO: Final = 16
_START: Final = 8


def shard_of(key: bytes) -> int:
    """Say in which shard a record lies, whatever its key is made from."""
    return zlib.crc32(key) % SHARDS


@dataclass(frozen=True, slots=True, eq=False)
class RecordSection:
    """Records of one sort (the first byte of their keys), sorted by whom they are about.

    `rows` holds the first `width` bytes of each record, `tails` what is left of each.
    """

    keys: bytes
    width: int
    rows: bytes
    tails: bytes
    ends: "array[int]"
    """Where each record's tail ends; the first is 0, for what is before the first."""
    starts: "array[int]"
    """The first 8 bytes of each key as a number: what is searched."""

    @classmethod
    def of(
        cls, keys: bytes, width: int, rows: bytes, lengths: bytes, tails: bytes
    ) -> "RecordSection":
        """Take the columns; `lengths` holds that of each tail."""
        starts = array("Q", keys)
        if sys.byteorder == "little":
            starts.byteswap()
        return cls(
            keys, width, rows, tails, array("I", accumulate(lengths, initial=0)), starts[::2]
        )

    @property
    def count(self) -> int:
        """How many records it has."""
        return len(self.starts)

    def find(self, who: bytes) -> bytes | None:
        """Return the record of one identity."""
        starts = self.starts
        start = int.from_bytes(who[:_START])
        place = bisect_left(starts, start)
        while place < len(starts) and starts[place] == start:
            if self.keys.startswith(who, place * _WHO):
                return self.at(place)
            place += 1
        return None

    def at(self, place: int) -> bytes:
        """Return the record at a place."""
        width, ends = self.width, self.ends
        row = self.rows[place * width : place * width + width]
        return row + self.tails[ends[place] : ends[place + 1]]

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield all, as whom and record, sorted by whom."""
        for place in range(self.count):
            yield self.keys[place * _WHO : place * _WHO + _WHO], self.at(place)


Shard = Mapping[int, RecordSection]
"""The sections of a shard, by the first byte of their records' keys."""

_NO_SHARD: Final[Shard] = {}


@dataclass(frozen=True, slots=True, eq=False)
class SnapshotBase(Mapping[bytes, bytes]):
    """All records of a base, by key. Immutable."""

    shards: tuple[Shard, ...] = field(default=(_NO_SHARD,) * SHARDS)

    def __getitem__(self, key: bytes) -> bytes:
        """Return a record; KeyError where there is none."""
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def get(self, key: bytes, default: bytes | None = None) -> bytes | None:  # type: ignore[override]
        """Return a record."""
        section = self.shards[zlib.crc32(key) % SHARDS].get(key[0])
        found = section.find(key[1:]) if section is not None else None
        return default if found is None else found

    def __len__(self) -> int:
        """Count all records."""
        return sum(section.count for shard in self.shards for section in shard.values())

    def count(self, sort: int) -> int:
        """Count the records of a sort."""
        return sum(shard[sort].count for shard in self.shards if sort in shard)

    def __iter__(self) -> Iterator[bytes]:
        """Return all keys, shard by shard."""
        return (key for key, _ in self.pairs())

    def pairs(self, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield all keys and records whose key begins so, shard by shard."""
        for shard in self.shards:
            for sort, section in shard.items():
                kind = bytes([sort])
                if prefix[:1] in {b"", kind}:
                    found = ((kind + who, record) for who, record in section.items())
                    yield from (each for each in found if each[0].startswith(prefix))


@dataclass(frozen=True, slots=True, eq=False)
class BaseChanges(Mapping[bytes, bytes | None]):
    """Changes to a base as they are stored: records that are new, and keys of those that are gone.

    A head that comes with a few thousand is put in force without a look at any of them.
    """

    shard: Shard = field(default_factory=dict)
    gone: frozenset[bytes] = frozenset()

    def __getitem__(self, key: bytes) -> bytes | None:
        """Return a record, None for one that is gone; KeyError where nothing has changed."""
        section = self.shard.get(key[0])
        found = section.find(key[1:]) if section is not None else None
        if found is None and key not in self.gone:
            raise KeyError(key)
        return found

    def get(self, key: bytes, default: Any = None) -> Any:
        """Return a record, None for one that is gone."""
        section = self.shard.get(key[0])
        found = section.find(key[1:]) if section is not None else None
        return default if found is None and key not in self.gone else found

    def __len__(self) -> int:
        """Count the changes."""
        return len(self.gone) + sum(section.count for section in self.shard.values())

    def __iter__(self) -> Iterator[bytes]:
        """Yield the keys of all that has changed."""
        yield from self.gone
        for sort, section in self.shard.items():
            kind = bytes([sort])
            yield from (kind + who for who, _ in section.items())


def sections_of(records: Iterable[tuple[bytes, bytes]], widths: Mapping[int, int]) -> Shard:
    """Sort records into sections; `widths` says how long the part is that all of a sort have."""
    by_sort: dict[int, list[tuple[bytes, bytes]]] = {}
    for key, record in records:
        by_sort.setdefault(key[0], []).append((key[1:], record))
    sections = {}
    for sort, found in sorted(by_sort.items()):
        found.sort()
        width = widths[sort]
        sections[sort] = RecordSection.of(
            b"".join(who for who, _ in found),
            width,
            b"".join(record[:width] for _, record in found),
            bytes(len(record) - width for _, record in found),
            b"".join(record[width:] for _, record in found),
        )
    return sections
