"""The lease of a cluster's ingest: two at once would each see half of the story."""

import time
from collections.abc import Callable, Mapping
from typing import Final

from audit.ledger.store.delivery import Delivery
from audit.ledger.store.store import Store
from core.base.errors import LedgerError
from core.base.ids import uuid7

INGESTER: Final = "weights/ingester"
"""Place that says who ingests, and when it last did."""

OTHER_S: Final = 60.0
"""So long after its last delivery another ingest of the same cluster is believed to live."""

TAKEN_OVER: Final = "another process takes in this cluster's logs now: one of both must end"


class IngestLease:
    """One process's claim. Whoever comes takes over; who was taken over from waits."""

    def __init__(self, ledger: Store, cluster: str, clock: Callable[[], float]) -> None:
        """Draw a name for the process."""
        self._ledger = ledger
        self._cluster = cluster
        self._clock = clock
        self._id = uuid7(int(clock() * 1000))
        self._lost = False
        self._beaten_at = 0.0

    @property
    def is_due(self) -> bool:
        """Whether it is time to say that this process lives."""
        return time.monotonic() - self._beaten_at > OTHER_S / 3

    async def take(self) -> None:
        """Take over from whoever ingests.

        Raises:
            LedgerError: the database fails; or this process was taken over from, and the other
                still works.
        """
        other, at = await self._ingester()
        if self._lost and other != self._id and abs(self._clock() - at) < OTHER_S:
            raise LedgerError(TAKEN_OVER)
        self._lost = False
        await self._ledger.ingest(self._cluster, Delivery(places=self.beat()))

    async def is_own(self) -> bool:
        """Return whether nobody has taken over since."""
        other, _ = await self._ingester()
        self._lost = other != self._id
        return not self._lost

    def beat(self) -> Mapping[str, bytes]:
        """Return the place that says that this process lives; it goes with each delivery."""
        self._beaten_at = time.monotonic()
        return {INGESTER: f"{self._id} {self._clock():.0f}".encode()}

    async def _ingester(self) -> tuple[str, float]:
        found = (await self._ledger.places(self._cluster)).get(INGESTER, b"")
        other, _, at = found.decode().partition(" ")
        return other, float(at or 0)
