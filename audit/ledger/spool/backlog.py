"""What is written in a spool and not acknowledged: read in order, given up once acknowledged.

Its age is known without noting a time for each frame.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit.ledger.records.frames import DamagedFrameError, Frame
from audit.ledger.spool.segments import (
    HEADER_BYTES,
    SpoolPosition,
    cut_tail,
    list_segments,
    read_cursor,
    read_segment,
    segment_path,
    write_cursor,
)

_EVERY_S: Final = 1.0
_MOST: Final = 4096
"""Marks kept: about 0.5 MB. Beyond it neighbours become one, and ages a little coarser."""


class FrameAges:
    """Marks: up to this position, frames were written from this time on. Times are monotonic."""

    def __init__(self) -> None:
        self._marks: deque[tuple[SpoolPosition, float]] = deque()

    def __len__(self) -> int:
        return len(self._marks)

    def add(self, end: SpoolPosition, now: float) -> None:
        """Note that frames up to `end` were written now."""
        if self._marks and now - self._marks[-1][1] < _EVERY_S:
            _, now = self._marks.pop()
        self._marks.append((end, now))
        if len(self._marks) > _MOST:
            pairs = list(self._marks)
            self._marks = deque(
                (end, since) for (_, since), (end, _) in zip(pairs[::2], pairs[1::2], strict=False)
            )
            if len(pairs) % 2:
                self._marks.append(pairs[-1])

    def forget(self, position: SpoolPosition) -> None:
        """Forget the marks up to a position."""
        while self._marks and self._marks[0][0] <= position:
            self._marks.popleft()

    def oldest(self, position: SpoolPosition, now: float) -> float:
        """Return the age of the first frame after a position, in seconds; 0 where there is none."""
        for end, since in self._marks:
            if end > position:
                return max(now - since, 0.0)
        return 0.0


@dataclass(frozen=True)
class FrameBatch:
    """Frames that follow what is acknowledged."""

    frames: tuple[Frame, ...]
    start: SpoolPosition
    end: SpoolPosition

    @property
    def size(self) -> int:
        """Bytes in the segment's file."""
        return self.end.offset - self.start.offset


@dataclass(slots=True)
class _Segment:
    number: int
    stored: int
    """Bytes on disk."""
    end: int
    """Offset after the last frame that can be read."""
    closed: bool
    damaged: bool = False


class Backlog:
    """The segments of one spool. One thread writes, another reads and acknowledges."""

    def __init__(self, folder: Path, on_damage: Callable[[str], None]) -> None:
        """Take up what a former process left; say what of it is unfinished or damaged.

        Raises:
            OSError: the folder cannot be read.
        """
        self.stored = 0
        """Bytes of all segments."""
        self.freed = 0
        """Bytes of segments that are gone, since the beginning; the oldest go first."""
        self.damaged = 0
        """Damages found since the beginning."""
        self.acknowledged = 0
        """Frames, since the beginning."""
        self._folder = folder
        self._on_damage = on_damage
        self._segments: dict[int, _Segment] = {}
        self._lock = threading.Lock()
        self._one_reader = threading.Lock()
        self._ages = FrameAges()
        self._position = self._recover_cursor()
        self.next_number = self._recover_segments()
        """Of the next segment: higher than any before, also those that are gone."""
        self._retire()

    def _recover_cursor(self) -> SpoolPosition:
        try:
            return read_cursor(self._folder) or SpoolPosition(0, 0)
        except (ValueError, OSError):
            self._tell(f"the cursor of {self._folder} cannot be read: all that is there goes again")
            return SpoolPosition(0, 0)

    def _recover_segments(self) -> int:
        sizes, highest = list_segments(self._folder)
        if sizes:
            last = max(sizes)
            if cut := cut_tail(segment_path(self._folder, last)):
                self._on_damage(
                    f"an unfinished frame of {cut} bytes was cut off {self._name(last)}"
                )
            sizes, _ = list_segments(self._folder)
        for number, size in sizes.items():
            segment = _Segment(number, size, max(size, HEADER_BYTES), closed=True)
            self._segments[number] = segment
            self.stored += size
            if size < HEADER_BYTES:
                self._give_up(segment, HEADER_BYTES, "the header is cut short")
            written = segment_path(self._folder, number).stat().st_mtime
            self._ages.add(SpoolPosition(number, size), time.monotonic() - (time.time() - written))
        at = self._segments.get(self._position.segment)
        if at is not None and self._position.offset > at.end:
            self._position = SpoolPosition(at.number, HEADER_BYTES)
        return max(highest, self._position.segment) + 1

    def begin(self, number: int) -> None:
        """Note a new segment, which has its header."""
        with self._lock:
            self._segments[number] = _Segment(number, HEADER_BYTES, HEADER_BYTES, closed=False)
            self.stored += HEADER_BYTES

    def grow(self, number: int, size: int) -> bool:
        """Note whole frames of `size` bytes that were written to a segment.

        False says that it was found damaged meanwhile: they belong into another.
        """
        with self._lock:
            segment = self._segments[number]
            segment.stored += size
            self.stored += size
            if not segment.damaged:
                segment.end += size
                self._ages.add(SpoolPosition(number, segment.end), time.monotonic())
            return not segment.damaged

    def finish(self, number: int) -> None:
        """Note that nothing more is written to a segment."""
        with self._lock:
            self._segments[number].closed = True
        self._retire()

    @property
    def unacknowledged(self) -> int:
        """Bytes that are written and not acknowledged."""
        with self._lock:
            return sum(one.end - self._begin_of(one) for one in self._segments.values())

    @property
    def oldest_age(self) -> float:
        """Seconds since the oldest frame that is not acknowledged was written."""
        with self._lock:
            if (first := self._first_unread()) is None:
                return 0.0
            begin = SpoolPosition(first.number, self._begin_of(first))
            return self._ages.oldest(begin, time.monotonic())

    def read(self, max_bytes: int, max_frames: int) -> FrameBatch:
        """Return the frames that follow what is acknowledged; none where nothing waits.

        A batch is of one segment. A frame that is larger than `max_bytes` comes alone.

        Raises:
            LedgerError: a segment cannot be opened now.
        """
        with self._one_reader:
            while True:
                with self._lock:
                    segment = self._first_unread()
                    if segment is None:
                        return FrameBatch((), self._position, self._position)
                    start = SpoolPosition(segment.number, self._begin_of(segment))
                path = segment_path(self._folder, segment.number)
                try:
                    frames, end = read_segment(
                        path, start.offset, segment.end, max_bytes, max_frames
                    )
                except DamagedFrameError as error:
                    self._give_up(segment, start.offset, str(error))
                else:
                    return FrameBatch(tuple(frames), start, SpoolPosition(segment.number, end))

    def acknowledge(self, batch: FrameBatch) -> None:
        """Forget frames that were delivered, and the segments that hold no others.

        A batch that was acknowledged before is let pass.
        """
        with self._one_reader:
            if batch.end <= self._position:
                return
            # A full disk: what is retired makes room, and an old cursor only has frames sent again.
            with suppress(OSError):
                write_cursor(self._folder, batch.end)
            with self._lock:
                self._position = batch.end
                self._ages.forget(batch.end)
            self.acknowledged += len(batch.frames)
            self._retire()

    def _first_unread(self) -> _Segment | None:
        unread = (one for one in self._segments.values() if self._begin_of(one) < one.end)
        return next(unread, None)

    def _begin_of(self, segment: _Segment) -> int:
        """Return the offset of a segment's first frame that is not acknowledged."""
        if segment.number < self._position.segment:
            return segment.end
        if segment.number == self._position.segment:
            return min(max(self._position.offset, HEADER_BYTES), segment.end)
        return min(HEADER_BYTES, segment.end)

    def _give_up(self, segment: _Segment, offset: int, problem: str) -> None:
        """Let what follows `offset` in a segment be; the file is set aside, not deleted."""
        lost = segment.end - offset
        with self._lock:
            segment.end = offset
            segment.damaged = True
        self._tell(
            f"{self._name(segment.number)} is damaged ({problem}): its last {lost} bytes are not "
            "sent; the file is set aside with the suffix .damaged"
        )
        self._retire()

    def _retire(self) -> None:
        """Remove the segments in which nothing waits any more."""
        with self._lock:
            done = [
                one
                for one in self._segments.values()
                if one.closed and self._begin_of(one) >= one.end
            ]
            for segment in done:
                del self._segments[segment.number]
                self.freed += segment.stored
                self.stored -= segment.stored
        for segment in done:
            path = segment_path(self._folder, segment.number)
            try:
                if segment.damaged:
                    path.rename(segment_path(self._folder, segment.number, "damaged"))
                else:
                    path.unlink(missing_ok=True)
            except OSError as error:
                self._on_damage(
                    f"{path.name} of {self._folder} cannot be removed: {error.strerror}"
                )

    def _tell(self, what: str) -> None:
        self.damaged += 1
        self._on_damage(what)

    def _name(self, number: int) -> str:
        return f"segment {number} of the spool {self._folder}"
