"""A TLS server that answers once and then says nothing more, not even goodbye."""

import asyncio
import gc
import json
import socket
import ssl
import threading
import warnings
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.harness.programs.pki import Authority

_REQUEST_BYTES = 65536
_TIMEOUT_S = 60.0


@dataclass
class SilentServer:
    """On a thread of its own, since what it serves is an event loop that ends."""

    authority: Authority
    answer: bytes
    """What each connection gets for its first request; where it is empty, nothing."""
    listener: socket.socket
    answered: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"https://127.0.0.1:{self.listener.getsockname()[1]}"

    def kubeconfig(self, folder: Path) -> Path:
        """Write a kubeconfig that leads to it."""
        ca = str(self.authority.certificate_path)
        cluster = {"server": self.url, "certificate-authority": ca}
        content = {
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": "t0ken"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(content))
        return path

    def serve(self, context: ssl.SSLContext) -> None:
        """Answer until the listener is shut down; then close all connections."""
        kept: list[socket.socket] = []
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                client.settimeout(_TIMEOUT_S)
                connection = context.wrap_socket(client, server_side=True)
                kept.append(connection)
                connection.recv(_REQUEST_BYTES)
                connection.sendall(self.answer)
                self.answered.set()
        for each in kept:
            each.close()


@contextmanager
def silent_server(folder: Path, answer: bytes) -> Iterator[SilentServer]:
    """Run one on a free port; its keys lie in `folder`."""
    authority = Authority(folder)
    pair = authority.issue_loopback_server("silent")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = SilentServer(authority, answer, listener)
        thread = threading.Thread(target=server.serve, args=(context,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(_TIMEOUT_S)


def left_open(work: Callable[[], Coroutine[None, None, None]]) -> list[str]:
    """Do something in an event loop of its own; give what it leaves to the garbage collector."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(work())
        gc.collect()
    return [str(one.message) for one in caught if issubclass(one.category, ResourceWarning)]
