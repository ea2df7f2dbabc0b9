"""Pages of the ledger's documents: of one kind, or of several in the order of their times."""

import heapq
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from audit.ledger.log.entries import Document, DocumentKey
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.queries import LedgerQueries
from audit.reports.periods import Period

PAGE: Final = 2000
"""Documents read at once: of 2 KiB each, 4 MiB."""

Progress = Callable[[str, int], None]
"""Told what is read and how much of it, now and then."""


@dataclass(frozen=True)
class ReportRequest:
    """What a report is asked for."""

    period: Period
    store: str = ""
    """One WeightStore; empty: all."""
    cluster: str | None = None
    size: int | None = None
    """Entries of the ledger's log that are read: those of its signed head. None: all."""
    removals: tuple[tuple[int, int], ...] = ()
    """What retention removed of these entries is not read, gone or not: as `documents` takes it."""
    at_head: bool = False
    """Whether it is asked for as of a signed head, to be made again later with the same bytes."""
    now_ms: int = 0
    """Unix milliseconds as of which what people said of findings is read; 0: the period's end."""


class DocumentPages:
    """The documents of a kind, page by page; those that are not under the head are left out."""

    def __init__(
        self,
        source: LedgerQueries,
        wanted: ReportRequest,
        progress: Progress,
        kind: FrameKind,
        period: Period,
    ) -> None:
        self._source, self._wanted, self._progress = source, wanted, progress
        self._period = period
        self._after: DocumentKey | None = None
        self._count = 0
        self._ended = False
        self.kind = kind

    async def next(self) -> list[Document] | None:
        """Return the next page, which may have nothing; None after the last."""
        if self._ended:
            return None
        period, wanted = self._period, self._wanted
        page = await self._source.documents(
            self.kind,
            period.begin_ms,
            period.end_ms,
            cluster=wanted.cluster,
            after=self._after,
            limit=PAGE,
            removals=wanted.removals,
        )
        self._ended = len(page) < PAGE
        if page:
            self._after = page[-1].key
        self._count += len(page)
        self._progress(self.kind.name.lower().replace("_", " "), self._count)
        return [document for document in page if self._is_sealed(document)]

    def _is_sealed(self, document: Document) -> bool:
        return self._wanted.size is None or (
            document.position is not None and document.position < self._wanted.size
        )


async def merge_pages(kinds: Sequence[DocumentPages]) -> AsyncIterator[tuple[FrameKind, Document]]:
    """Yield the documents of several kinds in the order of their ids, and so of their times."""
    heap: list[tuple[bytes, int]] = []
    rest: list[list[Document]] = [[] for _ in kinds]

    async def push(number: int) -> None:
        while not rest[number]:
            page = await kinds[number].next()
            if page is None:
                return
            rest[number] = page[::-1]
        heapq.heappush(heap, (rest[number][-1].id, number))

    for number in range(len(kinds)):
        await push(number)
    while heap:
        _, number = heapq.heappop(heap)
        yield kinds[number].kind, rest[number].pop()
        await push(number)
