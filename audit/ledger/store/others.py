"""Writes and removes what there is little of: all but decisions, and what cannot be read."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from audit.ledger.store.rows import Batch
from audit.ledger.store.tables import look_backs, projections, quarantine, sweeps


def write_others(connection: sa.Connection, insert: Callable[..., Any], batch: Batch) -> int:
    """Write all but decisions; give how many of them were not there before.

    `insert` is the dialect's own, which can leave out what is there.
    """
    _insert(connection, insert(quarantine), batch.quarantine)
    stored = _insert(connection, insert(projections), batch.projections)
    stored += _insert(connection, insert(sweeps), batch.sweeps)
    stored += _insert(connection, insert(look_backs), batch.look_backs)
    if batch.projections:
        cluster, _, day, _ = batch.projections[0]
        connection.execute(
            sa.update(projections)
            .where(projections.c.cluster == cluster, projections.c.last_day < day)
            .where(projections.c.digest.in_([row[1] for row in batch.projections]))
            .values(last_day=day)
        )
    return stored


def remove_others(connection: sa.Connection, day: int) -> tuple[int, int, int]:
    """Remove all this from before a day; give how many projections, sweeps, unreadable frames.

    A projection comes again on each day on which it is used, by the clock of the gate that uses
    it: a day more makes up for one that goes ahead.
    """
    chosen = (
        (projections, projections.c.last_day < day - 1),
        (sweeps, sweeps.c.day < day),
        (quarantine, quarantine.c.day < day),
    )
    connection.execute(sa.delete(look_backs).where(look_backs.c.day < day))
    first, second, third = (
        connection.execute(sa.delete(table).where(old)).rowcount for table, old in chosen
    )
    return first, second, third


def _insert(connection: sa.Connection, insert: Any, rows: list[tuple[Any, ...]]) -> int:
    if not rows:
        return 0
    names = [column.name for column in insert.table.columns]
    values = [dict(zip(names, row, strict=True)) for row in rows]
    statement = insert.on_conflict_do_nothing().execution_options(preserve_rowcount=True)
    return connection.execute(statement, values).rowcount
