"""Bodies and heads that come in parts, too long, or never: each has its answer."""

import asyncio
import json

from tests.unit.webhooks.gate import Gate
from tests.unit.webhooks.reviews import encode, review

GOOD, BAD = encode(review()), encode(review(bad=True))


async def test_a_charset_is_no_other_content_type(gate: Gate) -> None:
    """`application/json; charset=utf-8` is JSON."""
    connection = await gate.connect()
    head = (
        "POST /validate HTTP/1.1\r\nHost: gate\r\nContent-Type: Application/JSON; charset=utf-8"
        f"\r\nContent-Length: {len(GOOD)}\r\n\r\n"
    )
    assert (await connection.send(head.encode() + GOOD)).status == 200
    await connection.close()


async def test_a_declared_length_over_the_cap_is_refused_unread(gate: Gate) -> None:
    """The answer comes although nothing of the body was sent."""
    connection = await gate.connect()
    head = (
        "POST /validate HTTP/1.1\r\nHost: gate\r\nContent-Type: application/json\r\n"
        "Expect: 100-continue\r\nContent-Length: 100001\r\n\r\n"
    )
    answer = await connection.send(head.encode())
    assert (answer.status, answer.closes) == (413, True)
    assert "100,000 bytes" in json.loads(answer.body)["error"]
    await connection.close()


async def test_a_large_body_hears_its_refusal(gate: Gate) -> None:
    """The connection is not reset while the client still writes."""
    answer = await gate.post("/validate", b" " * 3_000_000)
    assert answer.status == 413


async def test_a_chunked_body_is_capped_as_well(gate: Gate) -> None:
    """No Content-Length says how much is to come."""
    connection = await gate.connect()
    head = (
        b"POST /validate HTTP/1.1\r\nHost: gate\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    answer = await connection.send(head + chunk * 8)
    assert answer.status == 413
    await connection.close()


async def test_a_chunked_review_is_read(gate: Gate) -> None:
    """Go sends a body of unknown length in chunks."""
    connection = await gate.connect()
    head = (
        b"POST /validate HTTP/1.1\r\nHost: gate\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    half = len(BAD) // 2
    connection.writer.write(head + b"%x\r\n%b\r\n" % (half, BAD[:half]))
    await asyncio.sleep(0.05)
    rest = BAD[half:]
    answer = await connection.send(b"%x\r\n%b\r\n0\r\n\r\n" % (len(rest), rest))
    assert answer.response["status"]["code"] == 403
    await connection.close()


async def test_a_body_that_does_not_come_is_not_waited_for(gate: Gate) -> None:
    """The caller's own timeout is how long a body may take."""
    connection = await gate.connect()
    head = (
        "POST /validate?timeout=500ms HTTP/1.1\r\nHost: gate\r\n"
        "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    )
    answer = await asyncio.wait_for(connection.send(head.encode()), 2)
    assert (answer.status, answer.closes) == (408, True)
    await connection.close()


async def test_a_client_that_leaves_midway_harms_nobody(gate: Gate) -> None:
    """No error is logged, and the next review is answered."""
    connection = await gate.connect()
    connection.writer.write(
        b"POST /validate HTTP/1.1\r\nHost: gate\r\nContent-Type: application/json\r\n"
        b"Content-Length: 1000\r\n\r\n{"
    )
    await asyncio.sleep(0.05)
    await connection.close()
    assert (await gate.post("/validate", BAD)).response["status"]["code"] == 403
    assert not [line for line in gate.lines() if line["level"] == "error"]


async def test_a_head_without_end_is_refused(gate: Gate) -> None:
    """Headers are not collected for ever."""
    connection = await gate.connect()
    connection.writer.write(b"POST /validate HTTP/1.1\r\n")
    line = b"x: " + b"y" * 1000 + b"\r\n"
    answer = await connection.send(line * 200)
    assert answer.status == 400
    await connection.close()
