"""Reads the body of an ASGI request whose length was checked."""

import asyncio

from audit.ledger.server.requests import Receive


class ClientGoneError(Exception):
    """The client left before its request was whole; there is nobody to answer."""


async def read_body(receive: Receive, length: int, seconds: float) -> bytes:
    """Give a body of at least `length` bytes.

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
