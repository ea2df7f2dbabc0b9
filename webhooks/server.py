"""Both listeners in one event loop: TLS for kube-apiserver, plain for probes and Prometheus.

Leaving takes its time, because kube-apiserver does not repeat a POST whose connection was
closed under it: on SIGTERM `/readyz` turns false, so that endpoints are taken out; every answer
asks its client to open the next connection elsewhere; after `drain_seconds` the listener closes
and what is in flight is finished. A second signal ends at once.
"""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from structlog.typing import FilteringBoundLogger

from webhooks.asgi import Application
from webhooks.exchange import Answering
from webhooks.listener import DEFAULT_MAX_BODY_BYTES, Listener, bind, make_config
from webhooks.readiness import Readiness
from webhooks.tls import PairWatcher

EXIT_CLEAN = 0
EXIT_CUT = 1
"""Requests were cut off: by a second signal, or since they did not end in time."""

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True)
class ServerSettings:
    """Where to listen, and how to leave."""

    host: str = "127.0.0.1"
    port: int = 9443
    status_host: str = "127.0.0.1"
    status_port: int = 9080
    drain_seconds: float = 5.0
    """Time for endpoints to be taken out while reviews are still answered; 0 on one machine."""
    finish_seconds: float = 20.0
    """The longest that requests in flight are waited for after that."""
    keep_alive_seconds: int = 120
    """Longer than kube-apiserver's 90 s (Go's IdleConnTimeout), so that it closes first."""


@dataclass(frozen=True)
class Served:
    """What the TLS listener serves."""

    app: Application
    name: str
    """What the log calls it."""
    setting: str
    """What to change where its address is taken."""
    max_body_bytes: int = DEFAULT_MAX_BODY_BYTES
    on_dropped: Callable[[str], None] | None = None
    """Gets the reason for which a connection was cut."""
    answer: Answering | None = None
    """Answers requests that come whole, without ASGI."""
    client_names: frozenset[str] = frozenset()
    """Whom clients' certificates must name, where they must have one; empty: anybody."""


@dataclass(frozen=True)
class Addresses:
    """Where the listeners are."""

    served: tuple[str, int]
    status: tuple[str, int]


class Stop:
    """The request to leave: once to drain, twice to end at once."""

    def __init__(self) -> None:
        self.drain = asyncio.Event()
        self.now = asyncio.Event()

    def ask(self) -> None:
        """Ask to leave; asked again, to leave at once."""
        (self.now if self.drain.is_set() else self.drain).set()


async def serve(  # noqa: PLR0913, PLR0917  The composition root hands over all that it made.
    served: Served,
    status_app: Application,
    settings: ServerSettings,
    pair: PairWatcher,
    readiness: Readiness,
    logger: FilteringBoundLogger,
    *,
    stop: Stop | None = None,
    on_started: Callable[[Addresses], None] | None = None,
) -> int:
    """Serve until asked to leave, by a signal or through `stop`; give the exit status.

    Signals are handled when `stop` is not given. A missing certificate does not keep the
    listeners from starting: `/readyz` says so, and handshakes fail until it is there.

    Raises:
        CannotBindError: an address is taken or wrong.
    """
    pair.look()
    with (
        bind(settings.host, settings.port, served.setting) as bound,
        bind(settings.status_host, settings.status_port, "the status address") as status_bound,
        _signals(stop) as asked,
    ):
        keep_alive = settings.keep_alive_seconds
        listener = Listener(
            make_config(served.app, pair.context, keep_alive),
            bound,
            settings.finish_seconds,
            served.max_body_bytes,
            served.on_dropped,
            served.answer,
            served.client_names,
        )
        status = Listener(make_config(status_app, None, keep_alive), status_bound, 1.0)
        logger = logger.bind(served=served.name)
        run = _Run(listener, status, settings, readiness, logger, asked)
        return await run.until_told(pair, on_started)


async def serve_status(  # noqa: PLR0913, PLR0917  As `serve`.
    app: Application,
    host: str,
    port: int,
    readiness: Readiness,
    logger: FilteringBoundLogger,
    work: Coroutine[Any, Any, None],
) -> int:
    """Serve probes and metrics while `work` goes on, until a signal; give the exit status.

    `work` is cancelled then, and waited for.

    Raises:
        CannotBindError: the address is taken or wrong.
        Exception: what `work` raised.
    """
    with bind(host, port, "the status address") as bound, _signals(None) as asked:
        listener = Listener(make_config(app, None, ServerSettings.keep_alive_seconds), bound, 1.0)
        working = asyncio.create_task(work)
        serving = asyncio.create_task(listener.run_until_told())
        told = asyncio.create_task(asked.drain.wait())
        try:
            await asyncio.wait([working, serving, told], return_when=asyncio.FIRST_COMPLETED)
            _raise_if_failed([working, serving])
        finally:
            readiness.draining = True
            working.cancel()
            told.cancel()
            await asyncio.gather(working, told, return_exceptions=True)
            listener.should_exit = True
            await serving
    logger.info("stopped")
    return EXIT_CLEAN


@contextmanager
def _signals(stop: Stop | None) -> Iterator[Stop]:
    if stop is not None:
        yield stop
        return
    stop, loop = Stop(), asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop.ask)
    try:
        yield stop
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


@dataclass(frozen=True)
class _Run:
    listener: Listener
    status: Listener
    settings: ServerSettings
    readiness: Readiness
    logger: FilteringBoundLogger
    stop: Stop

    async def until_told(
        self, pair: PairWatcher, on_started: Callable[[Addresses], None] | None
    ) -> int:
        watcher = asyncio.create_task(pair.watch())
        servers = [
            asyncio.create_task(self.status.run_until_told()),
            asyncio.create_task(self.listener.run_until_told()),
        ]
        asked = asyncio.create_task(self.stop.drain.wait())
        tasks = [watcher, *servers, asked]
        try:
            await self._started(tasks)
            addresses = Addresses(self.listener.address, self.status.address)
            self.logger.info("listening", address=addresses.served, status=addresses.status)
            if on_started:
                on_started(addresses)
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            _raise_if_failed(tasks)
            await self._drain()
            return await self._end(servers)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _started(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        while not (self.listener.started and self.status.started):
            _raise_if_failed(tasks)
            await asyncio.sleep(0.005)

    async def _drain(self) -> None:
        self.readiness.draining = True
        self.logger.info("draining", seconds=self.settings.drain_seconds)
        await _wait(self.stop.now, self.settings.drain_seconds)

    async def _end(self, servers: list[asyncio.Task[None]]) -> int:
        """End the TLS listener, then the status one, so that probes see it to the end."""
        for listener, task in ((self.listener, servers[1]), (self.status, servers[0])):
            listener.should_exit = True
            hurry = asyncio.create_task(self.stop.now.wait())
            await asyncio.wait([task, hurry], return_when=asyncio.FIRST_COMPLETED)
            hurry.cancel()
            if self.stop.now.is_set():
                listener.force_exit = True
                await task
        cut = self.listener.cut_requests
        self.logger.info("stopped", requests_cut=cut)
        return EXIT_CUT if cut or self.stop.now.is_set() else EXIT_CLEAN


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return


def _raise_if_failed(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        if task.done():
            task.result()
