"""Which ids of applications are asked about, and when again."""

import uuid
from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.entra.application_ids import BY_CLIENT, BY_OBJECT, MOST_IDS, IdQueue
from identity.entra.graph_requests import PollIntervals

TIMES = PollIntervals(applications_s=1000.0, missing_s=100.0)


def ids(count: int) -> list[str]:
    """Return ids."""
    return sorted(str(uuid.UUID(int=each + 1)) for each in range(count))


def ask_all(
    waiting: IdQueue, found: Collection[str], by_object: Collection[str], now: float
) -> int:
    """Ask until nothing is due; give the requests that it took."""
    requests = 0
    while asking := waiting.next(now):
        requests += 1
        assert 0 < len(asking.ids) <= 15
        there = found if asking.field == BY_CLIENT else by_object
        waiting.answered(asking, [each for each in asking.ids if each in there], now)
    return requests


def test_new_ids_are_asked_about_at_once_and_by_fifteen() -> None:
    """Graph takes no more in one filter."""
    waiting = IdQueue(TIMES)
    waiting.use(ids(31), (), 0.0)
    assert waiting.due_at == 0.0
    assert ask_all(waiting, ids(31), (), 0.0) == 3
    assert waiting.due_at == 1000.0


def test_an_id_that_is_no_client_is_asked_about_as_an_object() -> None:
    """Nobody says which is which; once it is known, that is remembered."""
    client, thing, nothing = ids(3)
    waiting = IdQueue(TIMES)
    waiting.use([client, thing, nothing], (), 0.0)
    assert ask_all(waiting, {client}, {thing}, 0.0) == 2
    assert waiting.due_at == 100.0
    asking = waiting.next(100.0)
    assert asking is not None
    assert asking.ids == (nothing,)
    ask_all(waiting, {client}, {thing}, 100.0)
    waiting.use([thing], (), 200.0)
    again = waiting.next(1000.0)
    assert again is not None
    assert (again.field, again.ids) == (BY_OBJECT, (thing,))


def test_what_is_known_waits_for_its_turn() -> None:
    """A new leader does not ask about everything at once, and about everything in time."""
    waiting = IdQueue(TIMES)
    waiting.use(ids(200), set(ids(200)), 0.0)
    early = 0
    while asking := waiting.next(500.0):
        early += len(asking.ids)
        waiting.answered(asking, asking.ids, 500.0)
    assert 50 < early < 150
    assert waiting.due_at <= 1000.0


def test_what_is_in_use_no_more_is_forgotten() -> None:
    """And what stays keeps its time."""
    one, two = ids(2)
    waiting = IdQueue(TIMES)
    waiting.use([one, two], (), 0.0)
    ask_all(waiting, {one, two}, (), 0.0)
    waiting.use([two], (), 10.0)
    assert not waiting.uses(one)
    assert waiting.due_at == 1000.0
    waiting.use([], (), 10.0)
    assert waiting.due_at == float("inf")


@pytest.mark.parametrize("bad", ["", "x", "') or id ne '", "canary@canary.example", "{}", "a" * 36])
def test_what_is_no_guid_is_never_asked_about(bad: str) -> None:
    """Annotations are their writers' words: one must not get into a filter."""
    waiting = IdQueue(TIMES)
    waiting.use([bad], (), 0.0)
    assert waiting.next(0.0) is None


@given(st.lists(st.text(max_size=40)))
def test_only_guids_get_into_a_filter(texts: list[str]) -> None:
    """Whatever is in use."""
    waiting = IdQueue(TIMES)
    waiting.use(texts, (), 0.0)
    asking = waiting.next(0.0)
    for each in asking.ids if asking else ():
        assert str(uuid.UUID(each)) == each


def test_beyond_a_number_ids_are_left_out() -> None:
    """Whoever writes service accounts makes up as many as they like."""
    waiting = IdQueue(TIMES)
    waiting.use(ids(MOST_IDS + 7), (), 0.0)
    assert waiting.left_out == 7
