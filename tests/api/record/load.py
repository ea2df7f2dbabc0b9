"""Reviews at a steady rate, each answer noted with its time, through kills and restarts."""

import asyncio
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.harness.load.reviews import pod_review
from tests.harness.programs.recorded_gate import Recorded
from tests.harness.worlds.pods import RESTRICTED

_CONNECTIONS = 8


@dataclass
class Answered:
    """One review that was answered."""

    at: float
    """time.monotonic(), seconds."""
    seconds: float
    """How long the answer took."""
    allowed: bool
    code: int
    """Of the refusal; 0 where it was admitted."""


@dataclass
class Load:
    """Sends reviews until told to stop."""

    target: Recorded
    per_second: float
    namespace: str = "train"
    answers: dict[str, Answered] = field(default_factory=dict)
    """By decision, as 32 hex digits."""
    _stop: threading.Event = field(default_factory=threading.Event)

    async def run(self) -> None:
        """Send from all connections."""
        await asyncio.gather(*(self._connection(number) for number in range(_CONNECTIONS)))

    async def _connection(self, number: int) -> None:
        next_at = time.monotonic() + number / self.per_second
        while not self._stop.is_set():
            with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                next_at = await self._until_broken(next_at)
            await asyncio.sleep(0.02)

    async def _until_broken(self, next_at: float) -> float:
        url = urlsplit(self.target.url)
        context = ssl.create_default_context(cafile=self.target.certificates.ca)
        reader, writer = await asyncio.open_connection(url.hostname, url.port, ssl=context)
        body = pod_review(RESTRICTED.pod(), self.namespace, "alice")
        head = (
            f"POST {url.path}?{url.query} HTTP/1.1\r\nHost: {url.netloc}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        try:
            while not self._stop.is_set():
                next_at = max(next_at, time.monotonic() - 1.0)  # Never more than 1 s to make up.
                await asyncio.sleep(max(0.0, next_at - time.monotonic()))
                next_at += _CONNECTIONS / self.per_second
                began = time.monotonic()
                writer.write(head.encode() + body)
                self._note(await _read(reader), began)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        return next_at

    def _note(self, response: Any, began: float) -> None:
        now = time.monotonic()
        decision = response["auditAnnotations"].get("decision", "")
        code = response.get("status", {}).get("code", 0)
        answer = Answered(now, now - began, response["allowed"], code)
        self.answers[decision.replace("-", "")] = answer

    def stop(self) -> None:
        """Send no more."""
        self._stop.set()

    def between(self, start: float, end: float) -> list[Answered]:
        """Return the answers of a span of time."""
        return [answer for answer in list(self.answers.values()) if start <= answer.at < end]


async def _read(reader: asyncio.StreamReader) -> Any:
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 15)
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    return json.loads(await reader.readexactly(length))["response"]


@contextmanager
def loaded(target: Recorded, per_second: float, namespace: str = "train") -> Iterator[Load]:
    """Load a gate, on a thread of its own, while the context lasts."""
    load = Load(target, per_second, namespace)
    thread = threading.Thread(target=lambda: asyncio.run(load.run()), daemon=True)
    thread.start()
    try:
        yield load
    finally:
        load.stop()
        thread.join(30)
    assert not thread.is_alive()


def wait_until_shipped(target: Recorded, seconds: float, oldest_s: float = 0.0) -> None:
    """Wait until nothing in the gate's spool is older; under load there is always something."""
    deadline = time.monotonic() + seconds
    while target.metric("gate", "sallyport_spool_oldest_seconds") > oldest_s:
        assert time.monotonic() < deadline, "the spool is not empty"
        time.sleep(0.2)
