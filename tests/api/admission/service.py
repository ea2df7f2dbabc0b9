"""A Service in miniature: new connections go to gates that are ready, open ones stay."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count

from tests.harness.programs.gate import Gate

_LOOK_EVERY_S = 0.1
"""How soon a gate that is no longer ready gets no new connection; kube-proxy takes longer."""


class Service:
    """Passes TCP connections on, as kube-proxy does: it reads nothing of what is in them."""

    def __init__(self, gates: list[Gate]) -> None:
        self.gates = gates
        self.port = 0
        self._ready: Sequence[Gate] = tuple(gates)
        self._turn = count()
        self._passing: set[asyncio.Task[None]] = set()

    async def look(self) -> None:
        """Keep the list of ready gates."""
        while True:
            gates = list(self.gates)
            answers = [await asyncio.to_thread(gate.ready) for gate in gates]
            self._ready = [g for g, ready in zip(gates, answers, strict=True) if ready]
            await asyncio.sleep(_LOOK_EVERY_S)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one connection on to the next ready gate."""
        task = asyncio.current_task()
        assert task is not None
        self._passing.add(task)
        task.add_done_callback(self._passing.discard)
        writers = [writer]
        try:
            await self._pass(reader, writers)
        except (OSError, asyncio.CancelledError):
            for each in writers:
                each.transport.abort()

    async def _pass(
        self, reader: asyncio.StreamReader, writers: list[asyncio.StreamWriter]
    ) -> None:
        """Pass it on; `writers` holds the one to the client, and then the one to the gate."""
        if not self._ready:
            writers[0].close()
            return
        gate = self._ready[next(self._turn) % len(self._ready)]
        there, back = await asyncio.open_connection("127.0.0.1", gate.port)
        writers.append(back)
        await asyncio.gather(_pipe(reader, back), _pipe(there, writers[0]))

    async def end(self) -> None:
        """Break what is still open; an event loop that ends would leave it to the collector."""
        for task in self._passing:
            task.cancel()
        await asyncio.gather(*self._passing)


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def serving(gates: list[Gate]) -> AsyncIterator[Service]:
    """Run a Service for these gates; the list may change while it runs."""
    service = Service(gates)
    server = await asyncio.start_server(service.accept, "127.0.0.1", 0)
    service.port = server.sockets[0].getsockname()[1]
    looking = asyncio.create_task(service.look())
    try:
        yield service
    finally:
        looking.cancel()
        server.close()
        await service.end()
