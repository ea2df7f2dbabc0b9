"""A server of HTTPS on loopback that keeps what is posted to it, and answers as a test says."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from tests.harness.programs.pki import Authority

_MOST: Final = 4 * 1024 * 1024


@dataclass(frozen=True)
class Posted:
    """One request."""

    path: str
    """With its query."""
    headers: Mapping[str, str]
    body: bytes


@dataclass
class HttpsReceiver:
    """Answers what a list says, one after another, and then what `answer` makes of a request."""

    answer: Callable[[Posted], web.Response] = lambda _: web.Response(status=204)
    answers: list[web.Response] = field(default_factory=list)
    posted: list[Posted] = field(default_factory=list)
    answering: asyncio.Event = field(default_factory=asyncio.Event)
    """While it is not set, requests wait."""
    url: str = ""

    @asynccontextmanager
    async def serving(self, authority: Authority) -> AsyncIterator["HttpsReceiver"]:
        """Listen until it is left."""
        pair = authority.issue_loopback_server("receiver")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pair.certificate, pair.key)
        app = web.Application(client_max_size=_MOST)
        app.router.add_post("/{tail:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        self.answering.set()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
            await site.start()
            self.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
            yield self
        finally:
            self.answering.set()
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        posted = Posted(request.path_qs, headers, await request.read())
        self.posted.append(posted)
        await self.answering.wait()
        return self.answers.pop(0) if self.answers else self.answer(posted)
