"""Projections of decisions that admitted Pods: in them stands which images ran."""

from collections.abc import Sequence
from typing import Final

from audit.access.attribution.admissions import read_admitted
from audit.ledger.log.entries import LogEntry
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.store import Store

PAGE: Final = 5000
"""Entries of the log that are read at once."""

MOST_PROJECTIONS: Final = 512
"""That are remembered: those of a gang are one."""


class Projections:
    """Projections of decisions that admitted Pods, fetched before the decisions are taken in."""

    def __init__(self, ledger: Store, cluster: str) -> None:
        self._ledger = ledger
        self._cluster = cluster
        self._by_digest: dict[str, bytes | None] = {}

    async def fetch(self, page: Sequence[LogEntry]) -> None:
        """Fetch what the decisions of a page name and is not known yet."""
        for entry in page:
            digest = _digest_of(entry) if entry.cluster == self._cluster else ""
            if digest and digest not in self._by_digest:
                if len(self._by_digest) >= MOST_PROJECTIONS:
                    del self._by_digest[next(iter(self._by_digest))]
                found = await self._ledger.projection(self._cluster, digest)
                self._by_digest[digest] = found

    def known(self, entry: LogEntry) -> bytes | None:
        """Return the projection of a decision of the page, if it was fetched."""
        return self._by_digest.get(_digest_of(entry))


def _digest_of(entry: LogEntry) -> str:
    """Return the digest of the projection of a decision that admitted a Pod; empty for others."""
    if entry.record_kind != FrameKind.DECISION or entry.payload is None:
        return ""
    try:
        admitted = read_admitted(entry.payload)
    except ValueError:
        return ""
    return admitted.projection if admitted.counts else ""
