"""A server on loopback that answers requests in turn, as a test says."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ScriptedServer:
    """Answers each request with the next of `answers`; the last one is used again."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.requests: list[dict[str, str]] = []
        self.version = "999999"
        """What it says, beside `answers`, to who asks how far it is (`limit=1`)."""
        self.bodies: list[Any] = []
        self.url = ""

    async def start(self) -> None:
        """Listen on a free port of 127.0.0.1."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        """Close everything."""
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("limit") == "1":
            return await items(self.version)(request)
        self.requests.append(dict(request.query))
        self.bodies.append(await request.json() if request.can_read_body else None)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await answer(request)


def reply(body: Any, status: int = 200) -> Answer:
    """Answer with JSON."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=status)

    return answer


def items(version: str, *names: str, more: str = "") -> Answer:
    """Answer a list."""
    metadata = {"resourceVersion": version, "continue": more}
    return reply({"metadata": metadata, "items": [thing(name, version) for name in names]})


def thing(name: str, version: str, **labels: str) -> dict[str, Any]:
    """Return an object."""
    return {"metadata": {"name": name, "resourceVersion": version, "labels": labels}}


def event(kind: str, name: str, version: str, **labels: str) -> bytes:
    """Return one line of a watch."""
    return json.dumps({"type": kind, "object": thing(name, version, **labels)}).encode() + b"\n"


def gone() -> bytes:
    """Return the event that ends a watch which is too old."""
    status = {"code": 410, "message": "too old resource version"}
    return json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"


def stream(*chunks: bytes, then: str = "end") -> Answer:
    """Answer a watch: these bytes, then `end` it, `hang`, or `break` the connection."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if then == "hang":
            await asyncio.sleep(3600)
        if then == "break" and request.transport:
            request.transport.abort()
        return response

    return answer


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds; TimeoutError after 5 s."""
    async with asyncio.timeout(5):
        while True:
            if condition():
                return
            await asyncio.sleep(0.005)
