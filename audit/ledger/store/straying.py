"""Which rows of a ledger are not in its log, share a place in it, or hang on nothing."""

from collections.abc import Iterator
from typing import Final

import sqlalchemy as sa

from audit.ledger.log.problems import Problem, Where, Wrong, problem
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.adoption import adopts_until
from audit.ledger.store.tables import decisions, quarantine, rules
from audit.ledger.store.tables_log import leaves
from audit.ledger.store.tables_weights import BY_KIND

_MOST: Final = 20
"""Rows that are named of each table."""

_NOWHERE: Final = -1


def strays(connection: sa.Connection) -> Iterator[Problem]:
    """Say which rows have a place that no leaf of theirs has, and which rules no decision."""
    for kind, table in [*BY_KIND.items(), (None, quarantine)]:
        key = table.c.frame_id if kind is None else table.c.id
        is_of = leaves.c.aside == (sa.true() if kind is None else sa.false())
        if kind is not None:
            is_of &= leaves.c.kind == int(kind)
        on = (leaves.c.position == table.c.position) & (leaves.c.cluster == table.c.cluster) & is_of
        without = (
            sa.select(table.c.cluster, key.label("id"), table.c.position)
            .select_from(table.outerjoin(leaves, on))
            .where(table.c.position.is_not(None), leaves.c.position.is_(None))
        )
        for row in connection.execute(without.order_by(table.c.position).limit(_MOST)):
            where = Where(row.position, int(kind or 0), row.cluster, row.id)
            yield problem(Wrong.ROW, f"a row of {table.name} that is not in the log", where)
        yield from _shared(connection, table)
    yield from _without_decision(connection)


def _shared(connection: sa.Connection, table: sa.Table) -> Iterator[Problem]:
    """Say of which positions a table has more than one row."""
    twice = sa.select(table.c.position, sa.func.count()).where(table.c.position.is_not(None))
    twice = twice.group_by(table.c.position).having(sa.func.count() > 1).limit(_MOST)
    for position, count in connection.execute(twice):
        says = f"{count} rows of {table.name} say that they are at {position}"
        yield problem(Wrong.ROW, says, Where(position, 0, "", b""))


def unplaced(connection: sa.Connection) -> tuple[list[Problem], int]:
    """Say which rows have no place; give how many, where the ledger says that it is upgraded."""
    found: list[Problem] = []
    count = 0
    for kind, table in [*BY_KIND.items(), (None, quarantine)]:
        key = table.c.frame_id if kind is None else table.c.id
        chosen = sa.select(table.c.cluster, key.label("id")).where(table.c.position.is_(None))
        rows = connection.execute(chosen.order_by(table.c.cluster, key).limit(_MOST)).all()
        if rows:
            every = sa.select(sa.func.count()).select_from(chosen.subquery())
            of_table = connection.scalar(every) or 0
            count += of_table
            others = f", as {of_table - 1:,} others there" if of_table > 1 else ""
            says = f"it is in {table.name}, and has no place in the log{others}"
            found += [
                problem(Wrong.ROW, says, Where(_NOWHERE, int(kind or 0), row.cluster, row.id))
                for row in rows
            ]
    return found, count if adopts_until(connection) else 0


def _without_decision(connection: sa.Connection) -> Iterator[Problem]:
    """Say which rules are of a decision that is not there: lists go by them."""
    same = (rules.c[name] == decisions.c[name] for name in ("id", "cluster", "day"))
    without = (
        sa.select(rules.c.cluster, rules.c.id, rules.c.rule)
        .select_from(rules.outerjoin(decisions, sa.and_(*same)))
        .where(decisions.c.id.is_(None))
        .order_by(rules.c.cluster, rules.c.id)
    )
    for row in connection.execute(without.limit(_MOST)):
        where = Where(_NOWHERE, int(FrameKind.DECISION), row.cluster, row.id)
        yield problem(Wrong.ROW, f"a row of the rule {row.rule} whose decision is not there", where)
