"""Ships frames from the spool to their destination, in order, until each is acknowledged."""

import asyncio
import random
import time
from contextlib import suppress
from dataclasses import dataclass

from structlog.typing import FilteringBoundLogger

from audit.ledger.records.destination import Destination
from audit.ledger.spool.backlog import FrameBatch
from audit.ledger.spool.queue import Spool
from core.base.errors import LedgerError


@dataclass(frozen=True)
class ShipperSettings:
    """Sizes of batches, and times in seconds."""

    max_bytes: int = 1024 * 1024
    max_frames: int = 2000
    pause_s: float = 0.4
    """After a batch that was not full, so that the next one is worth a request."""
    first_retry_s: float = 0.5
    """Doubled with each failure in a row, up to `last_retry_s`."""
    last_retry_s: float = 10.0


@dataclass(frozen=True)
class ShipperStatus:
    """How shipping goes."""

    last_success: float | None = None
    """Unix time; None before the first."""
    failures: int = 0
    """In a row."""
    error: str = ""
    """What the last one failed with; empty after a success."""


class Shipper:
    """Ships one spool. Files are read and removed on threads, off the event loop."""

    def __init__(
        self,
        spool: Spool,
        destination: Destination,
        cluster: str,
        logger: FilteringBoundLogger,
        settings: ShipperSettings | None = None,
    ) -> None:
        self.status = ShipperStatus()
        self._spool = spool
        self._destination = destination
        self._cluster = cluster
        self._logger = logger
        self._settings = settings or ShipperSettings()

    async def run(self) -> None:
        """Ship until cancelled; what was under way then is shipped again, by whoever comes."""
        while True:
            wait = await self._step()
            await asyncio.sleep(wait)

    async def drain(self, seconds: float) -> int:
        """Ship what is left, once `run` has ended; give the bytes that still are, in the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._left():
                    wait = await self._step()
                    await asyncio.sleep(
                        wait if self.status.failures else self._settings.pause_s / 10
                    )
        return self._left()

    def _left(self) -> int:
        return self._spool.status().unacknowledged_bytes

    async def _step(self) -> float:
        """Ship one batch, if something waits; give the seconds until the next step."""
        if not self._spool.has_unread:
            return self._settings.pause_s
        try:
            batch = await self._ship()
        except Exception as error:  # noqa: BLE001  Whatever it is, the frames must go on waiting.
            return self._note_failure(error)
        self._note_success()
        return 0.0 if self._is_full(batch) else self._settings.pause_s

    async def _ship(self) -> FrameBatch:
        settings = self._settings
        batch = await asyncio.to_thread(self._spool.read, settings.max_bytes, settings.max_frames)
        if batch.frames:
            await self._destination.deliver(self._cluster, batch.frames)
            await asyncio.to_thread(self._spool.acknowledge, batch)
        return batch

    def _is_full(self, batch: FrameBatch) -> bool:
        settings = self._settings
        return batch.size > settings.max_bytes * 3 // 4 or len(batch.frames) >= settings.max_frames

    def _note_success(self) -> None:
        if self.status.failures:
            self._logger.info("shipping goes on", failures=self.status.failures)
        self.status = ShipperStatus(last_success=time.time())

    def _note_failure(self, error: Exception) -> float:
        """Note a failure; give the seconds until the next attempt."""
        known = isinstance(error, LedgerError)
        text = str(error) if known else f"unexpected {type(error).__name__}"
        failures = self.status.failures + 1
        if failures == 1:
            details = {} if known else {"exc_info": error}
            self._logger.warning("shipping fails", problem=text, **details)
        self.status = ShipperStatus(self.status.last_success, failures, text)
        settings = self._settings
        wait = min(settings.first_retry_s * 2.0 ** min(failures - 1, 16), settings.last_retry_s)
        return wait * random.uniform(0.5, 1.0)  # noqa: S311  Replicas shall not knock in step.
