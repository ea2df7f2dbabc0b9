"""Whether the rows of a ledger agree with its log: columns with documents, rows with leaves."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

import sqlalchemy as sa

from audit.ledger.log.merkle import Whole
from audit.ledger.log.problems import Problem, Where, Wrong, problem
from audit.ledger.log.verifier import Seen
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.columns import day_of
from audit.ledger.store.queries import Asking
from audit.ledger.store.rows_of import MAKERS, rule_rows
from audit.ledger.store.straying import strays, unplaced
from audit.ledger.store.tables import rules
from audit.ledger.store.tables_log import log, tiles
from audit.ledger.store.tables_weights import BY_KIND, STANDING

_MOST: Final = 20
"""Tiles that are named."""

_Place = tuple[str, bytes]
"""Cluster and id."""


class Examined(Asking):
    """A ledger whose rows are compared with its log."""

    async def disagreements(self, page: Sequence[Seen]) -> list[Problem]:
        """Say which rows of these leaves have columns that their documents do not say."""
        return await self._read(_disagreements, page)

    async def strays(self) -> list[Problem]:
        """Say which rows have no leaf, or share one, or are rules of no decision."""
        return await self._read(lambda connection: list(strays(connection)))

    async def unplaced(self) -> tuple[list[Problem], int]:
        """Say which rows have no place in the log; and how many, where an upgrade may give it."""
        return await self._read(unplaced)

    async def wrong_tiles(self, made: Sequence[Whole]) -> list[Problem]:
        """Say which stored subtrees are not those of the leaves."""
        return await self._read(_wrong_tiles, made)

    async def wrong_end(self, size: int, frontier: bytes) -> list[Problem]:
        """Say whether the log's own row is of other leaves; only where nothing came meanwhile."""
        return await self._read(_wrong_end, size, frontier)


def _disagreements(connection: sa.Connection, page: Sequence[Seen]) -> list[Problem]:
    found: list[Problem] = []
    kinds: dict[int, list[Seen]] = defaultdict(list)
    for seen in page:
        if seen.payload is not None and not seen.aside and seen.where.kind in BY_KIND:
            kinds[seen.where.kind].append(seen)
    for kind, of_kind in kinds.items():
        rows = _rows(connection, FrameKind(kind), of_kind)
        for seen in of_kind:
            row = rows.get((seen.where.cluster, seen.where.id))
            if row is not None:
                found += _compared(seen, row)
        if kind == FrameKind.DECISION:
            found += _compared_rules(connection, of_kind)
    return found


def _rows(connection: sa.Connection, kind: FrameKind, page: Sequence[Seen]) -> dict[_Place, Any]:
    table = BY_KIND[kind]
    chosen = sa.select(table).where(table.c.id.in_(sorted(seen.where.id for seen in page)))
    if kind not in STANDING:
        days = [day_of(seen.where.id) for seen in page]
        chosen = chosen.where(table.c.day.between(min(days), max(days)))
    return {(row.cluster, row.id): row for row in connection.execute(chosen)}


def _compared(seen: Seen, row: Any) -> Iterator[Problem]:
    where = seen.where
    if row.position != where.at:
        says = f"its row says that it is at {row.position}"
        yield problem(Wrong.ROW, says, where)
    maker = MAKERS.get(where.kind)
    if maker is None or seen.payload is None:
        return
    try:
        made = maker(seen.payload)
    except (ValueError, RecursionError):
        return  # The verifier says so.
    names = BY_KIND[FrameKind(where.kind)].c.keys()[:-1]
    for name, says in zip(names, made.row(where.id, day_of(where.id), seen.payload), strict=True):
        is_free = name == "day" and where.kind in STANDING
        if not is_free and getattr(row, name) != says:
            yield problem(Wrong.COLUMN, f"its column {name} says what its document does not", where)


def _compared_rules(connection: sa.Connection, page: Sequence[Seen]) -> Iterator[Problem]:
    ids = sorted(seen.where.id for seen in page)
    days = [day_of(each) for each in ids]
    chosen = sa.select(rules).where(rules.c.id.in_(ids), rules.c.day.between(min(days), max(days)))
    rows: dict[_Place, set[tuple[str, str]]] = defaultdict(set)
    for row in connection.execute(chosen):
        rows[row.cluster, row.id].add((row.rule, row.action))
    for seen in page:
        where = seen.where
        try:
            made = MAKERS[where.kind](seen.payload or b"")
        except (ValueError, RecursionError):
            continue
        expected = {row[3:] for row in rule_rows(made, where.id, day_of(where.id))}
        if rows[where.cluster, where.id] != expected:
            says = "its rows of rules are not those of its document"
            yield problem(Wrong.COLUMN, says, where)


def _wrong_tiles(connection: sa.Connection, made: Sequence[Whole]) -> list[Problem]:
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
                where = Where(index << level, 0, "", b"")
                found.append(problem(Wrong.ROW, says, where))
    return found[:_MOST]


def _wrong_end(connection: sa.Connection, size: int, frontier: bytes) -> list[Problem]:
    row = connection.execute(sa.select(log)).one()
    if row.size != size or row.frontier == frontier:
        return []
    return [problem(Wrong.ROW, "the log's own row has another frontier than its leaves")]
