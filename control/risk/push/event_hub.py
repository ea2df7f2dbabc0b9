"""Reads the event hub while leading, and puts what its records say into the snapshot.

What was read is stored first and committed then: a leader that is killed in between loses nothing,
and what is read twice changes nothing. No record stops the others: one that says nothing usable is
counted and passed over.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

import structlog

from control.loop import Loop
from control.risk.push.metrics import PushMetrics, PushSource, Result
from core.risk.snapshot import SnapshotDraft
from identity.clients.event_hub import Batch, EventHub
from identity.push.event_hub_records import DetectionRecord, RecordRefusal, RiskRecord, read_message
from identity.risk.entry_merge import MergeResult
from kube.leader.lease import Leadership
from kube.risk.store import RiskStore

INTERVAL_S: Final = 0.1
"""Between two runs; messages that arrive then wait for so long."""
RUN_S: Final = 10.0
"""A run reads for so long; the consumer stays open over all runs of a term."""
WAIT_S: Final = 1.0
LONGEST_S: Final = 120.0
FIRST_PAUSE_S: Final = 1.0
"""Before the hub is tried again after a failure; doubled each time, up to `LAST_PAUSE_S`."""
LAST_PAUSE_S: Final = 60.0
_LOG_EVERY_S: Final = 60.0

_REFUSED: Final = frozenset({*RecordRefusal} - {RecordRefusal.SKIPPED}) | {MergeResult.FUTURE}

_log = structlog.get_logger(__name__)


class EventHubLoop:
    """Takes records in; `loop` is the leader's, and `close` ends it for good."""

    def __init__(
        self,
        hub: EventHub,
        store: RiskStore,
        tenant: str,
        metrics: PushMetrics,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take the tenant's id: records of another tenant are refused."""
        self._hub = hub
        self._store = store
        self._tenant = tenant.lower()
        self._metrics = metrics
        self._clock = clock
        self._closing: asyncio.Task[None] | None = None
        self._failures = 0
        self._log_at = 0.0

    @property
    def loop(self) -> Loop:
        """The leader's loop."""
        return Loop("event-hub", INTERVAL_S, self.run, LONGEST_S, self._end)

    async def run(self, leadership: Leadership) -> None:
        """Read for a while.

        Raises:
            EntraError: the event hub cannot be read.
            ClusterError: the snapshot cannot be written; what was read is read again.
            NotLeaderError: this process does not lead any more.
        """
        await self._left()
        if self._failures:
            pause = FIRST_PAUSE_S * 2.0 ** min(self._failures - 1, 10)
            await asyncio.sleep(min(pause, LAST_PAUSE_S))
        leadership.require()
        try:
            if not self._hub.is_open:
                await self._hub.open()
            await self._read(leadership)
        except BaseException:
            # What was read and not stored is read again only by a consumer that begins anew.
            self._failures += 1
            self._leave()
            raise
        self._failures = 0

    async def close(self) -> None:
        """Leave the event hub. The process calls it once its loops have ended."""
        self._leave()
        await self._left()

    def _leave(self) -> None:
        """Begin to leave the event hub: the next leader reads it."""
        if self._hub.is_open and self._closing is None:
            self._closing = asyncio.ensure_future(self._hub.close())

    async def _left(self) -> None:
        """Wait until it is left."""
        if self._closing is not None:
            await asyncio.shield(self._closing)
            self._closing = None

    def _end(self) -> None:
        """End a term: the next one begins without the failures of this one."""
        self._failures = 0
        self._leave()

    async def _read(self, leadership: Leadership) -> None:
        until = time.monotonic() + RUN_S
        while leadership.holds() and time.monotonic() < until:
            batch = await self._hub.receive(WAIT_S)
            if batch is not None:
                await self._take(batch, leadership)
                await self._hub.commit(batch)

    async def _take(self, batch: Batch, leadership: Leadership) -> None:
        """Store what a batch says, in one write, and count what became of each record."""
        said: list[RiskRecord | DetectionRecord | RecordRefusal] = []
        for body in batch.messages:
            said += read_message(body, self._tenant)
            await asyncio.sleep(0)  # A message may be a megabyte.
        results: list[Result] = []

        def change(draft: SnapshotDraft) -> None:
            now = self._clock()
            results[:] = [_merged(each, draft, now) for each in said]

        if any(not isinstance(each, RecordRefusal) for each in said):
            await self._store.update(change, leadership)
        else:
            results = [each for each in said if isinstance(each, RecordRefusal)]
        self._count(results)

    def _count(self, results: list[Result]) -> None:
        now = self._clock()
        for result in results:
            self._metrics.count(PushSource.EVENT_HUB, result, now)
        refused = sorted({each.value for each in results if each in _REFUSED})
        if refused and time.monotonic() >= self._log_at:
            self._log_at = time.monotonic() + _LOG_EVERY_S
            _log.warning(
                "records of the event hub refused",
                reasons=refused,
                metric="sallyport_risk_events_total",
            )


def _merged(
    said: RiskRecord | DetectionRecord | RecordRefusal, draft: SnapshotDraft, now: float
) -> Result:
    return said if isinstance(said, RecordRefusal) else said.merge_into(draft, now)
