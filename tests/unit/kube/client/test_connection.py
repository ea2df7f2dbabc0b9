"""Credentials that cannot be used are an error of settings that says so."""

from pathlib import Path

import pytest

from core.base.errors import ClusterError, SettingsError
from kube.client.connection import Connection
from tests.unit.kube.scripted_server import ScriptedServer, reply


@pytest.mark.parametrize(
    "content", ["", "[]", "a: [", "clusters: 5", "{clusters: [], contexts: [], users: []}"]
)
async def test_a_broken_kubeconfig_is_refused(content: str, tmp_path: Path) -> None:
    """Whatever is wrong with it, the file is named."""
    path = tmp_path / "kubeconfig"
    path.write_text(content)
    with pytest.raises(SettingsError, match="kubeconfig"):
        await Connection(path).open()


async def test_a_missing_kubeconfig_is_refused(tmp_path: Path) -> None:
    """A file that is not there is named."""
    with pytest.raises(SettingsError, match="nothing does not exist"):
        await Connection(tmp_path / "nothing").open()


async def test_outside_a_cluster_there_is_no_service_account(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a kubeconfig and without a Pod's account there is nothing to connect by."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(SettingsError, match=r"the Pod's service account.*give --kubeconfig FILE"):
        await Connection(None).open()


async def test_a_failure_carries_status_message_and_hint(
    connection: Connection, server: ScriptedServer
) -> None:
    """The server's own words, and what to check."""
    server.answers = [reply({"message": "who are you"}, 401)]
    with pytest.raises(ClusterError, match="401 who are you: check the credentials") as caught:
        await connection.get("/version", 1, {})
    assert caught.value.status == 401


async def test_a_closed_connection_is_an_error(connection: Connection) -> None:
    """After `close` nothing is sent."""
    await connection.close()
    with pytest.raises(ClusterError, match="not open"):
        await connection.get("/version", 1, {})
