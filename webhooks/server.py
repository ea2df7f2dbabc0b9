"""The listeners of a process: TLS for kube-apiserver, plain for probes and Prometheus.

Each is one uvicorn server on one socket, that leaves signals alone and ends when it is told to.

Leaving takes its time, because kube-apiserver does not repeat a POST whose connection was
closed under it: on SIGTERM `/readyz` turns false, so that endpoints are taken out; every answer
asks its client to open the next connection elsewhere; after `drain_seconds` the listener closes
and what is in flight is finished. A second signal ends at once.
"""

import asyncio
import signal
import socket
import ssl
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import uvicorn
from structlog.typing import FilteringBoundLogger

from core.base.errors import CannotBindError
from network.asgi import Application
from webhooks.exchange import RequestHandler
from webhooks.limits import MAX_BODY_BYTES, ServerSettings
from webhooks.protocol import AdmissionProtocol, Connections
from webhooks.readiness import Readiness
from webhooks.tls import PairWatcher

CLOSING_SECONDS = 1.0
"""What connections get for TLS's goodbye before they are cut."""

HANDSHAKE_SECONDS = 10.0
"""What a TLS handshake may take; Go's clients give it 10 s as well."""

GOODBYE_SECONDS = 5.0
"""What a client may take to hear its answer to the end, once the connection is to close."""

_TICKS_BETWEEN_SWEEPS = 20
_TICK_SECONDS = 0.1

EXIT_CLEAN = 0
EXIT_CUT = 1
"""Requests were cut off: by a second signal, or since they did not end in time."""

_SIGNALS = (signal.SIGTERM, signal.SIGINT)

FINISH_S = 3.0
"""The longest that requests in flight are waited for at the end."""


def bind(host: str, port: int, setting: str) -> socket.socket:
    """Bind a TCP socket; port 0 takes any that is free.

    Raises:
        CannotBindError: names the address and the setting to change.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        message = f"{host}:{port} is no address to listen on ({error}); change {setting}"
        raise CannotBindError(message) from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        message = f"cannot listen on {host}:{port} ({error.strerror}); change {setting}"
        raise CannotBindError(message) from error
    return bound


def make_config(
    app: Application, context: ssl.SSLContext | None, keep_alive_seconds: int
) -> uvicorn.Config:
    """Return uvicorn's settings: everything that a webhook does not need is off."""
    return uvicorn.Config(
        app,
        http=AdmissionProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=2048,
        timeout_keep_alive=keep_alive_seconds,
        ssl_context_factory=(lambda _config, _default: context) if context else None,
    )


class Listener(uvicorn.Server):
    """A server whose life is in its owner's hands.

    Set `should_exit` to let requests in flight finish within `finish_seconds`; what is then
    still open is cut.
    """

    def __init__(  # noqa: PLR0913, PLR0917  What a listener needs to know of its server.
        self,
        config: uvicorn.Config,
        bound: socket.socket,
        finish_seconds: float,
        max_body_bytes: int = MAX_BODY_BYTES,
        on_dropped: Callable[[str], None] | None = None,
        answer: RequestHandler | None = None,
        client_names: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(config)
        self.server_state: Connections = Connections(max_body_bytes, answer, client_names)
        self.address: tuple[str, int] = bound.getsockname()[:2]
        self.cut_requests = 0
        """Requests that were not finished in time."""
        self._bound = bound
        self._finish_seconds = finish_seconds
        self._on_dropped = on_dropped

    async def run_until_told(self) -> None:
        """Serve until `should_exit`."""
        await self.serve(sockets=[self._bound])

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the owner."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen as uvicorn does, with bounds on how long TLS's own words may take."""
        config = self.config
        if not config.loaded:
            config.load()
        context = config.ssl

        def make_protocol() -> AdmissionProtocol:
            return AdmissionProtocol(config, self.server_state, {})

        server = await asyncio.get_running_loop().create_server(
            make_protocol,
            sock=sockets[0] if sockets else self._bound,
            backlog=config.backlog,
            ssl=context,
            ssl_handshake_timeout=HANDSHAKE_SECONDS if context else None,
            ssl_shutdown_timeout=GOODBYE_SECONDS if context else None,
        )
        self.servers = [server]
        self.started = True

    async def on_tick(self, counter: int) -> bool:
        """Do uvicorn's housekeeping, and close connections whose request never comes."""
        if counter % _TICKS_BETWEEN_SWEEPS == 0:
            now = time.monotonic()
            for connection in list(self.server_state.connections):
                if isinstance(connection, AdmissionProtocol):
                    connection.close_if_stuck(now)
            self.server_state.count_handshakes(now - HANDSHAKE_SECONDS)
            self._tell_of_dropped()
        return await super().on_tick(counter)

    def _tell_of_dropped(self) -> None:
        dropped = self.server_state.dropped
        if self._on_dropped is not None:
            for reason in dropped.elements():
                self._on_dropped(reason)
        dropped.clear()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, let requests finish, say goodbye, cut what is left."""
        for server in self.servers:
            server.close()
        for bound in sockets or []:
            bound.close()
        await asyncio.sleep(0)  # What the kernel already holds is read before "idle" is judged.
        deadline = time.monotonic() + self._finish_seconds
        while self.server_state.tasks and time.monotonic() < deadline and not self.force_exit:
            self._close_idle()
            await asyncio.sleep(_TICK_SECONDS / 10)
        self._close_idle()
        self.cut_requests = len(self.server_state.tasks)
        for task in list(self.server_state.tasks):
            task.cancel()
        deadline = time.monotonic() + CLOSING_SECONDS
        while self.server_state.connections and time.monotonic() < deadline:
            if self.force_exit:
                break
            await asyncio.sleep(_TICK_SECONDS / 10)
        self._cut()

    def _close_idle(self) -> None:
        for connection in list(self.server_state.connections):
            connection.shutdown()

    def _cut(self) -> None:
        for connection in list(self.server_state.connections):
            with suppress(AttributeError):
                connection.transport.abort()


@dataclass(frozen=True)
class ServedApp:
    """What the TLS listener serves."""

    app: Application
    name: str
    """What the log calls it."""
    setting: str
    """What to change where its address is taken."""
    max_body_bytes: int = MAX_BODY_BYTES
    on_dropped: Callable[[str], None] | None = None
    """Gets the reason for which a connection was cut."""
    answer: RequestHandler | None = None
    """Answers requests that come whole, without ASGI."""
    client_names: frozenset[str] = frozenset()
    """Whom clients' certificates must name, where they must have one; empty: anybody."""


@dataclass(frozen=True)
class Addresses:
    """Where the listeners are."""

    served: tuple[str, int]
    status: tuple[str, int]


class StopRequest:
    """The request to leave: once to drain, twice to end at once."""

    def __init__(self) -> None:
        self.drain = asyncio.Event()
        self.now = asyncio.Event()

    def ask(self) -> None:
        """Ask to leave; asked again, to leave at once."""
        (self.now if self.drain.is_set() else self.drain).set()


async def serve(  # noqa: PLR0913, PLR0917  The composition root hands over all that it made.
    served: ServedApp,
    status_app: Application,
    settings: ServerSettings,
    pair: PairWatcher,
    readiness: Readiness,
    logger: FilteringBoundLogger,
    *,
    stop: StopRequest | None = None,
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
        run = _ServerRun(listener, status, settings, readiness, logger, asked)
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
def _signals(stop: StopRequest | None) -> Iterator[StopRequest]:
    if stop is not None:
        yield stop
        return
    stop, loop = StopRequest(), asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop.ask)
    try:
        yield stop
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


@dataclass(frozen=True)
class _ServerRun:
    listener: Listener
    status: Listener
    settings: ServerSettings
    readiness: Readiness
    logger: FilteringBoundLogger
    stop: StopRequest

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


async def serve_side_listener(
    served: ServedApp, host: str, port: int, pair: PairWatcher, logger: FilteringBoundLogger
) -> None:
    """Serve until cancelled; what is in flight then is finished.

    A missing certificate does not keep it from starting: handshakes fail until it is there.

    Raises:
        CannotBindError: the address is taken or wrong.
    """
    pair.look()
    with bind(host, port, served.setting) as bound:
        listener = Listener(
            make_config(served.app, pair.context, ServerSettings.keep_alive_seconds),
            bound,
            FINISH_S,
            served.max_body_bytes,
        )
        watcher = asyncio.create_task(pair.watch())
        serving = asyncio.create_task(listener.run_until_told())
        logger.info("listening", served=served.name, address=bound.getsockname()[:2])
        try:
            ended, _ = await asyncio.wait([watcher, serving], return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            listener.should_exit = True
            watcher.cancel()
            await asyncio.gather(watcher, serving, return_exceptions=True)
