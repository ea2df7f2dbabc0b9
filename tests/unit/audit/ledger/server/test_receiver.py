"""What the auditor's receiver takes, over real mutual TLS, and what it refuses."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from audit.ledger.records.frames import Frame, FrameKind, encode_frame
from audit.ledger.server.receiver import ReceiverSettings
from tests.harness.programs.pki import Authority, KeyPair
from tests.unit.audit.ledger.spool.spools import frame, frames
from tests.unit.audit.loopback_auditor import CLUSTER, Auditor, Memory, running_auditor
from tests.unit.webhooks.connection import Answer, Connection, until

HEADERS = {
    "Content-Type": "application/vnd.sallyport.frames",
    "Sallyport-Format": "1",
    "Sallyport-Cluster": CLUSTER,
}
SETTINGS = ReceiverSettings(
    max_body_bytes=100_000, max_bodies=3, max_cluster_bodies=2, max_frames=64, body_seconds=0.5
)
TWO = b"".join(encode_frame(one.kind, one.id, one.payload) for one in frames(2))


@pytest.fixture
def memory() -> Memory:
    """Where the auditor keeps frames."""
    return Memory()


@pytest_asyncio.fixture
async def auditor(tmp_path: Path, memory: Memory) -> AsyncIterator[Auditor]:
    """A running auditor."""
    async with running_auditor(tmp_path, memory, SETTINGS) as running:
        yield running


async def connect(auditor: Auditor, pair: KeyPair | None) -> Connection:
    """Open a connection that shows a certificate."""
    context = ssl.create_default_context(cafile=auditor.authority.certificate_path)
    if pair is not None:
        context.load_cert_chain(pair.certificate, pair.key)
    reader, writer = await asyncio.open_connection(*auditor.address, ssl=context)
    return Connection(reader, writer)


def request(
    body: bytes, method: str = "POST", path: str = "/v1/frames", **changes: str | None
) -> bytes:
    """Return a request; `changes` are headers with underscores, None to leave one out."""
    named = {name.replace("_", "-").title(): value for name, value in changes.items()}
    headers = {**HEADERS, "Content-Length": str(len(body)), **named}
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return (
        "\r\n".join([f"{method} {path} HTTP/1.1", "Host: auditor", *lines, "", ""]).encode() + body
    )


async def send(auditor: Auditor, raw: bytes, pair: KeyPair | None = None) -> Answer:
    """Send a request on a connection of its own."""
    connection = await connect(auditor, pair or auditor.pair)
    try:
        return await connection.send(raw)
    finally:
        await connection.close()


async def test_frames_are_kept_and_acknowledged_by_id(auditor: Auditor, memory: Memory) -> None:
    """The answer names each; sent again, they are known. Kinds of a later release are taken."""
    late = Frame(200, b"\x09" * 32, b"later")
    body = TWO + encode_frame(late.kind, late.id, late.payload)
    ids = [one.id.hex() for one in (*frames(2), late)]
    for stored, known in ((3, 0), (0, 3)):
        answer = await send(auditor, request(body))
        assert answer.status == 200
        assert msgspec.json.decode(answer.body) == {
            "format": 1,
            "acknowledged": ids,
            "stored": stored,
            "known": known,
            "quarantined": 0,
        }
    assert list(memory.kept.values()) == [*frames(2), late]
    assert {cluster for cluster, _ in memory.kept} == {CLUSTER}
    assert (auditor.receiver.received.stored, auditor.receiver.received.known) == (3, 3)
    assert auditor.receiver.answers == {200: 2}


@pytest.mark.parametrize(
    ("raw", "status", "says"),
    [
        (request(TWO, path="/v2/frames"), 404, "only POST /v1/frames"),
        (request(b"", method="GET"), 405, "send a POST"),
        (request(TWO, method="PUT"), 405, "send a POST"),
        (request(TWO, content_type="application/json"), 415, "application/vnd.sallyport.frames"),
        (request(TWO, content_type=None), 415, "Content-Type"),
        (request(TWO, sallyport_format="3"), 400, "Sallyport-Format must be 0 to 2"),
        (request(TWO, sallyport_format="9" * 5000), 400, "Sallyport-Format"),
        (request(TWO, sallyport_format=None), 400, "Sallyport-Format"),
        (request(TWO, sallyport_cluster=None), 400, "Sallyport-Cluster"),
        (request(TWO, sallyport_cluster="a/b"), 400, "must be a cluster's id"),
        (request(TWO, sallyport_cluster="c" * 64), 400, "must be a cluster's id"),
        (request(b"x" * 100_001), 413, "larger than 100,000 bytes"),
        (request(b""), 400, "no whole frame at byte 0"),
        (request(TWO[:-1]), 400, "no whole frame at byte 126"),
        (request(TWO[:-1] + b"\x00"), 400, "at byte 126: the checksum is wrong"),
        (request(b"GET / HTTP/1.1\r\n\r\n"), 400, "a damaged frame at byte 0"),
    ],
)
async def test_what_is_no_such_request_is_refused(
    auditor: Auditor, memory: Memory, raw: bytes, status: int, says: str
) -> None:
    """With the status and the words that tell what is wrong; nothing is kept of it."""
    answer = await send(auditor, raw)
    assert answer.status == status
    assert says in answer.body.decode()
    assert answer.headers["content-type"] == "text/plain"
    assert answer.closes
    assert memory.deliveries == []
    assert auditor.receiver.answers == {status: 1}


async def test_a_length_is_demanded(auditor: Auditor) -> None:
    """A chunked body could have any."""
    raw = request(b"", content_length=None, transfer_encoding="chunked") + b"0\r\n\r\n"
    assert (await send(auditor, raw)).status == 411


async def test_the_formats_beside_this_one_are_taken(auditor: Auditor) -> None:
    """Releases next to each other understand one another."""
    for version in ("0", "1", "2"):
        assert (await send(auditor, request(TWO, sallyport_format=version))).status == 200


@pytest.mark.parametrize(
    "uri",
    [
        f"sallyport://{CLUSTER}x/gate",
        f"sallyport://{CLUSTER}/",
        f"sallyport://x/{CLUSTER}/gate",
        f"https://{CLUSTER}/gate",
        "sallyport://another/gate",
    ],
)
async def test_a_cluster_cannot_speak_for_another(
    auditor: Auditor, memory: Memory, uri: str
) -> None:
    """The certificate says which cluster it is, whatever the header says."""
    answer = await send(auditor, request(TWO), auditor.authority.issue_client("other", uri))
    assert answer.status == 403
    assert "does not carry a URI sallyport://" in answer.body.decode()
    assert memory.deliveries == []


async def test_a_certificate_without_a_uri_is_not_enough(auditor: Auditor) -> None:
    """A serving certificate of the same CA is no client's."""
    pair = auditor.authority.issue_loopback_server("server")
    assert (await send(auditor, request(TWO), pair)).status == 403


async def test_without_a_certificate_of_its_ca_there_is_no_answer(
    auditor: Auditor, tmp_path: Path
) -> None:
    """TLS itself refuses: a client without one, and one of another CA."""
    (tmp_path / "other").mkdir()
    stranger = Authority(tmp_path / "other").issue_client("gate", f"sallyport://{CLUSTER}/gate")
    for pair in (None, stranger):
        connection = await connect(auditor, pair)
        with pytest.raises((OSError, EOFError)):  # of OSError, ssl.SSLError is one
            await connection.send(request(TWO))
        await connection.close()
    assert auditor.receiver.answers == {}


async def test_a_server_that_asks_for_no_certificate_serves_nobody(
    tmp_path: Path, memory: Memory
) -> None:
    """A setting that was forgotten opens nothing."""
    async with running_auditor(tmp_path, memory, asks_for_certificates=False) as auditor:
        assert (await send(auditor, request(TWO))).status == 403
    assert memory.deliveries == []


async def test_a_failing_ledger_is_told_without_its_words(auditor: Auditor, memory: Memory) -> None:
    """503 and Retry-After; what the database says stays on this side."""
    memory.failing = True
    answer = await send(auditor, request(TWO))
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert answer.body == b"the ledger takes nothing now; the auditor's log says why\n"
    memory.failing = False
    assert (await send(auditor, request(TWO))).status == 200


async def test_bodies_that_are_held_are_bounded(auditor: Auditor) -> None:
    """Two are being read: a third is asked to come again, and room comes back when they end."""
    slow = [await connect(auditor, auditor.pair) for _ in range(2)]
    for connection in slow:
        connection.writer.write(request(TWO)[:-1])
    await until(lambda: auditor.receiver.held.total() == 2)
    answer = await send(auditor, request(TWO))
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    slow[0].writer.write(TWO[-1:])
    assert (await slow[0].read_answer()).status == 200
    assert (await slow[1].read_answer()).status == 408
    assert (await send(auditor, request(TWO))).status == 200
    for connection in slow:
        await connection.close()


async def test_a_client_that_leaves_frees_its_room(auditor: Auditor, memory: Memory) -> None:
    """Half a body is nobody's."""
    connection = await connect(auditor, auditor.pair)
    connection.writer.write(request(TWO)[:-1])
    await until(lambda: auditor.receiver.held.total() == 1)
    await connection.close()
    await until(lambda: auditor.receiver.held.total() == 0)
    assert memory.deliveries == []


async def test_each_request_of_a_connection_is_checked(auditor: Auditor) -> None:
    """The certificate is known once a connection; the cluster is asked for each time."""
    connection = await connect(auditor, auditor.pair)
    assert (await connection.send(request(TWO))).status == 200
    assert (await connection.send(request(TWO))).status == 200
    assert (await connection.send(request(TWO, sallyport_cluster="other"))).status == 403
    await connection.close()


async def test_what_was_kept_is_what_was_sent(auditor: Auditor, memory: Memory) -> None:
    """Bodies come in parts; frames as large as a body may be are put together again."""
    large = frame(5, 99_000)
    answer = await send(auditor, request(encode_frame(large.kind, large.id, large.payload)))
    assert answer.status == 200
    assert list(memory.kept.values()) == [large]


async def test_one_cluster_does_not_keep_another_out(auditor: Auditor, tmp_path: Path) -> None:
    """Its own slow requests are bounded below what all may hold."""
    slow = [await connect(auditor, auditor.pair) for _ in range(2)]
    for connection in slow:
        connection.writer.write(request(TWO)[:-1])
    await until(lambda: auditor.receiver.held.total() == 2)
    other = auditor.authority.issue_client("other", "sallyport://other/gate")
    answer = await send(auditor, request(TWO, sallyport_cluster="other"), other)
    assert answer.status == 200
    for connection in slow:
        await connection.close()


async def test_a_body_of_many_tiny_frames_is_refused(auditor: Auditor) -> None:
    """They would cost far more memory than their bytes."""
    body = b"".join(encode_frame(9, bytes([number]), b"") for number in range(65))
    assert (await send(auditor, request(body))).status == 413


async def test_a_length_of_thousands_of_digits_is_refused(auditor: Auditor) -> None:
    """Python refuses to read such a number, zeros included."""
    content = request(TWO).replace(b"Content-Length: ", b"Content-Length: " + b"0" * 5000)
    assert (await send(auditor, content)).status in {400, 411}


DECISIONS = {FrameKind.DECISION, FrameKind.PROJECTION}
GATES = DECISIONS | {FrameKind.AGGREGATE}
CONTROLS = DECISIONS | {
    FrameKind.SWEEP,
    FrameKind.LOOK_BACK,
    FrameKind.LOG_GAP,
    FrameKind.POD_LIFE,
    FrameKind.CHANGE,
}


@pytest.mark.parametrize("kind", FrameKind)
@pytest.mark.parametrize(("process", "records"), [("gate", GATES), ("control", CONTROLS)])
async def test_a_process_writes_only_what_it_records(
    auditor: Auditor, memory: Memory, process: str, records: set[FrameKind], kind: FrameKind
) -> None:
    """What another one records is set aside with the reason; the sender is told so and goes on."""
    source = "validate" if process == "gate" else "sweep"
    payload = msgspec.json.encode({"source": source})
    body = encode_frame(kind, b"i" * 16, payload)
    pair = auditor.authority.issue_client(process, f"sallyport://{CLUSTER}/{process}")
    answer = await send(auditor, request(body), pair)
    assert answer.status == 200
    said = msgspec.json.decode(answer.body)
    assert said["acknowledged"] == [(b"i" * 16).hex()]
    own = kind in records
    assert (said["stored"], said["quarantined"]) == ((1, 0) if own else (0, 1))
    assert len(memory.kept) == own
    reasons = [each.reason for each in memory.quarantined]
    certificate = "its certificate is used by another"
    assert reasons == ([] if own else [f"{process} records no {kind.name}: {certificate}"])


@pytest.mark.parametrize(
    ("process", "source"),
    [("gate", "sweep"), ("control", "validate"), ("control", "mutate"), ("gate", "made-up")],
)
async def test_a_process_writes_only_decisions_that_it_takes(
    auditor: Auditor, memory: Memory, process: str, source: str
) -> None:
    """A gate sweeps nothing, and `control` answers no review."""
    frames = [
        encode_frame(FrameKind.DECISION, bytes([n] * 16), msgspec.json.encode({"source": each}))
        for n, each in enumerate((source, "sweep" if process == "control" else "validate"))
    ]
    pair = auditor.authority.issue_client(process, f"sallyport://{CLUSTER}/{process}")
    assert (await send(auditor, request(b"".join(frames)), pair)).status == 200
    assert [each.frame.id for each in memory.quarantined] == [bytes(16)]
    assert f"{process} records no decisions of source {source}" in memory.quarantined[0].reason
    assert [frame.id for frame in memory.kept.values()] == [b"\1" * 16]


@pytest.mark.parametrize("process", ["auditor", "gate/", "control/x", "Gate", "gate-2"])
async def test_a_process_that_records_nothing_is_refused(
    auditor: Auditor, memory: Memory, process: str
) -> None:
    """Its certificate is of the cluster, and of nobody who sends records."""
    pair = auditor.authority.issue_client("other", f"sallyport://{CLUSTER}/{process}")
    answer = await send(auditor, request(TWO), pair)
    assert answer.status == 403
    assert "must carry one URI" in answer.body.decode()
    assert memory.deliveries == []
