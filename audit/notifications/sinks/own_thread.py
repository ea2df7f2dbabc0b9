"""Blocking protocols of sinks: a thread of each sink's own, and one deadline for all that it does.

A thread cannot be cancelled. So what it does ends by itself, before a delivery waits no more, and
nothing is begun before it has: a sink that is slow takes one thread, and is told nothing twice.
"""

import asyncio
import io
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from audit.notifications.sink import SinkAwayError
from audit.notifications.sinks.tls_socket import TIMEOUT_S

Result = TypeVar("Result")

MOST_S: Final = 50.0
"""Of connecting, sending and all answers; less than a delivery waits for one `send`."""


class Deadline:
    """When a `send` must have ended."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left_s(self) -> float:
        """Return how long the next step may take.

        Raises:
            TimeoutError: nothing is left.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return min(left, TIMEOUT_S)


class OwnThread:
    """Runs the work of one sink, one piece at a time."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sink")
        self._last: Future[Any] | None = None

    async def run(self, work: Callable[[], Result]) -> Result:
        """Return what the work returns.

        Raises:
            SinkAwayError: the work before has not ended, although nobody waits for it any more.
        """
        if self._last is not None and not self._last.done():
            raise SinkAwayError("the try before has not ended yet")
        future = self._pool.submit(work)
        self._last = future
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Begin nothing more; what runs ends by its deadline."""
        self._pool.shutdown(wait=False)


class DeadlineReader(io.RawIOBase):
    """Reads a socket for as long as a deadline leaves: who drips single bytes gains no time."""

    def __init__(self, source: socket.socket, deadline: Deadline) -> None:
        self._source = source
        self._deadline = deadline

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read what is there next.

        Raises:
            OSError: as sockets do; a TimeoutError where nothing is left.
        """
        self._source.settimeout(self._deadline.left_s())
        return self._source.recv_into(buffer)
