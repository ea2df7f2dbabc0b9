"""The real regal: what is shipped and what is begun by command is clean, and editors are served."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import BundleRefusedError
from policies import BUILT_IN_REGO, LIBRARY
from policies.authoring.lint.external_linters import find_regal_problems
from tests.harness.programs.availability import require
from tests.harness.tutorial import follow, run, steps

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


ROOT = Path(__file__).parents[4]
EXAMPLES = ROOT / "examples" / "site-rules"


@pytest.fixture(scope="module")
def regal() -> Path:
    """The program, of the version that is pinned."""
    return require("regal")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rule and a signal as `policy new` begins them, and the rule of the tutorial."""
    folder = tmp_path_factory.mktemp("begun")
    for name, text in steps(cluster=False):
        if name or "policy new" in text:
            follow(name, text.split("$ sallyport policy test")[0], folder)
    run("sallyport policy new limits/set --field spec.replicas --into my-rules", folder)
    run("sallyport policy new data/lab --signal --into my-rules", folder)
    return folder / "my-rules"


@pytest.mark.parametrize("folder", [BUILT_IN_REGO, LIBRARY, EXAMPLES], ids=lambda each: each.name)
def test_what_is_shipped_is_clean(regal: Path, folder: Path) -> None:
    """With the configuration that `policy lint` gives, which is the repository's own."""
    assert list(find_regal_problems(regal, [folder])) == []
    assert (ROOT / ".regal" / "config.yaml").resolve().name == "regal.yaml"


def test_what_is_begun_by_command_is_clean(regal: Path, site: Path) -> None:
    """And the tutorial: a folder without a configuration of its own."""
    assert list(find_regal_problems(regal, [site])) == []


def test_a_configuration_of_the_site_takes_its_place(regal: Path, site: Path) -> None:
    """Regal's own choice then: it wants folders to be named as packages are."""
    config = site.parent / ".regal" / "config.yaml"
    config.parent.mkdir()
    config.write_text("rules: {}\n")
    try:
        found = {each.id for each in find_regal_problems(regal, [site])}
    finally:
        config.unlink()
        config.parent.rmdir()
    assert "regal-directory-package-mismatch" in found


def test_what_is_wrong_is_found(regal: Path, tmp_path: Path) -> None:
    """With file and line: the tests above can fail."""
    (tmp_path / "x.rego").write_text(
        "package sallyport.rules.acme.x\n\ndeny contains 1 if 1 == 1\n"
    )
    found = list(find_regal_problems(regal, [tmp_path]))
    assert ("regal-constant-condition", 3) in {(each.id, each.line) for each in found}


def test_a_configuration_that_is_none_is_told(regal: Path, tmp_path: Path) -> None:
    """And is not taken for rules without faults."""
    (tmp_path / ".regal").mkdir()
    (tmp_path / ".regal" / "config.yaml").write_text("rules: [\n")
    (tmp_path / "x.rego").write_text("package sallyport.rules.acme.x\n")
    with pytest.raises(BundleRefusedError, match="regal lint prints what cannot be read"):
        list(find_regal_problems(regal, [tmp_path]))


def test_the_language_server_completes_input(regal: Path, site: Path) -> None:
    """With the fields of the input, and those that the folder's rules declare, from the example.

    That is an `input.json` in the workspace: without it nothing is offered.
    """
    workspace = site.parent
    file = site / "labels" / "team" / "team.rego"
    assert completed(regal, workspace, file) == set()
    command = "policy schema my-rules --rules rules.yaml --output schema --example input.json"
    run(f"sallyport {command}", workspace)
    example = workspace / "input.json"
    try:
        wanted = {f"input.{path}" for path in paths(json.loads(example.read_bytes()))}
        offered = completed(regal, workspace, file)
    finally:
        example.unlink()
    assert {"input.kind", "input.context.namespace", "input.projection.containers"} <= offered
    assert {"input.fields.metadata.labels", "input.fields.spec.replicas"} <= offered
    assert offered == wanted


def paths(value: Any) -> set[str]:
    """Return the names of an object, and those below them."""
    below = {
        f"{name}.{path}"
        for name, each in value.items()
        if isinstance(each, dict)
        for path in paths(each)
    }
    return below | set(value)


def completed(regal: Path, workspace: Path, file: Path) -> set[str]:
    """Return what is offered after `input.` in a line that is being written."""
    text = file.read_text() + "\nis_begun if {\n\tinput.\n}\n"
    place = {"line": text.splitlines().index("\tinput."), "character": len("\tinput.")}
    document = {"uri": file.as_uri()}
    opened = document | {"languageId": "rego", "version": 1, "text": text}
    asked = {"textDocument": document, "position": place}

    async def ask() -> Any:
        async with language_server(regal, workspace) as server:
            await server.tell("textDocument/didOpen", {"textDocument": opened})
            return await server.ask("textDocument/completion", asked)

    found = asyncio.run(ask())
    labels = {each["label"] for each in (found or {}).get("items") or ()}
    return {label for label in labels if label.startswith("input.")}
