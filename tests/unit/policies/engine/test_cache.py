"""What the policies said is remembered by the projection, exactly, and within bounds."""

import asyncio
from collections.abc import Callable, Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import EvaluationError
from core.decision.decision import Need
from core.sandbox.decision import Feature, Signal
from policies.bundle.format import Rule
from policies.engine.cache import MOST_BYTES, RememberingEngine
from policies.engine.interface import A_POD, Judgement, PolicyAnswer, ShownFields
from policies.site.fields import NO_DECLARED_FIELDS

SITE = Rule("sandbox/acme/x", "T", "D", "m", "R", 1, points=1, site=True)


class Counting:
    """An engine that says how often it was asked."""

    revision = "r"
    reads = NO_DECLARED_FIELDS

    def __init__(
        self, needs: Callable[[bytes], int] = lambda _: 1, *, sees_objects: bool = False
    ) -> None:
        self.asked: list[bytes] = []
        self.judged: list[tuple[bytes, bytes]] = []
        self.rules: Mapping[str, Rule] = {SITE.id: SITE} if sees_objects else {}
        self._needs = needs
        self._sees_objects = sees_objects

    async def judge(
        self, projection: bytes, answer: PolicyAnswer, context: bytes, shown: ShownFields = A_POD
    ) -> Judgement:
        """Return a signal that says what it was asked about; fail for `fail`."""
        assert shown is A_POD
        self.judged.append((projection, context))
        if context == b"fail":
            raise EvaluationError("too long")
        seen = (projection, len(answer.needs)) if self._sees_objects else ()
        count = 500 if context == b"huge" else 1
        return Judgement((Signal(str(seen), repr(context)),) * count)

    async def ask(self, projection: bytes) -> PolicyAnswer:
        """Return as many needs as it was made for; fail for `fail`."""
        self.asked.append(projection)
        if projection == b"fail":
            raise EvaluationError("too long")
        return PolicyAnswer(tuple(Need("r", "p", str(n)) for n in range(self._needs(projection))))

    def close(self) -> None:
        """Hold nothing."""


def ask(engine: RememberingEngine, projection: bytes) -> PolicyAnswer:
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
        async def ask(self, projection: bytes) -> PolicyAnswer:
            answer = await super().ask(projection)
            return msgspec.structs.replace(answer, **{part: many[part]})

    inner = Signalling()
    engine = RememberingEngine(inner)
    assert len(getattr(ask(engine, b"huge"), part)) == 500
    ask(engine, b"huge")
    assert inner.asked == [b"huge", b"huge"]


def judge(engine: RememberingEngine, projection: bytes, context: bytes) -> Judgement:
    """Ask, then judge, as a review does."""

    async def both() -> Judgement:
        return await engine.judge(projection, await engine.ask(projection), context)

    return asyncio.run(both())


def test_a_context_is_judged_once_whatever_the_object() -> None:
    """Built-in signals of judge see no object: all Pods of one context share what is said."""
    inner = Counting()
    engine = RememberingEngine(inner)
    for projection in (b"a", b"b", b"a"):
        judge(engine, projection, b"one")
    judge(engine, b"a", b"two")
    assert inner.judged == [(b"a", b"one"), (b"a", b"two")]


def test_with_a_sites_signals_an_object_is_judged_once_in_each_context() -> None:
    """They see the object, so another one is judged anew."""
    inner = Counting(sees_objects=True)
    engine = RememberingEngine(inner)
    for projection in (b"a", b"b", b"a", b"b"):
        judge(engine, projection, b"one")
    assert inner.judged == [(b"a", b"one"), (b"b", b"one")]


def test_an_answer_is_no_judgement() -> None:
    """One of the same bytes is not taken for the other."""
    inner = Counting()
    engine = RememberingEngine(inner)
    judge(engine, b"same", b"same")
    assert isinstance(ask(engine, b"same"), PolicyAnswer)
    assert isinstance(judge(engine, b"same", b"same"), Judgement)
    assert (inner.asked, inner.judged) == ([b"same"], [(b"same", b"same")])


def test_a_judgement_that_fails_is_not_remembered() -> None:
    """Nor is one that is huge; the next request is judged anew."""
    inner = Counting()
    engine = RememberingEngine(inner)
    for _ in range(2):
        with pytest.raises(EvaluationError):
            judge(engine, b"a", b"fail")
        judge(engine, b"a", b"huge")
    assert len(inner.judged) == 4


def test_answers_and_judgements_are_bounded_together() -> None:
    """Contexts without number leave no more entries than there may be."""
    inner = Counting()
    engine = RememberingEngine(inner, most_entries=3)
    for number in range(50):
        judge(engine, b"a", b"%d" % number)
    assert inner.asked == [b"a"]
    judge(engine, b"a", b"49")
    judge(engine, b"a", b"0")
    assert [context for _, context in inner.judged[50:]] == [b"0"]


_asked = st.tuples(st.sampled_from([b"", b"a", b"aj", b"b"]), st.sampled_from([b"", b"a", b"j"]))


@given(asked=st.lists(_asked, max_size=20), sees=st.booleans(), entries=st.integers(0, 6))
def test_what_is_remembered_is_what_would_be_judged(
    asked: list[tuple[bytes, bytes]], *, sees: bool, entries: int
) -> None:
    """Whatever was asked before, in any order, and however little is kept."""
    remembering = RememberingEngine(Counting(len, sees_objects=sees), entries)
    for projection, context in asked:
        fresh = Counting(len, sees_objects=sees)
        answer = asyncio.run(fresh.ask(projection))
        assert ask(remembering, projection) == answer
        expected = asyncio.run(fresh.judge(projection, answer, context))
        assert judge(remembering, projection, context) == expected
