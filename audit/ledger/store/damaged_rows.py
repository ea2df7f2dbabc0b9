"""Reads a ledger whose rows may be anything, and says which of them no ledger writes.

SQLite stores a text where bytes belong, and numbers of any size; whoever writes into a database may
do so anywhere. What is read here is read whatever it is, so that `ledger verify` can say where.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from audit.ledger.log.entries import LogEntry, LogState
from audit.ledger.log.heads import TreeHead, decode_head
from audit.ledger.log.leaves import MOST_PART
from audit.ledger.log.merkle import HASH_BYTES, Frontier
from audit.ledger.log.problems import (
    Flaw,
    Problem,
    RecordPlace,
    make_problem,
    make_row_problem,
)
from audit.ledger.log.retention import decode_retention
from audit.ledger.store.log_append import TILE_LEVELS, stored_frontier
from audit.ledger.store.log_entries import MOST_ENTRIES, read_payloads
from audit.ledger.store.tables import (
    METADATA,
    BytesColumn,
    UuidColumn,
    heads,
    leaves,
    log,
    projections,
    retentions,
    tiles,
)
from core.base.times import milliseconds_of

_MOST: Final = 20
"""Rows that are named of each table."""

_SCAN: Final = {"yield_per": 500}
"""Rows that are in memory at once."""

_SCAN_CONTENT: Final = {"yield_per": 20}
"""The same of projections, which are large."""

_NO_HASH: Final = bytes(HASH_BYTES)

_MOST_KIND: Final = 255


@dataclass(frozen=True, slots=True)
class StoredLeaf:
    """A row of leaves that can be hashed, whatever was written into it."""

    position: int
    kind: int
    cluster: str
    id: bytes
    digest: bytes
    aside: bool

    @property
    def where(self) -> RecordPlace:
        """What it is, for those who must name it."""
        return RecordPlace(self.position, self.kind, self.cluster, self.id)


def read_damaged_state(connection: sa.Connection) -> tuple[LogState, list[Problem]]:
    """Return how far the log has come, and what is wrong with its own row.

    What the row does not say the leaves, the heads and the records of removals do.
    """
    rows = connection.execute(sa.select(log)).all()
    found: list[Problem] = []
    if len(rows) != 1:
        found.append(_of_log(f"it has {len(rows)} rows, and a log has one"))
    first, last = connection.execute(
        sa.select(sa.func.min(leaves.c.position), sa.func.max(leaves.c.position))
    ).one()
    row = rows[0] if rows else None
    name = row.id if row is not None and isinstance(row.id, str) else _name_of_heads(connection)
    if row is not None and row.one != 1:
        found.append(_of_log(f"it is the row {row.one!r}, and a log has the row 1", "one"))
    tree = _frontier(row, "", found) or _unknown(0 if last is None else last + 1)
    prefix = _frontier(row, "prefix_", found) or _removed(connection, first or 0)
    return LogState(name, tree, prefix), found


def _frontier(row: sa.Row[Any] | None, prefix: str, found: list[Problem]) -> Frontier | None:
    if row is None:
        return None
    size, hashes = getattr(row, f"{prefix}size"), getattr(row, f"{prefix}frontier")
    try:
        return stored_frontier(size, hashes)
    except ValueError as error:
        found.append(_of_log(f"{prefix}size and {prefix}frontier: {error}", f"{prefix}frontier"))
    return None


def _unknown(size: int) -> Frontier:
    return Frontier(size, (_NO_HASH,) * size.bit_count())


def _removed(connection: sa.Connection, first: int) -> Frontier:
    """Return the tree before the first leaf, as a record of its removal says."""
    for document in connection.scalars(sa.select(retentions.c.document)) if first else ():
        try:
            prefix = decode_retention(document).prefix
            if prefix is not None and prefix.size == first:
                return prefix.tree
        except ValueError:  # The walk along the log says so.
            continue
    return _unknown(first)


def _name_of_heads(connection: sa.Connection) -> str:
    """Return the log's id as its last head says, which can be read."""
    found = connection.scalars(sa.select(heads.c.head).order_by(heads.c.size.desc()).limit(_MOST))
    return next((head.log for each in found if (head := _decoded(each)) is not None), "")


def read_damaged_entries(
    connection: sa.Connection, after: int, limit: int
) -> tuple[list[LogEntry], list[Problem]]:
    """Return entries after a position as they can be hashed, and what is wrong with their rows."""
    chosen = sa.select(leaves).where(leaves.c.position > after)
    page = chosen.order_by(leaves.c.position).limit(min(limit, MOST_ENTRIES))
    found: list[Problem] = []
    rows = [_hashable(row, found) for row in connection.execute(page)]
    return read_payloads(connection, rows), found


def _hashable(row: sa.Row[Any], found: list[Problem]) -> StoredLeaf:
    kind, cluster, identity, digest = row.kind, row.cluster, row.id or b"", row.digest or b""
    is_kind = isinstance(kind, int) and 0 <= kind <= _MOST_KIND
    is_cluster = isinstance(cluster, str) and len(cluster.encode()) <= MOST_PART
    is_digest = len(digest) == HASH_BYTES
    if is_kind and is_cluster and is_digest and len(identity) <= MOST_PART:
        return StoredLeaf(row.position, kind, cluster, identity, digest, row.aside)
    made = StoredLeaf(
        row.position,
        kind if is_kind else 0,
        cluster if is_cluster else "",
        identity[:MOST_PART],
        digest,
        bool(row.aside),
    )
    wrong = {
        "kind": not is_kind and f"a kind is a number up to {_MOST_KIND}",
        "cluster": not is_cluster and f"a cluster's name has at most {MOST_PART} bytes",
        "id": len(identity) > MOST_PART and f"an id has at most {MOST_PART} bytes",
        "digest": not is_digest and f"a digest has {HASH_BYTES} bytes",
    }
    for column, says in wrong.items():
        if says:
            told = make_problem(Flaw.ROW, f"leaves.{column}: {says}", made.where)
            found.append(told.of_column(leaves.name, column))
    return made


def read_damaged_heads(connection: sa.Connection, after: int, limit: int) -> list[TreeHead]:
    """Return those heads of more leaves than `after` that say what their rows say."""
    chosen = sa.select(heads).where(heads.c.size > after).order_by(heads.c.size, heads.c.time_ms)
    found: list[TreeHead] = []
    skipped = 0
    while len(found) < limit:
        rows = connection.execute(chosen.offset(skipped).limit(limit)).all()
        decoded = ((row.size, _decoded(row.head)) for row in rows)
        found += [head for size, head in decoded if head is not None and head.size == size]
        skipped += len(rows)
        if len(rows) < limit:
            break
    return found[:limit]


def _decoded(content: bytes) -> TreeHead | None:
    try:
        return decode_head(content)
    except (ValueError, RecursionError):
        return None


def find_damaged_heads(connection: sa.Connection) -> Iterator[Problem]:
    """Say which rows of heads hold no head, or say otherwise than it when and of what it is."""
    for row in connection.execute(sa.select(heads), execution_options=_SCAN):
        for column, says in _wrong_with_head(row):
            yield make_row_problem(Flaw.HEAD, says, _number(row.size), heads.name, column)


def _wrong_with_head(row: sa.Row[Any]) -> Iterator[tuple[str, str]]:
    named = f"the row of the head of {row.size} records"
    try:
        head = decode_head(row.head or b"")
    except (ValueError, RecursionError) as error:
        yield "head", f"{named} holds none that can be read: {str(error) or 'it is too deep'}"
        return
    says = {"size": head.size, "time_ms": milliseconds_of(head.time), "key": head.key}
    for column, value in says.items():
        stored = getattr(row, column)
        if stored != value:
            yield column, f"{named} says that its {column} is {stored!r}, and the head {value!r}"


def find_damaged_projections(connection: sa.Connection) -> Iterator[Problem]:
    """Say which projections are not those that decisions name by these digests."""
    chosen = sa.select(projections.c.cluster, projections.c.digest, projections.c.projection)
    for row in connection.execute(chosen, execution_options=_SCAN_CONTENT):
        if hashlib.sha256(row.projection or b"").digest() == row.digest:
            continue
        named = f"of the projection {(row.digest or b'').hex()} of {row.cluster}"
        says = f"the content {named} has another SHA-256: decisions saw something else"
        yield make_row_problem(Flaw.COLUMN, says, None, projections.name, "projection")


def find_beyond_end(connection: sa.Connection) -> Iterator[Problem]:
    """Say what is stored of more leaves than the log's row says there are.

    The row is read last: what is appended meanwhile only makes it larger.
    """
    last = connection.scalar(sa.select(sa.func.max(leaves.c.position)))
    largest = connection.scalar(sa.select(sa.func.max(heads.c.size)))
    of_level = sa.select(tiles.c.level, sa.func.min(tiles.c.tile), sa.func.max(tiles.c.tile))
    levels = connection.execute(of_level.group_by(tiles.c.level)).all()
    size = _number(connection.scalar(sa.select(log.c.size)))
    if size is None:
        return
    if (at := _number(last)) is not None and at >= size:
        says = f"leaves go on to {at:,}, and the log's own row ends it before {size:,}"
        yield make_row_problem(Flaw.ROW, says, size, log.name, "size")
    if (most := _number(largest)) is not None and most > size:
        says = f"a head is of {most:,} records, and the log's own row counts {size:,}"
        yield make_row_problem(Flaw.ROW, says, size, log.name, "size")
    for level, least, most_tile in levels:
        if not _are_tiles(size, level, least, most_tile):
            says = f"hashes of the level {level}, {least} to {most_tile}: the log has none there"
            yield make_row_problem(Flaw.ROW, says, None, tiles.name, "tile")


def _are_tiles(size: int, level: Any, least: Any, most: Any) -> bool:
    numbers = [_number(each) for each in (level, least, most)]
    if None in numbers or not 0 < level < HASH_BYTES * 8 or level % TILE_LEVELS:
        return False
    return int(least) >= 0 and (int(most) + 1) << int(level) <= size


def find_other_types(connection: sa.Connection, names: Sequence[str]) -> Iterator[Problem]:
    """Say which values are of another type than their column, which SQLite lets be."""
    if connection.dialect.name != "sqlite":
        return
    for name in names:
        table = METADATA.tables[name]
        typed = {column.name: _type_of(column) for column in table.columns}
        wrong = [_is_other(column) for column in table.columns]
        kinds = [sa.func.typeof(column, type_=sa.Text).label(column.name) for column in table.c]
        chosen = sa.select(_position_of(table).label("at"), *kinds).where(sa.or_(*wrong))
        for row in connection.execute(chosen.limit(_MOST)):
            of = row._mapping  # noqa: SLF001  SQLAlchemy's own way.
            others = [each for each in typed if of[each] not in {typed[each], "null"}]
            for column in others or [
                each for each in typed if table.c[each].type.python_type is bool
            ]:
                says = f"{name}.{column} is stored as {of[column]}, and the ledger stores another"
                yield make_row_problem(Flaw.COLUMN, says, _number(row.at), name, column)


def _is_other(column: sa.Column[Any]) -> sa.ColumnElement[bool]:
    other = sa.func.typeof(column, type_=sa.Text).not_in((_type_of(column), "null"))
    if isinstance(column.type, sa.Boolean):
        return other | sa.type_coerce(column, sa.Integer).not_in((0, 1))
    return other


def _type_of(column: sa.Column[Any]) -> str:
    """Return what SQLite calls the type that values of a column have."""
    if isinstance(column.type, BytesColumn | UuidColumn):
        return "blob"
    return "text" if isinstance(column.type, sa.Text) else "integer"


def _position_of(table: sa.Table) -> sa.ColumnElement[Any]:
    """Return where in the log a row of a table belongs; NULL where it says nothing of that."""
    if table is heads:
        return heads.c.size
    if ("position" in table.c and "document" in table.c) or table is leaves:
        return table.c.position
    return sa.null()


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _of_log(says: str, column: str = "") -> Problem:
    return make_row_problem(Flaw.ROW, f"the log's own row: {says}", None, log.name, column)
