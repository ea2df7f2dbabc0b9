"""Removes what is older than the days that are kept, and first records in the log that it will."""

import datetime as dt
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from audit.ledger.log.heads import TreeHead, decode_head
from audit.ledger.log.retention import (
    FORMAT,
    MARGIN_DAYS,
    Prefix,
    Retention,
    encode_retention,
)
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.columns import first_id, uuid_bytes
from audit.ledger.store.log_append import AppendBackend, OpenLog, read_state
from audit.ledger.store.log_entries import TreeReader
from audit.ledger.store.tables import (
    BY_KIND,
    OWN,
    STANDING,
    adoptions,
    heads,
    leaves,
    log,
    projections,
    quarantine,
    retentions,
    tiles,
)
from core.base.errors import LedgerError
from core.base.ids import uuid7
from core.base.times import DAY_MS, milli_text

MASSES: Final = (FrameKind.DECISION, FrameKind.ACCESS, FrameKind.POD_LIFE)
"""Kinds of which there is so much that they are removed day by day."""

_FEW: Final = tuple(kind for kind in BY_KIND if kind not in {*MASSES, *OWN})

_LEAVES_AT_ONCE: Final = 20_000
"""Removed in one transaction."""

_EPOCH: Final = dt.date(1970, 1, 1)


@dataclass(frozen=True)
class RemovedCounts:
    """What retention took away."""

    days: tuple[dt.date, ...] = ()
    """Of which decisions, accesses or lives of Pods are gone, the oldest first."""
    projections: int = 0
    sweeps: int = 0
    quarantined: int = 0
    others: int = 0
    """Documents of all other kinds."""
    leaves: int = 0
    """Of the log: its first ones, of days that went long ago."""


@dataclass(frozen=True)
class KeptDays:
    """What is kept."""

    days: int
    today: dt.date
    now_ms: int

    @property
    def first(self) -> dt.date:
        """The first day that is kept."""
        return self.today - dt.timedelta(days=self.days - 1)

    @property
    def first_day(self) -> int:
        """The same, in days since 1970-01-01."""
        return (self.first - _EPOCH).days


def date_of(day: int) -> dt.date:
    """Return the date of a day since 1970-01-01."""
    return _EPOCH + dt.timedelta(days=day)


def note_retention(connection: sa.Connection, backend: AppendBackend, kept: KeptDays) -> int:
    """Record what is to go, if anything is; give how many leaves are.

    Raises:
        LedgerError: the log's beginning is not what a head says it was: nothing may go.
    """
    removed = _counted(connection, kept.first_day)
    head = _head_to_rest_on(connection, kept)
    if not removed and head is None:
        return 0
    open_log = OpenLog(connection, backend)
    before = read_state(connection).prefix.size
    prefix = None if head is None or head.size <= before else _prefix(connection, head)
    if not removed and prefix is None:
        return 0
    write_retention(connection, backend, open_log, _record(kept, removed, prefix))
    open_log.save()
    if prefix is None:
        return 0
    values = {
        "prefix_size": prefix.size,
        "prefix_frontier": b"".join(prefix.tree.hashes),
    }
    connection.execute(sa.update(log).values(**values))
    return prefix.size - before


def _counted(connection: sa.Connection, day: int) -> dict[str, int]:
    """Count what the log holds of before a day, by kind."""
    counts: dict[str, int] = {}
    for kind, table in BY_KIND.items():
        if kind not in OWN:
            old = table.c.day < day
            if kind not in STANDING:
                old &= table.c.id < first_id(day)
            counts[kind.name.lower()] = _count(connection, table, old)
    counts["quarantine"] = _count(connection, quarantine, quarantine.c.day < day)
    return {kind: count for kind, count in counts.items() if count}


def _count(connection: sa.Connection, table: sa.Table, old: sa.ColumnElement[bool]) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(table).where(old)) or 0


def _head_to_rest_on(connection: sa.Connection, kept: KeptDays) -> TreeHead | None:
    """Return the last head of which no leaf is of a day that is kept."""
    before_ms = (kept.first_day - MARGIN_DAYS + 1) * DAY_MS
    chosen = sa.select(heads.c.head).where(heads.c.time_ms < before_ms)
    found = connection.scalar(chosen.order_by(heads.c.size.desc()).limit(1))
    try:
        return None if found is None else decode_head(found)
    except ValueError as error:
        raise LedgerError(
            f"a row of its heads holds none that can be read ({error}): nothing is removed; "
            "`sallyport ledger verify` says which"
        ) from None


def _prefix(connection: sa.Connection, head: TreeHead) -> Prefix:
    frontier = TreeReader(connection).frontier(head.size)
    if frontier.root.hex() != head.root:
        raise LedgerError(
            f"its first {head.size} leaves do not lead to the root of the head of {head.time}: "
            "nothing is removed; `sallyport ledger verify` says more"
        )
    return Prefix(size=head.size, frontier=[each.hex() for each in frontier.hashes], head=head)


def _record(kept: KeptDays, removed: dict[str, int], prefix: Prefix | None) -> Retention:
    return Retention(
        format=FORMAT,
        id=uuid7(kept.now_ms),
        time=milli_text(kept.now_ms),
        keep_days=kept.days,
        first_kept_day=kept.first.isoformat(),
        removed=removed,
        prefix=prefix,
    )


def write_retention(
    connection: sa.Connection, backend: AppendBackend, open_log: OpenLog, record: Retention
) -> None:
    """Record in the log what is to go."""
    identity = uuid_bytes(record.id)
    row = ("", identity, int.from_bytes(identity[:6]) // DAY_MS, encode_retention(record))
    backend.copy(connection, retentions, [(*row, open_log.size)])
    open_log.add(FrameKind.RETENTION, "", [row])


def remove_others(connection: sa.Connection, day: int) -> tuple[int, int, int, int]:
    """Remove what there is little of from before a day.

    Give how many projections, sweeps, unreadable frames and others those are. A projection comes
    again on each day on which it is used, by the clock of the gate that uses it: a day more makes
    up for one that goes ahead.
    """
    gone = {kind: _delete(connection, BY_KIND[kind], BY_KIND[kind].c.day < day) for kind in _FEW}
    sweeps = gone.pop(FrameKind.SWEEP)
    unused = _delete(connection, projections, projections.c.last_day < day - 1)
    unreadable = _delete(connection, quarantine, quarantine.c.day < day)
    return unused, sweeps, unreadable, sum(gone.values())


def remove_leaves(connection: sa.Connection) -> bool:
    """Remove some leaves that the prefix stands for; say whether none is left.

    With the last ones go the tiles, the heads that nothing leads to any more, and the records of
    removals from before it, of which nothing can be missing that later ones do not cover.
    """
    size = read_state(connection).prefix.size
    first = connection.scalar(sa.select(sa.func.min(leaves.c.position)))
    if first is not None and first < size:
        end = min(first + _LEAVES_AT_ONCE, size)
        _delete(connection, leaves, leaves.c.position < end)
        return False
    for level in connection.scalars(sa.select(tiles.c.level).distinct()).all():
        _delete(connection, tiles, (tiles.c.level == level) & (tiles.c.tile < size >> level))
    _delete(connection, heads, heads.c.size < size)
    for own in (retentions, adoptions):
        _delete(connection, own, own.c.position < size)
    return True


def _delete(connection: sa.Connection, table: sa.Table, old: sa.ColumnElement[bool]) -> int:
    return connection.execute(sa.delete(table).where(old)).rowcount
