"""Log lines on their way to a file descriptor, without ever holding up a review.

A pipe that nobody reads makes a write block for good. So lines are put in a bounded queue and
one thread writes them, in batches; what cannot be written is counted and dropped. A hard kill
(SIGKILL, the kernel's out-of-memory killer) may lose the last lines as well: the log is a record
for operators, not a ledger.
"""

import os
import threading
import time
from collections import deque

BATCH_SECONDS = 0.02
"""Lines that come within this time of the first share one write."""

_LINGER = 50
"""Batches without a line after which the thread sleeps until it is woken: to wake it takes longer
than to queue a line, and while lines keep coming nobody need do it."""


class LineWriter:
    """Writes lines to a file descriptor. `msg` never blocks and never raises."""

    def __init__(self, descriptor: int = 1, *, max_lines: int = 20_000) -> None:
        self._descriptor = descriptor
        self._max_lines = max_lines
        self._lines: deque[bytes] = deque()
        self._wake = threading.Event()
        self._asleep = True
        self._writing = False
        self._closed = False
        self.dropped = 0
        """Lines that could not be written: the queue was full, or nobody reads."""
        self._thread = threading.Thread(target=self._run, name="log-lines", daemon=True)
        self._thread.start()

    def msg(self, line: bytes | str) -> None:
        """Queue one line, without its end."""
        if self._closed or len(self._lines) >= self._max_lines:
            self.dropped += 1
            return
        self._lines.append(line if isinstance(line, bytes) else line.encode(errors="replace"))
        if self._asleep:
            self._asleep = False
            self._wake.set()

    # The names by which structlog calls a logger.
    debug = info = warning = error = critical = exception = msg

    def flush(self, seconds: float = 1.0) -> bool:
        """Wait until all is written, at most `seconds`; say whether it was."""
        deadline = time.monotonic() + seconds
        while self._lines or self._writing:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.002)
        return True

    def close(self, seconds: float = 1.0) -> bool:
        """Write what waits, as `flush`, and nothing after it: the descriptor may be closed.

        Its number may then be another file's or a connection's, and loggers outlive it.
        """
        written = self.flush(seconds)
        self._closed = True
        self._wake.set()
        self._thread.join(seconds)
        return written

    def _run(self) -> None:
        while not self._closed:
            self._wake.wait()
            self._wake.clear()
            self._write_while_they_come()
            self._asleep = True
            if self._lines:  # Came between the last look and the word that the thread sleeps.
                self._asleep = False
                self._wake.set()

    def _write_while_they_come(self) -> None:
        empty = 0
        while empty < _LINGER and not self._closed:
            time.sleep(BATCH_SECONDS)
            empty = 0 if self._lines else empty + 1
            self._writing = True
            self._write_all()
            self._writing = False

    def _write_all(self) -> None:
        while self._lines and not self._closed:
            batch = [self._lines.popleft() for _ in range(min(len(self._lines), 512))]
            data = memoryview(b"\n".join(batch) + b"\n")
            try:
                while data:
                    data = data[os.write(self._descriptor, data) :]
            except OSError:  # A closed pipe, a full disk: the reviews go on.
                self.dropped += len(batch)
