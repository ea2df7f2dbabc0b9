"""Running a command in a Pod: the WebSocket protocol of kube-apiserver, as a server here keeps it.

A fake: no kubelet runs in these tests. tests/node has the real one.
"""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from aiohttp import web

from core.base.errors import ClusterError
from kube.client.pod_exec import PodExec

SUCCESS: Final = {"metadata": {}, "status": "Success"}
PATH: Final = "/api/v1/namespaces/{namespace}/pods/{name}/exec"


def failed(code: str = "", message: str = "failed") -> dict[str, Any]:
    """Make the status of a command that failed; without a code, of one that never began."""
    causes = [{"reason": "ExitCode", "message": code}] if code else []
    return {"status": "Failure", "message": message, "details": {"causes": causes}}


@asynccontextmanager
async def serving(
    folder: Path, messages: Sequence[tuple[int, bytes]], asked: list[web.Request]
) -> AsyncIterator[Path]:
    """Serve exec on loopback, with these messages; give a kubeconfig."""

    async def exec_(request: web.Request) -> web.WebSocketResponse:
        asked.append(request)
        socket = web.WebSocketResponse(protocols=["v4.channel.k8s.io"])
        await socket.prepare(request)
        for channel, content in messages:
            await socket.send_bytes(bytes([channel]) + content)
        await socket.close()
        return socket

    app = web.Application()
    app.router.add_get(PATH, exec_)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "x", "user": {"token": "the-token"}}],
    }
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    try:
        yield file
    finally:
        await runner.cleanup()


async def test_command_is_run_and_its_output_given(tmp_path: Path) -> None:
    """With the container, each word of the command, the token; streams are told apart."""
    asked: list[web.Request] = []
    messages = [(1, b""), (1, b"one "), (2, b"careful"), (1, b"two"), (3, _json(SUCCESS))]
    async with serving(tmp_path, messages, asked) as kubeconfig, PodExec(kubeconfig) as exec_:
        ran = await exec_.run(("research", "train-0"), "main", ["sh", "-c", "a & b=c"], 5.0)
    assert (ran.code, ran.out, ran.err) == (0, "one two", "careful")
    (request,) = asked
    assert request.match_info["namespace"] == "research"
    assert request.query.getall("command") == ["sh", "-c", "a & b=c"]
    assert request.query["container"] == "main"
    assert request.headers["Authorization"] == "Bearer the-token"


async def test_exit_code_is_given(tmp_path: Path) -> None:
    """Of a command that failed by itself."""
    async with (
        serving(tmp_path, [(3, _json(failed("3")))], []) as kubeconfig,
        PodExec(kubeconfig) as exec_,
    ):
        ran = await exec_.run(("research", "train-0"), "main", ["false"], 5.0)
    assert ran.code == 3


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([(3, b'{"status": "Failure", "message": "no sh in $PATH"}')], "no sh in"),
        ([(1, b"half")], "broke off"),
        ([], "broke off"),
        ([(3, b"not json")], "without a status"),
        ([(1, b"x" * 1_100_000)], "more than"),
    ],
)
async def test_what_did_not_run_is_an_error(
    tmp_path: Path, messages: list[tuple[int, bytes]], said: str
) -> None:
    """Never an empty answer."""
    async with serving(tmp_path, messages, []) as kubeconfig, PodExec(kubeconfig) as exec_:
        with pytest.raises(ClusterError, match=said):
            await exec_.run(("research", "train-0"), "main", ["x"], 5.0)


async def test_refusals_and_silence_are_errors(tmp_path: Path) -> None:
    """No such path, nobody there, no end: each with the Pod's name."""
    async with serving(tmp_path, [], []) as kubeconfig, PodExec(kubeconfig) as exec_:
        with pytest.raises(ClusterError, match="research/a/b: 404"):
            await exec_.run(("research", "a/b"), "main", ["x"], 5.0)
    async with PodExec(kubeconfig) as exec_:
        with pytest.raises(ClusterError, match="exec in research/a: no answer"):
            await exec_.run(("research", "a"), "main", ["x"], 5.0)


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()
