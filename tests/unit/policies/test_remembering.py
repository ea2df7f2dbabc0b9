"""What the policies said is remembered by the projection, exactly, and within bounds."""

import asyncio
from collections.abc import Callable
from typing import ClassVar

import msgspec
import pytest

from core.decision import Need
from core.errors import EvaluationError
from core.sandbox import Feature, Signal
from policies.bundle import Rule
from policies.engine import Answer
from policies.engine.remembered import MOST_BYTES, RememberingEngine


class Counting:
    """An engine that says how often it was asked."""

    revision = "r"
    rules: ClassVar[dict[str, Rule]] = {}

    def __init__(self, needs: Callable[[bytes], int] = lambda _: 1) -> None:
        self.asked: list[bytes] = []
        self._needs = needs

    async def ask(self, projection: bytes) -> Answer:
        """Give as many needs as it was made for; fail for `fail`."""
        self.asked.append(projection)
        if projection == b"fail":
            raise EvaluationError("too long")
        return Answer(tuple(Need("r", "p", str(n)) for n in range(self._needs(projection))))

    def close(self) -> None:
        """Hold nothing."""


def ask(engine: RememberingEngine, projection: bytes) -> Answer:
    """Ask from outside an event loop."""
    return asyncio.run(engine.ask(projection))


def test_a_gang_is_evaluated_once() -> None:
    """The same projection is asked about once; another one is asked about."""
    inner = Counting()
    engine = RememberingEngine(inner)
    answers = [ask(engine, b"gang") for _ in range(100)]
    assert all(answer == answers[0] for answer in answers)
    assert ask(engine, b"other") == answers[0]
    assert inner.asked == [b"gang", b"other"]
    assert (engine.hits, engine.misses) == (99, 2)


def test_a_failure_is_not_remembered() -> None:
    """The next request of the kind is evaluated anew."""
    inner = Counting()
    engine = RememberingEngine(inner)
    for _ in range(2):
        with pytest.raises(EvaluationError):
            ask(engine, b"fail")
    assert len(inner.asked) == 2


def test_the_one_not_asked_for_longest_goes_first() -> None:
    """A gang that still grows stays, however many others come by."""
    inner = Counting()
    engine = RememberingEngine(inner, most_entries=3)
    for number in range(50):
        ask(engine, b"gang")
        ask(engine, b"%d" % number)
    assert inner.asked.count(b"gang") == 1


def test_none_are_kept_where_none_may_be() -> None:
    """0 entries: everything is evaluated."""
    inner = Counting()
    engine = RememberingEngine(inner, most_entries=0)
    for _ in range(3):
        ask(engine, b"gang")
    assert len(inner.asked) == 3


def test_large_answers_take_no_more_room_than_there_is() -> None:
    """Answers that are huge are not kept; many that are large push each other out."""
    inner = Counting(lambda projection: 500 if projection == b"huge" else 100)
    engine = RememberingEngine(inner)
    for _ in range(2):
        ask(engine, b"huge")
    assert inner.asked == [b"huge", b"huge"]
    for number in range(MOST_BYTES // 10_000):
        ask(engine, b"%d" % number)
    inner.asked.clear()
    ask(engine, b"0")
    assert inner.asked == [b"0"]
    ask(engine, b"%d" % (MOST_BYTES // 10_000 - 1))
    assert inner.asked == [b"0"]


@pytest.mark.parametrize("part", ["signals", "features"])
def test_what_counts_for_the_sandbox_takes_room_too(part: str) -> None:
    """An answer that is huge for its signals or features is not kept either."""
    many = {
        "signals": tuple(Signal("r", f"p{n}", "v") for n in range(500)),
        "features": tuple(Feature("gpu", f"p{n}") for n in range(500)),
    }

    class Signalling(Counting):
        async def ask(self, projection: bytes) -> Answer:
            answer = await super().ask(projection)
            return msgspec.structs.replace(answer, **{part: many[part]})

    inner = Signalling()
    engine = RememberingEngine(inner)
    assert len(getattr(ask(engine, b"huge"), part)) == 500
    ask(engine, b"huge")
    assert inner.asked == [b"huge", b"huge"]
