"""The thread that writes a spool's waiting frames: many frames a write, many writes a sync.

A write that fails in the middle leaves whole frames only, and what it did not take waits for the
next attempt. After a failed fdatasync the kernel may have dropped the pages and say so only once
(PostgreSQL's "fsyncgate", 2018), so what was not synced is written again, into another file.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit.ledger.records.frames import encode_frame
from audit.ledger.spool.backlog import Backlog
from audit.ledger.spool.segments import HEADER, HEADER_BYTES, segment_path, sync_folder

_WRITE_BYTES: Final = 256 * 1024
"""Of one write; a frame that is larger goes alone."""

_UNSYNCED_BYTES: Final = 4 * 1024 * 1024
"""Written and kept in memory as well until it is synced, before its time if it is this much."""


@dataclass(frozen=True)
class WriterPace:
    """How the thread goes about it; seconds."""

    segment_bytes: int
    write_every_s: float
    sync_every_s: float
    retry_every_s: float


class SegmentWriter:
    """Takes frames on one thread and writes them on another."""

    def __init__(
        self,
        folder: Path,
        backlog: Backlog,
        pace: WriterPace,
        on_state: Callable[[OSError | None], None],
    ) -> None:
        self.syncs = 0
        self._folder = folder
        self._backlog = backlog
        self._pace = pace
        self._most = min(_WRITE_BYTES, pace.segment_bytes - HEADER_BYTES)
        self._on_state = on_state
        self._queue: deque[tuple[int, tuple[int, bytes, bytes]]] = deque()
        self._put = self._taken = 0
        # From here on the thread's own.
        self._pending: deque[bytes] = deque()
        self._unsynced: deque[bytes] = deque()
        self._unsynced_bytes = 0
        self._file: int | None = None
        self._number = 0
        self._size = 0
        self._synced_at = 0.0
        self._failing = False
        self._wake = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="spool", daemon=True)

    @property
    def queued(self) -> int:
        """Bytes that wait in memory to be written."""
        return self._put - self._taken

    @property
    def settled(self) -> bool:
        """Whether everything is written and synced."""
        return not self.queued and not self._unsynced_bytes

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def put(self, size: int, parts: tuple[int, bytes, bytes]) -> None:
        """Take a frame of `size` bytes as kind, id and payload, on one thread only; never waits.

        It is put together on this object's thread, where many in a row cost a third of one each.
        """
        self._queue.append((size, parts))
        self._put += size
        if not self._wake.is_set():
            self._wake.set()

    def stop(self, seconds: float) -> bool:
        """Write and sync what waits, and end, or try to; say whether the thread ended in time."""
        self._stopping = True
        self._wake.set()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping:
            self._wake.wait(self._patience())
            self._wake.clear()
            time.sleep(self._pace.write_every_s)  # What comes meanwhile shares the write.
            self._attempt()
        self._attempt()
        self._close()

    def _patience(self) -> float | None:
        if self._failing:
            return self._pace.retry_every_s
        if self._unsynced:
            return max(self._synced_at + self._pace.sync_every_s - time.monotonic(), 0.0)
        return None

    def _attempt(self) -> None:
        try:
            while self._queue or self._pending:
                self._write_some()
                if self._unsynced_bytes >= _UNSYNCED_BYTES:
                    self._sync()
            due = time.monotonic() >= self._synced_at + self._pace.sync_every_s
            if due or self._failing or self._stopping:
                self._sync()
        except OSError as error:
            self._failing = True
            self._close()
            self._on_state(error)
        else:
            self._failing = False
            self._on_state(None)

    def _write_some(self) -> None:
        batch = self._next_batch()
        file = self._file_for(len(batch))
        written, problem = _write(file, batch)
        if not self._note_written(written):
            self._write_again()
            self._close()
        elif problem is not None:
            os.ftruncate(file, self._size)
        if problem is not None:
            raise problem

    def _next_batch(self) -> bytes:
        """Return the next frames in one piece; they stay in `_pending` until they are written."""
        size = 0
        batch: list[bytes] = []
        for frame in self._pending:
            if batch and size + len(frame) > self._most:
                return b"".join(batch)
            batch.append(frame)
            size += len(frame)
        while self._queue and (not batch or size + self._queue[0][0] <= self._most):
            length, parts = self._queue.popleft()
            batch.append(encode_frame(*parts))
            self._pending.append(batch[-1])
            size += length
        return b"".join(batch)

    def _file_for(self, size: int) -> int:
        """Return the segment's descriptor, a new one's where the old one would grow too large."""
        full = self._size + size > self._pace.segment_bytes and self._size > HEADER_BYTES
        if self._file is not None and full:
            self._sync()
            self._close()
        if self._file is None:
            self._file = self._begin()
        return self._file

    def _begin(self) -> int:
        self._number = max(self._number + 1, self._backlog.next_number)
        path = segment_path(self._folder, self._number)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        file = os.open(path, flags, 0o600)
        try:
            _, problem = _write(file, HEADER)
            if problem is not None:
                raise problem
            sync_folder(self._folder)
        except OSError:
            os.close(file)
            path.unlink()
            raise
        self._size = HEADER_BYTES
        self._backlog.begin(self._number)
        return file

    def _note_written(self, written: int) -> bool:
        """Note the whole frames among the bytes written; False says that they lie in vain."""
        whole = 0
        while self._pending and whole + len(self._pending[0]) <= written:
            self._unsynced.append(self._pending.popleft())
            whole += len(self._unsynced[-1])
        self._unsynced_bytes += whole
        self._taken += whole
        self._size += whole
        return self._backlog.grow(self._number, whole)

    def _sync(self) -> None:
        if self._file is None or not self._unsynced:
            return
        try:
            os.fdatasync(self._file)
        except OSError:
            self._write_again()
            raise
        self.syncs += 1
        self._synced_at = time.monotonic()
        self._unsynced.clear()
        self._unsynced_bytes = 0

    def _write_again(self) -> None:
        self._taken -= self._unsynced_bytes
        self._pending.extendleft(reversed(self._unsynced))
        self._unsynced.clear()
        self._unsynced_bytes = 0

    def _close(self) -> None:
        with suppress(OSError):  # What it did not take is written again.
            self._sync()
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None
            self._backlog.finish(self._number)


def _write(file: int, content: bytes) -> tuple[int, OSError | None]:
    """Write all; or give how many bytes were written, and what ended it."""
    written = 0
    try:
        while written < len(content):
            written += os.write(file, memoryview(content)[written:])
    except OSError as error:
        return written, error
    return written, None
