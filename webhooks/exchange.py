"""A request that is here to its last byte, and its answer, without ASGI's steps in between.

kube-apiserver's reviews are small, and nearly all come whole with their head. To make ASGI's
scope, events and messages of them took a quarter of the server's own time.
"""

from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from webhooks.asgi import Header, HttpRequest, Reply

_TARGETS = 64
"""Request targets that are remembered; kube-apiserver has two, each with its own timeout."""


Answering = Callable[[HttpRequest], Awaitable[Reply]]


class Exchange(RequestResponseCycle):
    """What uvicorn asks of a request in flight; nothing of it is sent through here."""

    class _NobodyWaits:
        def set(self) -> None:
            """Wake no one: the body was here from the beginning."""

    message_event = _NobodyWaits()  # type: ignore[assignment]

    def __init__(self, *, keep_alive: bool) -> None:
        self.keep_alive = keep_alive
        self.disconnected = False
        self.response_complete = False


@lru_cache(_TARGETS)
def split_target(target: bytes) -> tuple[str, bytes]:
    """Give path and query of a request's target.

    Raises:
        httptools.HttpParserInvalidURLError: it is none.
        UnicodeDecodeError: its path is not ASCII.
    """
    parsed = httptools.parse_url(target)
    return parsed.path.decode("ascii"), parsed.query or b""


def render(reply: Reply, headers: Iterable[Header], *, closes: bool) -> bytes:
    """Give a response's bytes, to be written at once: TLS makes one record of it."""
    parts = [STATUS_LINE[reply.status]]
    for name, value in (*headers, *reply.headers):
        parts += (name, b": ", value, b"\r\n")
    parts.append(b"content-type: application/json\r\n")
    if closes:
        parts.append(b"connection: close\r\n")
    parts.append(b"content-length: %d\r\n\r\n" % len(reply.body))
    parts.append(reply.body)
    return b"".join(parts)
