"""A cluster's Service names for kube-apiserver, which has no cluster network in tests.

kube-apiserver's client for webhooks asks the environment for a proxy, as Go's clients do. This
one knows where the Services' Pods are; the TLS between the two ends is untouched.
"""

import socket
import threading
from contextlib import suppress
from pathlib import Path

from tests.harness.programs.client import Json

_HEAD_BYTES = 8192
_TIMEOUT_S = 60.0


class ClusterNetwork:
    """An HTTP CONNECT proxy on loopback, for the names in `ports` alone."""

    def __init__(self, path: Path | None = None) -> None:
        """Listen, on threads of its own; with a path at a socket of the file system instead."""
        self.ports: dict[str, int] = {}
        """Ports of loopback, by `host:port`."""
        if path is None:
            self._listener = socket.create_server(("127.0.0.1", 0))
        else:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(path))
            self._listener.listen()
        threading.Thread(target=self._accept, name="cluster-network", daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        """What kube-apiserver needs in its environment. Loopback is never asked through it."""
        return {"HTTPS_PROXY": f"http://127.0.0.1:{self._listener.getsockname()[1]}"}

    def lead(self, service: Json, port: int) -> None:
        """Lead whoever asks for a Service to a port of loopback.

        By its name, or by its address: kube-apiserver asks for that from 1.37 on.
        """
        metadata, spec = service["metadata"], service["spec"]
        for host in (f"{metadata['name']}.{metadata['namespace']}.svc", spec["clusterIP"]):
            self.ports[f"{host}:443"] = port

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(_TIMEOUT_S)
            head = client.recv(_HEAD_BYTES)
            port = self.ports.get(head.split(b" ")[1].decode())
            if port is None:
                client.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
                return
            with socket.create_connection(("127.0.0.1", port), _TIMEOUT_S) as there:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                client.settimeout(None)
                there.settimeout(None)
                for each in (client, there):
                    if each.family == socket.AF_UNIX:
                        continue
                    # As both ends have it: else the end of a body waits 40 ms for an answer to its
                    # beginning (Nagle's algorithm, and acknowledgements that are delayed).
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                back = threading.Thread(target=_pipe, args=(there, client), daemon=True)
                back.start()
                _pipe(client, there)
                back.join()


def _pipe(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
