"""What notices need of the ledger."""

from typing import Protocol

from audit.ledger.log.entries import LogEntry, LogState
from audit.ledger.records.frames import FrameKind


class NoticeLedger(Protocol):
    """What a delivery needs of the ledger. Each raises LedgerError."""

    async def log_state(self) -> LogState:
        """Return how far the log has come."""

    async def entries(
        self, after: int = -1, kinds: frozenset[FrameKind] | None = None, limit: int = 1000
    ) -> list[LogEntry]:
        """Return entries after a position."""

    async def load_checkpoint(self, cluster: str, name: str) -> tuple[int, bytes] | None:
        """Return a checkpoint."""

    async def save_checkpoint(self, cluster: str, name: str, size: int, content: bytes) -> None:
        """Keep a checkpoint."""
