"""One uvicorn server on one socket, that leaves signals alone and ends when it is told to."""

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn

from core.base.errors import CannotBindError
from webhooks.asgi import Application
from webhooks.exchange import Answering
from webhooks.protocol import AdmissionProtocol, Connections

CLOSING_SECONDS = 1.0
"""What connections get for TLS's goodbye before they are cut."""

HANDSHAKE_SECONDS = 10.0
"""What a TLS handshake may take; Go's clients give it 10 s as well."""

GOODBYE_SECONDS = 5.0
"""What a client may take to hear its answer to the end, once the connection is to close."""

DEFAULT_MAX_BODY_BYTES = 7 * 1024 * 1024

_TICKS_BETWEEN_SWEEPS = 20
_TICK_SECONDS = 0.1


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
    """Give uvicorn's settings: everything that a webhook does not need is off."""
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
        max_body_bytes: int = DEFAULT_MAX_BODY_BYTES,
        on_dropped: Callable[[str], None] | None = None,
        answer: Answering | None = None,
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
