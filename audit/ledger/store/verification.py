"""Verifies a ledger in place: its log as an export's, and its rows against the log.

Columns must agree with documents and rows with leaves; rows outside of the log are found.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import sqlalchemy as sa

from audit.ledger.log.export import ExportLine
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.merkle import WholeSubtree
from audit.ledger.log.problems import Flaw, Problem, RecordPlace, make_problem
from audit.ledger.log.verifier import PassingLeaf, Progress, Verifier, VerifierTrust
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.adoption import read_adoption_end
from audit.ledger.store.columns import day_of
from audit.ledger.store.log_append import TILE_LEVELS
from audit.ledger.store.log_export import walk_log
from audit.ledger.store.queries import LedgerQueries
from audit.ledger.store.rows import MAKERS, DocumentColumns, rule_rows
from audit.ledger.store.tables import (
    BY_LEAF,
    STANDING,
    decisions,
    existing_tables,
    leaf_kinds,
    leaves,
    log,
    quarantine,
    rules,
    tiles,
)
from core.base.times import milliseconds_of

_MOST: Final = 20
"""Rows that are named of each table."""

_NOWHERE: Final = -1


def find_strays(connection: sa.Connection) -> Iterator[Problem]:
    """Say which rows have a place that no leaf of theirs has, and which rules no decision."""
    for kind, table in [*existing_tables(connection).items(), (None, quarantine)]:
        key = table.c.frame_id if kind is None else table.c.id
        is_of = leaves.c.aside == (sa.true() if kind is None else sa.false())
        if kind is not None:
            is_of &= leaves.c.kind.in_(leaf_kinds(kind))
        on = (leaves.c.position == table.c.position) & (leaves.c.cluster == table.c.cluster) & is_of
        without = (
            sa.select(table.c.cluster, key.label("id"), table.c.position)
            .select_from(table.outerjoin(leaves, on))
            .where(table.c.position.is_not(None), leaves.c.position.is_(None))
        )
        for row in connection.execute(without.order_by(table.c.position).limit(_MOST)):
            where = RecordPlace(row.position, int(kind or 0), row.cluster, row.id)
            yield make_problem(Flaw.ROW, f"a row of {table.name} that is not in the log", where)
        yield from _shared(connection, table)
    yield from _without_decision(connection)


def _shared(connection: sa.Connection, table: sa.Table) -> Iterator[Problem]:
    """Say of which positions a table has more than one row."""
    twice = sa.select(table.c.position, sa.func.count()).where(table.c.position.is_not(None))
    twice = twice.group_by(table.c.position).having(sa.func.count() > 1).limit(_MOST)
    for position, count in connection.execute(twice):
        says = f"{count} rows of {table.name} say that they are at {position}"
        yield make_problem(Flaw.ROW, says, RecordPlace(position, 0, "", b""))


def find_unplaced(connection: sa.Connection) -> tuple[list[Problem], int]:
    """Say which rows have no place; give how many, where the ledger says that it is upgraded."""
    found: list[Problem] = []
    count = 0
    for kind, table in [*existing_tables(connection).items(), (None, quarantine)]:
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
                make_problem(
                    Flaw.ROW, says, RecordPlace(_NOWHERE, int(kind or 0), row.cluster, row.id)
                )
                for row in rows
            ]
    return found, count if read_adoption_end(connection) else 0


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
        where = RecordPlace(_NOWHERE, int(FrameKind.DECISION), row.cluster, row.id)
        yield make_problem(
            Flaw.ROW, f"a row of the rule {row.rule} whose decision is not there", where
        )


_Place = tuple[str, bytes]
"""Cluster and id."""


class VerifiableLedger(LedgerQueries):
    """A ledger whose rows are compared with its log."""

    async def disagreements(self, page: Sequence[PassingLeaf]) -> list[Problem]:
        """Say which rows of these leaves have columns that their documents do not say."""
        return await self._read(_disagreements, page)

    async def strays(self) -> list[Problem]:
        """Say which rows have no leaf, or share one, or are rules of no decision."""
        return await self._read(lambda connection: list(find_strays(connection)))

    async def unplaced(self) -> tuple[list[Problem], int]:
        """Say which rows have no place in the log; and how many, where an upgrade may give it."""
        return await self._read(find_unplaced)

    async def wrong_tiles(self, made: Sequence[WholeSubtree]) -> list[Problem]:
        """Say which stored subtrees are not those of the leaves."""
        return await self._read(_wrong_tiles, made)

    async def wrong_end(self, size: int, frontier: bytes) -> list[Problem]:
        """Return a problem if the log's own row is of other leaves.

        Only where nothing came meanwhile.
        """
        return await self._read(_wrong_end, size, frontier)


def _disagreements(connection: sa.Connection, page: Sequence[PassingLeaf]) -> list[Problem]:
    found: list[Problem] = []
    kinds: dict[int, list[PassingLeaf]] = defaultdict(list)
    for seen in page:
        if seen.payload is not None and not seen.aside and seen.where.kind in BY_LEAF:
            kinds[seen.where.kind].append(seen)
    for kind, of_kind in kinds.items():
        rows = _rows(connection, FrameKind(kind), of_kind)
        for seen in of_kind:
            row = rows.get((seen.where.cluster, seen.where.id))
            if row is not None:
                found += _compared(seen, row)
        if BY_LEAF[FrameKind(kind)] is decisions:
            found += _compared_rules(connection, of_kind)
    return found


def _rows(
    connection: sa.Connection, kind: FrameKind, page: Sequence[PassingLeaf]
) -> dict[_Place, Any]:
    table = BY_LEAF[kind]
    chosen = sa.select(table).where(table.c.id.in_(sorted(seen.where.id for seen in page)))
    if kind not in STANDING:
        days = [day_of(seen.where.id) for seen in page]
        chosen = chosen.where(table.c.day.between(min(days), max(days)))
    return {(row.cluster, row.id): row for row in connection.execute(chosen)}


def _compared(seen: PassingLeaf, row: Any) -> Iterator[Problem]:
    where = seen.where
    if row.position != where.at:
        says = f"its row says that it is at {row.position}"
        yield make_problem(Flaw.ROW, says, where)
    maker = _maker(where.kind)
    if maker is None or seen.payload is None:
        return
    try:
        made = maker(seen.payload)
    except (ValueError, RecursionError):
        return  # The verifier says so.
    names = BY_LEAF[FrameKind(where.kind)].c.keys()[:-1]
    for name, says in zip(names, made.row(where.id, day_of(where.id), seen.payload), strict=True):
        is_free = name == "day" and where.kind in STANDING
        if not is_free and getattr(row, name) != says:
            yield make_problem(
                Flaw.COLUMN, f"its column {name} says what its document does not", where
            )


def _maker(kind: int) -> Callable[[bytes], DocumentColumns] | None:
    return MAKERS.get(FrameKind.DECISION if kind == FrameKind.REFUSAL else kind)


def _compared_rules(connection: sa.Connection, page: Sequence[PassingLeaf]) -> Iterator[Problem]:
    ids = sorted(seen.where.id for seen in page)
    days = [day_of(each) for each in ids]
    chosen = sa.select(rules).where(rules.c.id.in_(ids), rules.c.day.between(min(days), max(days)))
    rows: dict[_Place, set[tuple[str, str]]] = defaultdict(set)
    for row in connection.execute(chosen):
        rows[row.cluster, row.id].add((row.rule, row.action))
    for seen in page:
        where = seen.where
        try:
            made = MAKERS[FrameKind.DECISION](seen.payload or b"")
        except (ValueError, RecursionError):
            continue
        expected = {row[3:] for row in rule_rows(made, where.id, day_of(where.id))}
        if rows[where.cluster, where.id] != expected:
            says = "its rows of rules are not those of its document"
            yield make_problem(Flaw.COLUMN, says, where)


def _wrong_tiles(connection: sa.Connection, made: Sequence[WholeSubtree]) -> list[Problem]:
    found: list[Problem] = []
    levels: dict[int, dict[int, bytes]] = defaultdict(dict)
    for each in made:
        levels[each.level][each.index] = each.hash
    for level, expected in levels.items():
        between = tiles.c.tile.between(min(expected), max(expected))
        chosen = sa.select(tiles.c.tile, tiles.c.hash).where(tiles.c.level == level, between)
        stored = {row.tile: row.hash for row in connection.execute(chosen)}
        for index, made_hash in sorted(expected.items()):
            if stored.get(index) != made_hash:
                says = f"the stored hash over {1 << level:,} records from it on is not theirs"
                where = RecordPlace(index << level, 0, "", b"")
                found.append(make_problem(Flaw.ROW, says, where))
    return found[:_MOST]


def _wrong_end(connection: sa.Connection, size: int, frontier: bytes) -> list[Problem]:
    row = connection.execute(sa.select(log)).one()
    if row.size != size or row.frontier == frontier:
        return []
    return [make_problem(Flaw.ROW, "the log's own row has another frontier than its leaves")]


async def verify_ledger(
    ledger: VerifiableLedger, opening: ExportLine, trust: VerifierTrust, progress: Progress
) -> Verifier:
    """Verify what `opening` names of a ledger.

    Raises:
        LedgerError: it cannot be read.
    """
    verifier = Verifier(opening, trust)
    verifier.keep_whole(TILE_LEVELS)
    async for page in walk_log(ledger, opening):
        for part in page:
            if isinstance(part, TreeHead):
                verifier.head(part)
            else:
                verifier.leaf(part)
        leaves = [part for part in page if isinstance(part, PassingLeaf)]
        verifier.problems += await ledger.disagreements(leaves)
        whole, verifier.whole = verifier.whole, []
        verifier.problems += await ledger.wrong_tiles(whole)
        progress(verifier.size - opening.first, opening.size - opening.first)
    verifier.finish()
    tree = verifier.tree
    verifier.problems += await ledger.wrong_tiles(verifier.whole)
    verifier.problems += await ledger.wrong_end(tree.size, b"".join(tree.hashes))
    verifier.problems += await ledger.strays()
    outside, waiting = await ledger.unplaced()
    if waiting and verifier.adoptions.is_open(milliseconds_of(opening.made)):
        verifier.waiting = waiting
    else:
        verifier.problems += outside
    return verifier
