"""A listener beside other work: it serves until the work ends, and finishes what it began."""

import asyncio
import socket
import ssl
from pathlib import Path

import aiohttp
import pytest
import structlog

from core.base.errors import CannotBindError
from network.asgi import Receive, Scope, Send
from tests.harness.programs.pki import Authority
from tests.harness.programs.ports import free_ports
from webhooks.server import ServedApp, serve_side_listener
from webhooks.tls import PairWatcher, TlsSettings

SLOW_S = 0.3


class SlowApp:
    """Answers 202 after a while."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        """Set by each request that it has."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        del scope, receive
        self.asked.set()
        await asyncio.sleep(SLOW_S)
        await send(
            {"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]}
        )
        await send({"type": "http.response.body", "body": b""})


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """A CA of the test's own."""
    return Authority(tmp_path)


def pair_of(authority: Authority) -> PairWatcher:
    """A serving pair, watched."""
    pair = authority.issue_loopback_server("beside")
    return PairWatcher(TlsSettings(pair.certificate, pair.key), structlog.get_logger())


def serving(authority: Authority, port: int, app: SlowApp) -> asyncio.Task[None]:
    """Begin to serve."""
    served = ServedApp(app, "test", "the test's port")
    work = serve_side_listener(
        served, "127.0.0.1", port, pair_of(authority), structlog.get_logger()
    )
    return asyncio.create_task(work)


async def post(authority: Authority, port: int) -> int:
    """Ask once, as soon as it answers; give the status."""
    context = ssl.create_default_context(cafile=str(authority.certificate_path))
    async with aiohttp.ClientSession() as session:
        for _ in range(100):
            try:
                async with session.post(f"https://127.0.0.1:{port}/", ssl=context) as answer:
                    return answer.status
            except aiohttp.ClientConnectorError:
                await asyncio.sleep(0.02)
    raise AssertionError("it never answered")


async def test_what_is_in_flight_is_finished(authority: Authority) -> None:
    """Whoever was accepted hears so, also when the process is told to leave meanwhile."""
    (port,) = free_ports(1)
    app = SlowApp()
    task = serving(authority, port, app)
    assert await post(authority, port) == 202
    app.asked.clear()
    asked = asyncio.create_task(post(authority, port))
    await app.asked.wait()
    task.cancel()
    assert await asked == 202
    with pytest.raises(asyncio.CancelledError):
        await task
    with socket.socket() as free:
        free.bind(("127.0.0.1", port))


async def test_an_address_that_is_taken_is_named(authority: Authority) -> None:
    """With the setting to change."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(CannotBindError, match="change the test's port"):
            await serving(authority, taken.getsockname()[1], SlowApp())
