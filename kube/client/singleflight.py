"""Requests to the cluster that are on their way, each sent once for all who wait for it."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from functools import partial
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Answers on their way, by key.

    One who stops waiting stops nobody else. An error is remembered by nobody: each waiter gets it,
    and the next one asks anew.
    """

    def __init__(self) -> None:
        self._asking: dict[K, asyncio.Task[V]] = {}
        self.errors = 0
        """Questions that were not answered."""

    def __contains__(self, key: K) -> bool:
        return key in self._asking

    async def answer(
        self, key: K, ask: Callable[[], Coroutine[Any, Any, V]], *, fresh: bool = False
    ) -> V:
        """Wait for the answer that is on its way, or ask; `fresh` asks in any case.

        Raises:
            Exception: what `ask` raised.
        """
        asking = None if fresh else self._asking.get(key)
        if asking is None:
            asking = asyncio.create_task(ask())
            self._asking[key] = asking
            asking.add_done_callback(partial(self._done, key))
        return await asyncio.shield(asking)

    async def close(self) -> None:
        """Stop all that is being asked."""
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    def _done(self, key: K, task: asyncio.Task[V]) -> None:
        if self._asking.get(key) is task:
            del self._asking[key]
        # Reading the exception also tells asyncio that it was seen when no one waits any more.
        if not task.cancelled() and task.exception() is not None:
            self.errors += 1
