"""Running the command as a person does: arguments, standard input, exit code, output."""

import io
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
import structlog

from cli.main import main
from tests.tools.provide import provide
from tests.unit.cli.policy.author_folder import FILES
from tests.unit.policies.authoring.conftest import write


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]

Json = dict[str, Any]
Answers = dict[str, tuple[int, Any]]
"""Status and body by path; of a path that is not there 404. Status 0 ends the connection."""
HANGS: Final = -1
"""The status of what is not answered for a while."""
Serve = Callable[[Answers], Path]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Run `sallyport` with these arguments, in this process, as its entry point does."""
    for name in os.environ:
        if name.startswith("SALLYPORT_"):
            monkeypatch.delenv(name)

    def call(*arguments: object, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "argv", ["sallyport", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        code = ended.value.code
        return Done(code if isinstance(code, int) else int(bool(code)), captured.out, captured.err)

    yield call
    structlog.reset_defaults()


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    """A folder with one rule, its tests and its cases."""
    return write(tmp_path / "acme", FILES)


@pytest.fixture
def author(run: Run) -> Run:
    """Run `sallyport policy` with OPA."""

    def call(command: str, *arguments: object) -> Done:
        opa = [] if command == "new" else ["--opa", provide("opa")]
        return run("policy", command, *arguments, *opa)

    return call


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Serve answers as a kube-apiserver; gives a kubeconfig that leads there."""
    servers: list[ThreadingHTTPServer] = []

    def start(answers: Answers) -> Path:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                self.rfile.read(length)
                status, body = answers.get(self.path.partition("?")[0], (404, {}))
                if status == HANGS:
                    time.sleep(2)
                if status <= 0:
                    return
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            do_POST = do_GET  # noqa: N815 (http.server's)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        kubeconfig = {
            "clusters": [
                {"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}
            ],
            "users": [{"name": "u", "user": {"token": "t0ken"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(kubeconfig))
        return path

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
