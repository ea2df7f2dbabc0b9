"""Tells one sink of what the ledger records, each notice at least once and in the log's order.

Each sink has a delivery of its own: a slow one holds up no other. What waits, waits in the ledger.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from structlog.typing import FilteringBoundLogger

from audit.ledger.log.entries import LogEntry
from audit.ledger.records.frames import FrameKind
from audit.notifications.backoff import wait_s
from audit.notifications.cursor import (
    DeadLetter,
    SinkCursor,
    checkpoint_of,
    decode_cursor,
    encode_cursor,
    unreadable_cursor,
)
from audit.notifications.notice import (
    NOTICE_KINDS,
    Notice,
    NoticeEvent,
    notice_of_finding,
    notice_of_gap,
)
from audit.notifications.notice_ledger import NoticeLedger
from audit.notifications.routes import Route
from audit.notifications.sink import NoticeRefusedError, Sink, SinkAwayError
from core.base.errors import LedgerError
from core.weights.documents.events import decode_finding, decode_gap

LOOK_EVERY_S: Final = 5.0
SEND_S: Final = 60.0
"""The longest that one `send` may take."""

PAGE: Final = 200
"""Entries of the log that are held at once."""

_SAVE_S: Final = 60.0
_UUID_BYTES: Final = 16
_OWN: Final = ""
"""Cursors are of the whole log, and of no cluster."""


@dataclass(frozen=True)
class DeliveryOptions:
    """What an operator says of all sinks."""

    give_up_s: float = 72 * 3600.0
    """A notice that could not be told for so long is given up."""
    judged_cluster: str = ""
    """Whose gaps become findings here; those of others are told as they are recorded."""


class PlacedNotice(NamedTuple):
    """A notice, and its entry's place in the log."""

    notice: Notice
    position: int


class SinkDelivery:
    """Tells one sink, and knows how that goes."""

    def __init__(  # noqa: PLR0913, PLR0917  What it joins.
        self,
        name: str,
        sink: Sink,
        route: Route,
        ledger: NoticeLedger,
        logger: FilteringBoundLogger,
        options: DeliveryOptions = DeliveryOptions(),
        clock: Callable[[], float] = time.time,
        due: Callable[[], Awaitable[Sequence[Notice]]] | None = None,
    ) -> None:
        """Take what it joins; `due` gives what people must still do, until it is done."""
        self.name = name
        self.sink = sink
        self.cursor: SinkCursor | None = None
        """None until the ledger gave it."""
        self.failures = 0
        """Tries that failed, since this process began."""
        self._route = route
        self._ledger = ledger
        self._logger = logger.bind(sink=name)
        self._options = options
        self._give_up_ms = round(options.give_up_s * 1000)
        self._clock = clock
        self._due = due
        self._in_a_row = 0
        self._failed_in_this_run = False
        """Whether a try failed since the last success, and since this process began."""
        self._stuck_since_ms = 0
        """Unix time since when something else than the sink keeps notices from it; 0: nothing."""
        self._saved_at = 0.0
        self._saved = -1
        self._stuck_problem = ""

    @property
    def failing_since_ms(self) -> int:
        """Unix time since when the sink has taken nothing, for whatever reason; 0 where it does."""
        noted = self.cursor.failing_since_ms if self.cursor is not None else 0
        return min((each for each in (noted, self._stuck_since_ms) if each), default=0)

    async def run(self) -> None:
        """Tell for ever; where the ledger fails, go on when it is there again."""
        while True:
            await self.attempt()
            await asyncio.sleep(LOOK_EVERY_S)

    async def attempt(self) -> None:
        """Tell all that is new; note what prevents it, and raise nothing."""
        try:
            await self.step()
        except LedgerError as error:
            self._note_stuck(str(error))
        except Exception as error:  # noqa: BLE001  Nobody else would hear of it before the end.
            self._note_stuck(f"unexpected {type(error).__name__}")
        else:
            self._stuck_since_ms, self._stuck_problem = 0, ""

    async def step(self) -> None:
        """Tell all that is new.

        Raises:
            LedgerError: the ledger fails; what was sent and is not noted is sent again.
        """
        cursor = self.cursor or await self._load()
        size = (await self._ledger.log_state()).tree.size
        cursor.note_size(size, self._now_ms(), self._give_up_ms)
        while page := await self._ledger.entries(cursor.position - 1, NOTICE_KINDS, PAGE):
            for batch, after in self._batches(cursor, page):
                await self._tell(cursor, batch)
                cursor.come_to(after)
                if batch:
                    await self._save(cursor)
        cursor.come_to(size)
        await self._tell_due(cursor)
        if cursor.position != self._saved and time.monotonic() - self._saved_at >= _SAVE_S:
            await self._save(cursor)

    async def _tell_due(self, cursor: SinkCursor) -> None:
        """Tell of what is due and was not told; forget that it was told when it is due no more."""
        found = [each for each in await self._due() if self._route.takes(each)] if self._due else []
        told = set(cursor.told)
        new = [PlacedNotice(each, cursor.position) for each in found if each.id not in told]
        for start in range(0, len(new), self.sink.most):
            some = new[start : start + self.sink.most]
            await self._tell(cursor, some)
            cursor.told += [each.notice.id for each in some]
            await self._save(cursor)
        if len(cursor.told) != len(found):
            ids = {each.id for each in found}
            cursor.told = [each for each in cursor.told if each in ids]

    async def _load(self) -> SinkCursor:
        """Take up the cursor; a new sink begins now, but for one that says `since`."""
        found = await self._ledger.load_checkpoint(_OWN, checkpoint_of(self.name))
        if found is not None:
            try:
                cursor = decode_cursor(found[1])
            except ValueError as error:
                raise LedgerError(unreadable_cursor(error)) from None
            self._in_a_row = 1 if cursor.failing_since_ms else 0
        else:
            size = (await self._ledger.log_state()).tree.size
            cursor = SinkCursor(position=0 if self._route.since else size)
            await self._save(cursor)
        self.cursor = cursor
        return cursor

    def _batches(
        self, cursor: SinkCursor, page: Sequence[LogEntry]
    ) -> Iterator[tuple[list[PlacedNotice], int]]:
        """Yield what a sink is told at once, and the position after it."""
        batch: list[PlacedNotice] = []
        for entry in page:
            try:
                notice = self._notice_of(entry)
            except ValueError as error:
                yield batch, entry.position  # What comes before it is told first.
                batch = []
                self._bury_entry(cursor, entry, error)
                continue
            if notice is not None and self._route.takes(notice):
                batch.append(PlacedNotice(notice, entry.position))
            if len(batch) == self.sink.most:
                yield batch, entry.position + 1
                batch = []
        yield batch, page[-1].position + 1

    def _notice_of(self, entry: LogEntry) -> Notice | None:
        """Return the notice of an entry, if it has one.

        Raises:
            ValueError: the entry cannot be read.
        """
        if entry.payload is None:
            return None  # Retention removed it.
        if entry.kind == FrameKind.FINDING:
            return notice_of_finding(decode_finding(entry.payload))
        gap = decode_gap(entry.payload)
        return None if gap.cluster == self._options.judged_cluster else notice_of_gap(gap)

    def _bury_entry(self, cursor: SinkCursor, entry: LogEntry, error: ValueError) -> None:
        """Give up an entry that cannot be read: under its id, for nothing else is known of it."""
        event = NoticeEvent.FINDING if entry.kind == FrameKind.FINDING else NoticeEvent.GAP
        if event in self._route.events:
            # The error's text may quote.
            reason = f"the ledger's entry cannot be read ({type(error).__name__})"
            is_uuid = len(entry.id) == _UUID_BYTES
            identity = str(UUID(bytes=entry.id)) if is_uuid else entry.id.hex()
            self._give_up(cursor, identity, event, entry.position, reason)
        cursor.come_to(entry.position + 1)

    async def _tell(self, cursor: SinkCursor, batch: Sequence[PlacedNotice]) -> None:
        """Return when each notice was acknowledged, or given up."""
        waiting, at_once = list(batch), self.sink.most
        while waiting:
            if self._is_too_old(cursor, waiting[0]):
                self._bury(cursor, waiting.pop(0), f"it waited for {self._hours()} hours")
                continue
            some = waiting[:at_once]
            some = some[: self.sink.fitting([each.notice for each in some])]
            try:
                async with asyncio.timeout(SEND_S):
                    await self.sink.send([each.notice for each in some])
            except NoticeRefusedError as error:
                if len(some) == 1:
                    self._bury(cursor, waiting.pop(0), str(error))
                at_once = 1  # So that one refused notice takes no other with it.
                continue
            except Exception as error:  # noqa: BLE001  A fault of its program counts as one of it.
                await self._wait(cursor, error)
                continue
            self._succeeded(cursor, len(some))
            del waiting[: len(some)]
            if waiting:
                cursor.come_to(waiting[0].position)
                await self._save(cursor)

    def _is_too_old(self, cursor: SinkCursor, each: PlacedNotice) -> bool:
        """Return whether a notice is given up: not before this process has tried the sink."""
        return self._failed_in_this_run and cursor.waits_too_long(
            each.position, self._now_ms(), self._give_up_ms
        )

    async def _wait(self, cursor: SinkCursor, error: Exception) -> None:
        """Note a failure, and wait until the sink may be tried again."""
        problem = _problem_of(error)
        self.failures += 1
        self._in_a_row += 1
        self._failed_in_this_run = True
        if problem != cursor.problem:
            self._logger.error("a sink does not take notices", problem=problem)
        cursor.failing_since_ms = cursor.failing_since_ms or self._now_ms()
        size = (await self._ledger.log_state()).tree.size
        marked = cursor.note_size(size, self._now_ms(), self._give_up_ms)
        if marked or problem != cursor.problem:
            cursor.problem = problem
            await self._save(cursor)
        asked = error.retry_after_s if isinstance(error, SinkAwayError) else 0.0
        await asyncio.sleep(wait_s(self._in_a_row, asked, random.random()))  # noqa: S311  It spreads load.

    def _succeeded(self, cursor: SinkCursor, count: int) -> None:
        cursor.sent += count
        if cursor.failing_since_ms:
            self._logger.info("a sink takes notices again")
        cursor.failing_since_ms, cursor.problem, self._in_a_row = 0, "", 0
        self._failed_in_this_run, self._stuck_since_ms = False, 0

    def _bury(self, cursor: SinkCursor, each: PlacedNotice, reason: str) -> None:
        self._give_up(cursor, each.notice.id, each.notice.event, each.position, reason)

    def _give_up(
        self, cursor: SinkCursor, identity: str, event: NoticeEvent, position: int, reason: str
    ) -> None:
        cursor.bury(DeadLetter(identity, event.value, position, self._now_ms(), reason))
        self._logger.error(
            "a notice was given up", notice=identity, event_kind=event.value, problem=reason
        )

    async def _save(self, cursor: SinkCursor) -> None:
        self._saved_at = time.monotonic()
        name = checkpoint_of(self.name)
        await self._ledger.save_checkpoint(_OWN, name, cursor.position, encode_cursor(cursor))
        self._saved = cursor.position

    def _note_stuck(self, problem: str) -> None:
        """Note what kept notices from the sink: in memory, for a cursor may be what is missing."""
        self.failures += 1
        self._stuck_since_ms = self._stuck_since_ms or self._now_ms()
        if problem != self._stuck_problem:
            self._stuck_problem = problem
            self._logger.error("a sink is told nothing", problem=problem)

    def _now_ms(self) -> int:
        return round(self._clock() * 1000)

    def _hours(self) -> str:
        return f"{self._options.give_up_s / 3600:g}"


def _problem_of(error: Exception) -> str:
    """Say why a try failed; only a SinkAwayError's text is known to quote nothing."""
    if isinstance(error, SinkAwayError):
        return str(error)
    if isinstance(error, TimeoutError):
        return f"no answer in {SEND_S:.0f} s"
    return f"unexpected {type(error).__name__}"
