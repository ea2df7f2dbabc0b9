"""The record of what retention removed, and the check that only that is missing. Pure.

What is missing of the log is missing rightly when a record that stands later in the log says so:

- a payload, when its day is before the record's `first_kept_day`;
- a leaf, when its position is before the record's prefix, whose frontier leads to the root of the
  head that the record rests on, and that head's day is before `first_kept_day` by MARGIN_DAYS;
- the payload of a REFUSAL also, when records of removals for want of room count as many: leaves of
  no other kind are ever missing for that reason;
- and `first_kept_day` lies `keep_days - 1` days before the record's own time.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Final

import msgspec

from audit.ledger.log.export import ExportLine
from audit.ledger.log.heads import TreeHead
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


class SizeRemoval(_Part, frozen=True, kw_only=True):
    """Refusals of one requester in one namespace that were removed for want of room."""

    refusals: int
    cluster: str
    namespace: str
    requester: str


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
    return retention


@dataclass(frozen=True, slots=True)
class PlacedRetention:
    """A retention record that says what it should, where it stands."""

    where: RecordPlace
    record: Retention
    first_kept: dt.date


@dataclass(frozen=True, slots=True)
class _MissingRefusals:
    """Refusals of a day whose documents are gone."""

    first: RecordPlace
    last: RecordPlace
    count: int


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
        self._refused: dict[dt.date, _MissingRefusals] = {}
        self._by_size = 0
        """Refusals that records say were removed for want of room."""
        self._by_size_at = -1
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
            before = self._refused.get(day)
            first, count = (before.first, before.count) if before else (where, 0)
            self._refused[day] = _MissingRefusals(first, where, count + 1)
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
            kept = dt.date.fromisoformat(record.first_kept_day)
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
            if record.by_size is not None:
                self._by_size += record.by_size.refusals
                self._by_size_at = where.at
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
        """Judge missing refusals: of days that are not kept, or as many as records count."""
        for day, missing in sorted(self._refused.items()):
            if any(_explains(each, missing.last, day, None) for each in self._policies):
                continue
            self.refusals += missing.count
            if missing.last.at > self._by_size_at or self.refusals > self._by_size:
                says = f"{missing.count:,} refusals of {day} are gone, of which records of removals"
                says += " explain fewer"
                self._say(make_problem(Flaw.REMOVAL, says, missing.first))

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
    return _EPOCH + dt.timedelta(days=unix_ms // DAY_MS)
