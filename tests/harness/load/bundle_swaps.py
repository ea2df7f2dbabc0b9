"""Reviews over HTTP at a steady rate, each held to what the bundle that it names says."""

import asyncio
import itertools
import re
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from bench.load import ReviewClient, review_client

CLIENTS: Final = 4
"""Connections to each gate."""

_json = msgspec.json.Decoder().decode


@dataclass(frozen=True)
class Answered:
    """One review."""

    gate: int
    sent: float
    received: float
    """By `time.perf_counter`."""
    revision: str


@dataclass
class Answers:
    """What was answered in a time."""

    all: list[Answered] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Answers that failed, or mixed two bundles."""
    began: float = field(default_factory=time.perf_counter)
    ended: float = 0.0

    @property
    def revisions(self) -> "Counter[str]":
        """How many there were by each revision."""
        return Counter(each.revision for each in self.all)

    def row(self, name: str) -> str:
        """Return a line of a table: name, reviews, a second, wrong, p50, p99, longest."""
        waits = [each.received - each.sent for each in self.all]
        cut = statistics.quantiles(waits, n=1000)
        times = " | ".join(f"{1000 * each:.1f}" for each in (cut[499], cut[989], max(waits)))
        rate = len(waits) / ((self.ended or time.perf_counter()) - self.began)
        return f"| {name} | {len(waits)} | {rate:.0f} | {len(self.wrong)} | {times} |"


class Loading:
    """Asks gates until it is left; what is answered goes to the `Answers` of the last `turn`."""

    def __init__(
        self, ports: Sequence[int], ca: Path, bodies: Sequence[bytes], rate: float
    ) -> None:
        """`rate` is of reviews a second, all gates together."""
        self._ports, self._ca, self._bodies, self._rate = ports, ca, bodies, rate
        self._numbers = itertools.count()
        self._now = Answers()
        self._over = False
        self._stack = AsyncExitStack()
        self.words: Mapping[str, str] = {}
        """By revision: what each answer of that bundle says."""

    async def __aenter__(self) -> Self:
        """Begin."""
        group = await self._stack.enter_async_context(asyncio.TaskGroup())
        began = time.perf_counter()
        for gate, port in enumerate(self._ports):
            for _ in range(CLIENTS):
                group.create_task(self._work(gate, port, began))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End, when what was sent is answered."""
        self._over = True
        self._now.ended = time.perf_counter()
        await self._stack.__aexit__(kind, error, at)

    def turn(self) -> Answers:
        """Begin to count anew."""
        before, self._now = self._now, Answers()
        before.ended = self._now.began
        return self._now

    async def _work(self, gate: int, port: int, began: float) -> None:
        async with review_client(port, self._ca) as client:
            while not self._over:
                number = next(self._numbers)
                due = began + number / self._rate
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                await self._ask(client, gate, self._bodies[number % len(self._bodies)])

    async def _ask(self, client: ReviewClient, gate: int, body: bytes) -> None:
        answers, sent = self._now, time.perf_counter()
        took, answer = await client.ask(body)
        revision = self._look(answer, answers)
        answers.all.append(Answered(gate, sent, sent + took, revision))

    def _look(self, answer: bytes, answers: Answers) -> str:
        """Hold one answer to what the bundle that it names would say; give its revision."""
        head, _, body = answer.partition(b"\r\n\r\n")
        response: dict[str, Any] = _json(body)["response"] if b" 200 " in head[:20] else {}
        revision: str = response.get("auditAnnotations", {}).get("policy", "")
        said = re.findall(
            r"rules/acme/(\w+)", response.get("auditAnnotations", {}).get("findings", "")
        )
        word = self.words.get(revision, "")
        if response.get("allowed") is not False or sorted(set(said)) != [f"{word}_a", f"{word}_b"]:
            answers.wrong.append(answer[:500].decode(errors="replace"))
        return revision
