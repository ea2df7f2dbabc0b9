"""Tells one sink of what the ledger records, each notice at least once and in the log's order.

Each sink has a delivery of its own: a slow one holds up no other. What waits, waits in the ledger.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

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
)
from audit.notifications.notice import NOTICE_KINDS, Notice, notice_of_finding, notice_of_gap
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
        self.unreadable = 0
        """Entries that could not be read, and so were not told."""
        self._route = route
        self._ledger = ledger
        self._logger = logger.bind(sink=name)
        self._options = options
        self._give_up_ms = round(options.give_up_s * 1000)
        self._clock = clock
        self._due = due
        self._in_a_row = 0
        self._saved_at = 0.0
        self._saved = -1
        self._ledger_problem = ""

    async def run(self) -> None:
        """Tell for ever; where the ledger fails, go on when it is there again."""
        while True:
            try:
                await self.step()
                self._ledger_problem = ""
            except LedgerError as error:
                self._note_ledger(str(error))
            except Exception as error:  # noqa: BLE001  Nobody else would hear of it before the end.
                self._note_ledger(f"unexpected {type(error).__name__}")
            await asyncio.sleep(LOOK_EVERY_S)

    async def step(self) -> None:
        """Tell all that is new.

        Raises:
            LedgerError: the ledger fails; what was sent and is not noted is sent again.
        """
        cursor = self.cursor or await self._load()
        size = (await self._ledger.log_state()).tree.size
        cursor.note_size(size, self._now_ms(), self._give_up_ms)
        while page := await self._ledger.entries(cursor.position - 1, NOTICE_KINDS, PAGE):
            for batch, after in self._batches(page):
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
                raise LedgerError(
                    f"the cursor of the sink {self.name} cannot be read ({error}): it is of a "
                    "later release; give the sink another name, and `since`"
                ) from None
            self._in_a_row = 1 if cursor.failing_since_ms else 0
        else:
            size = (await self._ledger.log_state()).tree.size
            cursor = SinkCursor(position=0 if self._route.since else size)
            await self._save(cursor)
        self.cursor = cursor
        return cursor

    def _batches(self, page: Sequence[LogEntry]) -> Iterator[tuple[list[PlacedNotice], int]]:
        """Yield what a sink is told at once, and the position after it."""
        batch: list[PlacedNotice] = []
        for entry in page:
            notice = self._notice_of(entry)
            if notice is not None and self._route.takes(notice):
                batch.append(PlacedNotice(notice, entry.position))
            if len(batch) == self.sink.most:
                yield batch, entry.position + 1
                batch = []
        yield batch, page[-1].position + 1

    def _notice_of(self, entry: LogEntry) -> Notice | None:
        if entry.payload is None:
            return None  # Retention removed it.
        try:
            if entry.kind == FrameKind.FINDING:
                return notice_of_finding(decode_finding(entry.payload))
            gap = decode_gap(entry.payload)
        except ValueError as error:
            self.unreadable += 1
            kind = type(error).__name__
            self._logger.error("an entry cannot be told", position=entry.position, problem=kind)  # noqa: TRY400  Its text may quote.
            return None
        return None if gap.cluster == self._options.judged_cluster else notice_of_gap(gap)

    async def _tell(self, cursor: SinkCursor, batch: Sequence[PlacedNotice]) -> None:
        """Return when each notice was acknowledged, or given up."""
        waiting, at_once = list(batch), self.sink.most
        while waiting:
            if self._is_too_old(cursor, waiting[0]):
                self._bury(cursor, waiting.pop(0), f"it waited for {self._hours()} hours")
                continue
            some = waiting[:at_once]
            try:
                async with asyncio.timeout(SEND_S):
                    await self.sink.send([each.notice for each in some])
            except NoticeRefusedError as error:
                if len(some) == 1:
                    self._bury(cursor, waiting.pop(0), str(error))
                at_once = 1  # So that one refused notice takes no other with it.
                continue
            except (SinkAwayError, TimeoutError) as error:
                await self._wait(cursor, error)
                continue
            self._succeeded(cursor, len(some))
            del waiting[: len(some)]
            if waiting:
                cursor.come_to(waiting[0].position)
                await self._save(cursor)

    def _is_too_old(self, cursor: SinkCursor, each: PlacedNotice) -> bool:
        now_ms = self._now_ms()
        return bool(cursor.failing_since_ms) and cursor.waits_too_long(
            each.position, now_ms, self._give_up_ms
        )

    async def _wait(self, cursor: SinkCursor, error: SinkAwayError | TimeoutError) -> None:
        """Note a failure, and wait until the sink may be tried again."""
        problem = str(error) if isinstance(error, SinkAwayError) else f"no answer in {SEND_S:.0f} s"
        self.failures += 1
        self._in_a_row += 1
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

    def _bury(self, cursor: SinkCursor, each: PlacedNotice, reason: str) -> None:
        notice = each.notice
        now_ms = self._now_ms()
        cursor.bury(DeadLetter(notice.id, notice.event.value, each.position, now_ms, reason))
        self._logger.error(
            "a notice was given up", notice=notice.id, event_kind=notice.event.value, problem=reason
        )

    async def _save(self, cursor: SinkCursor) -> None:
        self._saved_at = time.monotonic()
        name = checkpoint_of(self.name)
        await self._ledger.save_checkpoint(_OWN, name, cursor.position, encode_cursor(cursor))
        self._saved = cursor.position

    def _note_ledger(self, problem: str) -> None:
        if problem != self._ledger_problem:
            self._ledger_problem = problem
            self._logger.error("the ledger gives no notices", problem=problem)

    def _now_ms(self) -> int:
        return round(self._clock() * 1000)

    def _hours(self) -> str:
        return f"{self._options.give_up_s / 3600:g}"
