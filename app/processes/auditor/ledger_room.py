"""Keeps the ledger within its budget: measures its room, and lets refusals go for want of it."""

import datetime as dt
import time
from typing import Final

from structlog.typing import FilteringBoundLogger

from audit.ledger.store.refusal_removal import RefusalShare
from audit.ledger.store.room import HOUR_S, LedgerRoom, LedgerSize, RoomForecast, RoomLimits
from audit.ledger.store.store import Store
from core.base.errors import LedgerError

MEASURE_EVERY_S: Final = 60.0

_COUNT_EVERY_S: Final = HOUR_S
"""How often refusals are counted, which reads them all; sooner where the budget is exceeded."""


_ROUNDS: Final = 8
"""Of one look at SQLite. PostgreSQL has one: it writes days anew, and deliveries wait for that."""

_PAUSE_S: Final = 600.0
"""From one look that left too much, and removed something, to the next."""

_MOST_FOOTPRINT: Final = 4.0
"""Bytes that go for each byte of a refusal's document at most: small ones have large indexes."""


class LedgerRoomKeeper:
    """Measures a store each minute, and removes refusals by size where there are too many."""

    def __init__(
        self, store: Store, keep_days: int, limits: RoomLimits, logger: FilteringBoundLogger
    ) -> None:
        self.forecast = RoomForecast()
        self._store = store
        self._keep_days = keep_days
        self._limits = limits
        self._logger = logger
        self._shares: list[RefusalShare] = []
        self._footprint = _MOST_FOOTPRINT
        """As the last round measured it, for as long as there is too much."""
        self._measure_at = self._count_at = self._over_at = 0.0

    async def beat(self) -> None:
        """Measure where it is time to, and let refusals go where there are too many.

        Whatever is no refusal stays: where that alone is too much, the log says so.
        """
        now = time.monotonic()
        if now < self._measure_at:
            return
        self._measure_at = now + MEASURE_EVERY_S
        try:
            await self._measure(now)
        except LedgerError as error:
            self.forecast.room = None
            self._logger.warning("the ledger's room is not known", problem=str(error))

    async def _measure(self, now: float) -> None:
        room = self._room(await self._store.size())
        is_time = now >= self._count_at or (room.is_over and now >= self._over_at)
        if not is_time:
            self.forecast.room = room
            if room.limit is None:  # Else it is known what of it are refusals.
                self.forecast.note(room, now)
            return
        room, may_go_on = await self._shrink(await self._count())
        self._count_at = now + _COUNT_EVERY_S
        self._over_at = now
        if room.is_over:
            self._over_at = now + _PAUSE_S if may_go_on else self._count_at
        self.forecast.note(room, now)
        if room.is_over and not may_go_on:
            self._logger.error(
                "the ledger is larger than its budget",
                bytes=room.size.used,
                budget=room.limit,
                problem="no refusal is left that may go, and nothing else goes by size",
                fix="enlarge its volume, raise ledger.max_mib if set, or lower ledger.keep_days",
            )

    async def _shrink(self, room: LedgerRoom) -> tuple[LedgerRoom, bool]:
        """Let refusals go in rounds, of which each measures what the one before gave.

        Give the room that is left, and whether there may be more that can go.
        """
        more = "raise ledger.max_refusal_mib"
        if room.is_over:
            is_set = self._limits.max_bytes is not None
            more = "raise ledger.max_mib" if is_set else "enlarge the ledger's volume"
        total, gone = 0, 0
        for _ in range(_ROUNDS if self._store.path else 1):
            gone = await self._remove(room.most_refusals(self._footprint))
            if not gone:
                break
            total += gone
            before, room = room, await self._count()
            self._footprint = _footprint(before, room)
        if not room.is_over:
            self._footprint = _MOST_FOOTPRINT
        if total:
            self._logger.warning(
                "refusals removed for want of room",
                refusals=total,
                fix=f"{more}, or see who is refused so often",
            )
        return room, bool(gone)

    async def _remove(self, most: int) -> int:
        today = dt.datetime.now(dt.UTC).date()
        return await self._store.shrink(most, self._keep_days, today, self._limits.held_namespaces)

    async def _count(self) -> LedgerRoom:
        self._shares = await self._store.refusal_shares()
        return self._room(await self._store.size())

    def _room(self, size: LedgerSize) -> LedgerRoom:
        held = self._limits.held_namespaces
        return LedgerRoom(
            size=size,
            limits=self._limits,
            refusals=sum(share.size for share in self._shares),
            held=sum(share.size for share in self._shares if share.namespace in held),
        )


def _footprint(before: LedgerRoom, after: LedgerRoom) -> float:
    """Return how many bytes went for each byte of a document; no less than that byte."""
    documents = max(before.refusals - after.refusals, 1)
    freed = before.size.used - after.size.used
    return min(max(freed / documents, 1.0), _MOST_FOOTPRINT)
