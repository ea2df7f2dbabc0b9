"""Whether what is missing from a log was removed by its policy: by whole days, and old enough.

What makes it so is written in `audit.ledger.log.retention`.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Final

from audit.ledger.log.export import ExportLine
from audit.ledger.log.keys import Keys
from audit.ledger.log.problems import (
    Problem,
    Where,
    Wrong,
    id_ms,
    is_uuid7,
    problem,
    stretch,
)
from audit.ledger.log.record_check import DAY_MS
from audit.ledger.log.retention import (
    MARGIN_DAYS,
    Prefix,
    Retention,
    decode_retention,
    first_kept,
    may_collapse,
)
from audit.ledger.records.frames import FrameKind

_MOST_PROBLEMS: Final = 20
_MOST_UNDATED: Final = 1000
_STANDING: Final = frozenset({FrameKind.POD_LIFE.value, FrameKind.CHANGE.value})
"""Kinds that may be of long ago when they come; they are kept as if they were of that day."""

_Days = tuple[dt.date, dt.date | None]
"""Of the id; and, of what may be of long ago, on which it came at the earliest."""

_EPOCH: Final = dt.date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Policy:
    """A retention record that says what it should, where it stands."""

    where: Where
    record: Retention
    first_kept: dt.date


class Removals:
    """What of a log is missing, and what its retention records say of that."""

    def __init__(self, opening: ExportLine, keys: Keys, keep_days: int) -> None:
        """Take what the log begins with, its keys, and how many days it must keep."""
        self.leaves = 0
        """Leaves whose documents are gone."""
        self.prefix = 0
        """Leaves that are gone themselves, before the first."""
        self.keep_days: int | None = None
        """The fewest days that a retention record kept."""
        self._opening = opening
        self._keys = keys
        self._demanded = keep_days
        self._days: dict[_Days, tuple[Where, int]] = {}
        self._policies: list[Policy] = []
        self._problems: list[Problem] = []
        self._stored_ms = 0
        self._undated: list[Where] = []
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

    def missing(self, where: Where, *, aside: bool) -> None:
        """Note a leaf whose document is gone; what is aside goes by the day on which it came."""
        self.leaves += 1
        if is_uuid7(where.id) and not aside:
            stored = _date(self._stored_ms) if where.kind in _STANDING else None
            self._note(_date(id_ms(where.id)), where, stored)
        elif self._stored_ms:
            self._note(_date(self._stored_ms), where)
        elif len(self._undated) < _MOST_UNDATED:
            self._undated.append(where)

    def retention(self, where: Where, payload: bytes) -> None:
        """Judge a retention record by itself, and keep it."""
        try:
            record = decode_retention(payload)
            kept = dt.date.fromisoformat(record.first_kept_day)
        except ValueError as error:
            self._say(problem(Wrong.RETENTION, f"it cannot be read: {error}", where))
            return
        if kept > first_kept(_date(id_ms(where.id)), record.keep_days):
            says = f"it says that it keeps {record.keep_days} days, and removed younger ones"
        elif record.keep_days < self._demanded:
            says = f"it kept {record.keep_days} days only, where {self._demanded} must be kept"
        else:
            self.keep_days = min(self.keep_days or record.keep_days, record.keep_days)
            self._policies.append(Policy(where, record, kept))
            return
        self._say(problem(Wrong.RETENTION, says, where))

    def judged(self) -> list[Problem]:
        """Say what is missing without a retention record that explains it."""
        for where in self._undated:
            self._note(dt.date.max, where)
        for (day, stored), (where, count) in sorted(self._days.items(), key=_position):
            if not any(_explains(each, where, day, stored) for each in self._policies):
                others = f", as {count - 1:,} others of {day}" if count > 1 else ""
                says = f"its document is gone{others}, and no retention record explains it"
                self._say(problem(Wrong.REMOVAL, says, where))
        if self.prefix and not any(map(self._explains_prefix, self._policies)):
            says = (
                f"the first {self.prefix:,} records are gone, and no retention record explains it"
            )
            self._say(stretch(Wrong.REMOVAL, says, 0, self.prefix))
        return self._problems

    def _explains_prefix(self, policy: Policy) -> bool:
        """Say whether a record took this prefix away, says the same of its tree, and might."""
        prefix = policy.record.prefix
        if prefix is None or prefix.size != self.prefix or not self._is_of_head(prefix):
            return False
        is_old = may_collapse(prefix.head, policy.first_kept)
        margin = dt.timedelta(days=MARGIN_DAYS)
        return is_old and _date(self._prefix_after_ms) + margin <= policy.first_kept

    def _is_of_head(self, prefix: Prefix) -> bool:
        """Say whether a prefix is that of a signed head, and the one that the log begins after."""
        head = prefix.head
        try:
            tree = prefix.tree
        except ValueError:
            return False
        same = tree == self._opening.before and head.size == tree.size
        return same and head.root == tree.root.hex() and not self._keys.judge(head)

    def _note(self, day: dt.date, where: Where, stored: dt.date | None = None) -> None:
        first, before = self._days.get((day, stored), (where, 0))
        self._days[day, stored] = first, before + 1

    def _say(self, found: Problem) -> None:
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.append(found)


def _explains(policy: Policy, where: Where, day: dt.date, stored: dt.date | None) -> bool:
    """Say whether a retention record took away what is of a day, and might."""
    keeps = dt.timedelta(days=policy.record.keep_days + 1)
    forgotten_as = stored if stored is not None and day < stored - keeps else day
    return policy.where.at > where.at and forgotten_as < policy.first_kept


def _position(item: tuple[_Days, tuple[Where, int]]) -> int:
    return item[1][0].at


def _date(unix_ms: int) -> dt.date:
    return _EPOCH + dt.timedelta(days=unix_ms // DAY_MS)
