"""Clients that begin and never end: none of them keeps kube-apiserver out."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from unittest.mock import Mock

import pytest
import pytest_asyncio

from network.asgi import Scope
from tests.unit.webhooks.connection import Connection, until
from tests.unit.webhooks.gate import Gate, running_gate
from tests.unit.webhooks.judge import PrivilegedJudge
from tests.unit.webhooks.reviews import encode, review
from webhooks.limits import AppSettings
from webhooks.protocol import AdmissionProtocol, Connections
from webhooks.server import make_config

GOOD = encode(review())
LARGE = encode(review(padding=150_000))
HEAD = (
    "POST /validate?timeout={timeout} HTTP/1.1\r\nHost: gate\r\n"
    "Content-Type: application/json\r\n{length}\r\n\r\n"
)


def head(length: int | None = 10, timeout: str = "30s") -> bytes:
    """Return a head whose body is to come; chunked without a length."""
    coding = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return HEAD.format(timeout=timeout, length=coding).encode()


async def ended(connection: Connection) -> None:
    """Wait until the gate ends a connection without a word."""
    try:
        assert await asyncio.wait_for(connection.reader.read(1), 3) == b""
    except ConnectionError:
        return


async def dropped(gate: Gate, reason: str) -> None:
    """Wait until one drop for a reason is counted."""
    line = f'sallyport_dropped_connections_total{{reason="{reason}"}} 1.0'
    async with asyncio.timeout(4):
        while line not in await gate.scrape():  # noqa: ASYNC110  As above.
            await asyncio.sleep(0.05)


@pytest.fixture(autouse=True)
def _sweep_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhooks.server._TICKS_BETWEEN_SWEEPS", 1)


@pytest_asyncio.fixture
async def crowded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gate]:
    """A gate that three connections fill."""
    monkeypatch.setattr("webhooks.protocol.AdmissionProtocol.max_connections", 3)
    monkeypatch.setattr("webhooks.protocol.FRESH_SECONDS", 0.0)
    async with running_gate(tmp_path) as gate:
        yield gate


@pytest_asyncio.fixture
async def narrow(tmp_path: Path) -> AsyncIterator[Gate]:
    """A gate that holds 400,000 bytes of bodies, each at most 200,000."""
    settings = AppSettings(max_body_bytes=200_000, max_held_bytes=400_000)
    async with running_gate(tmp_path, app_settings=settings) as gate:
        yield gate


@pytest.mark.parametrize("length", [10, None])
async def test_a_body_that_never_begins_is_not_waited_for(gate: Gate, length: int | None) -> None:
    """Not one byte of it need come for its time to run."""
    connection = await gate.connect()
    answer = await asyncio.wait_for(connection.send(head(length, "400ms")), 3)
    assert (answer.status, answer.closes) == (408, True)
    await connection.close()


async def test_no_caller_may_wait_long_for_its_own_body(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A body has a time of its own, however long the caller's timeout is."""
    monkeypatch.setattr("webhooks.app.BODY_SECONDS", 0.2)
    connection = await gate.connect()
    answer = await asyncio.wait_for(connection.send(head()), 3)
    assert answer.status == 408
    await connection.close()


async def test_a_connection_ends_though_the_application_waits(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection has a clock of its own."""
    monkeypatch.setattr("webhooks.app.BODY_SECONDS", 60.0)
    monkeypatch.setattr("webhooks.protocol.BODY_SECONDS", 0.2)
    connection = await gate.connect()
    connection.writer.write(head())
    await ended(connection)
    await dropped(gate, "body")
    await connection.close()


async def test_unfinished_requests_make_room_for_a_review(crowded: Gate) -> None:
    """The oldest of those that wait for their client goes, not the newest."""
    stuck = [await crowded.connect() for _ in range(3)]
    for connection in stuck:
        connection.writer.write(head())
    await asyncio.sleep(0.05)
    assert (await crowded.post("/validate", GOOD)).status == 200
    await ended(stuck[0])
    await dropped(crowded, "crowded")
    for connection in stuck:
        await connection.close()


async def test_strangers_go_before_those_that_were_answered(crowded: Gate) -> None:
    """kube-apiserver's idle connection outlives those that never asked anything."""
    known = await crowded.connect()
    await known.post("/validate", GOOD)
    strangers = [await crowded.connect() for _ in range(2)]
    assert (await crowded.post("/validate", GOOD)).status == 200
    await ended(strangers[0])
    assert (await known.post("/validate", GOOD)).status == 200
    for connection in (known, *strangers):
        await connection.close()


async def test_the_longest_idle_goes_where_all_were_answered(crowded: Gate) -> None:
    """An answer does not buy a place for ever."""
    idle = [await crowded.connect() for _ in range(3)]
    for connection in idle:
        await connection.post("/validate", GOOD)
    assert (await crowded.post("/validate", GOOD)).status == 200
    await ended(idle[0])
    for connection in idle:
        await connection.close()


async def test_a_handshake_has_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is never finished is cut and counted."""
    monkeypatch.setattr("webhooks.server.HANDSHAKE_SECONDS", 0.2)
    async with running_gate(tmp_path) as gate:
        mute = await Connection.open(gate.addresses.served, None)
        await ended(mute)
        await dropped(gate, "handshake")
        await mute.close()


async def test_bodies_are_bounded_together(narrow: Gate) -> None:
    """Beyond the bound: 503 and once again later; small reviews go on being read."""
    assert narrow.app.held_bytes == 0
    unfinished = [await narrow.connect() for _ in range(2)]
    for connection in unfinished:
        connection.writer.write(head(190_000) + b" " * 180_000)
    await until(lambda: narrow.app.held_bytes == 360_000)
    answer = await narrow.post("/validate", LARGE)
    assert (answer.status, answer.closes, answer.headers["retry-after"]) == (503, True, "1")
    assert "400,000 bytes" in json.loads(answer.body)["error"]
    assert 'rejected_bodies_total{status="503"} 1.0' in await narrow.scrape()
    assert (await narrow.post("/validate", GOOD)).status == 200
    await until(lambda: narrow.app.held_bytes == 360_000)
    for connection in unfinished:
        await connection.close()
    await until(lambda: narrow.app.held_bytes == 0)
    assert (await narrow.post("/validate", LARGE)).status == 200
    await until(lambda: narrow.app.held_bytes == 0)


async def test_what_is_being_judged_is_held(tmp_path: Path) -> None:
    """A body's memory is the object's, until the answer; a cut-off one is let go as well."""
    judge = PrivilegedJudge(delay=0.3)
    async with running_gate(tmp_path, judge) as gate:
        judged = asyncio.create_task(gate.post("/validate", LARGE))
        await until(lambda: gate.app.held_bytes == len(LARGE))
        assert (await judged).status == 200
        assert gate.app.held_bytes == 0
        judge.delay = 60.0
        answer = await gate.post("/validate?timeout=300ms", LARGE)
        assert answer.response["allowed"] is False
        assert gate.app.held_bytes == 0


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (head(190_000, "300ms") + b" " * 180_000, 408),
        (head(200_001) + b" " * 100_000, 413),
        (head(None) + b"20000\r\n" + b" " * 0x20000 + b"\r\n20000\r\n" + b" " * 0x20000, 413),
        (head(180_000) + b" " * 180_000, 400),
    ],
)
async def test_a_refused_body_is_let_go(narrow: Gate, sent: bytes, status: int) -> None:
    """Whatever is wrong with it."""
    connection = await narrow.connect()
    assert (await asyncio.wait_for(connection.send(sent), 3)).status == status
    assert narrow.app.held_bytes == 0
    await connection.close()


async def test_a_body_is_let_go_when_judging_fails(narrow: Gate) -> None:
    """Nobody foresaw it; the bytes are free all the same."""
    narrow.judge.error = ZeroDivisionError()
    assert (await narrow.post("/mutate", LARGE)).status == 500
    assert narrow.app.held_bytes == 0


async def flood(gate: Gate, first: bytes, line: bytes) -> int:
    """Send a line until the connection is cut; give how many bytes went out."""
    connection = await gate.connect()
    connection.writer.write(first)
    sent = 0
    try:
        while sent < 50_000_000 and not connection.reader.at_eof():
            connection.writer.write(line)
            await connection.writer.drain()
            sent += len(line)
            await asyncio.sleep(0)
    except OSError:
        return sent
    finally:
        await connection.close()
    return sent


async def test_trailers_do_not_go_on_for_ever(gate: Gate) -> None:
    """Neither by their bytes nor by their number."""
    first = head(None) + b"0\r\n"
    assert await flood(gate, first, b"x: " + b"y" * 60_000 + b"\r\n") < 20_000_000
    await dropped(gate, "length")
    assert await flood(gate, first, b"x: y\r\n" * 1_000) < 5_000_000
    await dropped(gate, "trailers")


async def test_chunk_extensions_do_not_go_on_for_ever(gate: Gate) -> None:
    """They are no body, and bytes all the same."""
    assert await flood(gate, head(None) + b"1;", b"x" * 60_000) < 20_000_000


async def test_a_trailer_that_never_ends_is_not_waited_for(gate: Gate) -> None:
    """The body is there; the request is not."""
    connection = await gate.connect()
    sent = head(None, "400ms") + b"1\r\n{\r\n0\r\nx: y\r\n"
    assert (await asyncio.wait_for(connection.send(sent), 3)).status == 408
    await connection.close()


@pytest.mark.parametrize("reason", ["unread", "idle"])
async def test_a_client_that_only_holds_its_place_is_cut(tmp_path: Path, reason: str) -> None:
    """By leaving answers unread, or by a blank line, which stops uvicorn's keep-alive timer."""

    async def nothing(_scope: Scope, _receive: object, _send: object) -> None:
        """Answer nothing."""

    state = Connections(1_000)
    protocol = AdmissionProtocol(make_config(nothing, None, 120), state, {})
    protocol.connection_made(Mock(get_extra_info=Mock(return_value=None)))
    protocol.head_since = None  # As after an answer.
    if reason == "unread":
        protocol.pause_writing()
    now = time.monotonic()
    protocol.close_if_stuck(now + 9)
    assert not state.dropped
    protocol.close_if_stuck(now + 131)
    assert state.dropped == {reason: 1}
