"""One client with one connection that keeps asking a gate: how long each answer takes."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Asking:
    """An open connection to `/validate`."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    port: int

    async def ask(self, review: bytes) -> tuple[float, bytes]:
        """Send a review; give the seconds that the answer took, and its head and body."""
        head = (
            f"POST /validate?timeout=10s HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(review)}\r\n\r\n"
        )
        start = time.perf_counter()
        self.writer.write(head.encode() + review)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        answer += await self.reader.readexactly(length)
        return time.perf_counter() - start, answer


@asynccontextmanager
async def asking(port: int, ca: Path) -> AsyncIterator[Asking]:
    """Connect to a gate."""
    context = ssl.create_default_context(cafile=str(ca))
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    try:
        yield Asking(reader, writer, port)
    finally:
        writer.close()
