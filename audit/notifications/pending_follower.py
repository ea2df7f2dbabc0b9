"""Follows the record of changes in the ledger, and says what is due; one for all sinks."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from structlog.typing import FilteringBoundLogger

from audit.ledger.log.entries import DocumentKey
from audit.ledger.records.frames import FrameKind
from audit.notifications.egress_endings import EgressEndings
from audit.notifications.notice import Notice
from audit.notifications.notice_ledger import NoticeLedger
from audit.notifications.pending_objects import PendingObjects, PendingTerms
from core.weights.documents.object_change import decode_change

PAGE: Final = 500

_TIME_END_MS: Final = 2**48
"""Later than any id."""


class PendingFollower:
    """Keeps what people must still do in memory, read from the ledger's beginning at each start."""

    def __init__(
        self,
        ledger: NoticeLedger,
        terms: PendingTerms,
        logger: FilteringBoundLogger,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._ledger = ledger
        self._terms = terms
        self._logger = logger
        self._clock = clock
        self._objects = PendingObjects()
        self._endings = EgressEndings()
        self._position: int | None = None
        self._reading = asyncio.Lock()

    async def due(self) -> list[Notice]:
        """Return what is due now.

        Raises:
            LedgerError: the ledger fails.
        """
        async with self._reading:
            if self._position is None:
                self._position = await self._read_past()
            size = (await self._ledger.log_state()).tree.size
            kinds = frozenset({FrameKind.CHANGE})
            while page := await self._ledger.entries(self._position - 1, kinds, PAGE):
                for entry in page:
                    self._take(entry.payload)
                self._position = page[-1].position + 1
            self._position = max(self._position, size)
            now_ms = round(self._clock() * 1000)
            return [*self._objects.due(self._terms, now_ms), *self._endings.due(now_ms)]

    async def _read_past(self) -> int:
        """Take in what is recorded; give up to where. By its own table: the log is far longer."""
        size = (await self._ledger.log_state()).tree.size
        after: DocumentKey | None = None
        while page := await self._ledger.documents(
            FrameKind.CHANGE, 0, _TIME_END_MS, after=after, limit=PAGE
        ):
            for document in page:
                self._take(document.payload)
            after = page[-1].key
        return size

    def _take(self, payload: bytes | None) -> None:
        if payload is None:
            return  # Retention removed it.
        try:
            change = decode_change(payload)
            self._objects.take(change)
            self._endings.take(change)
        except ValueError as error:
            kind = type(error).__name__  # Its text may quote.
            self._logger.error("a recorded change cannot be read", problem=kind)  # noqa: TRY400
