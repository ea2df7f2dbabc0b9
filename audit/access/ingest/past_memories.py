"""Memories of past days: so accesses of last month are attributed like today's.

A memory forgets Pods whose end is long ago. Before it does, at the end of each day of what the
ledger is told, it is kept as it is; of a day that is past it is taken back, and what the ledger was
told too late to be in it is read from the log. So the order of the log does not matter.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from itertools import pairwise
from operator import attrgetter
from typing import Final

import msgspec

from audit.access.ingest.memory import KINDS, IngestMemory
from audit.access.ingest.projections import PAGE, Projections
from audit.access.ingest.state import IngestOptions, restore_memory, save_memory
from audit.ledger.store.store import Store
from core.base.ids import uuid7_unix_ms
from core.base.times import DAY_S
from core.weights.documents.access import Access

FORMAT: Final = 2
"""Of what `saved` gives."""

MOST_LATE: Final = 256
"""Spans of what came late; beyond, the two that are nearest to each other become one."""

NAME: Final = "weights/memory/"
"""Begins the names of these checkpoints: a day since 1970-01-01 follows."""

DAYS_AT_HAND: Final = 3
"""Days of which a live memory can say all; and how many past ones are held at once."""

_NEAR: Final = 1000
"""Positions: what came late and is no farther from each other is one span."""

_LIST: Final = "weights/memory-days"
_BY_ID: Final = attrgetter("id")


class KeptDay(msgspec.Struct, frozen=True, array_like=True):
    """A memory as it was when the first document of a day came."""

    day: int
    """Since 1970-01-01."""
    position: int
    """All before this position of the log was in it."""
    forgotten_s: float
    """Unix seconds: it had forgotten what ended before."""


class LateEntries(msgspec.Struct, array_like=True):
    """A stretch of the log with documents that came days late."""

    first: int
    last: int
    earliest: int
    """Day of the earliest."""


class KeptDays(msgspec.Struct, array_like=True):
    """All that are kept, in the order of the log, which is that of the days."""

    format: int = FORMAT
    kept: list[KeptDay] = []
    late: list[LateEntries] = []
    changed: bool = False

    def newest(self, position: int) -> int | None:
        """Return the newest day that the log had come to before a position.

        None before the first.
        """
        for each in reversed(self.kept):
            if each.position < position:
                return each.day
        return None

    def last_with(self, unix_s: float) -> KeptDay | None:
        """Return the last that had not forgotten what ended at a time."""
        for each in reversed(self.kept):
            if each.forgotten_s <= unix_s:
                return each
        return None

    def note_late(self, position: int, day: int) -> bool:
        """Note a document of a day that came late; say whether that is new."""
        for span in self.late:
            if span.first <= position <= span.last and span.earliest <= day:
                return False
        self.changed = True
        last = self.late[-1] if self.late else None
        if last is None or not last.first <= position <= last.last + _NEAR:
            self.late.append(LateEntries(position, position, day))
            self.late.sort(key=lambda span: span.first)
            if len(self.late) > MOST_LATE:
                self._join_nearest()
            return True
        last.last = max(last.last, position)
        last.earliest = min(last.earliest, day)
        return True

    def saved(self) -> bytes:
        """Return all of it as MessagePack."""
        return msgspec.msgpack.encode(self)

    def _join_nearest(self) -> None:
        apart = [after.first - before.last for before, after in pairwise(self.late)]
        place = apart.index(min(apart))
        one, other = self.late[place : place + 2]
        one.last, one.earliest = max(one.last, other.last), min(one.earliest, other.earliest)
        del self.late[place + 1]


def read_days(content: bytes) -> KeptDays:
    """Read what `KeptDays.saved` gave; of another format none are known, and they are kept anew."""
    try:
        days = msgspec.msgpack.decode(content, type=KeptDays)
    except msgspec.MsgspecError:
        return KeptDays()
    return days if days.format == FORMAT else KeptDays()


class PastMemories:
    """Memories of days that are past, and the keeping of those that are about to be."""

    def __init__(self, ledger: Store, cluster: str, options: IngestOptions) -> None:
        self._ledger = ledger
        self._cluster = cluster
        self._options = options
        self._days: KeptDays | None = None
        self._held: dict[int, IngestMemory] = {}

    async def note(self, memory: IngestMemory, position: int, at_ms: int) -> None:
        """Note that a memory has come to a position, with a document of a time.

        Where a new day begins with it, what was known before is kept, and what no access of the
        last days can ask for is forgotten. Where it is of a day that is past, it is not in what
        was kept of that day: where it stands is noted.
        """
        day = at_ms // 1000 // DAY_S
        days = await self._known_days()
        newest = days.newest(position)
        if newest is not None and day <= newest:
            if day <= newest - DAYS_AT_HAND and days.note_late(position, day):
                self._held.clear()
            return
        if not days.kept or position > days.kept[-1].position:
            content = save_memory(memory, position)
            await self._ledger.save_checkpoint(self._cluster, f"{NAME}{day}", position, content)
            days.kept.append(KeptDay(day, position, memory.forgotten_s))
            days.changed = True
            self._held.clear()
        memory.forget((day - DAYS_AT_HAND) * DAY_S - self._reach_s)

    async def keep(self) -> None:
        """Keep what was noted. Before it, nothing may be kept of a memory that came further."""
        days = await self._known_days()
        if days.changed:
            position = days.kept[-1].position
            await self._ledger.save_checkpoint(self._cluster, _LIST, position, days.saved())
            days.changed = False

    async def newest(self) -> AsyncIterator[bytes]:
        """Yield what was kept of days, the newest first."""
        for kept in reversed((await self._known_days()).kept):
            if content := await self._content(kept):
                yield content

    async def begin_anew(self) -> None:
        """Forget all days: the log is read from its first record, and they are kept again."""
        self._days = KeptDays()
        self._held.clear()

    async def position_before(self, days: int) -> int:
        """Return the position in the log at which it had come to so many days before the newest."""
        kept = (await self._known_days()).kept
        since = [each.position for each in kept if each.day >= kept[-1].day - days]
        return since[0] if len(since) < len(kept) else 0

    async def sorted(
        self, accesses: Sequence[Access], live: IngestMemory
    ) -> list[tuple[IngestMemory, list[Access]]]:
        """Return the memory that knows most of each access's time, and the accesses."""
        first = live.forgotten_s + self._reach_s
        if accesses and uuid7_unix_ms(min(map(_BY_ID, accesses))) / 1000 >= first:
            return [(live, list(accesses))]  # Mostly all are recent; ids sort by time.
        recent: list[Access] = []
        older: defaultdict[int, list[Access]] = defaultdict(list)
        for access in accesses:
            unix_s = uuid7_unix_ms(access.id) / 1000
            if unix_s >= first:
                recent.append(access)
            else:
                older[int(unix_s // DAY_S)].append(access)
        found = [(live, recent)] if recent else []
        return [*found, *[(await self.of(day), some) for day, some in sorted(older.items())]]

    async def of(self, day: int) -> IngestMemory:
        """Return what was known on a day, with all that the log was told of it, early or late.

        That is the last memory that was kept before it forgot anything of the day, and what came
        after it and is of the day or of before.
        """
        if day in self._held:
            return self._held[day]
        days = await self._known_days()
        memory = IngestMemory(self._options.most_pods)
        kept = days.last_with(day * DAY_S - self._reach_s)
        if kept is not None and (content := await self._content(kept)):
            restore_memory(memory, content)
            for span in days.late:
                if span.last >= kept.position and span.earliest <= day:
                    await self._read(memory, span, day)
        while len(self._held) >= DAYS_AT_HAND:
            del self._held[next(iter(self._held))]
        self._held[day] = memory
        return memory

    @property
    def _reach_s(self) -> float:
        """How long before an access a Pod can have ended and matter to it."""
        return self._options.rules.lifetime_s + self._options.rules.skew_s

    async def _read(self, memory: IngestMemory, span: LateEntries, day: int) -> None:
        """Take in what stands in a span and is of a day, or of before."""
        projections = Projections(self._ledger, self._cluster)
        position = span.first
        while page := await self._ledger.entries(position - 1, KINDS, PAGE):
            await projections.fetch(page)
            for entry in page:
                if entry.position > span.last:
                    return
                if entry.cluster != self._cluster or entry.payload is None:
                    continue
                if int.from_bytes(entry.id[:6]) // 1000 // DAY_S > day:
                    continue
                with suppress(ValueError):  # It was told when it was read for the first time.
                    memory.take(entry.record_kind, entry.payload, projections.known(entry))
            position = page[-1].position + 1

    async def _content(self, kept: KeptDay) -> bytes | None:
        name = f"{NAME}{kept.day}"
        found = await self._ledger.load_checkpoint(self._cluster, name)
        return found[1] if found else None

    async def _known_days(self) -> KeptDays:
        if self._days is None:
            found = await self._ledger.load_checkpoint(self._cluster, _LIST)
            self._days = read_days(found[1]) if found else KeptDays()
        return self._days
