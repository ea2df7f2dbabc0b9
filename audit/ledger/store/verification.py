"""Verifies a ledger in place: its log as an export's, and its rows against the log.

Columns must agree with documents and rows with leaves; rows outside of the log are found.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final

import sqlalchemy as sa

from audit.ledger.log.entries import LogEntry, LogState
from audit.ledger.log.export import ExportLine
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.merkle import WholeSubtree
from audit.ledger.log.problems import (
    Flaw,
    Problem,
    RecordPlace,
    make_problem,
    make_row_problem,
)
from audit.ledger.log.verifier import PassingLeaf, Progress, Verifier, VerifierTrust
from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.store.adoption import read_adoption_end
from audit.ledger.store.columns import ID_BYTES, day_of
from audit.ledger.store.damaged_rows import (
    find_beyond_end,
    find_damaged_heads,
    find_damaged_projections,
    find_other_types,
    read_damaged_entries,
    read_damaged_heads,
    read_damaged_state,
)
from audit.ledger.store.database import GetPassword
from audit.ledger.store.log_append import TILE_LEVELS
from audit.ledger.store.log_export import walk_log
from audit.ledger.store.queries import LedgerQueries
from audit.ledger.store.rows import MAKERS, DocumentColumns, quarantine_row, rule_rows
from audit.ledger.store.tables import (
    BY_LEAF,
    METADATA,
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
from audit.ledger.store.triggers import find_triggers
from core.base.times import milliseconds_of

_MOST: Final = 20
"""Rows that are named of each table."""

_MOST_DAMAGE: Final = 1000
"""Damaged rows that are kept of the walk along the log."""

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
            where = _place_of(row, kind, row.position)
            yield make_problem(Flaw.ROW, f"a row of {table.name} that is not in the log", where)
        yield from _shared(connection, table)
    yield from _without_decision(connection)


def _shared(connection: sa.Connection, table: sa.Table) -> Iterator[Problem]:
    """Say of which positions a table has more than one row."""
    twice = sa.select(table.c.position, sa.func.count()).where(table.c.position.is_not(None))
    twice = twice.group_by(table.c.position).having(sa.func.count() > 1).limit(_MOST)
    for position, count in connection.execute(twice):
        says = f"{count} rows of {table.name} say that they are at {position}"
        yield make_problem(Flaw.ROW, says, RecordPlace(_at(position), 0, "", b""))


def _place_of(row: Any, kind: FrameKind | None, position: object = None) -> RecordPlace:
    """Name a row, whatever its cluster, id and position are."""
    return RecordPlace(_at(position), int(kind or 0), f"{row.cluster}", row.id or b"")


def _at(position: object) -> int:
    return position if isinstance(position, int) else _NOWHERE


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
            found += [make_problem(Flaw.ROW, says, _place_of(row, kind)) for row in rows]
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
        says = f"a row of the rule {row.rule} whose decision is not there"
        yield make_problem(Flaw.ROW, says, _place_of(row, FrameKind.DECISION))


_Place = tuple[str, bytes]
"""Cluster and id."""


def find_damage(connection: sa.Connection) -> Iterator[Problem]:
    """Say what of the tables no ledger writes, and the walk along the log does not see."""
    names = [each for each in sa.inspect(connection).get_table_names() if each in METADATA.tables]
    yield from find_other_types(connection, names)
    yield from find_triggers(connection, list(METADATA.tables))
    yield from islice(find_damaged_heads(connection), _MOST)
    yield from islice(find_damaged_projections(connection), _MOST)
    yield from find_beyond_end(connection)


class VerifiableLedger(LedgerQueries):
    """A ledger whose rows are compared with its log. What they hold is read whatever it is."""

    def __init__(
        self,
        url: str,
        clock: Callable[[], float] = time.time,
        *,
        password: GetPassword | None = None,
    ) -> None:
        """Note where the ledger is, as `Database` does.

        Raises:
            SettingsError: the URL is none.
        """
        super().__init__(url, clock, password=password)
        self._damage: list[Problem] = []

    async def log_state(self) -> LogState:
        """Return how far the log has come, also where its row does not say it."""
        state, found = await self._read_log(read_damaged_state)
        self._damage += found
        return state

    async def entries(
        self,
        after: int = -1,
        kinds: frozenset[FrameKind] | None = None,  # noqa: ARG002  A log is verified whole.
        limit: int = 1000,
    ) -> list[LogEntry]:
        """Return entries of all kinds after a position, as they can be hashed."""
        found, damage = await self._read_log(read_damaged_entries, after, limit)
        self._damage = [*self._damage, *damage][:_MOST_DAMAGE]
        return found

    async def heads(self, after: int = -1, limit: int = 1000) -> list[TreeHead]:
        """Return those heads of more leaves than `after` that say what their rows say."""
        return await self._read_log(read_damaged_heads, after, limit)

    async def damage(self) -> list[Problem]:
        """Say what of the tables no ledger writes, and what was so on the way until now."""
        found, self._damage = self._damage, []
        return [*found, *await self._read(lambda connection: list(find_damage(connection)))]

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with super()._reading() as connection:
            self._backend.read_any_text(connection)
            yield connection

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

    async def adopts(self) -> bool:
        """Return whether the log's own row says that rows are still taken in."""
        return await self._read(read_adoption_end) != 0


def _disagreements(connection: sa.Connection, page: Sequence[PassingLeaf]) -> list[Problem]:
    found = list(_compared_quarantine(connection, [seen for seen in page if seen.aside]))
    kinds: dict[int, list[PassingLeaf]] = defaultdict(list)
    for seen in page:
        if seen.payload is not None and not seen.aside and seen.where.kind in BY_LEAF:
            kinds[seen.where.kind].append(seen)
    for kind, of_kind in kinds.items():
        rows = _rows(connection, BY_LEAF[FrameKind(kind)], of_kind, by_day=kind not in STANDING)
        for seen in of_kind:
            row = rows.get((seen.where.cluster, seen.where.id))
            if row is not None:
                found += _compared(seen, row)
        if BY_LEAF[FrameKind(kind)] is decisions:
            found += _compared_rules(connection, of_kind)
    return found


def _rows(
    connection: sa.Connection, table: sa.Table, page: Sequence[PassingLeaf], *, by_day: bool
) -> dict[_Place, Any]:
    """Return rows by their keys; those that are not of their ids' days are looked for in all."""
    ids = _uuids(page)
    chosen = sa.select(table).where(table.c.id.in_(ids))
    if by_day and ids:
        days = list(map(day_of, ids))
        chosen = chosen.where(table.c.day.between(min(days), max(days)))
    found = {(row.cluster, row.id): row for row in connection.execute(chosen)}
    if by_day and len(found) < len(page):
        others = [each for each in page if (each.where.cluster, each.where.id) not in found]
        found |= _rows(connection, table, others, by_day=False)
    return found


def _uuids(page: Sequence[PassingLeaf]) -> list[bytes]:
    """Return the ids of leaves that a table can have."""
    return sorted(seen.where.id for seen in page if len(seen.where.id) == ID_BYTES)


def _compared_quarantine(
    connection: sa.Connection, page: Sequence[PassingLeaf]
) -> Iterator[Problem]:
    """Say which rows of the quarantine have a key that is not that of their frame."""
    of = {seen.where.at: seen for seen in page if seen.payload is not None}
    ids = sorted({seen.where.id for seen in of.values()})  # These have an index.
    chosen = sa.select(quarantine).where(
        quarantine.c.frame_id.in_(ids), quarantine.c.position.in_(sorted(of))
    )
    found = {row.position: row for row in connection.execute(chosen)}
    for at, seen in of.items():
        row, where = found.get(at), seen.where
        frame = Frame(where.kind, where.id, seen.payload or b"")
        if row is None:
            yield make_problem(Flaw.ROW, "its row of the quarantine has another position", where)
        elif row.digest != quarantine_row(where.cluster, 0, frame, "")[1]:
            says = "its row of the quarantine has a digest that is not its frame's"
            yield make_problem(Flaw.COLUMN, says, where).of_column(quarantine.name, "digest")


def _compared(seen: PassingLeaf, row: Any) -> Iterator[Problem]:
    where = seen.where
    if row.position != where.at:
        says = f"its row says that it is at {row.position}"
        yield make_problem(Flaw.ROW, says, where)
    maker = _maker(where.kind)
    yield from _compared_day(where, row)
    if maker is None or seen.payload is None:
        return
    try:
        made = maker(seen.payload)
    except (ValueError, RecursionError):
        return  # The verifier says so.
    names = BY_LEAF[FrameKind(where.kind)].c.keys()[:-1]
    for name, says in zip(names, made.row(where.id, day_of(where.id), seen.payload), strict=True):
        if name != "day" and getattr(row, name) != says:
            yield _other_column(where, name)


def _compared_day(where: RecordPlace, row: Any) -> Iterator[Problem]:
    """Say if a row is forgotten on another day than its id's; what stands may be kept longer."""
    own, day = day_of(where.id), row.day
    stands = where.kind in STANDING and isinstance(day, int) and day > own
    if day != own and not stands:
        yield _other_column(where, "day")


def _other_column(where: RecordPlace, name: str) -> Problem:
    says = f"its column {name} says what its document does not"
    table = BY_LEAF[FrameKind(where.kind)].name
    return make_problem(Flaw.COLUMN, says, where).of_column(table, name)


def _maker(kind: int) -> Callable[[bytes], DocumentColumns] | None:
    return MAKERS.get(FrameKind.DECISION if kind == FrameKind.REFUSAL else kind)


def _compared_rules(connection: sa.Connection, page: Sequence[PassingLeaf]) -> Iterator[Problem]:
    ids = _uuids(page)
    days = [day_of(each) for each in ids] or [0]
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
                found.append(make_row_problem(Flaw.ROW, says, index << level, tiles.name, "hash"))
    return found[:_MOST]


def _wrong_end(connection: sa.Connection, size: int, frontier: bytes) -> list[Problem]:
    row = connection.execute(sa.select(log)).first()
    if row is None or row.size != size or row.frontier == frontier:
        return []
    says = "the log's own row has another frontier than its leaves"
    return [make_row_problem(Flaw.ROW, says, None, log.name, "frontier")]


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
    verifier.problems += await ledger.damage()
    outside, waiting = await ledger.unplaced()
    is_open = verifier.adoptions.is_open(milliseconds_of(opening.made))
    if waiting and is_open:
        verifier.waiting = waiting
    else:
        verifier.problems += outside
    if not is_open and await ledger.adopts():
        verifier.problems += verifier.adoptions.judge_open(log.name)
    return verifier
