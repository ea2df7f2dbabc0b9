"""Clients of a gate: the load, and one connection that sends one review after another.

The load is a closed loop over TLS connections, in a process of its own, on a core of its own.

    python -m bench.load '{"url": …, "ca": …, "seconds": …, "connections": 16, "expect": …}'

prints `{"requests", "seconds", "p50", "p99"}` (seconds) as JSON. Every answer is looked at: one
that does not say what is expected ends the run.
"""

import asyncio
import json
import ssl
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import uvloop

from bench.reviews import USUAL, Pods
from core.kubernetes.pod import decode_pod
from policies.projection.model import encode
from policies.projection.pods import project


class Order(msgspec.Struct):
    """What is to be sent where."""

    url: str
    ca: str
    seconds: float
    expect: dict[str, str]
    """What an answer to a compliant and to a non-compliant review must hold."""
    connections: int = 16
    projected: bool = False
    """Send OPA the projection alone instead of the review."""
    pods: Pods = USUAL


@dataclass
class Load:
    """One run of the load."""

    order: Order
    latencies: list[float] = field(default_factory=list)
    _next: int = 0

    def __post_init__(self) -> None:
        self._messages = self._make_messages()

    async def run(self) -> float:
        """Send until the time is over; give the seconds it took."""
        url = urlsplit(self.order.url)
        context = ssl.create_default_context(cafile=self.order.ca)
        start = time.perf_counter()
        end = start + self.order.seconds
        await asyncio.gather(
            *(
                self._connection(url.hostname or "", url.port or 443, context, end)
                for _ in range(self.order.connections)
            )
        )
        return time.perf_counter() - start

    async def _connection(self, host: str, port: int, context: ssl.SSLContext, end: float) -> None:
        reader, writer = await asyncio.open_connection(host, port, ssl=context)
        while (start := time.perf_counter()) < end:
            message, expected = self._messages[self._next % len(self._messages)]
            self._next += 1
            writer.write(message)
            head = await reader.readuntil(b"\r\n\r\n")
            body = await _read_body(reader, head)
            self.latencies.append(time.perf_counter() - start)
            if b" 200 " not in head[:15] or expected not in body:
                raise SystemExit(f"unexpected answer: {(head + body).decode()[:2000]}")
        writer.close()

    def _make_messages(self) -> list[tuple[bytes, bytes]]:
        url = urlsplit(self.order.url)
        path = url.path + (f"?{url.query}" if url.query else "")
        pods = self.order.pods
        messages = []
        for number in range(pods.distinct):
            body = pods.review(number)
            if self.order.projected:
                body = _project(body)
            head = (
                f"POST {path} HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Type: application/json\r\n"
                f"User-Agent: kube-apiserver-admission\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            expected = self.order.expect["compliant" if pods.is_compliant(number) else "violating"]
            messages.append((head.encode() + body, expected.encode()))
        return messages


async def _read_body(reader: asyncio.StreamReader, head: bytes) -> bytes:
    """Read an answer's body; Go sends one of more than 2 KB in chunks (RFC 9112, 7.1)."""
    length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
    if length:
        return await reader.readexactly(int(length))
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return body


def _project(review: bytes) -> bytes:
    return encode(project(decode_pod(json.dumps(json.loads(review)["request"]["object"]).encode())))


@dataclass(frozen=True)
class ReviewClient:
    """One connection to a gate's `/validate`."""

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
async def review_client(port: int, ca: Path) -> AsyncIterator[ReviewClient]:
    """Connect to a gate."""
    context = ssl.create_default_context(cafile=str(ca))
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    try:
        yield ReviewClient(reader, writer, port)
    finally:
        writer.close()


def main() -> None:
    """Run the order given as the only argument."""
    load = Load(msgspec.json.decode(sys.argv[1], type=Order))
    seconds = uvloop.run(load.run())
    if not load.latencies:
        raise SystemExit(f"no review was answered in {seconds:.1f} s: load for longer")
    ordered = sorted(load.latencies)
    print(
        json.dumps(
            {
                "requests": len(ordered),
                "seconds": seconds,
                "p50": ordered[len(ordered) // 2],
                "p99": ordered[len(ordered) * 99 // 100],
            }
        )
    )


if __name__ == "__main__":
    main()
