"""Fixtures: a loopback server that answers as a test scripts it, and a connection to it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kube.client.connection import Connection
from tests.unit.kube.scripted_server import ScriptedServer


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """A server in the place of kube-apiserver, for what a sound one never does."""
    scripted = ScriptedServer()
    await scripted.start()
    yield scripted
    await scripted.stop()


@pytest.fixture
def kubeconfig(server: ScriptedServer, tmp_path: Path) -> Path:
    """A kubeconfig that leads to it."""
    content = {
        "clusters": [{"name": "c", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": {"token": "t0ken"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
async def connection(kubeconfig: Path) -> AsyncIterator[Connection]:
    """An open connection to it."""
    opened = Connection(kubeconfig)
    await opened.open()
    yield opened
    await opened.close()
