"""Nothing secret is written: not by errors, not by logs, not by what says that it waits."""

import asyncio
import json
import logging
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import InvalidURL
from structlog.testing import capture_logs

from core.base.errors import ClusterError, SettingsError
from core.decision.namespaces import Namespace
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.cluster.live import LiveCluster
from kube.resources.namespaces import parse_namespace
from kube.watch.listwatch import ListWatch, Resource
from tests.unit.kube.scripted_server import ScriptedServer, eventually, items

CANARY = "CANARY"
EXEC = "exec: {{apiVersion: client.authentication.k8s.io/v1, command: sh, args: [-c, {}]}}"


def kubeconfig(
    folder: Path, user: str, server: str = "https://127.0.0.1:1", more: str = ""
) -> Path:
    """Write a kubeconfig whose user is this YAML."""
    path = folder / "kubeconfig"
    path.write_text(
        f'clusters: [{{name: c, cluster: {{server: "{server}"{more}}}}}]\n'
        "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"
        f"users:\n- name: u\n  user:\n    {user}\n"
    )
    return path


BROKEN: dict[str, tuple[str, str]] = {
    "not YAML": ("token: CANARY\n   x: 'CANARY", "not YAML at line 8, column 4"),
    "alias": ("token: *CANARY", "not YAML at line 7, column 12"),
    "tag": ("token: !CANARY x", "not YAML at line 7, column 12"),
    "text": ("CANARY", "does not have the shape of a kubeconfig"),
    "no key": ("auth-provider: {name: oidc, config: {id-token: CANARY}}", "ValueError"),
    "not base64": ("client-certificate-data: CANAR\n    client-key-data: CANARY", "not base64"),
    "exit code": (EXEC.format("'echo CANARY >&2; exit 3'"), r"exec: the plugin's exit code is 3"),
    "no JSON": (EXEC.format("'echo CANARY'"), "exec: the plugin's output is not JSON"),
    "no status": (EXEC.format("""'echo "{\\"CANARY\\": 1}"'"""), "exec: apiversion is missing"),
    "no plugin": ("exec: {apiVersion: v1, command: /CANARY}", "could not be refreshed"),
    "no file": ("client-key: /CANARY", "a file that it names does not exist"),
    "a folder": ("tokenFile: /", "Is a directory"),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_a_broken_kubeconfig_is_not_repeated(
    case: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Line and column, exit code, name of a key: never a value of it."""
    user, says = BROKEN[case]
    with capture_logs() as logs, pytest.raises(SettingsError, match=says) as caught:
        await Connection(kubeconfig(tmp_path, user)).open()
    written = "".join(traceback.format_exception(caught.value)) + caplog.text + str(logs)
    assert CANARY not in written.replace(str(tmp_path), "")


async def test_a_client_key_that_is_none_is_not_repeated(tmp_path: Path) -> None:
    """Base64 of `CANARYKEY` in the place of certificate and key, decoded or not."""
    data = "Q0FOQVJZS0VZ"
    user = f"client-certificate-data: {data}\n    client-key-data: {data}"
    connection = Connection(kubeconfig(tmp_path, user))
    with pytest.raises(SettingsError, match="cluster's certificates: TLS failed") as caught:
        await connection.open()
    await connection.close()
    written = "".join(traceback.format_exception(caught.value))
    assert CANARY not in written
    assert data not in written


async def test_an_entry_that_lacks_a_key_is_not_repeated(tmp_path: Path) -> None:
    """kubernetes.aio calls an entry by all that stands in it."""
    path = tmp_path / "kubeconfig"
    entry = {"name": "u", "usr": {"token": CANARY}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    whole = {"users": [entry], "contexts": [context], "clusters": [], "current-context": "x"}
    path.write_text(json.dumps(whole))
    with pytest.raises(SettingsError, match="key user is missing") as caught:
        await Connection(path).open()
    assert CANARY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("server", "says"),
    [
        ("https://user:CANARY@127.0.0.1:1", "holds a user name or password"),
        ("https://CANARY@127.0.0.1:1", "holds a user name or password"),
        ("https://127.0.0.1:CANARY", "must be a URL"),
        ("https://[CANARY", "must be a URL"),
        ("CANARY:6443", "must be a URL"),
        ("ftp://CANARY", "must be a URL"),
    ],
)
async def test_a_server_that_is_no_plain_url_is_refused(
    server: str, says: str, tmp_path: Path
) -> None:
    """The field is named, and not what stands in it."""
    with pytest.raises(SettingsError, match=rf"clusters\[\]\.cluster\.server {says}") as caught:
        await Connection(kubeconfig(tmp_path, "token: t", server)).open()
    assert CANARY not in "".join(traceback.format_exception(caught.value))


async def test_a_plugin_that_fails_later_is_logged_without_its_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A token stands beside it, so it is left out; what the package logs says no more."""
    user = EXEC.format("'echo CANARY >&2; exit 3'") + "\n    token: CANARY"
    connection = Connection(kubeconfig(tmp_path, user))
    with capture_logs() as logs:
        await connection.open()
        await connection.close()
    assert [log["problem"] for log in logs] == [["users[].user.exec: the plugin's exit code is 3"]]
    logger = logging.getLogger("kubernetes.aio.config.kube_config")
    logger.error("exec: process returned %d. %s", 4, CANARY)
    logger.error(CANARY)
    assert [record.getMessage() for record in caplog.records] == [
        "users[].user.exec: the plugin's exit code is 4",
        "the credentials could not be refreshed",
    ]


@pytest.mark.parametrize(
    ("user", "more"),
    [
        ('token: "CANARY\\nX: y"', ""),
        ("token: CANARY", ', proxy-url: "http://u:CANARY@127.0.0.1:1"'),
        ("token: CANARY", ', proxy-url: "http://u:CANARY@127.0.0.1:x"'),
        ("token: CANARY", ", proxy-url: 5"),
    ],
)
async def test_a_cluster_that_cannot_be_asked_tells_no_credentials(
    user: str, more: str, server: ScriptedServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Version and watches fail, each with an error of ours: no defect, and no value."""
    server.answers = [items("1")]
    cluster = LiveCluster(kubeconfig(tmp_path, user, server.url, more))
    with capture_logs() as logs:
        await cluster.start()
        await eventually(lambda: not any("no answer yet" in one for one in cluster.missing()))
        missing = cluster.missing()
        await cluster.stop()
    assert len(missing) == 5
    assert not any("defect" in one for one in missing)
    assert CANARY not in str(missing) + str(logs) + caplog.text
    assert not any("exc_info" in log for log in logs)


async def raises(error: Exception) -> None:
    """Raise it."""
    raise error


@pytest.mark.parametrize(
    "error",
    [
        InvalidURL("https://user:CANARY@host"),
        ValueError("CANARY"),
        TypeError("CANARY"),
        OSError("CANARY"),
        OSError(5, "CANARY"),
    ],
)
async def test_foreign_errors_are_translated(
    error: Exception, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever sending raises, it is a ClusterError, even where its cause is printed."""
    failing: Callable[..., Any] = lambda *_, **__: raises(error)  # noqa: E731 -- one line
    monkeypatch.setattr(connection._client, "call_api", failing)  # noqa: SLF001
    with pytest.raises(ClusterError, match="GET /version: ") as caught:
        await connection.get("/version", 1, {})
    assert CANARY not in "".join(traceback.format_exception(caught.value))


async def test_a_defect_in_a_watch_is_logged_by_type_and_place(
    connection: Connection, server: ScriptedServer
) -> None:
    """Neither its text nor a frame is handed on, since both may hold what is secret."""
    server.answers = [items("1", "a")]

    def failing(_: Mapping[str, Namespace]) -> None:
        raise RuntimeError(CANARY)

    watch = ListWatch(
        connection, Resource("Things", "/things", parse_namespace), failing, LiveSettings()
    )
    with capture_logs() as logs:
        task = asyncio.create_task(watch.run())
        await eventually(lambda: bool(logs))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert logs[0]["error"] == "defect: RuntimeError"
    assert logs[0]["at"][-1].startswith("test_no_secrets.py:")
    assert "exc_info" not in logs[0]
    assert CANARY not in str(logs) + watch.problem
