"""Merges several sources into one; a source that fails is begun anew, and the others go on."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Final

from audit.access.model.batch import LogSource, RecordBatch
from core.base.errors import SourceError

AGAIN_S: Final = 10.0
"""After which a source that failed is begun anew."""

IDLE_S: Final = 5.0
"""After which None says that nothing came."""

_AHEAD: Final = 2
"""Stretches that are read ahead."""


class SourceMerger:
    """Sources, and how they are doing."""

    def __init__(
        self,
        sources: Sequence[LogSource],
        places: Callable[[], Awaitable[Mapping[str, str]]],
        *,
        again_s: float | None = AGAIN_S,
        idle_s: float = IDLE_S,
    ) -> None:
        """Note the sources; without `again_s`, one that fails ends it all."""
        self.problems: dict[str, str] = {}
        """By source: why it cannot be read now."""
        self._sources = sources
        self._places = places
        self._again_s = again_s
        self._idle_s = idle_s

    async def stretches(self) -> AsyncGenerator[RecordBatch | None, None]:
        """Yield what they bring, until all have ended.

        Raises:
            SourceError: one cannot be read, and is not begun anew.
        """
        queue: asyncio.Queue[RecordBatch | None] = asyncio.Queue(_AHEAD)
        tasks = [asyncio.create_task(self._pump(source, queue)) for source in self._sources]
        try:
            while not queue.empty() or not all(task.done() for task in tasks):
                yield await self._next(queue, tasks)
            for task in tasks:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _next(
        self, queue: "asyncio.Queue[RecordBatch | None]", tasks: "Sequence[asyncio.Task[None]]"
    ) -> RecordBatch | None:
        for task in tasks:
            if task.done():
                task.result()
        try:
            return await asyncio.wait_for(queue.get(), self._idle_s)
        except TimeoutError:
            return None

    async def _pump(self, source: LogSource, queue: "asyncio.Queue[RecordBatch | None]") -> None:
        while True:
            try:
                async with aclosing(source.stretches(await self._places())) as stretches:
                    async for stretch in stretches:
                        self.problems.pop(source.name, None)
                        await queue.put(stretch)
            except SourceError as error:
                if self._again_s is None:
                    raise
                self.problems[source.name] = str(error)
                await asyncio.sleep(self._again_s)
                continue
            await queue.put(None)  # Whoever waits looks whether this was the last.
            return
