"""ASGI (asgi.readthedocs.io): its types as our servers use them, and the body of a request."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class ClientGoneError(Exception):
    """The client left before its request was whole; there is nobody to answer."""


async def read_body(receive: Receive, length: int, seconds: float) -> bytes:
    """Return a body of at least `length` bytes.

    Raises:
        TimeoutError: it did not arrive in so many seconds.
        ClientGoneError: the client left.
    """
    body = bytearray()
    async with asyncio.timeout(seconds):
        while len(body) < length:
            message = await receive()
            if message["type"] != "http.request":
                raise ClientGoneError
            body += message["body"]
    return bytes(body)
