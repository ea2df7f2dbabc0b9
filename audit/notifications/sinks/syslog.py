"""Syslog (RFC 5424) over TLS (RFC 5425): each notice one message, whose text is JSON in ASCII.

Syslog has no acknowledgement. What stands for one is the orderly end of a connection: TLS' goodbye
comes after all that was sent, and a server that has not read it all answers it with a reset. So
each batch has a connection of its own. A server need not say goodbye itself (rsyslog with GnuTLS
does not). TCP must have acknowledged all; an end that something in between makes in the server's
place is not told apart.
"""

import errno
import fcntl
import json
import os
import socket
import ssl
import sys
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import msgspec

from audit.notifications.notice import Notice
from audit.notifications.shorter_notice import fit_notice
from audit.notifications.sink import SinkAwayError
from audit.notifications.sinks.own_thread import MOST_S, Deadline, OwnThread
from audit.notifications.sinks.tls_socket import TlsServer
from core.weights.documents.events import Severity
from network.error_texts import describe

MOST_BYTES: Final = 8192
"""Of a message: what receivers should take (RFC 5425, 4.3.1)."""

_FACILITY: Final = 13
"""Log audit."""

_SEVERITY: Final = {Severity.CRITICAL: 2, Severity.HIGH: 3, Severity.MEDIUM: 4, Severity.LOW: 5}
"""Critical, error, warning, notice."""

_MOST_HOST: Final = 255
_LOOK_S: Final = 0.01
_END_S: Final = 2.0
"""How long after its goodbye a server's end is waited for."""
_PIECE: Final = 4096
_TCP_CLOSE: Final = 7
"""Of Linux' states of TCP."""


def syslog_message(notice: Notice) -> bytes:
    """Return a message of RFC 5424: the cluster is its host, the event its MSGID."""
    return fit_notice(notice, _message, MOST_BYTES)


def octet_counted(message: bytes) -> bytes:
    """Return a frame of RFC 5425, 4.3: the length in octets, a space, the message."""
    return b"%d %b" % (len(message), message)


def _message(notice: Notice) -> bytes:
    priority = _FACILITY * 8 + _SEVERITY[notice.severity]
    host = notice.cluster[:_MOST_HOST]
    host = host if host and host.isascii() and host.isprintable() and " " not in host else "-"
    text = json.dumps(msgspec.to_builtins(notice), separators=(",", ":"))
    head = f"<{priority}>1 {notice.time} {host} sallyport - {notice.event.value} -"
    return f"{head} {text}".encode("ascii")


def _end(connection: ssl.SSLSocket, deadline: Deadline) -> None:
    """End a connection, and raise OSError where the server had not read all.

    Its goodbye alone says little: rsyslog says it to whose certificate it refuses, too.
    """
    try:
        connection.unwrap()
    except ssl.SSLEOFError:
        pass  # rsyslog with GnuTLS ends so, in order.
    else:
        connection.settimeout(min(_END_S, deadline.left_s()))
        with suppress(TimeoutError):  # It waits for this side's end.
            while connection.recv(_PIECE):
                pass
    _require_received(connection, deadline)


def _require_received(connection: socket.socket, deadline: Deadline) -> None:
    """Raise where the server ended before all that was sent had come: a reset answers the rest.

    The state of TCP is asked for until all is acknowledged.

    Raises:
        OSError: the server was reset, or does not acknowledge.
    """
    if sys.platform != "linux":
        return
    while True:
        (state,) = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
        if state == _TCP_CLOSE:  # This side has not ended it, so it was reset.
            raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
        if not any(fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4))):
            return
        time.sleep(min(_LOOK_S, deadline.left_s()))


class SyslogSink:
    """Sends to one server."""

    most = 50

    def __init__(self, server: TlsServer) -> None:
        self._server = server
        self._thread = OwnThread()

    def fitting(self, notices: Sequence[Notice]) -> int:
        """Return all; see `Sink`."""
        return len(notices)

    async def send(self, notices: Sequence[Notice]) -> None:
        """Send all in one connection; see `Sink`."""
        frames = b"".join(octet_counted(syslog_message(notice)) for notice in notices)
        await self._thread.run(partial(self._send, frames))

    async def close(self) -> None:
        """Nothing is open between two batches."""
        self._thread.close()

    def _send(self, frames: bytes) -> None:
        server = self._server
        context, deadline = server.context(), Deadline(MOST_S)
        try:
            address = (server.host, server.port)
            with socket.create_connection(address, deadline.left_s()) as plain:
                plain.settimeout(deadline.left_s())
                wrapped = context.wrap_socket(plain, server_hostname=server.host)
                with wrapped:
                    wrapped.settimeout(deadline.left_s())
                    wrapped.sendall(frames)
                    wrapped.settimeout(deadline.left_s())
                    _end(wrapped, deadline)
        except OSError as error:
            raise SinkAwayError(f"{server.host}:{server.port}: {describe(error)}") from None
