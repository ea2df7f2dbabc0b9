"""What notices need of the ledger."""

from typing import Protocol

from audit.ledger.log.entries import Document, DocumentKey, LogEntry, LogState
from audit.ledger.records.frames import FrameKind


class NoticeLedger(Protocol):
    """What a delivery needs of the ledger. Each raises LedgerError."""

    async def log_state(self) -> LogState:
        """Return how far the log has come."""

    async def entries(
        self, after: int = -1, kinds: frozenset[FrameKind] | None = None, limit: int = 1000
    ) -> list[LogEntry]:
        """Return entries after a position."""

    async def documents(  # noqa: PLR0913  As the ledger has it.
        self,
        kind: FrameKind,
        begin_ms: int,
        end_ms: int,
        *,
        cluster: str | None = None,
        after: DocumentKey | None = None,
        limit: int = 1000,
    ) -> list[Document]:
        """Return documents of a kind by their time."""

    async def load_checkpoint(self, cluster: str, name: str) -> tuple[int, bytes] | None:
        """Return a checkpoint."""

    async def save_checkpoint(self, cluster: str, name: str, size: int, content: bytes) -> None:
        """Keep a checkpoint."""
