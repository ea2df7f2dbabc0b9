"""Appends to the log, in the transaction that stores what is appended.

The lock of the log's one row is held meanwhile, so positions have no holes and no two records one.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final, Protocol

import sqlalchemy as sa

from audit.ledger.log.entries import LogState
from audit.ledger.log.leaves import header_prefix, leaf_hash, leaf_header, payload_digest
from audit.ledger.log.merkle import HASH_BYTES, Frontier, grow
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.columns import ID_BYTES, Row
from audit.ledger.store.tables import leaves, log, quarantine, tiles
from core.base.errors import LedgerError

TILE_LEVELS: Final = 8
"""A tile saves reading 2^8 leaves, or as many tiles of the level before."""


class AppendBackend(Protocol):
    """The database's way to append."""

    packs: bool

    def append_lock(self, connection: sa.Connection) -> None:
        """Keep other processes from appending until the transaction ends."""

    def copy(self, connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
        """Insert rows.

        Raises:
            DuplicateError: one is there already; the transaction is as it was before.
        """


def read_state(connection: sa.Connection) -> LogState:
    """Return how far the log has come.

    Raises:
        LedgerError: its row does not say it.
    """
    row = connection.execute(sa.select(log)).one()
    try:
        tree = stored_frontier(row.size, row.frontier)
        prefix = stored_frontier(row.prefix_size, row.prefix_frontier)
    except ValueError as error:
        raise LedgerError(
            f"the log's own row: {error}: `sallyport ledger verify` says more"
        ) from None
    return LogState(row.id, tree, prefix)


def stored_frontier(size: object, hashes: bytes) -> Frontier:
    """Return a frontier as the log's row has it.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(size, int):
        raise ValueError(f"{size!r} is no number of leaves")  # noqa: TRY004  As what a frontier raises.
    return Frontier(size, _split(hashes or b""))


class OpenLog:
    """The log, while the transaction lasts that appends to it."""

    def __init__(self, connection: sa.Connection, backend: AppendBackend) -> None:
        """Take the lock, and read how far the log has come."""
        backend.append_lock(connection)
        self._connection = connection
        self._backend = backend
        self._state = read_state(connection)
        self._leaves: list[Row] = []
        self._hashes: list[bytes] = []

    @property
    def size(self) -> int:
        """Leaves, with those that were added."""
        return self._state.tree.size + len(self._leaves)

    def add(self, kind: FrameKind, cluster: str, rows: Sequence[Row]) -> None:
        """Add a leaf for each row of a table of this kind; the id is second, the payload last."""
        position, number = self.size, int(kind)
        head = b"\0" + header_prefix(number, cluster, ID_BYTES)
        for position, row in enumerate(rows, position):  # noqa: B020  It begins where it is.
            identity = row[1]
            digest = sha256(row[-1]).digest()
            self._hashes.append(sha256(head + identity + digest).digest())
            self._leaves.append((position, number, cluster, identity, digest, False))

    def add_aside(self, rows: Sequence[Row]) -> None:
        """Add a leaf for each row of the quarantine."""
        columns = quarantine.c.keys()
        for row in rows:
            of = dict(zip(columns, row, strict=False))
            digest = payload_digest(of["payload"])
            header = leaf_header(of["kind"], of["cluster"], of["frame_id"])
            self._hashes.append(leaf_hash(header, digest))
            leaf = (self.size, of["kind"], of["cluster"], of["frame_id"], digest, True)
            self._leaves.append(leaf)

    def save(self) -> None:
        """Write what was added."""
        if not self._leaves:
            return
        tree, whole = grow(self._state.tree, self._hashes, TILE_LEVELS)
        self._backend.copy(self._connection, leaves, self._leaves)
        made = [(node.level, node.index, node.hash) for node in whole]
        self._backend.copy(self._connection, tiles, made)
        values = {"size": tree.size, "frontier": b"".join(tree.hashes)}
        self._connection.execute(sa.update(log).values(**values))


def _split(hashes: bytes) -> tuple[bytes, ...]:
    return tuple(hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES))
