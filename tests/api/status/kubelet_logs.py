"""What a kubelet answers kube-apiserver that asks for logs: a real server, of logs that are told.

GET /containerLogs/NAMESPACE/POD/CONTAINER (kubernetes pkg/kubelet/server, AddPodLogs).
"""

import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from tests.api.status.installed_status import NODE, InstalledStatus
from tests.harness.programs.client import Client, Json

ADDRESS: Final = "10.244.1.1"
PORT: Final = 10250
MERGE: Final = "application/merge-patch+json"


@contextmanager
def kubelet(installed: InstalledStatus, logs: Mapping[str, str]) -> Iterator[None]:
    """Answer with the logs of containers (`pod/container`) behind the address of the node."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            _, _, _, pod, container = path.split("/")
            body = logs.get(f"{pod}/{container}", "").encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    pair = installed.installation.apiserver.authority.issue_loopback_server("kubelet")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    installed.installation.network.ports[f"{ADDRESS}:{PORT}"] = server.server_port
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


async def show_node(client: Client) -> None:
    """Create the node, and say where its kubelet listens."""
    node: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
    await client.apply([node])
    status = {
        "addresses": [{"type": "InternalIP", "address": ADDRESS}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": PORT}},
        "nodeInfo": {"containerRuntimeVersion": "containerd://2.1.0"},
    }
    code, answer = await client.request(
        "PATCH", f"/api/v1/nodes/{NODE}/status", {"status": status}, content_type=MERGE
    )
    assert code == 200, answer
