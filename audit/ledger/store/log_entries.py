"""The log as it is read: entries, hashes of leaves, nodes of the tree, proofs and heads."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, Final

import sqlalchemy as sa

from audit.ledger.log.entries import LogEntry
from audit.ledger.log.heads import TreeHead, decode_head, encode_head
from audit.ledger.log.leaves import Leaf
from audit.ledger.log.merkle import (
    HASH_BYTES,
    Frontier,
    Range,
    hash_node,
    proof_of,
    root_of,
    whole_nodes,
)
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.columns import ID_BYTES, day_of, is_uuid7
from audit.ledger.store.log_append import TILE_LEVELS, read_state
from audit.ledger.store.tables import (
    BY_LEAF,
    STANDING,
    existing_tables,
    heads,
    leaf_kinds,
    leaves,
    log,
    quarantine,
    tiles,
)
from core.base.errors import LedgerError
from core.base.times import milliseconds_of

MOST_ENTRIES: Final = 10_000
"""The most that one page holds."""

_Place = tuple[str, bytes]
"""Cluster and id."""


def read_entries(
    connection: sa.Connection, after: int, kinds: Iterable[FrameKind] | None, limit: int
) -> list[LogEntry]:
    """Return entries after a position, in the log's order; of these kinds, or of all.

    What is in quarantine is of no kind: it comes only where all are asked for.
    """
    kept = sa.select(log.c.prefix_size).scalar_subquery()  # Others are being removed.
    chosen = sa.select(leaves).where(leaves.c.position > after, leaves.c.position >= kept)
    if kinds is not None:
        numbers = sorted(number for kind in kinds for number in leaf_kinds(kind))
        chosen = chosen.where(leaves.c.kind.in_(numbers), leaves.c.aside == sa.false())
    page = chosen.order_by(leaves.c.position).limit(min(limit, MOST_ENTRIES))
    return read_payloads(connection, connection.execute(page).all())


def read_located(connection: sa.Connection, identity: bytes) -> list[LogEntry]:
    """Return the entries of an id that are still there whole, whatever their kind."""
    positions: list[int] = []
    for table in (*existing_tables(connection).values(), quarantine):
        key = table.c.frame_id if table is quarantine else table.c.id
        if table is quarantine or is_uuid7(identity):
            chosen = sa.select(table.c.position).where(key == identity)
            positions += [each for each in connection.scalars(chosen) if each is not None]
    rows = connection.execute(
        sa.select(leaves).where(leaves.c.position.in_(positions)).order_by(leaves.c.position)
    )
    return read_payloads(connection, rows.all())


def read_payloads(connection: sa.Connection, rows: Sequence[Any]) -> list[LogEntry]:
    """Return the entries of rows of leaves, with their documents as far as they are there."""
    wanted: dict[int, set[bytes]] = defaultdict(set)
    aside: set[bytes] = set()
    for row in rows:
        (aside if row.aside else wanted[row.kind]).add(row.id)
    payloads = {kind: _payloads(connection, kind, ids) for kind, ids in wanted.items()}
    set_aside = _payloads_aside(connection, aside)
    return [
        LogEntry(
            row.position,
            row.kind,
            row.cluster,
            row.id,
            row.digest,
            set_aside.get((row.kind, row.cluster, row.id, row.digest))
            if row.aside
            else payloads[row.kind].get((row.cluster, row.id)),
            row.aside,
        )
        for row in rows
    ]


def _payloads(connection: sa.Connection, kind: int, ids: set[bytes]) -> dict[_Place, bytes]:
    table = BY_LEAF.get(kind)  # type: ignore[call-overload]
    if table is None:
        return {}
    uuids = sorted(each for each in ids if len(each) == ID_BYTES)
    if not uuids:
        return {}
    chosen = sa.select(table.c.cluster, table.c.id, table.c.document)
    chosen = chosen.where(table.c.id.in_(uuids))
    if kind not in STANDING:  # Partitions go by the id's own day.
        days = [day_of(each) for each in uuids]
        chosen = chosen.where(table.c.day.between(min(days), max(days)))
    return {(row.cluster, row.id): row.document for row in connection.execute(chosen)}


def _payloads_aside(
    connection: sa.Connection, ids: set[bytes]
) -> dict[tuple[int, str, bytes, bytes], bytes]:
    """Several frames of one id may be in quarantine: they are told apart by their digests."""
    if not ids:
        return {}
    found = connection.execute(sa.select(quarantine).where(quarantine.c.frame_id.in_(sorted(ids))))
    return {
        (row.kind, row.cluster, row.frame_id, sha256(row.payload).digest()): row.payload
        for row in found
    }


def read_leaf_hashes(connection: sa.Connection, begin: int, end: int) -> list[bytes]:
    """Return the hashes of leaves from `begin` to before `end`.

    Raises:
        LedgerError: some of them are not there.
    """
    chosen = sa.select(leaves).where(leaves.c.position.between(begin, end - 1))
    rows = connection.execute(chosen.order_by(leaves.c.position)).all()
    if [row.position for row in rows] != list(range(begin, end)):
        raise LedgerError(
            f"of its leaves {begin} to {end - 1} some are missing: `sallyport ledger verify` says "
            "which"
        )
    try:
        return [Leaf(row.kind, row.cluster, row.id, row.digest).hash for row in rows]
    except (AttributeError, TypeError, ValueError):  # Not of these types, or too long.
        raise LedgerError(
            f"one of its leaves {begin} to {end - 1} is none: `sallyport ledger verify` says which"
        ) from None


class TreeReader:
    """The nodes of the log's tree, from its tiles and leaves, on one connection."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._prefix = read_state(connection).prefix
        nodes = whole_nodes(0, self._prefix.size)
        self._collapsed = dict(zip(nodes, self._prefix.hashes, strict=True))

    def read(self, level: int, index: int) -> bytes:
        """Return the hash of a whole subtree.

        Raises:
            LedgerError: it is not there (any more).
        """
        begin, end = index << level, (index + 1) << level
        if begin < self._prefix.size:
            return self._read_collapsed(level, index)
        base = level - level % TILE_LEVELS
        if base == 0:
            return root_of(read_leaf_hashes(self._connection, begin, end))
        return root_of(self._read_tiles(base, begin >> base, end >> base))

    def proof(self, ranges: Sequence[Range]) -> list[bytes]:
        """Return the proof of ranges, as `audit.ledger.log.merkle` has them."""
        return proof_of(ranges, self.read)

    def frontier(self, size: int) -> Frontier:
        """Return the frontier that the log had at a size."""
        return Frontier(size, tuple(self.read(*node) for node in whole_nodes(0, size)))

    def _read_collapsed(self, level: int, index: int) -> bytes:
        """Return a node that is, or begins, in what retention took away."""
        if (level, index) in self._collapsed:
            return self._collapsed[level, index]
        if (index + 1) << level <= self._prefix.size or level == 0:
            raise LedgerError(
                f"retention removed its first {self._prefix.size} leaves: nothing inside them can "
                "be proved any more"
            )
        return hash_node(self.read(level - 1, 2 * index), self.read(level - 1, 2 * index + 1))

    def _read_tiles(self, level: int, begin: int, end: int) -> list[bytes]:
        chosen = sa.select(tiles.c.hash).where(
            tiles.c.level == level, tiles.c.tile.between(begin, end - 1)
        )
        found = list(self._connection.scalars(chosen.order_by(tiles.c.tile)))
        if [len(each) for each in found] != [HASH_BYTES] * (end - begin):
            raise LedgerError(
                f"of its tiles of level {level}, {begin} to {end - 1}, some are missing or none: "
                "`sallyport ledger verify` says more"
            )
        return found


def read_heads(connection: sa.Connection, after: int, limit: int) -> list[TreeHead]:
    """Return signed heads of more leaves than `after`, the smallest first.

    Raises:
        LedgerError: a row holds none, or one of another size.
    """
    order = (heads.c.size, heads.c.time_ms)
    columns = (heads.c.size, heads.c.head)
    chosen = sa.select(*columns).where(heads.c.size > after).order_by(*order).limit(limit)
    return [_head(row.size, row.head) for row in connection.execute(chosen)]


def _head(size: int, content: bytes) -> TreeHead:
    try:
        head = decode_head(content)
        if head.size != size:
            raise ValueError(f"size: it is {head.size}")  # noqa: TRY301  As what fails above.
    except (ValueError, RecursionError) as error:
        raise LedgerError(
            f"the row of its head of {size} records holds none that can be read ({error}): "
            "`sallyport ledger verify` says more"
        ) from None
    return head


def read_last_head(connection: sa.Connection) -> TreeHead | None:
    """Return the last head that was signed."""
    order = (heads.c.size.desc(), heads.c.time_ms.desc())
    row = connection.execute(
        sa.select(heads.c.size, heads.c.head).order_by(*order).limit(1)
    ).first()
    return None if row is None else _head(row.size, row.head)


def write_head(connection: sa.Connection, insert: Any, head: TreeHead) -> None:
    """Keep a signed head, if it is not there; `insert` is the dialect's own, of that table."""
    time_ms = milliseconds_of(head.time)
    values = {"size": head.size, "time_ms": time_ms, "key": head.key, "head": encode_head(head)}
    connection.execute(insert.values(**values).on_conflict_do_nothing())
