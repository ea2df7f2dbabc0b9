"""The record of what retention removed, and the check that only that is missing. Pure.

What is missing of the log is missing rightly when a record that stands later in the log says so:

- a payload, when its day is before the record's `first_kept_day`;
- a leaf, when its position is before the record's prefix, whose frontier leads to the root of the
  head that the record rests on, and that head's day is before `first_kept_day` by MARGIN_DAYS;
- the payload of a REFUSAL also, when records of removals for want of room name just those that are
  missing of its day (`RemovedDay`): leaves of no other kind are ever missing for that reason, and
  what a record names explains no other;
- and `first_kept_day` lies `keep_days - 1` days before the record's own time.
"""

import datetime as dt
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from audit.ledger.log.export import ExportLine
from audit.ledger.log.heads import TreeHead, decode_head, encode_head
from audit.ledger.log.keys import LogKeys
from audit.ledger.log.merkle import Frontier
from audit.ledger.log.problems import (
    Flaw,
    Problem,
    RecordPlace,
    id_ms,
    is_uuid7,
    make_place_problem,
    make_problem,
)
from audit.ledger.records.frames import FrameKind
from core.base.document_part import require_format
from core.base.times import DAY_MS

FORMAT: Final = 1
"""Version of the record. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""

MARGIN_DAYS: Final = 3
"""A record's id may be a day ahead of the clock when it is stored, and auditors' clocks may differ:
what the log held at a head is of a day that lies fewer days than this after the head's."""

_ENCODER = msgspec.json.Encoder()

_MOST_PROBLEMS: Final = 20

_MOST_UNDATED: Final = 1000

_STANDING: Final = frozenset({FrameKind.POD_LIFE.value, FrameKind.CHANGE.value})
"""Kinds that may be of long ago when they come; they are kept as if they were of that day."""

_Days = tuple[dt.date, dt.date | None]
"""Of the id; and, of what may be of long ago, on which it came at the earliest."""

_EPOCH: Final = dt.date(1970, 1, 1)

_LAST_DAY: Final = (dt.date.max - _EPOCH).days
"""An id may hold a time after it."""

_MOST_KEEP_DAYS: Final = 36_500
"""A century: no policy keeps longer."""


class _Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Frozen, camelCase, defaults left out; fields of later releases are skipped when read."""


class Prefix(_Part, frozen=True, kw_only=True):
    """Leaves that were removed whole, from the log's first on."""

    size: int
    frontier: list[str]
    """Hex: the roots of the whole subtrees that they fall into, the largest first."""
    head: TreeHead
    """Signed when the log had `size` leaves; its root is that of the frontier."""

    @property
    def tree(self) -> Frontier:
        """The frontier.

        Raises:
            ValueError: it is none.
        """
        return Frontier(self.size, tuple(map(bytes.fromhex, self.frontier)))


class RemovedDay(_Part, frozen=True, kw_only=True):
    """Refusals of one day that a record names."""

    refusals: int
    first: int
    """The lowest of their positions in the log."""
    last: int
    """The highest."""
    marks: str
    """Hex: the sum of `removal_mark` of each, modulo 2^256. It names just these, however many."""


class SizeRemoval(_Part, frozen=True, kw_only=True):
    """Refusals of one requester in one namespace that were removed for want of room."""

    refusals: int
    cluster: str
    namespace: str
    requester: str
    days: dict[str, RemovedDay] = {}
    """By the day of their ids, `2026-08-25`; empty in records of earlier releases."""


class Retention(_Part, frozen=True, kw_only=True):
    """What was removed by policy. It is written before anything is."""

    format: int
    id: str
    """UUIDv7 of `time`."""
    time: str
    """RFC 3339, UTC, milliseconds."""
    cluster: str = ""
    """Empty: it is the ledger's own."""
    keep_days: int
    first_kept_day: str
    """`2026-08-25`: whole days (UTC) before it are removed, by the ids of what is stored; what has
    no time of its own goes by the day on which it came."""
    removed: dict[str, int] = {}
    """How many of each kind were to go; what a crash interrupted is counted again."""
    prefix: Prefix | None = None
    """None: no leaf was removed with it."""
    by_size: SizeRemoval | None = None
    """What was removed though its day is kept; None: nothing."""


def removal_mark(position: int, record_id: bytes) -> int:
    """Return a number of 256 bits that tells one leaf of the log from all others."""
    content = b"sallyport removed leaf\n" + position.to_bytes(8) + record_id
    return int.from_bytes(hashlib.sha256(content).digest())


def removed_days(leaves: Iterable[tuple[int, bytes]]) -> dict[str, RemovedDay]:
    """Return what a record says of leaves that it removes: positions, and UUIDv7s as 16 bytes."""
    found: dict[str, RefusedDay] = {}
    for position, record_id in leaves:
        day = _date(id_ms(record_id)).isoformat()
        found.setdefault(day, RefusedDay()).take(
            position, position, 1, removal_mark(position, record_id)
        )
    return {
        day: RemovedDay(
            refusals=each.refusals, first=each.first, last=each.last, marks=f"{each.marks:064x}"
        )
        for day, each in sorted(found.items())
    }


def first_kept(today: dt.date, keep_days: int) -> dt.date:
    """Return the first of the whole days that are kept, today's included."""
    return today - dt.timedelta(days=keep_days - 1)


def may_collapse(head: TreeHead, first_kept_day: dt.date) -> bool:
    """Return whether all leaves of a head are of days that are not kept."""
    day = dt.datetime.fromisoformat(head.time).astimezone(dt.UTC).date()
    return day + dt.timedelta(days=MARGIN_DAYS) <= first_kept_day


_DECODER = msgspec.json.Decoder(Retention)


def encode_retention(retention: Retention) -> bytes:
    """Return the record as JSON."""
    return _ENCODER.encode(retention)


def decode_retention(content: bytes) -> Retention:
    """Read a record.

    Raises:
        ValueError: it is none; the message names the field.
    """
    retention = _DECODER.decode(content)
    require_format(retention.format, FORMAT)
    if not 0 < retention.keep_days <= _MOST_KEEP_DAYS:
        raise ValueError(f"keepDays: no policy keeps {retention.keep_days} days")
    return retention


@dataclass(frozen=True, slots=True)
class PlacedRetention:
    """A retention record that says what it should, where it stands."""

    where: RecordPlace
    record: Retention
    first_kept: dt.date


@dataclass(slots=True)
class RefusedDay:
    """Refusals of a day: those that are gone, or those that records name."""

    refusals: int = 0
    first: int = -1
    """Positions in the log; -1 without any."""
    last: int = -1
    marks: int = 0

    def take(self, first: int, last: int, refusals: int, marks: int) -> None:
        """Add some."""
        self.first = first if self.first < 0 else min(self.first, first)
        self.last = max(self.last, last)
        self.refusals += refusals
        self.marks = (self.marks + marks) % (1 << 256)


class RemovalCheck:
    """What of a log is missing, and what its retention records say of that."""

    def __init__(self, opening: ExportLine, keys: LogKeys, keep_days: int) -> None:
        """Take what the log begins with, its keys, and how many days it must keep."""
        self.leaves = 0
        """Leaves whose documents are gone."""
        self.refusals = 0
        """Of them, refusals that were removed for want of room."""
        self.prefix = 0
        """Leaves that are gone themselves, before the first."""
        self.keep_days: int | None = None
        """The fewest days that a retention record kept."""
        self._opening = opening
        self._keys = keys
        self._demanded = keep_days
        self._days: dict[_Days, tuple[RecordPlace, int]] = {}
        self._refused: dict[dt.date, tuple[RecordPlace, RecordPlace, RefusedDay]] = {}
        """Refusals that are gone: the first, the last, and what they come to."""
        self._by_size: dict[dt.date, RefusedDay] = {}
        """Refusals that records say were removed for want of room."""
        self._unnamed = 0
        """Of records of earlier releases, which count and do not name them."""
        self._unnamed_before = -1
        """Where the last of these records stands."""
        self._policies: list[PlacedRetention] = []
        self._problems: list[Problem] = []
        self._stored_ms = 0
        self._undated: list[RecordPlace] = []
        """Leaves that go by the day on which they came, before the first head that says one."""
        self._prefix_after_ms = 0

    def prefix_missing(self, after_ms: int) -> None:
        """Note that the log does not begin at 0, though all of it was asked for.

        Some of what is missing was stored after a time (milliseconds since the epoch), as an
        anchor knows; 0 where none does.
        """
        self.prefix = self._opening.first
        self._prefix_after_ms = after_ms

    def head(self, time_ms: int) -> None:
        """Note when the leaves up to here were there: those that follow came later."""
        self._stored_ms = time_ms
        for where in self._undated:
            self._note(_date(time_ms), where)
        self._undated = []

    def missing(self, where: RecordPlace, *, aside: bool) -> None:
        """Note a leaf whose document is gone; what is aside goes by the day on which it came."""
        self.leaves += 1
        if where.kind == FrameKind.REFUSAL and not aside and is_uuid7(where.id):
            day = _date(id_ms(where.id))
            first, _, gone = self._refused.get(day, (where, where, RefusedDay()))
            gone.take(where.at, where.at, 1, removal_mark(where.at, where.id))
            self._refused[day] = first, where, gone
        elif is_uuid7(where.id) and not aside:
            stored = _date(self._stored_ms) if where.kind in _STANDING else None
            self._note(_date(id_ms(where.id)), where, stored)
        elif self._stored_ms:
            self._note(_date(self._stored_ms), where)
        elif len(self._undated) < _MOST_UNDATED:
            self._undated.append(where)

    def retention(self, where: RecordPlace, payload: bytes) -> None:
        """Judge a retention record by itself, and keep it."""
        try:
            record = decode_retention(payload)
            if record.prefix is not None:
                decode_head(encode_head(record.prefix.head))  # One that nobody can have signed.
            kept = dt.date.fromisoformat(record.first_kept_day)
            by_size = _named_days(record.by_size, where)
        except ValueError as error:
            self._say(make_problem(Flaw.RETENTION, f"it cannot be read: {error}", where))
            return
        if kept > first_kept(_date(id_ms(where.id)), record.keep_days):
            says = f"it says that it keeps {record.keep_days} days, and removed younger ones"
        elif record.keep_days < self._demanded:
            says = f"it kept {record.keep_days} days only, where {self._demanded} must be kept"
        else:
            self.keep_days = min(self.keep_days or record.keep_days, record.keep_days)
            self._policies.append(PlacedRetention(where, record, kept))
            for day, (part, marks) in by_size.items():
                named = self._by_size.setdefault(day, RefusedDay())
                named.take(part.first, part.last, part.refusals, marks)
            if record.by_size is not None and not by_size:
                self._unnamed += record.by_size.refusals
                self._unnamed_before = where.at
            return
        self._say(make_problem(Flaw.RETENTION, says, where))

    def judged(self) -> list[Problem]:
        """Say what is missing without a retention record that explains it."""
        for where in self._undated:
            self._note(dt.date.max, where)
        for (day, stored), (where, count) in sorted(self._days.items(), key=_position):
            if not any(_explains(each, where, day, stored) for each in self._policies):
                others = f", as {count - 1:,} others of {day}" if count > 1 else ""
                says = f"its document is gone{others}, and no retention record explains it"
                self._say(make_problem(Flaw.REMOVAL, says, where))
        self._judge_refused()
        if self.prefix and not any(map(self._explains_prefix, self._policies)):
            says = (
                f"the first {self.prefix:,} records are gone, and no retention record explains it"
            )
            self._say(make_place_problem(Flaw.REMOVAL, says, 0, self.prefix))
        return self._problems

    def _judge_refused(self) -> None:
        """Judge missing refusals: of days that are not kept, or just those that records name."""
        for day, (first, last, gone) in sorted(self._refused.items()):
            if any(_explains(each, last, day, None) for each in self._policies):
                continue
            self.refusals += gone.refusals
            named = self._by_size.get(day, RefusedDay())
            if not self._names(named, gone) and not self._counts(named, gone):
                says = f"{gone.refusals:,} refusals of {day} are gone, and records of removals name"
                says += f" {named.refusals:,}{' others' if named.refusals else ''}"
                self._say(make_problem(Flaw.REMOVAL, says, first))

    def _names(self, named: RefusedDay, gone: RefusedDay) -> bool:
        """Return whether what is gone of a day is just what records name of it.

        Of a part of the log, not all is seen that they name: then no more may be gone.
        """
        if named.first < self._opening.first:
            return gone.refusals <= named.refusals and gone.last <= named.last
        return (gone.refusals, gone.marks) == (named.refusals, named.marks)

    def _counts(self, named: RefusedDay, gone: RefusedDay) -> bool:
        """Return whether records of earlier releases count what none names; they do so once."""
        unnamed = gone.refusals - named.refusals
        if not 0 < unnamed <= self._unnamed or gone.last > max(named.last, self._unnamed_before):
            return False
        self._unnamed -= unnamed
        return True

    def _explains_prefix(self, policy: PlacedRetention) -> bool:
        """Return whether a record took this prefix away, says the same of its tree, and might."""
        prefix = policy.record.prefix
        if prefix is None or prefix.size != self.prefix or not self._is_of_head(prefix):
            return False
        is_old = may_collapse(prefix.head, policy.first_kept)
        margin = dt.timedelta(days=MARGIN_DAYS)
        return is_old and _date(self._prefix_after_ms) + margin <= policy.first_kept

    def _is_of_head(self, prefix: Prefix) -> bool:
        """Return whether a prefix is a signed head's and the one that the log begins after."""
        head = prefix.head
        try:
            tree = prefix.tree
        except ValueError:
            return False
        same = tree == self._opening.before and head.size == tree.size
        return same and head.root == tree.root.hex() and not self._keys.judge(head)

    def _note(self, day: dt.date, where: RecordPlace, stored: dt.date | None = None) -> None:
        first, before = self._days.get((day, stored), (where, 0))
        self._days[day, stored] = first, before + 1

    def _say(self, found: Problem) -> None:
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.append(found)


def _named_days(
    removal: SizeRemoval | None, where: RecordPlace
) -> dict[dt.date, tuple[RemovedDay, int]]:
    """Return the refusals that a record names, by their days, and the sum of their marks.

    Raises:
        ValueError: a day or a sum is none, or it names what came after it.
    """
    days = removal.days if removal else {}
    if any(not 0 <= each.first <= each.last < where.at for each in days.values()):
        raise ValueError("it names refusals that came after it")
    return {dt.date.fromisoformat(day): (each, int(each.marks, 16)) for day, each in days.items()}


def _explains(
    policy: PlacedRetention, where: RecordPlace, day: dt.date, stored: dt.date | None
) -> bool:
    """Return whether a retention record took away what is of a day, and might."""
    keeps = dt.timedelta(days=policy.record.keep_days + 1)
    forgotten_as = stored if stored is not None and day < stored - keeps else day
    return policy.where.at > where.at and forgotten_as < policy.first_kept


def _position(item: tuple[_Days, tuple[RecordPlace, int]]) -> int:
    return item[1][0].at


def _date(unix_ms: int) -> dt.date:
    return _EPOCH + dt.timedelta(days=min(unix_ms // DAY_MS, _LAST_DAY))
