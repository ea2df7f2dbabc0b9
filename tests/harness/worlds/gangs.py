"""Gangs of Pods: recorded from a real kube-apiserver while their controllers make them."""

import asyncio
import base64
import json
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from core.kubernetes.pod import decode_pod
from policies.projection.model import encode
from policies.projection.pods import project
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json
from tests.harness.worlds.pods import RESTRICTED

RECORDED: Final = ROOT / "tests" / "gangs"
"""A folder for each gang whose controller cannot run here: `pod-<n>.json`, `PROVENANCE.md`."""

SETTLE_TIMEOUT_S: Final = 60.0
_POLL_S: Final = 0.1
_NAME: Final = "recorder.sallyport.test"
_PROBE: Final = "recorder-probe"
_REGISTRATION: Final = "admissionregistration.k8s.io/v1"


@dataclass
class Recorder:
    """The requests of the reviews that kube-apiserver has sent so far, in their order.

    Of each Pod there are two: `mutating`, as its controller made it and the API defaulted it,
    and `validating`, after the admission plugins that change Pods.
    """

    mutating: list[Json] = field(default_factory=list)
    validating: list[Json] = field(default_factory=list)

    def pods(self, prefix: str) -> list[Json]:
        """Return the Pods with names (or generateNames) of this prefix, after all changes."""
        return [request["object"] for request in self.requests(prefix)]

    def requests(self, prefix: str) -> list[Json]:
        """Return the requests of these Pods."""
        return [one for one in self.validating if pod_name(one["object"]).startswith(prefix)]

    async def wait_for(self, prefix: str, count: int) -> list[Json]:
        """Return the requests of `count` Pods, once they have been seen."""
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        while len(found := self.requests(prefix)) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(found)} Pods of {prefix} and not {count}")
            await asyncio.sleep(_POLL_S)
        return found


def pod_name(pod: Json) -> str:
    """Return a Pod's name, or what its name shall begin with."""
    metadata = pod["metadata"]
    return str(metadata.get("name") or metadata.get("generateName", ""))


@asynccontextmanager
async def recorder(apiserver: ApiServer, client: Client, namespace: str) -> AsyncIterator[Recorder]:
    """Have kube-apiserver show the Pods of a namespace to a webhook that lets all of them in."""
    seen = Recorder()
    with _serving(apiserver, seen) as url:
        items = list(_registrations(url, apiserver.authority.pem, namespace))
        await client.apply(items)
        await _wait_until_asked(client, seen, namespace)
        try:
            yield seen
        finally:
            for item in items:
                await client.delete(item)


class _Server(ThreadingHTTPServer):
    """Takes reviews over TLS, one connection each, and ends with all of them."""

    daemon_threads = False

    def __init__(self, apiserver: ApiServer, seen: Recorder) -> None:
        pair = apiserver.authority.issue_loopback_server("recorder")
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(pair.certificate, pair.key)
        self.seen = seen
        super().__init__(("127.0.0.1", 0), _Handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        """Take a connection; the handshake is for the thread that serves it."""
        connection, address = super().get_request()
        wrapped = self._context.wrap_socket(
            connection, server_side=True, do_handshake_on_connect=False
        )
        return wrapped, address


class _Handler(BaseHTTPRequestHandler):
    """Notes a review under its path, `/mutating` or `/validating`, and allows it."""

    server: _Server
    timeout = SETTLE_TIMEOUT_S

    def do_POST(self) -> None:
        """Answer one review."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        phase = urlsplit(self.path).path.strip("/")
        getattr(self.server.seen, phase).append(request)
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        response = {"uid": request["uid"], "allowed": True}
        body = json.dumps({**review, "response": response}).encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: what came is in the recorder."""


@contextmanager
def _serving(apiserver: ApiServer, seen: Recorder) -> Iterator[str]:
    """Serve on loopback, in a thread of its own, and give the URL."""
    with _Server(apiserver, seen) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _registrations(url: str, ca_pem: bytes, namespace: str) -> Iterator[Json]:
    for phase in ("mutating", "validating"):
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
        chosen = {"kubernetes.io/metadata.name": namespace}
        webhook = {
            "name": _NAME,
            "clientConfig": {
                "url": f"{url}/{phase}",
                "caBundle": base64.b64encode(ca_pem).decode(),
            },
            "rules": [{**rule, "operations": ["CREATE"]}],
            "namespaceSelector": {"matchLabels": chosen},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "failurePolicy": "Fail",
        }
        yield {
            "apiVersion": _REGISTRATION,
            "kind": f"{phase.capitalize()}WebhookConfiguration",
            "metadata": {"name": _NAME},
            "webhooks": [webhook],
        }


async def _wait_until_asked(client: Client, seen: Recorder, namespace: str) -> None:
    """Ask for Pods, none of which is stored, until both webhooks have seen the same one."""
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    attempt = 0
    while True:
        probe = RESTRICTED.pod()
        probe["metadata"]["name"] = f"{_PROBE}-{attempt}"
        await client.dry_run_create(probe, namespace)
        both = (seen.mutating, seen.validating)
        if all(each and pod_name(each[-1]["object"]) == pod_name(probe) for each in both):
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"kube-apiserver did not ask the recorder in {namespace}")
        attempt += 1
        await asyncio.sleep(_POLL_S)


def recorded(gang: str) -> list[Json]:
    """Return the recorded Pods of a gang, in the order of their numbers."""
    files = sorted((RECORDED / gang).glob("pod-*.json"))
    return [json.loads(file.read_text()) for file in files]


def gangs() -> list[Path]:
    """Return the folders of the recorded gangs."""
    return sorted(file.parent for file in RECORDED.glob("*/PROVENANCE.md"))


def pod_json(pod: Json) -> bytes:
    """Return a Pod as it comes in a review."""
    return json.dumps(pod).encode()


def projection(pod: Json) -> bytes:
    """Return what policies see of a Pod."""
    return encode(project(decode_pod(pod_json(pod))))


def classes(pods: Iterable[Json]) -> Counter[bytes]:
    """Count the Pods by their projection."""
    return Counter(projection(pod) for pod in pods)
