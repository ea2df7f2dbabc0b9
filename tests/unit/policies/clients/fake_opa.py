"""What is no OPA server, or none that works: it answers evaluations as a test says."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from aiohttp import web

from policies.clients.opa_server.engine import LoopThread

Answering = Callable[[str], web.StreamResponse | None]
"""Gives the answer to an evaluation of a rule by its path; None answers never."""


class FakeOpa:
    """Takes every policy, and evaluates none."""

    def __init__(self, folder: Path, answering: Answering) -> None:
        self._socket = folder / "fake.sock"
        self.url = f"unix://{self._socket}"
        self.answering = answering
        self.put: list[str] = []
        """The modules that were put there, by name."""
        self.headers: list[dict[str, str]] = []
        """Of each evaluation."""
        self._loop = LoopThread("fake-opa")
        self._runner = self._loop.call(self._serve())

    def close(self) -> None:
        """End it."""
        self._loop.call(self._runner.cleanup())
        self._loop.close()

    async def _serve(self) -> web.AppRunner:
        app = web.Application()
        app.router.add_put("/v1/policies/{name}", self._put)
        app.router.add_get("/v1/policies/{name}", self._module)
        app.router.add_post("/v1/query", self._query)
        app.router.add_post("/v1/data/{path:.*}", self._evaluate)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.UnixSite(runner, str(self._socket)).start()
        return runner

    async def _put(self, request: web.Request) -> web.StreamResponse:
        self.put.append(request.match_info["name"])
        return web.json_response({})

    async def _module(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"result": {"ast": {"rules": []}}})

    async def _query(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"result": []})

    async def _evaluate(self, request: web.Request) -> web.StreamResponse:
        self.headers.append(dict(request.headers))
        answer = self.answering(request.match_info["path"])
        if answer is None:
            await asyncio.sleep(3600)
            return web.Response()
        return answer
