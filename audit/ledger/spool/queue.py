"""The spool's queue: append-only, local, on disk, between the reviews and the auditor."""

import errno
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit.ledger.records.frames import frame_length
from audit.ledger.spool.backlog import Backlog, FrameBatch
from audit.ledger.spool.segments import lock_folder
from audit.ledger.spool.writer import SegmentWriter, WriterPace
from core.base.errors import LedgerError, NotRecordedError
from core.base.recent_growth import RecentGrowth, seconds_left

_MIB: Final = 1024 * 1024
_RETRY_S: Final = 0.5
_ORDINARY_BYTES: Final = 8 * 1024
"""Of a decision's frame."""

_RATE_S: Final = 600.0
_SAMPLE_S: Final = 10.0
"""What a rate is of: gangs of thousands of Pods come within seconds."""


@dataclass(frozen=True)
class SpoolSettings:
    """Sizes in bytes, times in seconds."""

    max_bytes: int = 1024 * _MIB
    """The most that the spool holds, on disk and in memory, at least four segments. What is set
    aside as damaged is not counted."""
    segment_bytes: int = 8 * _MIB
    """Of one file; a frame that is larger has one of its own."""
    write_every_s: float = 0.01
    sync_every_s: float = 0.05
    max_queued_bytes: int = 32 * _MIB
    """The most that waits in memory while the disk does not take it."""

    def __post_init__(self) -> None:
        if self.max_bytes < 4 * self.segment_bytes:
            message = f"a spool of {self.max_bytes} bytes is no place for four segments"
            raise ValueError(message)


@dataclass(frozen=True)
class SpoolStatus:
    """A spool at one moment; totals are since it was opened."""

    bytes: int
    """Held, on disk and in memory."""
    max_bytes: int
    appended: int
    """Frames taken."""
    refused: int
    """Frames not taken."""
    acknowledged: int
    """Frames, also of former processes."""
    unacknowledged_bytes: int
    oldest_age_s: float
    """Since the oldest unacknowledged frame was written; 0 where there is none."""
    full: str
    """Why no frame is taken; empty while they are."""
    syncs: int
    damaged: int = 0
    """Damages found, each of which had a segment set aside or everything sent again."""
    taken_bytes: int = 0
    """Of all frames taken."""
    seconds_left: float | None = None
    """How long there is room at the rate of the last minutes if none is acknowledged; None: no
    frame was taken in them, or too little is known."""


def _nothing(_: str) -> None: ...


class Spool:
    """One process's spool in one folder.

    Lost with a killed process: the frames of the last `write_every_s`, and of the time that a
    running sync takes. Lost with a node: those of the last `sync_every_s`, and of that sync.
    Otherwise each frame is read until it is acknowledged, seldom more than once.
    """

    def __init__(
        self,
        folder: Path,
        settings: SpoolSettings | None = None,
        on_trouble: Callable[[str], None] = _nothing,
        on_damage: Callable[[str], None] = _nothing,
    ) -> None:
        """Take `folder`, once it is opened; both callbacks may be called on any thread.

        `on_trouble` gets the reason when frames are no longer taken, and an empty text when they
        are again; `on_damage` gets what was found broken, and what became of it.
        """
        self.folder = folder
        self._settings = settings or SpoolSettings()
        self._on_trouble = on_trouble
        self._on_damage = on_damage
        self._appended = self._refused = self._taken_bytes = 0
        self._growth = RecentGrowth(_RATE_S, _SAMPLE_S)
        self._closed = f"the spool {folder} is not open"
        self._failure = self._full = ""
        self._settling = threading.RLock()
        self._no_space = (
            f"the spool {folder} holds {self._settings.max_bytes:,} bytes, the most that it may: "
            "the auditor has not taken them"
        )
        self._too_slow = (
            f"the spool {folder} does not take what waits in memory: its disk hangs, or is too slow"
        )

    def open(self) -> None:
        """Take the folder for this process, recover what is in it, and start to write.

        Raises:
            LedgerError: another process has it, or it cannot be used.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = lock_folder(self.folder)
        except OSError as error:
            raise _unusable(self.folder, error) from error
        try:
            self._backlog = Backlog(self.folder, self._on_damage)
        except OSError as error:
            os.close(self._lock)
            raise _unusable(self.folder, error) from error
        settings = self._settings
        pace = WriterPace(
            settings.segment_bytes, settings.write_every_s, settings.sync_every_s, _RETRY_S
        )
        self._writer = SegmentWriter(self.folder, self._backlog, pace, self._note_state)
        self._closed = ""
        self._writer.start()

    def close(self, seconds: float = 5.0) -> int:
        """Write and sync what waits; give how many bytes could not be, in that time."""
        self._closed = f"the spool {self.folder} is closed"
        if self._writer.stop(seconds):  # A thread that hangs may still write: it keeps the lock.
            os.close(self._lock)
        return self._writer.queued

    def append(self, kind: int, frame_id: bytes, payload: bytes) -> None:
        """Take a frame, on the event loop's thread; never waits for the disk.

        Raises:
            NotRecordedError: it is not taken: the spool is full, or its disk is, or fails.
        """
        try:
            size = frame_length(frame_id, payload)
        except ValueError as error:
            self._refused += 1
            raise NotRecordedError(str(error)) from None
        if reason := self._closed or self._settle(size):
            self._refused += 1
            raise NotRecordedError(reason)
        self._writer.put(size, (kind, frame_id, payload))
        self._appended += 1
        self._taken_bytes += size
        self._growth.add(time.monotonic(), self._taken_bytes)

    def check(self) -> None:
        """Check that an ordinary frame would be taken now. Takes none.

        Raises:
            NotRecordedError: it would not be: the spool is full, or its disk is, or fails.
        """
        if reason := self._closed or self._shortage(_ORDINARY_BYTES):
            raise NotRecordedError(reason)

    @property
    def has_unread(self) -> bool:
        """Whether frames are written that are not acknowledged; at once, from memory."""
        return self._backlog.unacknowledged > 0

    def read(self, max_bytes: int, max_frames: int) -> FrameBatch:
        """Return the frames after those that are acknowledged; none where nothing waits.

        Raises:
            LedgerError: the files cannot be read now.
        """
        return self._backlog.read(max_bytes, max_frames)

    def acknowledge(self, batch: FrameBatch) -> None:
        """Forget the frames of a batch: they are kept elsewhere."""
        self._backlog.acknowledge(batch)
        self._settle(0)

    @property
    def fill(self) -> float:
        """How much of what the spool may hold it holds: 1 where it is full."""
        return self.held_bytes / self._settings.max_bytes

    @property
    def max_bytes(self) -> int:
        """The most that the spool holds."""
        return self._settings.max_bytes

    @property
    def held_bytes(self) -> int:
        """What the spool holds, on disk and in memory."""
        return self._backlog.stored + self._writer.queued

    @property
    def freed_bytes(self) -> int:
        """What it held and no longer does, since it was opened."""
        return self._backlog.freed

    @property
    def settled(self) -> bool:
        """Whether all that was appended is written and synced."""
        return self._writer.settled

    def status(self) -> SpoolStatus:
        """Return the state of now, from any thread."""
        backlog, writer = self._backlog, self._writer
        self._growth.add(time.monotonic(), self._taken_bytes)
        room = self._settings.max_bytes - self.held_bytes
        return SpoolStatus(
            bytes=self.held_bytes,
            max_bytes=self._settings.max_bytes,
            appended=self._appended,
            refused=self._refused,
            acknowledged=backlog.acknowledged,
            unacknowledged_bytes=backlog.unacknowledged + writer.queued,
            oldest_age_s=backlog.oldest_age,
            full=self._settle(0),
            syncs=writer.syncs,
            taken_bytes=self._taken_bytes,
            seconds_left=seconds_left(room, self._growth.per_second(_RATE_S)),
            damaged=backlog.damaged,
        )

    def _note_state(self, failure: OSError | None) -> None:
        """Take the outcome of the writer's last attempt, on its thread."""
        if failure is None:
            self._failure = ""
        else:
            problem = os.strerror(failure.errno or errno.EIO)
            self._failure = f"the spool {self.folder} cannot be written: {problem}; see to its disk"
        self._settle(0)

    def _settle(self, size: int) -> str:
        """Return why `size` more bytes are not taken, and tell when that changes."""
        reason = self._shortage(size)
        if reason != self._full:
            with self._settling:
                reason = self._shortage(size)
                if reason != self._full:
                    self._full = reason
                    self._on_trouble(reason)
        return reason

    def _shortage(self, size: int) -> str:
        """Say what lacks for `size` more bytes. Once it is full, a spool needs some slack."""
        settings, queued, was = self._settings, self._writer.queued, self._full
        if self._failure:
            return self._failure
        most = settings.max_bytes - (settings.segment_bytes if was == self._no_space else 0)
        if self._backlog.stored + queued + size > most:
            return self._no_space
        most = settings.max_queued_bytes // (2 if was == self._too_slow else 1)
        return self._too_slow if queued + size > most else ""


def _unusable(folder: Path, error: OSError) -> LedgerError:
    return LedgerError(f"the spool {folder} cannot be used: {error.strerror}; set spool.folder")
