"""Heads are timestamped by a real authority (`openssl ts`); what else it may reply is refused."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from structlog.testing import capture_logs

from audit.clients.timestamp_authority import AuthorityPlace, HeadTimestamper
from audit.ledger.log.heads import sign_head, signed_bytes
from audit.ledger.log.timestamps import (
    TimestampError,
    encode_timestamp,
    make_query,
    read_timestamps,
    read_trust,
    verify_reply,
)
from core.base.errors import SettingsError
from tests.unit.audit.clients.openssl_authority import OpensslAuthority
from webhooks.log import get_logger

KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
HEAD = sign_head("ab" * 16, 7, b"r" * 32, 1_700_000_000_000, KEY)
LATER = sign_head("ab" * 16, 9, b"s" * 32, 1_700_000_060_000, KEY)
_V3 = bytes.fromhex("a003020102")
"""The version of a certificate, and one that there is not."""
_V8 = bytes.fromhex("a003020107")
Answer = Callable[[bytes], Awaitable[web.StreamResponse]]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> OpensslAuthority:
    """An authority with a sound certificate."""
    return OpensslAuthority(tmp_path_factory.mktemp("tsa"))


@asynccontextmanager
async def served(answer: Answer) -> AsyncIterator[str]:
    """Yield the URL of what answers queries."""

    async def handle(request: web.Request) -> web.StreamResponse:
        assert request.content_type == "application/timestamp-query"
        return await answer(await request.read())

    app = web.Application()
    app.router.add_post("/", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def replies(
    authority: OpensslAuthority, change: Callable[[bytes], bytes] = lambda query: query
) -> Answer:
    """Return what answers as an authority does, to a query that may be another."""

    async def answer(query: bytes) -> web.StreamResponse:
        content = await asyncio.to_thread(authority.reply, change(query))
        return web.Response(body=content, content_type="application/timestamp-reply")

    return answer


def place_of(
    url: str, authority: OpensslAuthority, folder: Path, policy: str = ""
) -> AuthorityPlace:
    """Return where timestamps come from and go to."""
    return AuthorityPlace(url, authority.ca, folder / "stamps.jsonl", policy, 3600.0, 2.0)


async def test_head_is_timestamped_and_openssl_agrees(
    authority: OpensslAuthority, tmp_path: Path
) -> None:
    """At most one an hour, each in a line; openssl, a second opinion, verifies the same bytes."""
    now = [1_800_000_000.0]
    async with served(replies(authority)) as url:
        stamper = HeadTimestamper(
            place_of(url, authority, tmp_path, "1.2.3.4.1"), get_logger(), lambda: now[0]
        )
        for head, seconds in ((None, 0), (HEAD, 0), (LATER, 60), (LATER, 3600), (LATER, 7200)):
            now[0] += seconds
            await stamper.beat(head)
        await stamper.close()
    assert (stamper.failures, stamper.size, stamper.failing_s) == (0, 9, 0.0)
    lines = (tmp_path / "stamps.jsonl").read_bytes().splitlines(keepends=True)
    found = list(read_timestamps(lines, read_trust(authority.ca.read_bytes())))
    assert [head for head, _ in found] == [HEAD, LATER]
    for head, line in zip((HEAD, LATER), lines, strict=True):
        reply = base64.b64decode(json.loads(line)["reply"])
        assert authority.verifies(signed_bytes(head), reply)
        assert not authority.verifies(signed_bytes(head) + b" ", reply)


def _other_text(_: bytes) -> bytes:
    return make_query(LATER).content


def _of_another_query(_: bytes) -> bytes:
    return make_query(HEAD).content


@pytest.mark.parametrize(
    ("change", "says"),
    [(_other_text, "Nonce mismatch"), (_of_another_query, "Nonce mismatch")],
    ids=["another digest", "another nonce"],
)
async def test_reply_to_another_query_is_refused(
    authority: OpensslAuthority, tmp_path: Path, change: Callable[[bytes], bytes], says: str
) -> None:
    """Nothing is kept, and the next beat tries again."""
    async with served(replies(authority, change)) as url:
        stamper = HeadTimestamper(place_of(url, authority, tmp_path), get_logger())
        with capture_logs() as logs:
            await stamper.beat(HEAD)
            await stamper.beat(HEAD)
        await stamper.close()
    assert (stamper.failures, len(logs)) == (2, 1)
    assert says in logs[0]["problem"]
    assert not (tmp_path / "stamps.jsonl").exists()


def test_reply_without_a_nonce_or_of_another_digest_is_refused(
    authority: OpensslAuthority,
) -> None:
    """As a replayed one would be; without a nonce of ours the text alone is demanded."""
    trust = read_trust(authority.ca.read_bytes())
    (authority.folder / "text").write_bytes(signed_bytes(HEAD))
    authority.run(*"ts -query -data text -sha256 -cert -no_nonce -out bare".split())
    bare = authority.reply((authority.folder / "bare").read_bytes())
    assert verify_reply(bare, HEAD, trust).year >= 2026
    with pytest.raises(TimestampError, match="Nonce mismatch"):
        verify_reply(bare, HEAD, trust, make_query(HEAD).nonce)
    with pytest.raises(TimestampError, match="Mismatch between messages"):
        verify_reply(bare, LATER, trust)
    with pytest.raises(TimestampError, match="Policy ID mismatch"):
        verify_reply(bare, HEAD, read_trust(authority.ca.read_bytes(), "1.2.3.4.2"))
    for damaged in (b"", b"x", bare[:-1], bare + b"x", bare[:90] + b"\0" + bare[91:], bare * 99):
        with pytest.raises(TimestampError):
            verify_reply(damaged, HEAD, trust)


def test_expired_certificate_is_refused(tmp_path: Path) -> None:
    """It signs all the same: its time is judged by the time that it says."""
    other = OpensslAuthority(tmp_path / "other", expired=True)
    query = make_query(HEAD)
    with pytest.raises(TimestampError):
        verify_reply(
            other.reply(query.content), HEAD, read_trust(other.ca.read_bytes()), query.nonce
        )


def test_certificate_of_another_purpose_is_refused(
    authority: OpensslAuthority, tmp_path: Path
) -> None:
    """One of the same key, number and CA, put into the reply: openssl itself signs with none."""
    with pytest.raises(AssertionError):
        OpensslAuthority(tmp_path / "other", "codeSigning").reply(make_query(HEAD).content)
    query = make_query(HEAD)
    reply = authority.reply(query.content)
    good, wrong = authority.certificates("codeSigning")
    assert (len(good), reply.count(good)) == (len(wrong), 1)
    trust = read_trust(authority.ca.read_bytes())
    assert verify_reply(reply, HEAD, trust, query.nonce).year >= 2026
    with pytest.raises(TimestampError, match=r"unsuitable certificate purpose$"):
        verify_reply(reply.replace(good, wrong), HEAD, trust, query.nonce)


def test_authority_of_another_ca_is_refused(authority: OpensslAuthority, tmp_path: Path) -> None:
    """Whatever its certificate says."""
    other = OpensslAuthority(tmp_path / "other")
    query = make_query(HEAD)
    with pytest.raises(TimestampError):
        verify_reply(
            other.reply(query.content), HEAD, read_trust(authority.ca.read_bytes()), query.nonce
        )


async def test_certificate_that_the_library_cannot_read_is_refused(
    authority: OpensslAuthority, tmp_path: Path
) -> None:
    """It raises no ValueError then (x509.InvalidVersion); the next beat tries again."""
    good, _ = authority.certificates("codeSigning")
    wrong = good.replace(_V3, _V8, 1)
    assert good != wrong

    async def answer(query: bytes) -> web.StreamResponse:
        content = await asyncio.to_thread(authority.reply, query)
        content = content.replace(good, wrong)
        return web.Response(body=content, content_type="application/timestamp-reply")

    now = [1_800_000_000.0]
    async with served(answer) as url:
        stamper = HeadTimestamper(place_of(url, authority, tmp_path), get_logger(), lambda: now[0])
        with capture_logs() as logs:
            for _ in range(2):
                await stamper.beat(HEAD)
                now[0] += 3600
        await stamper.close()
    assert (stamper.failures, stamper.failing_s) == (2, 7200.0)
    assert "its reply is no timestamp of the head" in logs[0]["problem"]
    pem = ssl.DER_cert_to_PEM_cert(wrong).encode()
    with pytest.raises(ValueError, match="version"):
        read_trust(pem)


async def test_beat_never_fails_its_caller(authority: OpensslAuthority, tmp_path: Path) -> None:
    """Whatever it is, such as a head that is no text: the same task signs heads."""
    stamper = HeadTimestamper(place_of("http://a", authority, tmp_path), get_logger())
    with capture_logs() as logs:
        await stamper.beat(msgspec.structs.replace(HEAD, log="\ud800"))
    assert "UnicodeEncodeError" in logs[0]["problem"]
    assert stamper.failures == 1


def _fixed(status: int, kind: str, content: bytes = b"") -> Answer:
    async def answer(_: bytes) -> web.StreamResponse:
        return web.Response(status=status, body=content, content_type=kind)

    return answer


async def _silent(_: bytes) -> web.StreamResponse:
    await asyncio.sleep(30)
    return web.Response()


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (_fixed(500, "text/plain"), "it answers 500 with text/plain"),
        (_fixed(200, "text/html"), "it answers 200 with text/html"),
        (_fixed(200, "application/timestamp-reply", b"x" * 10**7), "more than 65,536 bytes"),
        (_fixed(200, "application/timestamp-reply", b"nonsense"), "is no timestamp of the head"),
        (_silent, "it does not answer"),
    ],
)
async def test_what_is_no_reply_is_an_error(
    authority: OpensslAuthority, tmp_path: Path, answer: Answer, says: str
) -> None:
    """One that never ends, too: time and bytes are bounded."""
    async with served(answer) as url:
        stamper = HeadTimestamper(place_of(url, authority, tmp_path), get_logger())
        with capture_logs() as logs:
            await stamper.beat(HEAD)
        await stamper.close()
    assert says in logs[0]["problem"]
    assert (stamper.failures, (tmp_path / "stamps.jsonl").exists()) == (1, False)


def test_lines_that_are_damaged_are_named(authority: OpensslAuthority) -> None:
    """Another head, a reply that was cut, what is no line; but not one that a crash cut short."""
    trust = read_trust(authority.ca.read_bytes())
    good = encode_timestamp(HEAD, authority.reply(make_query(HEAD).content))
    swapped = good.replace(b'"size":7', b'"size":8')
    for bad in (swapped, good[:-40] + b'"}\n', b"{}\n", b"\xff}\n"):
        with pytest.raises(TimestampError, match="line 2: "):
            list(read_timestamps([good, bad], trust))
    torn = good[:-40] + b"\n"
    assert len(list(read_timestamps([good, torn, good, torn[:-1]], trust))) == 2


def test_wrong_settings_name_the_setting(tmp_path: Path, authority: OpensslAuthority) -> None:
    """Before anything is asked."""
    (tmp_path / "none.pem").write_text("x")
    for ca, policy in ((tmp_path / "none.pem", ""), (tmp_path / "gone", ""), (authority.ca, "x")):
        with pytest.raises(SettingsError, match=r"ledger\.timestamp: ca: "):
            HeadTimestamper(
                AuthorityPlace("http://a", ca, tmp_path / "stamps", policy), get_logger()
            )
