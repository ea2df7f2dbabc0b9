"""Syslog (RFC 5424) over TLS (RFC 5425): each notice one message, whose text is JSON in ASCII.

Syslog has no acknowledgement. What stands for one is the orderly end of a connection: TLS' goodbye
comes after all that was sent, and a server that has not read it all answers it with a reset. So
each batch has a connection of its own. A server need not say goodbye itself (rsyslog with GnuTLS
does not), so an end that something in between makes in its place is not told apart.
"""

import json
import socket
import ssl
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
                    with suppress(ssl.SSLEOFError):  # rsyslog with GnuTLS ends so, in order.
                        wrapped.unwrap()
        except OSError as error:
            raise SinkAwayError(f"{server.host}:{server.port}: {describe(error)}") from None
