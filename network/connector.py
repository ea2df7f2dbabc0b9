"""The pool of connections to one server, which leaves no socket behind when it is closed."""

import asyncio
import socket
import ssl
from contextlib import suppress
from typing import Final
from weakref import WeakSet

import aiohttp

CLOSE_S: Final = 1.0
"""Seconds that closing waits at most. A socket that is shut down takes a few turns of the loop."""

_POLL_S: Final = 0.001


class Connector(aiohttp.TCPConnector):
    """As aiohttp's; `close` returns when every socket is closed.

    A TLS connection that cannot be used again (a watch that was cancelled, a request whose time
    was up) is no longer the pool's: asyncio is told to close it, which takes until the peer has
    said goodbye, or 30 seconds (`ssl_shutdown_timeout`), and aiohttp's `close` does not wait for
    it. Where the event loop ends before, the socket is left to the garbage collector.
    https://docs.aiohttp.org/en/stable/client_advanced.html#graceful-shutdown
    """

    def __init__(self, context: ssl.SSLContext, limit: int) -> None:
        """Take the TLS context and how many connections there may be at once."""
        super().__init__(ssl=context, limit=limit, socket_factory=self._make_socket)
        self._sockets: WeakSet[socket.socket] = WeakSet()

    def _make_socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, _ = address
        made = socket.socket(family, kind, protocol)
        self._sockets.add(made)
        return made

    async def close(self, *, abort_ssl: bool = False) -> None:
        """Close every connection, also those that wait for the peer's goodbye."""
        await super().close(abort_ssl=abort_ssl)
        for each in self._open():
            with suppress(OSError):  # The peer may have closed it.
                each.shutdown(socket.SHUT_RDWR)
        deadline = self._loop.time() + CLOSE_S
        while self._open() and self._loop.time() < deadline:  # noqa: ASYNC110  It has no event.
            await asyncio.sleep(_POLL_S)

    def _open(self) -> list[socket.socket]:
        return [each for each in self._sockets if each.fileno() != -1]
