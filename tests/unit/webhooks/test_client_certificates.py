"""Who may ask the gate, where it demands certificates of its clients."""

import asyncio
import ssl
from pathlib import Path

import pytest

from tests.harness.programs.pki import Authority, KeyPair
from tests.unit.webhooks.connection import Answer, Connection
from tests.unit.webhooks.gate import Gate, running_gate
from tests.unit.webhooks.reviews import encode, review

GOOD = encode(review())
REFUSED = (OSError, EOFError)
"""What a client sees whose handshake was refused."""


def authority(folder: Path, name: str) -> Authority:
    """Make a client CA in a folder of its own."""
    (folder / name).mkdir()
    return Authority(folder / name, name)


async def connect_as(gate: Gate, pair: KeyPair) -> Connection:
    """Connect with a client certificate."""
    context = ssl.create_default_context(cafile=gate.files.ca)
    context.load_cert_chain(pair.certificate, pair.key)
    streams = await asyncio.open_connection(*gate.addresses.served, ssl=context, limit=2**24)
    return Connection(*streams)


async def post_as(gate: Gate, pair: KeyPair, body: bytes = GOOD) -> Answer:
    """Send one review on a connection of its own."""
    connection = await connect_as(gate, pair)
    try:
        return await connection.post("/validate", body)
    finally:
        await connection.close()


async def test_a_client_ca_is_exchanged_while_running(tmp_path: Path) -> None:
    """Old and new at once, then the new alone; what is open stays open, what is junk counts not."""
    old, new = authority(tmp_path, "old"), authority(tmp_path, "new")
    former, later = (one.issue_client("kube-apiserver", "spiffe://a") for one in (old, new))
    file = tmp_path / "client-ca.crt"
    file.write_bytes(old.pem)

    async def show(content: bytes) -> None:
        file.write_bytes(content)
        await asyncio.sleep(0.3)

    async with running_gate(tmp_path, client_ca=file) as gate:
        kept = await connect_as(gate, former)
        assert (await kept.post("/validate", GOOD)).status == 200
        with pytest.raises(REFUSED):
            await post_as(gate, later)
        await show(old.pem + new.pem)
        assert (await post_as(gate, former)).status == 200
        assert (await post_as(gate, later)).status == 200
        for junk in (b"", b"-----BEGIN", new.pem[:100]):
            await show(junk)
            assert (await post_as(gate, later)).status == 200
        await show(new.pem)
        assert (await post_as(gate, later)).status == 200
        with pytest.raises(REFUSED):
            await post_as(gate, former)
        assert (await kept.post("/validate", GOOD)).status == 200
        await kept.close()
        refused = [line for line in gate.lines() if line["event"] == "client CA refused"]
        assert refused
        assert refused[0]["consequence"] == "the CAs of before stay trusted"


async def test_a_certificate_that_is_exchanged_is_shown_beside_a_client_ca(tmp_path: Path) -> None:
    """Both change while running, and neither undoes the other."""
    old, new = authority(tmp_path, "old"), authority(tmp_path, "new")
    client = new.issue_client("kube-apiserver", "spiffe://a")
    file = tmp_path / "client-ca.crt"
    file.write_bytes(old.pem)
    serving = authority(tmp_path, "serving")
    async with running_gate(tmp_path, client_ca=file) as gate:
        file.write_bytes(new.pem)
        await asyncio.sleep(0.3)
        pair = serving.issue_loopback_server("gate")
        gate.files.ca.write_bytes(serving.pem)
        gate.files.key.write_bytes(pair.key.read_bytes())
        gate.files.certificate.write_bytes(pair.certificate.read_bytes())
        await asyncio.sleep(0.3)
        assert (await post_as(gate, client)).status == 200


@pytest.mark.parametrize("name", ["kube-apiserver", "spiffe://cluster/apiserver"])
async def test_only_those_who_are_named_may_ask(tmp_path: Path, name: str) -> None:
    """By common name or alternative name; a CA of users vouches for many more."""
    clients = authority(tmp_path, "clients")
    known = clients.issue_client("kube-apiserver", "spiffe://cluster/apiserver")
    stranger = clients.issue_client("alice", "spiffe://cluster/alice")
    file = clients.certificate_path
    async with running_gate(tmp_path, client_ca=file, client_names=frozenset({name})) as gate:
        assert (await post_as(gate, known)).response["allowed"]
        for body in (GOOD, b"junk", GOOD + b" " * 100_000):
            answer = await post_as(gate, stranger, body)
            assert answer.status == 403
            assert answer.closes
            assert b"listen.client_names" in answer.body
            assert b"alice" not in answer.body
        async with asyncio.timeout(10):  # It is counted at a sweep, every two seconds.
            while 'reason="stranger"' not in await gate.scrape():  # noqa: ASYNC110
                await asyncio.sleep(0.2)
        assert "alice" not in gate.text()


async def test_probes_and_metrics_need_no_certificate(tmp_path: Path) -> None:
    """A kubelet has none; they are on a listener of their own, in the clear."""
    clients = authority(tmp_path, "clients")
    names = frozenset({"kube-apiserver"})
    file = clients.certificate_path
    async with running_gate(tmp_path, client_ca=file, client_names=names) as gate:
        for path in ("/livez", "/readyz", "/metrics"):
            assert (await gate.status(path)).status == 200
        with pytest.raises(REFUSED):
            await gate.post("/validate", GOOD)
