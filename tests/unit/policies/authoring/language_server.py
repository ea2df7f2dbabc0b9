"""A language server over its standard input and output, as an editor speaks to it (LSP 3.17)."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

SOON_S = 120.0
"""For one answer: a busy machine takes its time."""


class LanguageServer:
    """One that is running in a workspace."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        """Take the process."""
        self._process = process
        self._numbers = itertools.count(1)

    async def ask(self, method: str, params: Any) -> Any:
        """Return the answer to a request.

        What the server asks meanwhile is answered with nothing.
        """
        number = next(self._numbers)
        await self._send({"id": number, "method": method, "params": params})
        async with asyncio.timeout(SOON_S):
            while True:
                message = await self._receive()
                if "method" in message:
                    if "id" in message:
                        await self._send({"id": message["id"], "result": None})
                elif message["id"] == number:
                    assert "error" not in message, message
                    return message["result"]

    async def tell(self, method: str, params: Any) -> None:
        """Send what is not answered."""
        await self._send({"method": method, "params": params})

    async def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(content) + content)
        await self._process.stdin.drain()

    async def _receive(self) -> dict[str, Any]:
        assert self._process.stdout
        length = 0
        while line := (await self._process.stdout.readline()).strip():
            name, _, value = line.decode().partition(":")
            if name.lower() == "content-length":
                length = int(value)
        found: dict[str, Any] = json.loads(await self._process.stdout.readexactly(length))
        return found


@asynccontextmanager
async def language_server(program: Path, workspace: Path) -> AsyncIterator[LanguageServer]:
    """Run `PROGRAM language-server` in a workspace; it is ended when that is left."""
    pipe, none = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        program, "language-server", stdin=pipe, stdout=pipe, stderr=none, cwd=workspace
    )
    try:
        made = LanguageServer(process)
        uri = workspace.as_uri()
        folders = [{"uri": uri, "name": "rules"}]
        asked: dict[str, Any] = {
            "processId": None,
            "rootUri": uri,
            "capabilities": {},
            "workspaceFolders": folders,
        }
        await made.ask("initialize", asked)
        await made.tell("initialized", {})
        yield made
    finally:
        process.kill()
        await process.wait()
