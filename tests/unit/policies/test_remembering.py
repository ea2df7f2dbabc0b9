"""What the policies said is remembered by the projection, exactly, and within bounds."""

import asyncio
import copy
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.decision import Need
from core.errors import EvaluationError, InvalidObjectError
from core.pod import decode_pod
from policies.bundle import Rule
from policies.engine import Answer
from policies.engine.embedded import EmbeddedEngine
from policies.engine.remembered import MOST_NEEDS, RememberingEngine
from policies.projection import encode, project
from tests.harness.pods import pods

PODS = [pod for _, pod in zip(range(400), (pod for _, pod in pods(seed=11)), strict=False)]


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
    inner = Counting(lambda projection: 5000 if projection == b"huge" else 1000)
    engine = RememberingEngine(inner)
    for _ in range(2):
        ask(engine, b"huge")
    assert inner.asked == [b"huge", b"huge"]
    for number in range(2 * MOST_NEEDS // 1000):
        ask(engine, b"%d" % number)
    inner.asked.clear()
    ask(engine, b"0")
    assert inner.asked == [b"0"]
    ask(engine, b"%d" % (2 * MOST_NEEDS // 1000 - 1))
    assert inner.asked == [b"0"]


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Give the path of everything in a JSON value."""
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    else:
        return [path]
    return [path, *(p for key, child in children for p in paths(child, (*path, key)))]


SCALARS: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, False, 0, 1, "", "a", "all", "void", "Unmasked", "0", "1Gi", [], {}]
)


def changed(pod: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """Give a Pod with one thing changed, added or taken away."""
    found = copy.deepcopy(pod)
    *parents, last = data.draw(st.sampled_from([p for p in paths(pod) if p]))
    place = found
    for key in parents:
        place = place[key]
    if data.draw(st.booleans()):
        place[last] = data.draw(SCALARS)
    else:
        del place[last]
    return found


@settings(max_examples=300)
@given(data=st.data())
def test_remembered_answers_are_those_of_the_policies(
    data: st.DataObject, builtin_engine: EmbeddedEngine
) -> None:
    """For two Pods that differ a little: whoever comes second gets what it would get alone.

    Two Pods with one digest have one answer, since the digest is of all that the policies see.
    """
    pod = data.draw(st.sampled_from(PODS))
    pair = [pod, changed(pod, data)]
    remembering = RememberingEngine(builtin_engine)
    for each in (*pair, *pair):
        # What is not a Pod any more has no projection, and no answer.
        with suppress(msgspec.DecodeError, InvalidObjectError):
            projection = encode(project(decode_pod(json.dumps(each).encode())))
            assert ask(remembering, projection) == builtin_engine.evaluate(projection)
