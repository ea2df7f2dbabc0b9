"""The few words of ASGI (asgi.readthedocs.io) that the admission routes speak themselves."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

import msgspec

from core.base.deadline import resume
from core.base.errors import InvalidReviewError, ReviewTooLargeError
from webhooks.bodies import BodyShare

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_JSON = (b"content-type", b"application/json")
_CLOSE = (b"connection", b"close")


class ClientGoneError(Exception):
    """The client left before its request was whole; there is nobody to answer."""


class SlowBodyError(InvalidReviewError):
    """The body did not arrive in the time that the caller gave."""

    status = 408


Header = tuple[bytes, bytes]


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


def refuse(status: int, message: str, *headers: Header, closes: bool = True) -> Reply:
    """Give a response that is no AdmissionReview, for a person."""
    return Reply(status, msgspec.json.encode({"error": message}), headers, closes)


_MOST_DIGITS = 12


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
