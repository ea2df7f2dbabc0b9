"""Takes into the log, once after the upgrade, what an earlier release stored without one.

Rows without a place that come later are nobody's: they stay outside of the log, and that is said.
"""

from typing import Any, Final

import sqlalchemy as sa

from audit.ledger.log.adoption import (
    MOST_OPEN_DAYS,
    OPEN_DAYS,
    adoption_of,
    encode_adoption,
)
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.batch_write import WriteBackend
from audit.ledger.store.columns import uuid_bytes
from audit.ledger.store.log_append import OpenLog
from audit.ledger.store.tables import adoptions, decisions, log, look_backs, quarantine, sweeps
from core.base.ids import uuid7
from core.base.times import DAY_MS

AT_ONCE: Final = 5000
"""Rows of one transaction; what is delivered waits no longer than for one."""

_FORMER: Final = (
    (FrameKind.DECISION, decisions),
    (FrameKind.SWEEP, sweeps),
    (FrameKind.LOOK_BACK, look_backs),
)
_TABLES: Final = (*(table for _, table in _FORMER), quarantine)
"""Those whose rows may have no place: all tables that came later demand one."""


def adopt_rows(
    connection: sa.Connection, backend: WriteBackend, now_ms: int, most: int = AT_ONCE
) -> int:
    """Return the first rows without a place one, by cluster and id; say how many those were.

    While a new release is rolled out, the old one goes on writing such rows. When that is over
    (by `now_ms`, milliseconds since the epoch) and none is left, nothing is taken in any more.
    """
    until = read_adoption_end(connection)
    if not until or (now_ms < until and not _has_any(connection)):
        return 0
    open_log = OpenLog(connection, backend)
    if not read_adoption_end(connection):
        return 0  # Somebody else was done, while this one waited for the lock.
    is_over = now_ms >= until + (MOST_OPEN_DAYS - OPEN_DAYS) * DAY_MS
    found = [] if is_over else _found(connection, most)
    count = sum(len(rows) for _, _, rows in found)
    last = now_ms >= until and not count
    if count or last:
        _record(connection, backend, open_log, now_ms, (count, last))
    for kind, table, rows in found:
        _take(connection, open_log, kind, table, rows)
    open_log.save()
    if last:
        connection.execute(sa.update(log).values(adopt_until_ms=0))
    return count


def read_adoption_end(connection: sa.Connection) -> int:
    """Return until when an earlier release may write; 0 where nothing is taken in any more."""
    until = connection.scalar(sa.select(log.c.adopt_until_ms))
    return until if isinstance(until, int) else 0


def count_outside(connection: sa.Connection) -> int:
    """Count rows that are not in the log, and that nobody will take in."""
    if read_adoption_end(connection):
        return 0
    counts = (
        sa.select(sa.func.count()).select_from(table).where(table.c.position.is_(None))
        for table in _TABLES
    )
    return sum(connection.scalar(each) or 0 for each in counts)


_Found = tuple[FrameKind | None, sa.Table, list[sa.Row[Any]]]
"""Rows without a place; of no kind: those of the quarantine."""


def _found(connection: sa.Connection, most: int) -> list[_Found]:
    found: list[_Found] = []
    for kind, table in (*_FORMER, (None, quarantine)):
        key = table.c.digest if kind is None else table.c.id
        rest = most - sum(len(rows) for _, _, rows in found)
        chosen = sa.select(table).where(table.c.position.is_(None))
        chosen = chosen.order_by(table.c.cluster, key).limit(rest)
        found.append((kind, table, list(connection.execute(chosen))))
    return found


def _record(
    connection: sa.Connection,
    backend: WriteBackend,
    open_log: OpenLog,
    now_ms: int,
    said: tuple[int, bool],
) -> None:
    records, last = said
    made = adoption_of(uuid7(now_ms), now_ms, records, last=last)
    row = ("", uuid_bytes(made.id), now_ms // DAY_MS, encode_adoption(made))
    backend.copy(connection, adoptions, [(*row, open_log.size)])
    open_log.add(FrameKind.ADOPTION, "", [row])


def _take(
    connection: sa.Connection,
    open_log: OpenLog,
    kind: FrameKind | None,
    table: sa.Table,
    rows: list[sa.Row[Any]],
) -> None:
    for row in rows:
        same = (column == getattr(row, column.name) for column in _key(table))
        placed = sa.update(table).where(sa.and_(*same)).values(position=open_log.size)
        connection.execute(placed)
        if kind is None:
            open_log.add_aside([tuple(row)])
        else:
            open_log.add(kind, row.cluster, [(row.cluster, row.id, row.document)])


def _has_any(connection: sa.Connection) -> bool:
    """Return whether there are such rows, without a lock that others wait for."""
    return any(
        connection.execute(sa.select(sa.true()).where(table.c.position.is_(None)).limit(1)).first()
        for table in _TABLES
    )


def _key(table: sa.Table) -> tuple[sa.Column[Any], ...]:
    if table is quarantine:
        return table.c.cluster, table.c.digest
    return table.c.cluster, table.c.id, table.c.day
