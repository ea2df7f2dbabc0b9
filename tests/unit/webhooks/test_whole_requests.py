"""Requests that come whole go past ASGI, and are answered as those that come in pieces are."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from tests.unit.webhooks.connection import Answer, Connection, until
from tests.unit.webhooks.gate import Gate, running_gate
from tests.unit.webhooks.judge import PrivilegedJudge
from tests.unit.webhooks.reviews import encode, review
from webhooks.app import AdmissionApp
from webhooks.exchange import HttpRequest, Reply
from webhooks.limits import AppSettings

HEAD = "{method} {target} HTTP/1.1\r\nHost: gate\r\nContent-Type: {kind}\r\n{length}{more}\r\n"
GOOD = encode(review(uid="good"))
OTHER = encode(review(uid="other"))


def post(body: bytes, more: str = "", target: str = "/validate", kind: str = "") -> bytes:
    """Return a request's bytes."""
    length = f"Content-Length: {len(body)}\r\n"
    kind = kind or "application/json"
    head = HEAD.format(method="POST", target=target, kind=kind, length=length, more=more)
    return head.encode() + body


class Ways:
    """How the requests of a test went through the application."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pieces = 0
        self.whole = 0
        answer = AdmissionApp.answer

        async def noting(app: AdmissionApp, request: HttpRequest) -> Reply:
            if isinstance(request.body, bytes):
                self.whole += 1
            else:
                self.pieces += 1
            return await answer(app, request)

        monkeypatch.setattr(AdmissionApp, "answer", noting)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Ways:
    """Count which way requests go; to be asked for before the gate."""
    return Ways(monkeypatch)


@pytest_asyncio.fixture
async def gate(ways: Ways, tmp_path: Path) -> AsyncIterator[Gate]:
    """A gate whose requests are counted."""
    async with running_gate(tmp_path) as running:
        yield running


@asynccontextmanager
async def connected(gate: Gate) -> AsyncIterator[Connection]:
    """Connect to a gate, and leave."""
    connection = await gate.connect()
    try:
        yield connection
    finally:
        await connection.close()


async def in_pieces(connection: Connection, raw: bytes) -> Answer:
    """Send a request's head and body apart."""
    head, _, body = raw.partition(b"\r\n\r\n")
    connection.writer.write(head + b"\r\n\r\n" + body[:1])
    await asyncio.sleep(0.05)
    return await connection.send(body[1:])


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (post(GOOD), 200),
        (post(b""), 400),
        (post(b"{}"), 400),
        (post(GOOD, target="/other"), 404),
        (post(GOOD, target="/v%61lidate"), 404),
        (post(GOOD, target="/validate%2F"), 404),
        (post(GOOD, kind="text/plain"), 415),
        (post(GOOD, target="/mutate?timeout=3s"), 200),
    ],
    ids=["review", "empty", "no review", "path", "escape", "slash", "type", "mutate"],
)
async def test_both_ways_answer_alike(gate: Gate, ways: Ways, raw: bytes, status: int) -> None:
    """Status and body are the same, and each request went its own way."""
    async with connected(gate) as connection:
        first = await connection.send(raw)
    assert (first.status, ways.whole, ways.pieces) == (status, 1, 0)
    if raw.endswith(b"\r\n\r\n"):
        return  # Without a body there are no pieces.
    async with connected(gate) as connection:
        second = await in_pieces(connection, raw)
    assert (second.status, ways.whole, ways.pieces) == (status, 1, 1)
    assert second.body == first.body
    assert second.headers.keys() == first.headers.keys()


async def test_requests_in_one_piece_are_answered_in_their_order(gate: Gate, ways: Ways) -> None:
    """Two reviews in one write: the second waits for the first, which is slower."""
    gate.judge.delay = 0.05
    async with connected(gate) as connection:
        connection.writer.write(post(GOOD) + post(OTHER))
        answers = [await connection.read_answer() for _ in range(2)]
        assert [answer.response["uid"] for answer in answers] == ["good", "other"]
        assert (ways.whole, ways.pieces) == (1, 1), "the second one is not alone"
        third = await connection.send(post(GOOD))
    assert third.response["uid"] == "good"
    assert ways.whole == 2


@pytest.mark.parametrize(
    ("more", "version"), [("Connection: close\r\n", b"HTTP/1.1"), ("", b"HTTP/1.0")]
)
async def test_a_client_that_wants_to_close_is_answered_first(
    gate: Gate, more: str, version: bytes
) -> None:
    """The answer says that the connection closes, and it does."""
    async with connected(gate) as connection:
        answer = await connection.send(post(GOOD, more).replace(b"HTTP/1.1", version, 1))
        assert (answer.status, answer.closes) == (200, True)
        assert await connection.reader.read() == b""


async def test_other_methods_go_through_asgi(gate: Gate, ways: Ways) -> None:
    """HEAD gets no body, which only uvicorn's own way knows."""
    head = HEAD.format(method="HEAD", target="/validate", kind="a/b", length="", more="")
    async with connected(gate) as connection:
        connection.writer.write(head.encode())
        said = await connection.reader.read()
    assert said.startswith(b"HTTP/1.1 405 ")
    assert said.endswith(b"\r\n\r\n")
    assert (ways.whole, ways.pieces) == (0, 1)


async def test_a_client_that_asks_whether_to_go_on_is_told(gate: Gate, ways: Ways) -> None:
    """`Expect: 100-continue` gets its 100, although the body is here already."""
    async with connected(gate) as connection:
        connection.writer.write(post(GOOD, "Expect: 100-continue\r\n"))
        assert (await connection.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
        assert (await connection.read_answer()).status == 200
    assert (ways.whole, ways.pieces) == (0, 1)


async def test_a_client_that_leaves_harms_nobody(gate: Gate) -> None:
    """Its review is judged, nobody gets the answer, and the next client is served."""
    gate.judge.delay = 0.1
    async with connected(gate) as connection:
        connection.writer.write(post(GOOD))
        await until(lambda: gate.app.held_bytes > 0)
    await until(lambda: gate.app.held_bytes == 0)
    async with connected(gate) as connection:
        assert (await connection.send(post(GOOD))).status == 200


async def test_an_application_that_fails_answers_500(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What nobody foresaw ends the connection with an error that says nothing of its cause."""

    async def fail(*_: object) -> Reply:
        raise RuntimeError("a secret")

    monkeypatch.setattr(AdmissionApp, "_answer", fail)
    async with connected(gate) as connection:
        answer = await connection.send(post(GOOD))
    assert (answer.status, answer.closes) == (500, True)
    assert b"secret" not in answer.body
    assert "a secret" not in gate.text()


async def test_a_large_body_is_bounded_as_ever(tmp_path: Path, ways: Ways) -> None:
    """What comes whole and is too large is refused, not judged."""
    judge = PrivilegedJudge()
    settings = AppSettings(len(GOOD) - 1)
    async with (
        running_gate(tmp_path, judge, app_settings=settings) as narrow,
        connected(narrow) as connection,
    ):
        answer = await connection.send(post(GOOD))
    assert (answer.status, ways.whole, judge.budgets) == (413, 1, [])
