"""The client of the auditor: over real mutual TLS, with pairs that change, and answers that lie."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from audit.clients.auditor import AuditorChannel, AuditorClient
from audit.clients.explanations import fetch_explanation
from audit.ledger.records.destination import Receipt
from core.base.errors import LedgerError, SettingsError
from tests.harness.fakes.silent_server import left_open, silent_server
from tests.harness.programs.pki import Authority, KeyPair
from tests.unit.audit.ledger.spool.spools import frames
from tests.unit.audit.loopback_auditor import CLUSTER, Memory, running_auditor

GOOD = {
    "format": 1,
    "acknowledged": [one.id.hex() for one in frames(2)],
    "stored": 2,
    "known": 0,
    "quarantined": 0,
}


async def test_frames_are_delivered(tmp_path: Path) -> None:
    """All of a full batch, and what became of them comes back."""
    memory = Memory()
    async with running_auditor(tmp_path, memory) as auditor:
        client = auditor.client()
        assert await client.deliver(CLUSTER, frames(2000)) == Receipt(2000, 0, 0)
        assert await client.deliver(CLUSTER, frames(2001)) == Receipt(1, 2000, 0)
        await client.close()
        assert [frame for (_, _), frame in memory.kept.items()] == frames(2001)


async def failure(client: AuditorClient, cluster: str = CLUSTER) -> str:
    """Return what a delivery fails with."""
    with pytest.raises(LedgerError) as caught:
        await client.deliver(cluster, frames(2))
    await client.close()
    return str(caught.value)


async def test_a_refusal_says_what_to_look_at(tmp_path: Path) -> None:
    """Of another cluster, of a failing ledger; and nobody there."""
    memory = Memory()
    async with running_auditor(tmp_path, memory) as auditor:
        assert "403: the client certificate is of another" in await failure(
            auditor.client(), "other"
        )
        memory.failing = True
        assert "503: its ledger takes nothing now" in await failure(auditor.client())
        client = auditor.client()
    text = await failure(client)
    assert f"cannot connect to 127.0.0.1:{auditor.address[1]}" in text


async def test_an_auditor_of_another_ca_is_not_trusted(tmp_path: Path) -> None:
    """Nothing is sent to it."""
    (tmp_path / "other").mkdir()
    other, memory = Authority(tmp_path / "other"), Memory()
    async with running_auditor(tmp_path, memory) as auditor:
        files = other.certificate_path, auditor.pair.certificate, auditor.pair.key
        assert "its certificate is not trusted" in await failure(
            AuditorClient(AuditorChannel(auditor.url, *files))
        )
        stranger = other.issue_client("gate", f"sallyport://{CLUSTER}/gate")
        assert "no answer" in await failure(auditor.client(stranger))
        assert memory.deliveries == []


async def test_a_new_pair_is_used_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Swapped as the volumes of Secrets are; half of a pair leaves the old one in use."""
    monkeypatch.setattr("audit.clients.auditor._LOOK_EVERY_S", 0.0)
    async with running_auditor(tmp_path, Memory()) as auditor:
        (tmp_path / "used").symlink_to(tmp_path / "first")
        for name, uri in (("first", "other"), ("second", CLUSTER)):
            pair = auditor.authority.issue_client(name, f"sallyport://{uri}/gate")
            (tmp_path / name).mkdir()
            pair.certificate.rename(tmp_path / name / "tls.crt")
            pair.key.rename(tmp_path / name / "tls.key")
        client = auditor.client(KeyPair(tmp_path / "used/tls.crt", tmp_path / "used/tls.key"))
        with pytest.raises(LedgerError, match="403"):
            await client.deliver(CLUSTER, frames(1))
        assert (await client.deliver("other", frames(1))).stored == 1
        key = tmp_path / "first/tls.key"
        kept = key.read_bytes()
        key.write_bytes((tmp_path / "second/tls.key").read_bytes())
        assert (await client.deliver("other", frames(1))).known == 1
        key.unlink()
        assert (await client.deliver("other", frames(1))).known == 1
        key.write_bytes(kept)
        (tmp_path / "new").symlink_to(tmp_path / "second")
        (tmp_path / "new").rename(tmp_path / "used")
        assert (await client.deliver(CLUSTER, frames(1))).stored == 1
        await client.close()


async def test_without_a_pair_it_says_so_until_there_is_one(tmp_path: Path) -> None:
    """Control makes the Secrets after the gate has begun."""
    async with running_auditor(tmp_path, Memory()) as auditor:
        pair = KeyPair(tmp_path / "late.crt", tmp_path / "late.key")
        client = auditor.client(pair)
        with pytest.raises(LedgerError, match="for shipping cannot be used: No such file"):
            await client.deliver(CLUSTER, frames(1))
        auditor.authority.issue_client("late", f"sallyport://{CLUSTER}/gate")
        assert (await client.deliver(CLUSTER, frames(1))).stored == 1
        await client.close()


@pytest.mark.parametrize(
    "url",
    [
        "http://auditor",
        "auditor:443",
        "https://",
        "https://u:p@auditor",
        "https://auditor:u:p",
        "https://auditor:70000",
        "https://auditor:0",
        "https://[::1",
        "https://auditor?u:p",
    ],
)
async def test_auditor_client_refuses_other_schemes_than_https(tmp_path: Path, url: str) -> None:
    """And no credentials in the address; they are not repeated. Nor where people ask."""
    with pytest.raises(SettingsError, match=r"explain.url: must be https://host") as caught:
        await fetch_explanation(url, None, "token", "01989000-0000-7000-8000-000000000000")
    assert "u:p" not in str(caught.value)
    with pytest.raises(SettingsError, match=r"shipping.url: must be https://host") as caught:
        AuditorClient(AuditorChannel(url, tmp_path, tmp_path, tmp_path))
    assert "u:p" not in str(caught.value)


@asynccontextmanager
async def answering(
    authority: Authority, pair: KeyPair, answer: web.Response | float
) -> AsyncIterator[AuditorClient]:
    """Run a server that gives one answer, or waits so many seconds, and give a client of it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)

    async def handle(_: web.Request) -> web.Response:
        if isinstance(answer, web.Response):
            return answer
        await asyncio.sleep(answer)
        return web.Response()

    app = web.Application(client_max_size=2**24)
    app.router.add_post("/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    url = f"https://127.0.0.1:{runner.addresses[0][1]}"
    ca = authority.certificate_path
    client = AuditorClient(AuditorChannel(url, ca, pair.certificate, pair.key, timeout_s=0.5))
    try:
        yield client
    finally:
        await client.close()
        await runner.cleanup()


async def test_a_certificate_without_the_name_is_not_trusted(tmp_path: Path) -> None:
    """Also where the right CA has issued it: a gate's pair is no auditor's."""
    authority = Authority(tmp_path)
    pair = authority.issue_client("gate", f"sallyport://{CLUSTER}/gate")
    async with answering(authority, pair, web.Response(body=msgspec.json.encode(GOOD))) as client:
        assert "its certificate is not trusted" in await failure(client)


@asynccontextmanager
async def lying(folder: Path, answer: web.Response | float) -> AsyncIterator[AuditorClient]:
    """Run one that has a certificate for its name."""
    authority = Authority(folder)
    async with answering(authority, authority.issue_loopback_server("server"), answer) as client:
        yield client


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (GOOD | {"acknowledged": GOOD["acknowledged"][:1]}, "did not acknowledge 1 frames"),  # type: ignore[index]
        (GOOD | {"acknowledged": ["00" * 16] * 2}, "did not acknowledge 1 frames"),
        (GOOD | {"format": 3}, "answers in format 3: upgrade this"),
        (GOOD | {"stored": "secret"}, "its answer cannot be read"),
        ({}, "its answer cannot be read"),
    ],
)
async def test_only_a_full_acknowledgement_counts(
    tmp_path: Path, body: dict[str, object], says: str
) -> None:
    """What it does not say that it keeps, it does not keep."""
    answer = web.Response(body=msgspec.json.encode(body))
    async with lying(tmp_path, answer) as client:
        text = await failure(client)
        assert says in text
        assert "secret" not in text


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (web.Response(status=302, headers={"Location": "https://127.0.0.1:1/"}), "answered 302"),
        (web.Response(status=500, text="secret"), "answered 500: see the auditor's log"),
        (
            web.Response(status=404),
            "404: it is no auditor, or of an earlier release: check shipping.url",
        ),
        (web.Response(body=b" " * 2_000_000), "an answer without an end"),
        (5.0, "no answer: timed out"),
    ],
)
async def test_what_is_no_auditor_is_told_safely(
    tmp_path: Path, answer: web.Response | float, says: str
) -> None:
    """Nothing of its answer is repeated, nothing endless is read, no redirect is followed."""
    async with lying(tmp_path, answer) as client:
        text = await failure(client)
        assert says in text
        assert "secret" not in text


async def test_the_format_after_this_one_is_understood(tmp_path: Path) -> None:
    """With fields that this release does not know."""
    answer = web.Response(body=msgspec.json.encode(GOOD | {"format": 2, "more": 1}))
    async with lying(tmp_path, answer) as client:
        assert await client.deliver(CLUSTER, frames(2)) == Receipt(2, 0, 0)


def test_no_socket_outlives_a_delivery_whose_time_is_up(tmp_path: Path) -> None:
    """An auditor that falls silent, also over the end of TLS, leaves nothing open."""

    async def wait_in_vain() -> None:
        client = AuditorClient(
            AuditorChannel(server.url, ca, pair.certificate, pair.key, timeout_s=0.3)
        )
        with pytest.raises(LedgerError, match="no answer"):
            await client.deliver(CLUSTER, frames(2))
        await client.close()

    with silent_server(tmp_path, b"") as server:
        ca = server.authority.certificate_path
        pair = server.authority.issue_client("gate", f"sallyport://{CLUSTER}/gate")
        assert left_open(wait_in_vain) == []
