"""A fake that has stopped leaves no connection open, for which a later test would fail."""

import gc
import socket
import warnings
from pathlib import Path

from tests.harness.fakes.entra.entra import FakeEntra


def test_fake_closes_connection_whose_handshake_never_ended(tmp_path: Path) -> None:
    """As of a client that is killed while it connects."""
    entra = FakeEntra(tmp_path).start()
    port = int(entra.site.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"\x16\x03\x01")  # The beginning of a handshake.
        entra._loop.run(_pass())  # noqa: SLF001 -- Until its loop has taken the connection.
        entra.stop()
        with warnings.catch_warnings(record=True) as unclosed:
            warnings.simplefilter("always")
            del entra
            gc.collect()
        client.settimeout(10)
        assert client.recv(1) == b""
    assert not unclosed


async def _pass() -> None:
    """Let the loop go round."""
