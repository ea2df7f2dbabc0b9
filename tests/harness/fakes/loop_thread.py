"""An event loop in a thread of its own: for servers that run whatever a test's own loop does."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

_WAIT_S: Final = 30.0
_Result = TypeVar("_Result")


class LoopThread:
    """Starts once and stops once; no connection is left open behind it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self) -> None:
        """Begin to run what the others give."""
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run work in the loop, and return its result.

        Raises:
            TimeoutError: it takes longer than 30 s.
        """
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_WAIT_S)

    def call(self, function: Callable[[], object]) -> None:
        """Have the loop call a function soon."""
        self._loop.call_soon_threadsafe(function)

    def stop(self) -> None:
        """Close all connections, and end."""
        self.run(self._close_connections())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_WAIT_S)
        self._loop.close()

    async def _close_connections(self) -> None:
        """Close what no server knows of: a TLS handshake that is under way is nobody's yet."""
        for transport in list(self._loop._transports.values()):  # type: ignore[attr-defined] # noqa: SLF001 -- asyncio lists them nowhere else.
            transport.abort()
        await asyncio.sleep(0)  # In which each says goodbye.
