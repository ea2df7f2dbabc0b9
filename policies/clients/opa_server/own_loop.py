"""An event loop in a thread of its own: connections that outlive whoever asks through them.

An engine is made and tried in one thread and then asked in another's loop
(policies/trial/evaluation.py); aiohttp's connections belong to the loop that they were opened in.
"""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

_T = TypeVar("_T")

_STOP_S: Final = 5.0


class OwnLoop:
    """Runs coroutines in its thread until it is closed."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether it takes no more work."""
        return self._loop.is_closed()

    async def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run it there; to cancel this is to cancel it."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def call(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run it there, and wait in this thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Cancel what runs, and end the thread."""
        if self.closed:
            return
        asyncio.run_coroutine_threadsafe(_cancelled(), self._loop).result(_STOP_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STOP_S)
        self._loop.close()


async def _cancelled() -> None:
    """Cancel every other task of this loop, and wait for its end."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
