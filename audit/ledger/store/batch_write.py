"""Writes a batch: a new record gets its row and its leaf, a known one nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Protocol

import sqlalchemy as sa

from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.store.columns import Row, day_of
from audit.ledger.store.database_errors import DuplicateError
from audit.ledger.store.log_append import AppendBackend, OpenLog
from audit.ledger.store.packed_documents import pack
from audit.ledger.store.rows import OTHERWISE, RowBatch, is_refusal, quarantine_row
from audit.ledger.store.tables import BY_KIND, STANDING, projections, quarantine, rules
from core.weights.documents.access import contradicts, decode_access

_AT_ONCE: Final = 1000
"""Keys that one query asks for."""


class WriteBackend(AppendBackend, Protocol):
    """The database's way to write."""

    def insert(self, table: sa.Table) -> Any:
        """Return the dialect's own INSERT, which can leave out what is there."""


_IMMUTABLE_KINDS: Final = frozenset({FrameKind.ACCESS, FrameKind.DECISION})
"""Kinds of which two records of one id cannot both be true. Others are made anew after a restart,
with what is known by then."""


@dataclass(frozen=True)
class WrittenRecords:
    """What of a batch was new."""

    stored: int
    """Records and projections."""
    ids: dict[FrameKind, Sequence[bytes]]
    """Of the records."""


def write_batch(
    connection: sa.Connection, backend: WriteBackend, batch: RowBatch, open_log: OpenLog
) -> WrittenRecords:
    """Write a batch, and add its leaves."""
    ids: dict[FrameKind, Sequence[bytes]] = {}
    for kind, rows in sorted(batch.records.items()):
        new = _put(connection, backend, kind, rows, open_log.size)
        for leaf, some in _by_leaf(kind, new) if new else ():
            open_log.add(leaf, some[0][0], some)
        if kind in _IMMUTABLE_KINDS and len(new) < len(rows):
            batch.quarantine.extend(_contradicting(connection, batch, kind, new))
        ids[kind] = [row[1] for row in new]
    _write_rules(connection, backend, batch, ids.get(FrameKind.DECISION, ()))
    _write_quarantine(connection, backend, batch.quarantine, open_log)
    stored = sum(map(len, ids.values())) + _write_projections(connection, backend, batch)
    return WrittenRecords(stored, ids)


def _by_leaf(kind: FrameKind, rows: list[Row]) -> Iterator[tuple[FrameKind, list[Row]]]:
    """Yield the kinds that leaves have, and the rows of each run of them, in their order."""
    if kind is not FrameKind.DECISION:
        yield kind, rows
        return
    for refused, some in groupby(rows, is_refusal):
        yield FrameKind.REFUSAL if refused else kind, list(some)


def _put(
    connection: sa.Connection, backend: AppendBackend, kind: FrameKind, rows: list[Row], first: int
) -> list[Row]:
    """Store those rows that are not there, with their positions; give them without.

    It is tried with all of them: mostly none is there.
    """
    table = BY_KIND[kind]
    packs = backend.packs and kind is FrameKind.DECISION
    if kind not in STANDING or all(row[2] == day_of(row[1]) for row in rows):
        try:
            backend.copy(connection, table, _placed(rows, first, packs=packs))
        except DuplicateError:
            pass
        else:
            return rows
    known = _known(connection, kind, rows)
    new = [row for row in rows if row[1] not in known]
    backend.copy(connection, table, _placed(new, first, packs=packs))
    return new


def _placed(rows: Sequence[Row], first: int, *, packs: bool = False) -> list[Row]:
    if packs:  # Leaves are of the document itself: it is packed for the table alone.
        return [(*row[:-1], pack(row[-1]), at) for at, row in enumerate(rows, first)]
    return [(*row, position) for position, row in enumerate(rows, first)]


def _known(connection: sa.Connection, kind: FrameKind, rows: list[Row]) -> set[bytes]:
    """Return the ids of rows that are there."""
    table = BY_KIND[kind]
    found: set[bytes] = set()
    for start in range(0, len(rows), _AT_ONCE):
        ids = [row[1] for row in rows[start : start + _AT_ONCE]]
        chosen = sa.select(table.c.id).where(table.c.id.in_(ids), table.c.cluster == rows[0][0])
        if kind not in STANDING:  # Those may have come on another day than their id's.
            days = sorted(map(day_of, ids))
            chosen = chosen.where(table.c.day.between(days[0], days[-1]))
        found.update(connection.scalars(chosen))
    return found


def _contradicting(
    connection: sa.Connection, batch: RowBatch, kind: FrameKind, new: list[Row]
) -> Iterator[Row]:
    """Yield those records as rows of the quarantine whose ids the ledger has for other ones.

    Whoever writes an id first must not make the other record vanish.
    """
    table, fresh = BY_KIND[kind], {row[1] for row in new}
    known = [row for row in batch.records[kind] if row[1] not in fresh]
    for start in range(0, len(known), _AT_ONCE):
        rows = {row[1]: row for row in known[start : start + _AT_ONCE]}
        days = sorted(map(day_of, rows))
        chosen = sa.select(table.c.id, table.c.document).where(
            table.c.id.in_(rows),
            table.c.cluster == known[0][0],
            table.c.day.between(days[0], days[-1]),
        )
        for identity, document in connection.execute(chosen):
            row = rows[identity]
            if document == row[-1]:
                continue  # Most that come again are the same to the byte: they are not decoded.
            if kind is FrameKind.DECISION or contradicts(
                decode_access(document), decode_access(row[-1])
            ):
                frame = Frame(kind, identity, row[-1])
                yield quarantine_row(row[0], batch.today, frame, OTHERWISE)


def _write_rules(
    connection: sa.Connection, backend: WriteBackend, batch: RowBatch, ids: Sequence[bytes]
) -> None:
    rows = [rule for identity in ids for rule in batch.rules.get(identity, ())]
    try:
        backend.copy(connection, rules, rows)
    except DuplicateError:
        insert_missing(connection, backend.insert(rules), rows)


def _write_quarantine(
    connection: sa.Connection, backend: WriteBackend, rows: list[Row], open_log: OpenLog
) -> None:
    """Write what is not in quarantine yet, by its digest."""
    if not rows:
        return
    by_digest = {row[1]: row for row in rows}
    chosen = sa.select(quarantine.c.digest).where(
        quarantine.c.digest.in_(by_digest), quarantine.c.cluster == rows[0][0]
    )
    for known in connection.scalars(chosen):
        del by_digest[known]
    new = list(by_digest.values())
    backend.copy(connection, quarantine, _placed(new, open_log.size))
    open_log.add_aside(new)


def _write_projections(connection: sa.Connection, backend: WriteBackend, batch: RowBatch) -> int:
    """Write projections, and the day on which they came; give how many are new."""
    if not batch.projections:
        return 0
    stored = insert_missing(connection, backend.insert(projections), batch.projections)
    cluster, _, day, _ = batch.projections[0]
    connection.execute(
        sa.update(projections)
        .where(projections.c.cluster == cluster, projections.c.last_day < day)
        .where(projections.c.digest.in_([row[1] for row in batch.projections]))
        .values(last_day=day)
    )
    return stored


def insert_missing(connection: sa.Connection, insert: Any, rows: Sequence[Row]) -> int:
    """Insert rows that are not there; give how many those are."""
    names = [column.name for column in insert.table.columns]
    values = [dict(zip(names, row, strict=True)) for row in rows]
    statement = insert.on_conflict_do_nothing().execution_options(preserve_rowcount=True)
    return connection.execute(statement, values).rowcount
