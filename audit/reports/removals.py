"""What retention has removed of a ledger, before its log had a number of entries and since.

A report is of the first entries of a log. What retention removed before them is in no such report;
what it removed since is missing from one that is made again, which is an error.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Final

from audit.ledger.log.retention import Retention, decode_retention
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.queries import LedgerQueries
from audit.ledger.store.tables import STANDING
from audit.reports.periods import Period
from core.base.errors import LedgerError
from core.base.times import DAY_MS

_EPOCH: Final = dt.date(1970, 1, 1)

_RECORDS: Final = frozenset({FrameKind.RETENTION})


@dataclass(frozen=True)
class LedgerRemovals:
    """Removals that the log records: `before` by its first entries, `since` by the others."""

    before: tuple[tuple[int, int], ...] = ()
    """Positions of the records with the first day that each kept, in days since 1970-01-01: what
    they remove is not read, gone or not. Only those of which no later one kept less."""
    since: tuple[Retention, ...] = ()
    size: int = 0
    """Of the first entries."""

    def demand(self, kind: FrameKind, period: Period, cluster: str | None) -> None:
        """Demand that nothing of a kind and a period was removed since.

        Raises:
            LedgerError: some of it was.
        """
        for record in self.since:
            if lost := self._lost(record, kind, period, cluster):
                raise LedgerError(
                    f"the report cannot be made of its first {self.size:,} entries any more: "
                    f"retention removed {lost} since, by its record of {record.time}; give a later "
                    "head with --at-head, or a later period"
                )

    def _lost(self, record: Retention, kind: FrameKind, period: Period, cluster: str | None) -> str:
        name = kind.name.lower()
        before = _day(record.first_kept_day)
        if record.removed.get(name) and self._overlaps(kind, period, before):
            return f"documents of before {record.first_kept_day} ({name.replace('_', ' ')})"
        removed = record.by_size
        if kind is not FrameKind.DECISION or removed is None:
            return ""
        if cluster not in {None, removed.cluster}:
            return ""
        days = [
            day
            for day, each in removed.days.items()
            if each.first < self.size and _touches(period, _day(day))
        ]
        if days or (removed.refusals and not removed.days):  # Of a release that named no days.
            return f"{removed.refusals:,} refusals for want of room"
        return ""

    def _overlaps(self, kind: FrameKind, period: Period, before: int) -> bool:
        """Return whether what went of days before `before` can be of a period.

        What stands for long goes by the day on which it came, and is no more than a day ahead.
        """
        begin, end = period.begin_ms // DAY_MS, -(-period.end_ms // DAY_MS)
        return begin <= before if kind in STANDING else begin < min(before, end)


async def read_removals(source: LedgerQueries, size: int | None) -> LedgerRemovals:
    """Read what was removed before the log had `size` entries (None: as it is), and since.

    Raises:
        LedgerError: the ledger does not answer, or a record cannot be read.
    """
    before: list[tuple[int, int]] = []
    since: list[Retention] = []
    after = -1
    while page := await source.entries(after, _RECORDS):
        after = page[-1].position
        for entry in page:
            try:
                record = decode_retention(entry.payload or b"")
                day = _day(record.first_kept_day)
            except ValueError as error:
                raise LedgerError(
                    f"its retention record at {entry.position:,} cannot be read ({error}): "
                    "`sallyport ledger verify` says more"
                ) from None
            if size is None or entry.position < size:
                before = [each for each in before if each[1] > day]
                before.append((entry.position, day))
            else:
                since.append(record)
    return LedgerRemovals(tuple(before), tuple(since), size or 0)


def _day(text: str) -> int:
    return (dt.date.fromisoformat(text) - _EPOCH).days


def _touches(period: Period, day: int) -> bool:
    return period.begin_ms < (day + 1) * DAY_MS and day * DAY_MS < period.end_ms
