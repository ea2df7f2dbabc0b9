"""A mutating webhook of somebody else's: a real server that puts a sidecar into Pods."""

import base64
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Final

from tests.harness.programs.client import Json
from tests.harness.programs.pki import Authority

LABEL: Final = "sidecar"
"""On Pods: the name of the sidecar that they get."""


NO_REWRITES: Final[Mapping[str, list[Json]]] = MappingProxyType({})


class _Injector(ThreadingHTTPServer):
    """Knows the sidecars, by name."""

    sidecars: dict[str, Json]
    rewrites: Mapping[str, list[Json]]


class _Handler(BaseHTTPRequestHandler):
    server: _Injector

    def do_POST(self) -> None:
        """Answer an AdmissionReview; a Pod that has its sidecar is left as it is."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = json.loads(body)["request"]
        response: Json = {"uid": request["uid"], "allowed": True}
        pod = request["object"]
        label = pod["metadata"].get("labels", {}).get(LABEL, "")
        patch = self.server.rewrites.get(label, [])
        wanted = self.server.sidecars.get(label)
        if wanted and wanted["name"] not in {each["name"] for each in pod["spec"]["containers"]}:
            patch = [{"op": "add", "path": "/spec/containers/-", "value": wanted}]
        if patch:
            encoded = base64.b64encode(json.dumps(patch).encode()).decode()
            response |= {"patchType": "JSONPatch", "patch": encoded}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        answer = json.dumps(review | {"response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  The library's name.
        """Say nothing."""


@contextmanager
def injecting(
    authority: Authority, *sidecars: Json, rewrites: Mapping[str, list[Json]] = NO_REWRITES
) -> Iterator[str]:
    """Serve such a webhook on loopback while the context lasts; give its URL.

    `rewrites` are JSONPatches by the label: what is done to such a Pod each time it is seen.
    """
    pair = authority.issue_loopback_server("sidecars")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    server = _Injector(("127.0.0.1", 0), _Handler)
    server.rewrites = rewrites
    server.sidecars = {each["name"]: each for each in sidecars}
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}/mutate"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def registration(name: str, url: str, ca_pem: bytes) -> Json:
    """Return its configuration; those of one kind are asked in the order of their names."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": "sidecars.example.com",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "reinvocationPolicy": "IfNeeded",
                "clientConfig": {"url": url, "caBundle": base64.b64encode(ca_pem).decode()},
                "objectSelector": {"matchExpressions": [{"key": LABEL, "operator": "Exists"}]},
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ],
            }
        ],
    }
