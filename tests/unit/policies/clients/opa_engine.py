"""An engine on an OPA server, and what is asked of both."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import aiohttp

from core.sandbox.decision import Signal
from policies.bundle.format import Bundle
from policies.clients.opa_server.engine import OpaServerEngine
from policies.engine.embedded_engine import EvaluationLimits
from policies.engine.entry_points import CANARY_CONTEXT
from policies.engine.interface import PolicyAnswer
from policies.engine.opa_endpoint import OpaServer
from tests.harness.programs.opa_server import OpaProgram

TRIGGER = b'{"os":"trigger","containers":[]}'
LIMITS = EvaluationLimits(seconds=5.0)
FOUND = Signal("sandbox/acme/x", "spec", "v")


@contextmanager
def engine_on(
    bundle: Bundle, server: OpaServer, limits: EvaluationLimits = LIMITS
) -> Iterator[OpaServerEngine]:
    """Yield an engine, closed at the end."""
    engine = OpaServerEngine(bundle, server, limits)
    try:
        yield engine
    finally:
        engine.close()


def signals(engine: OpaServerEngine, projection: bytes = TRIGGER) -> tuple[Signal, ...]:
    """Judge what is entered."""
    return asyncio.run(engine.judge(projection, PolicyAnswer(()), CANARY_CONTEXT)).signals


def until(holds: Callable[[], bool]) -> None:
    """Wait for what the engine does by itself."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def send(server: OpaProgram, method: str, path: str, text: str = "") -> bytes:
    """Ask the server directly."""

    async def ask() -> bytes:
        connector = aiohttp.UnixConnector(server.url.removeprefix("unix://"))
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.request(method, f"http://opa{path}", data=text.encode()) as response,
        ):
            return await response.read()

    return asyncio.run(ask())


def roots(server: OpaProgram) -> list[str]:
    """Return the modules that were put there."""
    return [each["id"] for each in json.loads(send(server, "GET", "/v1/policies"))["result"]]
