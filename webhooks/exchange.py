"""One HTTP request and its reply: by ASGI (asgi.readthedocs.io), or whole without it.

kube-apiserver's reviews are small, and nearly all come whole with their head. To make ASGI's
scope, events and messages of them took a quarter of the server's own time. Bodies are read within
a size, a time, and a budget of bytes that all requests of the process share.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Self

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from core.base.deadline import resume
from core.base.errors import InvalidReviewError, ReviewTooLargeError
from core.base.short_text_cache import cache_short_text
from network.asgi import ClientGoneError, Message, Receive, Scope, Send

SMALL_BYTES = 64 * 1024
"""A whole body up to this size is read even when nothing is left: strangers' unfinished bodies
must not keep ordinary reviews out. Each connection holds one at most."""

_MOST_DIGITS = 12

_TARGETS = 64
"""Request targets that are remembered; kube-apiserver has two, each with its own timeout."""

_JSON = (b"content-type", b"application/json")
_CLOSE = (b"connection", b"close")

Header = tuple[bytes, bytes]


class NoRoomError(InvalidReviewError):
    """Too many bodies are held already; the caller may try again."""

    status = 503


class SlowBodyError(InvalidReviewError):
    """The body did not arrive in the time that the caller gave."""

    status = 408


class HttpRequest(msgspec.Struct, frozen=True, gc=False):
    """A request; the names of headers are lower-case."""

    method: str
    path: str
    query: bytes
    headers: Iterable[Header]
    body: bytes | Receive
    """All of it where it came with the head; else from where it will come."""


class Reply(msgspec.Struct, frozen=True, gc=False):
    """A whole HTTP response."""

    status: int
    body: bytes
    headers: tuple[Header, ...] = ()
    closes: bool = False
    """Whether the connection ends with the answer: a body may still be on its way, or the server
    is leaving."""


def request_of(scope: Scope, receive: Receive) -> HttpRequest:
    """Return a request that came by ASGI. Its path is as it came, as `split_target` reads it.

    Were escapes decoded, a proxy in front could let `/%76alidate` by as another path.
    """
    path = scope["raw_path"].decode("ascii")
    return HttpRequest(scope["method"], path, scope["query_string"], scope["headers"], receive)


RequestHandler = Callable[[HttpRequest], Awaitable[Reply]]


def refuse(status: int, message: str, *headers: Header, closes: bool = True) -> Reply:
    """Return a response that is no AdmissionReview, for a person."""
    return Reply(status, msgspec.json.encode({"error": message}), headers, closes)


class BodyBudget:
    """The bytes that may be held, and those that are."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0


class BodyShare:
    """What one request holds of a budget, until the `with` block ends."""

    __slots__ = ("_budget", "_held")

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._held = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._budget.held -= self._held
        self._held = 0

    def take(self, size: int, *, whole: bool) -> None:
        """Hold `size` more bytes; `whole` says that nothing is to come after them.

        Raises:
            NoRoomError: the budget does not allow it.
        """
        budget = self._budget
        held = budget.held + size
        if held > budget.limit and not (whole and self._held + size <= SMALL_BYTES):
            message = f"more than {budget.limit:,} bytes of bodies are being read; try again"
            raise NoRoomError(message)
        budget.held = held
        self._held += size


async def read_body(
    receive: Receive, declared: bytes | None, limit: int, seconds: float, share: BodyShare
) -> bytes:
    """Read a request's body of at most `limit` bytes within `seconds`; `share` holds them.

    Raises:
        ReviewTooLargeError: `declared` (Content-Length) or what came is more.
        SlowBodyError: it took too long.
        NoRoomError: too much is held for others.
        ClientGoneError: the client left.
    """
    # Python refuses to read numbers of thousands of digits, zeros included.
    if declared is not None and (len(declared) > _MOST_DIGITS or int(declared) > limit):
        raise _too_large(limit)
    # A timer costs ten times as much as a body that is there, as nearly all are: it is set
    # only once `receive` has to wait.
    first = receive().__await__()
    try:
        waits_for = next(first)
    except StopIteration as done:
        message: Message = done.value
        if message["type"] == "http.request" and not message.get("more_body", False):
            body: bytes = message["body"]
            take_body(body, limit, share)
            return body
        rest = _read_rest(message, receive, limit, share)
    else:
        rest = _read_all(resume(first, waits_for), receive, limit, share)
    try:
        async with asyncio.timeout(seconds):
            return await rest
    except TimeoutError:
        text = f"the body did not arrive within {seconds:.1f} s"
        raise SlowBodyError(text) from None


def take_body(body: bytes, limit: int, share: BodyShare) -> None:
    """Have `share` hold a body that is here.

    Raises:
        ReviewTooLargeError: it is larger than `limit`.
        NoRoomError: too much is held for others.
    """
    if len(body) > limit:
        raise _too_large(limit)
    share.take(len(body), whole=True)


async def _read_all(
    first: Awaitable[Message], receive: Receive, limit: int, share: BodyShare
) -> bytes:
    return await _read_rest(await first, receive, limit, share)


async def _read_rest(message: Message, receive: Receive, limit: int, share: BodyShare) -> bytes:
    parts, size = [], 0
    while True:
        if message["type"] != "http.request":
            raise ClientGoneError
        more = message.get("more_body", False)
        size += len(message["body"])
        if size > limit:
            raise _too_large(limit)
        share.take(len(message["body"]), whole=not more)
        parts.append(message["body"])
        if not more:
            return b"".join(parts)
        message = await receive()


def _too_large(limit: int) -> ReviewTooLargeError:
    return ReviewTooLargeError(f"the body is larger than {limit:,} bytes, the most that is read")


async def send_reply(reply: Reply, send: Send) -> None:
    """Send a response."""
    headers = [_JSON, (b"content-length", str(len(reply.body)).encode()), *reply.headers]
    if reply.closes:
        headers.append(_CLOSE)
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


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


@cache_short_text(_TARGETS, longest=256)
def split_target(target: bytes) -> tuple[str, bytes]:
    """Return path and query of a request's target, both as they came: escapes stay.

    Raises:
        httptools.HttpParserInvalidURLError: it is none.
        AttributeError: it has no path.
        UnicodeDecodeError: its path is not ASCII.
    """
    parsed = httptools.parse_url(target)
    return parsed.path.decode("ascii"), parsed.query or b""


def render_reply(reply: Reply, headers: Iterable[Header], *, closes: bool) -> bytes:
    """Return a response's bytes, to be written at once: TLS makes one record of it."""
    parts = [STATUS_LINE[reply.status]]
    for name, value in (*headers, *reply.headers):
        parts += (name, b": ", value, b"\r\n")
    parts.append(b"content-type: application/json\r\n")
    if closes:
        parts.append(b"connection: close\r\n")
    parts.append(b"content-length: %d\r\n\r\n" % len(reply.body))
    parts.append(reply.body)
    return b"".join(parts)
