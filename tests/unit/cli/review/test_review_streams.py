"""Standard output is the result alone; what went wrong on the way is on standard error."""

import http.server
import json
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import GOOD, write

GROUP = "rbac.authorization.k8s.io"
DANGLING = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "dangling\x1b[31m", "namespace": "train"},
    "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "gone"},
    "subjects": [],
}


def kubeconfig(path: Path, server: str) -> Path:
    """Write a kubeconfig for this server."""
    named: dict[str, Any] = {
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }
    head = {"apiVersion": "v1", "kind": "Config", "current-context": "x"}
    path.write_text(yaml.safe_dump(head | named))
    return path


class _Forbids(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Refuse, as kube-apiserver does for a token that it does not know."""
        self.send_response(HTTPStatus.UNAUTHORIZED)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def refusing() -> Iterator[str]:
    """Yield the address of a server that answers, and lets nobody in."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Forbids) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_warnings_of_the_cluster_are_no_part_of_the_json(run: Run, tmp_path: Path) -> None:
    """A binding that gives nothing is worth a line, on standard error, without escapes."""
    folder = write(tmp_path / "cluster" / "c.yaml", DANGLING).parent
    done = run("review", "-o", "json", "--cluster", folder, write(tmp_path / "a.yaml", GOOD))
    assert [element["verdict"] for element in json.loads(done.out)] == ["deny"]
    assert done.err == (
        "sallyport: warning: binding gives nothing: its role is not in the folder "
        "(binding RoleBinding dangling\\x1b[31m, role Role gone)\n"
    )
    assert done.code == 1  # Nobody has a right in that folder.


def test_unreachable_cluster_is_2(run: Run, tmp_path: Path) -> None:
    """Nothing could be judged; said at once, by the flag's name."""
    config = kubeconfig(tmp_path / "kubeconfig", "https://127.0.0.1:1")
    began = time.monotonic()
    done = run("review", "-ojson", "--kubeconfig", config, write(tmp_path / "a.yaml", GOOD))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"sallyport: --kubeconfig {config}: GET /version: no answer: ")
    assert time.monotonic() - began < 5


def test_cluster_that_refuses_is_2(run: Run, tmp_path: Path, refusing: str) -> None:
    """The answer is final: it is not asked again."""
    config = kubeconfig(tmp_path / "kubeconfig", refusing)
    began = time.monotonic()
    done = run("review", "-ojson", "--kubeconfig", config, write(tmp_path / "a.yaml", GOOD))
    assert (done.code, done.out) == (2, "")
    assert "GET /version: 401 " in done.err
    assert time.monotonic() - began < 5
