"""The ledger's queries: whatever is long is asked for in pages."""

from collections.abc import Sequence

from audit.ledger.log.entries import Document, DocumentKey, LogEntry, LogState
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.merkle import Frontier, consistency_ranges, inclusion_ranges
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.adoption import count_outside
from audit.ledger.store.database import Database
from audit.ledger.store.decisions import (
    MOST_DIGESTS,
    DecisionQuery,
    find_by_ids,
    find_decision,
    find_decisions,
    find_look_backs,
    find_projection,
    find_projections,
    find_sweeps,
)
from audit.ledger.store.documents import DocumentPage, read_checkpoint, read_documents, read_places
from audit.ledger.store.log_append import read_state
from audit.ledger.store.log_entries import (
    TreeReader,
    read_entries,
    read_heads,
    read_last_head,
    read_leaf_hashes,
    read_located,
)
from core.decision.document import DecisionDocument
from core.decision.sweep_document import SweepDocument
from core.risk.look_back import LookBackDocument


class LedgerQueries(Database):
    """A ledger that answers. Whatever is long is asked for in pages, between which others write."""

    async def find(self, query: DecisionQuery) -> list[bytes]:
        """Return the documents (JSON) that the query means, in its order."""
        return await self._read(find_decisions, query, not self._is_adopting)

    async def get(self, decision_id: str) -> list[DecisionDocument]:
        """Return the decision of an id, or of an id that begins so; of each cluster that has it.

        Raises:
            LedgerError: it is no id, it is too short, or several ids begin so.
        """
        return await self._read(find_decision, decision_id, not self._is_adopting)

    async def decisions(self, cluster: str, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the documents (JSON) of a cluster's decisions by their ids, UUIDv7 of 16 bytes.

        What is not there is not.
        """
        found: dict[bytes, bytes] = {}
        for start in range(0, len(ids), MOST_DIGESTS):
            some = ids[start : start + MOST_DIGESTS]
            found |= await self._read(find_by_ids, cluster, some, not self._is_adopting)
        return found

    async def projection(self, cluster: str, digest: str) -> bytes | None:
        """Return the projection (JSON) of a decision; `digest` is its `projection`."""
        return await self._read(find_projection, cluster, digest)

    async def projections(self, cluster: str, digests: Sequence[str]) -> dict[str, bytes]:
        """Return what policies saw of decisions, by the digests in them.

        What is not there is not.
        """
        found: dict[str, bytes] = {}
        for start in range(0, len(digests), MOST_DIGESTS):
            some = digests[start : start + MOST_DIGESTS]
            found |= await self._read(find_projections, cluster, some)
        return found

    async def sweeps(self, limit: int) -> list[SweepDocument]:
        """Return the last sweeps, the newest first."""
        return await self._read(find_sweeps, limit, not self._is_adopting)

    async def look_backs(
        self, subject: str, cluster: str | None, limit: int
    ) -> list[LookBackDocument]:
        """Return what was last found of an identity, the newest first; None: of each cluster."""
        placed = not self._is_adopting
        return await self._read(find_look_backs, subject, cluster, limit, placed)

    async def documents(  # noqa: PLR0913 (a page is that much)
        self,
        kind: FrameKind,
        begin_ms: int,
        end_ms: int,
        *,
        cluster: str | None = None,
        after: DocumentKey | None = None,
        limit: int = 1000,
        removals: tuple[tuple[int, int], ...] = (),
    ) -> list[Document]:
        """Return documents of a kind from a time to before another, the oldest first.

        Times are milliseconds since the epoch, by the documents' ids. The next page is `after`
        the `key` of the last document; the last page has fewer than `limit`, which is at most
        `documents.MOST_DOCUMENTS`. What `removals` remove (positions of retention records, and the
        first day that each kept, in days since 1970-01-01) is left out, gone or not.
        """
        page = DocumentPage(kind, begin_ms, end_ms, cluster, after, limit, removals)
        return await self._read_log(read_documents, page, not self._is_adopting)

    async def entries(
        self, after: int = -1, kinds: frozenset[FrameKind] | None = None, limit: int = 1000
    ) -> list[LogEntry]:
        """Return entries of the log after a position, in its order; None: of all kinds.

        What is in quarantine comes only where all kinds are asked for. At most
        `log_entries.MOST_ENTRIES`; there are no more when none is given.
        """
        return await self._read_log(read_entries, after, kinds, limit)

    async def located(self, identity: bytes) -> list[LogEntry]:
        """Return the entries of an id, of whatever kind and cluster, that were not removed."""
        return await self._read_log(read_located, identity)

    async def outside(self) -> int:
        """Count rows that are not in the log, and should be: what is asked for leaves them out."""
        return await self._read_log(count_outside)

    async def log_state(self) -> LogState:
        """Return how far the log has come."""
        return await self._read_log(read_state)

    async def leaf_hashes(self, begin: int, end: int) -> list[bytes]:
        """Return the hashes of leaves from a position to before another.

        Raises:
            LedgerError: some are not there: retention, or somebody else, removed them.
        """
        return await self._read_log(read_leaf_hashes, begin, end)

    async def frontier(self, size: int) -> Frontier:
        """Return the frontier that the log had at a size: its root is that of the heads of it.

        Raises:
            LedgerError: retention removed leaves beyond it.
        """
        return await self._read_log(lambda connection: TreeReader(connection).frontier(size))

    async def inclusion(self, position: int, size: int) -> list[bytes]:
        """Return the proof that a leaf is in the log as it was at a size.

        Raises:
            LedgerError: retention removed what it needs.
            ValueError: the log had no such leaf.
        """
        ranges = inclusion_ranges(position, size)
        return await self._read_log(lambda connection: TreeReader(connection).proof(ranges))

    async def consistency(self, first: int, second: int) -> list[bytes]:
        """Return the proof that the log at one size began as it was at the other.

        Raises:
            LedgerError: retention removed what it needs.
            ValueError: the second size is the smaller one.
        """
        ranges = consistency_ranges(first, second)
        return await self._read_log(lambda connection: TreeReader(connection).proof(ranges))

    async def heads(self, after: int = -1, limit: int = 1000) -> list[TreeHead]:
        """Return signed heads of more leaves than `after`, the smallest first."""
        return await self._read_log(read_heads, after, limit)

    async def last_head(self) -> TreeHead | None:
        """Return the last head that was signed."""
        return await self._read_log(read_last_head)

    async def places(self, cluster: str) -> dict[str, bytes]:
        """Return where the sources of a cluster go on, by source."""
        return await self._read_log(read_places, cluster)

    async def load_checkpoint(self, cluster: str, name: str) -> tuple[int, bytes] | None:
        """Return a checkpoint: how many entries of the log it is of, and its content.

        What came later is `entries(after=that - 1)`.
        """
        return await self._read_log(read_checkpoint, cluster, name)
