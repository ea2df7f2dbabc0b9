"""A certificate pair that changes under the listener, well or badly."""

import asyncio
import datetime as dt
import shutil
import socket
import ssl
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from certs.self_signed_pair import PairFiles, make_pair
from core.base.errors import CannotBindError
from tests.harness.programs.pki import Authority
from tests.unit.webhooks.connection import Connection
from tests.unit.webhooks.gate import Gate, running_gate
from tests.unit.webhooks.reviews import encode, review
from webhooks.log import get_logger
from webhooks.tls import PairWatcher, TlsSettings, build_context

GOOD = encode(review())
DAYS = dt.timedelta(days=30)
VERSION = bytes.fromhex("a003020102")
"""X.509's version 3, as it stands in a certificate (RFC 5280, 4.1.2.1)."""


def new_pair(folder: Path, lifetime: dt.timedelta = DAYS) -> PairFiles:
    """Make a pair in a folder of its own."""
    return make_pair(folder, ["localhost", "127.0.0.1"], lifetime)


def watcher(files: PairFiles, now: float | None = None) -> PairWatcher:
    """Return a watcher whose clock stands at `now`."""
    settings = TlsSettings(files.certificate, files.key)
    return PairWatcher(settings, get_logger(), clock=lambda: now or time.time())


def served_by(gate: Gate) -> int:
    """Return the serial number of the certificate that a new handshake gets."""
    pem = ssl.get_server_certificate(gate.addresses.served)
    return x509.load_pem_x509_certificate(pem.encode()).serial_number


def serial(files: PairFiles) -> int:
    """Return the serial number of a certificate on disk."""
    return x509.load_pem_x509_certificate(files.certificate.read_bytes()).serial_number


async def until_served(gate: Gate, expected: int) -> None:
    """Wait until new handshakes get a certificate."""
    async with asyncio.timeout(10):
        while await asyncio.to_thread(served_by, gate) != expected:  # noqa: ASYNC110  Seen only from outside.
            await asyncio.sleep(0.02)


async def test_a_new_pair_is_served_without_dropping_a_connection(tmp_path: Path) -> None:
    """Under load, through good pairs, halves of pairs and rubbish, every review is answered.

    The files are swapped by a symlink, as the volumes of Kubernetes Secrets are.
    """
    async with running_gate(tmp_path) as gate:
        done, answered = asyncio.Event(), []
        connections = [await gate.connect() for _ in range(8)]

        async def load(connection: Connection) -> None:
            count = 0
            while not done.is_set():
                assert (await connection.post("/validate", GOOD)).response["allowed"]
                count += 1
            answered.append(count)

        loads = [asyncio.create_task(load(connection)) for connection in connections]
        for number in range(3):
            files = new_pair(tmp_path / f"new-{number}")
            shutil.copy(files.certificate, gate.files.certificate)  # Half of a pair.
            await asyncio.sleep(0.15)
            assert await asyncio.to_thread(served_by, gate) != serial(files)
            gate.files.key.write_bytes(files.key.read_bytes()[:40])  # Half of a file.
            await asyncio.sleep(0.15)
            assert await asyncio.to_thread(served_by, gate) != serial(files)
            shutil.copy(files.key, gate.files.key)
            await until_served(gate, serial(files))
        done.set()
        await asyncio.gather(*loads)
        assert len(answered) == 8
        assert min(answered) > 10
        assert gate.pair.reloads["ok"] == 4
        assert gate.pair.reloads["error"] >= 3
        assert (await gate.status("/readyz")).status == 200
        for connection in connections:
            await connection.close()


async def test_a_refused_pair_is_logged_once_and_loudly(tmp_path: Path) -> None:
    """An error line says what is wrong and that the old pair stays."""
    async with running_gate(tmp_path) as gate:
        gate.files.key.write_bytes(new_pair(tmp_path / "new").key.read_bytes())
        await asyncio.sleep(0.4)
        lines = [line for line in gate.lines() if line["event"] == "certificate refused"]
        assert len(lines) == 1
        assert lines[0]["level"] == "error"
        assert lines[0]["consequence"] == "the old pair stays in force"
        assert "are no pair" in lines[0]["problem"]
        assert gate.pair.reloads["error"] > 1


async def test_a_missing_certificate_is_reported_and_awaited(tmp_path: Path) -> None:
    """Not ready, with the reason, until the files are there."""
    files = new_pair(tmp_path / "pair")
    aside = files.key.rename(tmp_path / "aside")
    pair = watcher(files)
    assert not pair.look()
    assert pair.not_after is None
    assert "tls.key cannot be read: No such file or directory" in pair.missing()[0]
    aside.rename(files.key)
    assert pair.look()
    assert pair.missing() == []
    assert not pair.look()


def test_an_expired_pair_is_never_loaded(tmp_path: Path) -> None:
    """At the start it is missing; later the one in force stays."""
    files = new_pair(tmp_path / "pair")
    later = time.time() + 31 * 86400
    pair = watcher(files, later)
    assert not pair.look()
    assert "has expired" in pair.missing()[0]


def test_a_certificate_that_expires_in_force_is_not_ready(tmp_path: Path) -> None:
    """It stays loaded, and `/readyz` says so."""
    files = new_pair(tmp_path / "pair")
    now = [time.time()]
    pair = PairWatcher(
        TlsSettings(files.certificate, files.key), get_logger(), clock=lambda: now[0]
    )
    assert pair.look()
    now[0] += 31 * 86400
    assert "has expired" in pair.missing()[0]


def test_a_pair_of_the_future_waits_for_its_time(tmp_path: Path) -> None:
    """A wrong clock is named as the likely cause."""
    files = new_pair(tmp_path / "pair")
    pair = watcher(files, time.time() - 86400)
    assert not pair.look()
    assert "not valid yet" in pair.missing()[0]


def test_an_encrypted_key_asks_nobody_for_a_password(tmp_path: Path) -> None:
    """It is refused; a gate must not wait at a terminal."""
    files = new_pair(tmp_path / "pair")
    key = serialization.load_pem_private_key(files.key.read_bytes(), password=None)
    files.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"made up"),
        )
    )
    pair = watcher(files)
    assert not pair.look()
    assert "no pair" in pair.missing()[0]


def handshake(gate: Gate, context: ssl.SSLContext) -> str | None:
    """Return the TLS version that a handshake ends in."""
    raw = socket.create_connection(gate.addresses.served, timeout=5)
    with context.wrap_socket(raw, server_hostname="127.0.0.1") as wrapped:
        return wrapped.version()


async def test_tls_is_1_2_or_later(tmp_path: Path) -> None:
    """1.1 is refused; 1.2 and 1.3 are spoken."""
    async with running_gate(tmp_path) as gate:
        for version, name in (
            (ssl.TLSVersion.TLSv1_2, "TLSv1.2"),
            (ssl.TLSVersion.TLSv1_3, "TLSv1.3"),
        ):
            context = ssl.create_default_context(cafile=gate.files.ca)
            context.minimum_version = context.maximum_version = version
            assert await asyncio.to_thread(handshake, gate, context) == name
    assert build_context().minimum_version is ssl.TLSVersion.TLSv1_2


async def test_with_a_client_ca_strangers_are_turned_away(tmp_path: Path) -> None:
    """Only a client with a certificate of that CA is answered."""
    clients = Authority(tmp_path)
    known = clients.issue_loopback_server("kube-apiserver")
    stranger = new_pair(tmp_path / "stranger")
    async with running_gate(tmp_path, client_ca=clients.certificate_path) as gate:

        async def post_as(certificate: Path, key: Path) -> bool:
            context = ssl.create_default_context(cafile=gate.files.ca)
            context.load_cert_chain(certificate, key)
            connection = Connection(
                *await asyncio.open_connection(*gate.addresses.served, ssl=context)
            )
            try:
                return bool((await connection.post("/validate", GOOD)).response["allowed"])
            finally:
                await connection.close()

        assert await post_as(known.certificate, known.key)
        with pytest.raises((OSError, EOFError)):
            await post_as(stranger.certificate, stranger.key)
        with pytest.raises((OSError, EOFError)):
            await gate.post("/validate", GOOD)


def test_a_client_ca_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """The gate does not start without the CA it was told to ask for."""
    with pytest.raises(CannotBindError, match="client CA"):
        build_context(tmp_path / "nowhere")


def test_a_certificate_of_no_known_version_is_refused_like_any_other(tmp_path: Path) -> None:
    """It is read without complaint, and breaks where it is used: the old pair stays in force."""
    files = new_pair(tmp_path / "pair")
    pair = watcher(files)
    assert pair.look()
    whole = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    der = whole.public_bytes(serialization.Encoding.DER)
    spoilt = der.replace(VERSION, VERSION[:-1] + b"\x26", 1)
    assert spoilt != der
    files.certificate.write_text(ssl.DER_cert_to_PEM_cert(spoilt))
    assert not pair.look()
    assert pair.missing() == []
    assert pair.reloads["error"] == 1
