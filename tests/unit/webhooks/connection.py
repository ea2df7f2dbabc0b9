"""One HTTP connection to a gate, and what comes back on it."""

import asyncio
import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self


@dataclass(frozen=True)
class Answer:
    """One HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def response(self) -> dict[str, Any]:
        """The `response` of an AdmissionReview."""
        return dict(json.loads(self.body)["response"])

    @property
    def closes(self) -> bool:
        """Whether the server asked for a new connection next time."""
        return self.headers.get("connection") == "close"


class Connection:
    """One keep-alive HTTP/1.1 connection, as bare as it can be."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def open(cls, address: tuple[str, int], ca: Path | None) -> Self:
        """Connect; with TLS where a CA is given."""
        context = ssl.create_default_context(cafile=ca) if ca else None
        return cls(*await asyncio.open_connection(*address, ssl=context, limit=2**24))

    async def post(self, path: str, body: bytes, headers: str = "") -> Answer:
        """Send a review and await its answer."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: gate\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n{headers}\r\n"
        )
        return await self.send(head.encode() + body)

    async def get(self, path: str) -> Answer:
        """Send a GET and await its answer."""
        return await self.send(f"GET {path} HTTP/1.1\r\nHost: gate\r\n\r\n".encode())

    async def send(self, raw: bytes) -> Answer:
        """Send bytes and read one response."""
        self.writer.write(raw)
        return await self.read_answer()

    async def read_answer(self) -> Answer:
        """Read one response, of a known length or until the end."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        body = await self.reader.readexactly(int(headers["content-length"]))
        return Answer(int(lines[0].split()[1]), headers, body)

    async def close(self) -> None:
        """Close the connection, whatever its state."""
        self.writer.transport.abort()
        await asyncio.sleep(0)


async def until(true: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110  What changes has no event.
            await asyncio.sleep(0.01)
