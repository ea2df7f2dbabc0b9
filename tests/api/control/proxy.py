"""A TCP proxy on loopback that can stop forwarding, as a network does that drops everything."""

import asyncio
import contextlib
from types import TracebackType
from typing import Self


class Proxy:
    """Forwards to a port of 127.0.0.1 until `cut`; connections stay open and say nothing then."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._open = asyncio.Event()
        self._open.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def __aenter__(self) -> Self:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Close everything."""
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def cut(self) -> None:
        """Forward nothing any more, either way."""
        self._open.clear()

    def mend(self) -> None:
        """Forward again, also what has waited."""
        self._open.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        upstream = None
        try:
            await self._open.wait()
            far, upstream = await asyncio.open_connection("127.0.0.1", self._target)
            await asyncio.gather(self._pump(reader, upstream), self._pump(far, writer))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for each in (writer, upstream):
                if each:
                    each.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(65536):
            await self._open.wait()
            writer.write(chunk)
            await writer.drain()
        with contextlib.suppress(OSError):
            writer.write_eof() if writer.can_write_eof() else writer.close()
