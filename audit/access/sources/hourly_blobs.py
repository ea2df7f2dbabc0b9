"""A source of blobs by the hour, in a folder or a container: read on as they grow, in time's order.

Blobs of one hour are read side by side, the piece whose first record is the earliest first, so that
what comes is as much in the order of time as the logs are.
"""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from audit.access.model.batch import RecordBatch, SourcePlaces
from audit.access.model.defaults import POLL_S
from audit.access.sources.blob_hours import (
    HOUR_S,
    HourBlob,
    ReadMark,
    find_missing_hours,
    hour_blob,
    make_gap,
    read_marks,
    write_marks,
)
from audit.access.sources.blob_reader import BlobPiece, BlobStore, read_pieces
from core.base.times import DAY_S
from core.weights.documents.events import LogGap

_TIME: Final = re.compile(
    rb'"(?:time|requestReceivedTimestamp|eventTimestamp)"\s*:\s*"([^"]{1,40})'
)


@dataclass(frozen=True, slots=True)
class HourlySettings:
    """How blobs are followed."""

    follow: bool = True
    """Whether to wait for more; otherwise it ends where there is no more now."""
    poll_s: float = POLL_S
    all_s: float = 3600.0
    """Between two looks at all blobs: what comes days late is found then."""
    recent_days: int = 3
    late_s: int = 6 * HOUR_S
    """After its hour a blob can come so late without being missed."""
    settled_s: int = 2 * DAY_S
    """After its hour a blob is taken to grow no more."""


@dataclass(slots=True)
class HourlyBlobs:
    """One source; `blobs` is where they lie."""

    name: str
    cluster: str
    blobs: BlobStore
    settings: HourlySettings = HourlySettings()
    clock: Callable[[], float] = time.time
    _days: dict[str, dict[str, ReadMark]] = field(default_factory=dict)
    _judged: dict[str, int] = field(default_factory=dict)
    _sizes: dict[str, tuple[int, bool]] = field(default_factory=dict)
    """Of blobs that were read as far as they go, and whether they had settled."""

    async def stretches(self, places: SourcePlaces) -> AsyncGenerator[RecordBatch, None]:
        """Yield what came after these places, as `LogSource` says."""
        self._take_up(places)
        looked = -self.settings.all_s
        known: set[str] = set()
        while True:
            entire = time.monotonic() - looked >= self.settings.all_s
            if entire:
                looked = time.monotonic()
            # Where there was nothing yet, the first blob makes the folder that is looked into.
            seen = await self._look([""] if entire or not known else self._recent(known))
            known.update(blob.folder for blob in seen)
            async for stretch in self._read(seen):
                yield stretch
            if entire:
                for stretch in (*self._miss(seen), *self._judge(seen)):
                    yield stretch
            if not self.settings.follow:
                return
            await asyncio.sleep(self.settings.poll_s)

    def _take_up(self, places: SourcePlaces) -> None:
        head = f"{self.name}:"
        self._days, self._judged, self._sizes = {}, {}, {}
        for name, place in places.items():
            key = name.removeprefix(head)
            if name.startswith(head) and key.startswith("gaps:"):
                self._judged[key] = int(place) if place.isdigit() else 0
            elif name.startswith(head):
                self._days[key] = read_marks(place)

    def _recent(self, folders: Iterable[str]) -> list[str]:
        """Return the prefixes of the last days."""
        now = self.clock()
        days = [time.gmtime(now - back * DAY_S) for back in range(self.settings.recent_days)]
        texts = [time.strftime("y=%Y/m=%m/d=%d/", day) for day in days]
        return [f"{one}/{text}" if one else text for one in sorted(folders) for text in texts]

    async def _look(self, prefixes: Iterable[str]) -> list[HourBlob]:
        found = [
            blob
            for prefix in prefixes
            async for name, size in self.blobs.names(prefix)
            if (blob := hour_blob(name, size)) is not None
        ]
        return sorted(found, key=lambda blob: (blob.begin_s, blob.name))

    async def _read(self, seen: list[HourBlob]) -> AsyncIterator[RecordBatch]:
        hours: defaultdict[int, list[HourBlob]] = defaultdict(list)
        for blob in seen:
            if not self._is_done(blob):
                hours[blob.hour].append(blob)
        for hour in sorted(hours):
            async for stretch in self._merged(hours[hour]):
                yield stretch

    def _is_done(self, blob: HourBlob) -> bool:
        """Return whether there is nothing in a blob that was not read."""
        mark = self._marks(blob).get(blob.slot, ReadMark())
        if self._sizes.get(blob.name) == (blob.size, self._is_settled(blob)):
            return True
        return blob.size == (mark.size if mark.listed or blob.zipped else mark.at)

    def _is_settled(self, blob: HourBlob) -> bool:
        return self.clock() > blob.begin_s + HOUR_S + self.settings.settled_s

    async def _merged(self, blobs: list[HourBlob]) -> AsyncIterator[RecordBatch]:
        """Read blobs side by side: of each one piece is held."""
        cursors = [(blob, self._pieces(blob)) for blob in blobs]
        held: dict[int, BlobPiece] = {}
        for at, (_, cursor) in enumerate(cursors):
            if (piece := await anext(cursor, None)) is not None:
                held[at] = piece
        while held:
            at = min(held, key=lambda one: (_first(held[one]), one))
            blob, cursor = cursors[at]
            yield self._stretch(blob, held.pop(at))
            if (piece := await anext(cursor, None)) is not None:
                held[at] = piece

    async def _pieces(self, blob: HourBlob) -> AsyncIterator[BlobPiece]:
        mark, settled = self._marks(blob).get(blob.slot, ReadMark()), self._is_settled(blob)
        async for piece in read_pieces(self.blobs, blob, mark, settled=settled):
            mark = piece.mark
            yield piece
        if settled and (mark.listed or blob.zipped):
            yield BlobPiece([], replace(mark, size=blob.size))
        self._sizes[blob.name] = (blob.size, settled)

    def _stretch(self, blob: HourBlob, piece: BlobPiece) -> RecordBatch:
        marks = self._marks(blob)
        begin = write_marks(marks)
        marks[blob.slot] = piece.mark
        gaps: list[LogGap] = []
        if piece.replaced:
            where = {"begin_s": blob.begin_s, "end_s": blob.begin_s + HOUR_S}
            gaps = [make_gap(self.cluster, blob.folder, why=piece.replaced, **where)]
        return RecordBatch(self.name, blob.key, begin, write_marks(marks), piece.records, gaps)

    def _marks(self, blob: HourBlob) -> dict[str, ReadMark]:
        return self._days.setdefault(blob.key, {})

    def _miss(self, seen: list[HourBlob]) -> Iterable[RecordBatch]:
        """Say which blobs are gone that could still have grown, by all that there are."""
        there = {(blob.key, blob.slot) for blob in seen}
        for key, marks in sorted(self._days.items()):
            begin = write_marks(marks)
            gone = [slot for slot in sorted(marks) if (key, slot) not in there]
            gaps: list[LogGap] = []
            for slot in gone:
                del marks[slot]
                blob = hour_blob(f"{key}/h={slot.replace('/', '/m=')}/PT1H.json", 0)
                if blob is not None and not self._is_settled(blob):
                    where = {"begin_s": blob.begin_s, "end_s": blob.begin_s + HOUR_S}
                    why = "the blob was removed within two days of its hour"
                    gaps.append(make_gap(self.cluster, blob.folder, why=why, **where))
            if gaps:
                yield RecordBatch(self.name, key, begin, write_marks(marks), (), gaps)

    def _judge(self, seen: list[HourBlob]) -> Iterable[RecordBatch]:
        """Say which hours are missing, by all blobs that there are."""
        folders: defaultdict[str, set[int]] = defaultdict(set)
        for blob in seen:
            folders[blob.folder].add(blob.hour)
        until = int(self.clock() - self.settings.late_s) // HOUR_S
        newest = max((max(hours) for hours in folders.values()), default=0)
        for folder, hours in sorted(folders.items()):
            key = f"gaps:{folder}"
            judged = self._judged.get(key, 0)
            found = find_missing_hours(hours, newest, judged, until)
            if not found:
                continue
            self._judged[key] = found[-1].stop
            why = "no blob, though the hours before and after have one, and each hour has had"
            gaps = [
                make_gap(
                    self.cluster, folder, begin_s=h.start * HOUR_S, end_s=h.stop * HOUR_S, why=why
                )
                for h in found
            ]
            yield RecordBatch(self.name, key, str(judged or ""), str(self._judged[key]), (), gaps)


def _first(piece: BlobPiece) -> bytes:
    """Return the time of the first record of a piece, as it is written."""
    first = next(iter(piece.records), None)
    found = _TIME.search(first.raw[:65_536]) if first else None
    return found[1] if found else b""
