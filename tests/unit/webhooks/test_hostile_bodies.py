"""Bodies made to break the gate: each is refused, and the gate is as it was before."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness.evidence import record
from tests.harness.sizes import PROOF, size
from tests.unit.webhooks.connection import Connection
from tests.unit.webhooks.process import GateProcess, gate_process
from tests.unit.webhooks.reviews import encode, review

COUNT = size(ci=1_000, proof=10_000)
HUGE_EVERY = 200
MAX_GROWTH = 24 * 1024 * 1024
GOOD, BAD = encode(review(padding=8_000)), encode(review(bad=True, padding=8_000))
MISTYPED: list[Any] = [None, True, 7, -1, 1.5, "x", "", [], [[]], {}, {"a": 1}, 2**70, 1e308]
REQUIRED = ("uid", "kind", "operation", "userInfo", "object")


def truncated(chance: random.Random) -> bytes:
    """Return a review that ends too early."""
    return BAD[: chance.randrange(len(BAD) - 1)]


def nested(chance: random.Random) -> bytes:
    """Return arrays or objects in one another, deeper than any stack."""
    depth = chance.randrange(2_000, 50_000)
    opening, closing = chance.choice([(b"[", b"]"), (b'{"a":', b"}")])
    inner = opening * depth + b"1" + closing * depth * chance.randrange(2)
    return BAD.replace(b'"spec":', b'"deep":' + inner + b',"spec":')


def mistyped(chance: random.Random) -> bytes:
    """Return a review in which a field that must be there is of another type."""
    field = chance.choice(REQUIRED)
    values = [value for value in MISTYPED if not (field == "object" and isinstance(value, dict))]
    if field == "uid":
        values = [value for value in values if value != "x"]
    return encode(review(bad=True, **{field: chance.choice(values)}))


def not_utf8(chance: random.Random) -> bytes:
    """Return a review with a byte that no UTF-8 has, anywhere."""
    place = chance.randrange(len(BAD))
    return BAD[:place] + bytes([chance.choice([0xFF, 0xC0, 0xFE, 0xF8])]) + BAD[place:]


def noise(chance: random.Random) -> bytes:
    """Return random bytes."""
    return chance.randbytes(chance.randrange(1, 3_000))


def wrong_document(chance: random.Random) -> bytes:
    """Return JSON that is something else."""
    document = review(bad=True)
    document[chance.choice(["apiVersion", "kind", "request"])] = chance.choice(MISTYPED)
    return encode(chance.choice([document, *MISTYPED, [document], document["request"]]))


def spoiled(chance: random.Random) -> bytes:
    """Return a review with a control character or a comma too many."""
    place = BAD.index(b'"spec"')
    return BAD[:place] + chance.choice([b"\x00", b",", b"'", b"NaN", b"//", b"\\"]) + BAD[place:]


MAKERS: list[Callable[[random.Random], bytes]] = [
    truncated,
    nested,
    mistyped,
    not_utf8,
    noise,
    wrong_document,
    spoiled,
]


class Sender:
    """Sends bodies on one connection, and on another where the gate closed it."""

    def __init__(self, gate: GateProcess) -> None:
        self.gate = gate
        self.connection: Connection | None = None
        self.outcomes: Counter[int] = Counter()

    async def send(self, body: bytes) -> None:
        """Send one body and count how it was refused."""
        if self.connection is None:
            self.connection = await self.gate.connect()
        answer = await self.connection.post("/validate", body)
        if answer.status == 200:
            assert answer.response["allowed"] is False, body[:500]
        else:
            assert 400 <= answer.status < 500, (answer, body[:500])
            assert json.loads(answer.body)["error"]
        self.outcomes[answer.status] += 1
        if answer.closes:
            await self.connection.close()
            self.connection = None

    async def good(self) -> bytes:
        """Return the whole answer to a good review."""
        connection = await self.gate.connect()
        answer = await connection.post("/validate", GOOD)
        await connection.close()
        assert answer.status == 200
        return answer.body


@pytest.mark.proof
async def test_hostile_bodies_leave_no_trace(tmp_path: Path) -> None:
    """A clear 4xx or a refusal each, no crash, no growth; the next good review is the same."""
    chance = random.Random(20261121)  # noqa: S311  The same bodies each time.
    async with gate_process(tmp_path) as gate:
        sender = Sender(gate)
        before = await sender.good()
        assert json.loads(before)["response"]["allowed"] is True
        rss = 0
        for number in range(COUNT):
            if number == COUNT // 4:
                rss = gate.rss()
            huge = number % HUGE_EVERY == 0
            await sender.send(b"[" * (8 << 20) if huge else chance.choice(MAKERS)(chance))
        assert sender.outcomes[413] == COUNT // HUGE_EVERY
        assert sender.outcomes[400] > COUNT // 2
        assert sender.outcomes[200] == 0
        assert await sender.good() == before
        await asyncio.sleep(0.2)
        growth = gate.rss() - rss
        assert growth < MAX_GROWTH
        assert gate.process.returncode is None
        assert '"level":"error"' not in gate.log.read_text()
    if PROOF:
        lines = [f"- status {code}: {seen}" for code, seen in sorted(sender.outcomes.items())]
        growing = f"- growth after the first quarter: {growth / 2**20:.1f} MiB"
        record("hostile-bodies", [f"- {COUNT} bodies", *lines, growing])
