"""OpenAPI of a whole Kubernetes, made of its own, and a kube-apiserver that answers with it."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

from core.kubernetes.field_rows import LIST, MAP, split_shape
from tests.tools.openapi import supported

MINOR: Final = "1.37"

Json = dict[str, Any]
Answers = dict[str, tuple[int, Any]]
"""Status and body by path; of a path that is not there 404."""


def definition(of: str) -> str:
    """Return a type's name in OpenAPI."""
    group, name = of.split("/")
    if group == "meta":
        return f"io.k8s.apimachinery.pkg.apis.meta.v1.{name}"
    return f"io.k8s.api.{group}.v1.{name}"


def definitions() -> Json:
    """Return each type that the kinds of this minor reach."""
    return {
        definition(of): {"properties": {name: _schema(held) for name, held in fields.items()}}
        for of, fields in supported(MINOR).items()
    }


def _schema(held: str) -> Json:
    shape, of = split_shape(held)
    if not of:
        return {"type": "string"}
    reference = {"$ref": f"#/definitions/{definition(of)}"}
    shapes: dict[str, Json] = {
        LIST: {"type": "array", "items": reference},
        MAP: {"type": "object", "additionalProperties": reference},
        "": {"allOf": [reference], "default": {}},
    }
    return shapes[shape]


def cluster_answers() -> Answers:
    """Return what a kube-apiserver answers of which each field is known."""
    whole = {"components": {"schemas": definitions()}}
    return {
        "/openapi/v3": (200, {"paths": {"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1"}}}),
        "/openapi/v3/api/v1": (200, whole),
        "/version": (200, {"gitVersion": "v1.37.2"}),
        "/api/v1/namespaces/default/pods": (201, {"kind": "Pod", "spec": {"containers": []}}),
    }


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[Answers], Path]]:
    """Serve these answers; returns a kubeconfig that leads there."""
    servers: list[ThreadingHTTPServer] = []

    def start(answers: Answers) -> Path:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                self.rfile.read(length)
                status, body = answers.get(self.path.partition("?")[0], (404, {}))
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
