"""TCP on loopback as a cluster's network does it: a Service's choice, and links that can be cut.

Nothing is made better than it is there: no connection is tried at a second gate, and one that was
open stays with its gate. It runs in a thread of its own, whatever the test's loop does.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from tests.harness.fakes.loop_thread import LoopThread

_CHUNK: Final = 65536
_BACKLOG: Final = 1024


@dataclass(eq=False)
class Link:
    """The way to one program's port."""

    port: int
    carried: int = 0
    """Connections so far."""
    _open: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        """Begin whole."""
        self._open.set()

    @property
    def whole(self) -> bool:
        """Whether bytes get through."""
        return self._open.is_set()


class Switchboard:
    """Listens on ports of loopback, and forwards each connection over the link that is chosen."""

    def __init__(self) -> None:
        self._loop = LoopThread()
        self._tasks: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.Server] = []

    def __enter__(self) -> Self:
        """Begin."""
        self._loop.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Close everything."""
        self._loop.run(self._stop())
        self._loop.stop()

    def listen(self, choose: Callable[[], Link | None]) -> int:
        """Take connections on a free port, which is given back.

        `choose` is asked for each: where it gives none, the connection is refused.
        """
        return self._loop.run(self._listen(choose))

    def lead(self, link: Link) -> int:
        """Take connections on a free port, which is given back, all of them for one link."""
        return self.listen(lambda: link)

    def cut(self, link: Link) -> None:
        """Let nothing more through, either way: no error, no end, as if packets vanished."""
        self._loop.call(link._open.clear)  # noqa: SLF001 -- its own loop's

    def mend(self, link: Link) -> None:
        """Let all through again, also what has waited."""
        self._loop.call(link._open.set)  # noqa: SLF001 -- its own loop's

    async def _listen(self, choose: Callable[[], Link | None]) -> int:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._serve(choose(), reader, writer)

        server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=_BACKLOG)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def _serve(
        self, link: Link | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        upstream = None
        try:
            if link is not None:
                link.carried += 1
                await link._open.wait()  # noqa: SLF001
                far, upstream = await asyncio.open_connection("127.0.0.1", link.port)
                await asyncio.gather(
                    _pump(link, reader, upstream),
                    _pump(link, far, writer),
                )
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for each in (writer, upstream):
                if each:
                    each.transport.abort()

    async def _stop(self) -> None:
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _pump(link: Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(_CHUNK):
        await link._open.wait()  # noqa: SLF001
        writer.write(chunk)
        await writer.drain()
    with contextlib.suppress(OSError):
        writer.write_eof() if writer.can_write_eof() else writer.close()
