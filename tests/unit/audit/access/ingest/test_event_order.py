"""Events come out in the order of their times, as far as a bounded wait can do that."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from audit.access.ingest.event_order import LEADERS, EventOrder
from core.base.ids import stable_id
from core.weights.documents.events import LogGap


def event(number: int) -> LogGap:
    """Return an event; which one does not matter here."""
    word = str(number)
    identity = stable_id(number, "gap", word)
    return LogGap(
        format=1, id=identity, cluster="c", log="pods", subject=word, begin="", end="", why=""
    )


def out(ordering: EventOrder, times: list[float]) -> list[float]:
    """Put events of these times in; give the times of those that came out."""
    found = []
    for number, at in enumerate(times):
        found += [float(each.why) for each in ordering.put(named(number, at), at)]  # type: ignore[union-attr]
    return found


def named(number: int, at: float) -> LogGap:
    """Return an event that carries its time."""
    return msgspec.structs.replace(event(number), why=str(at))


def rest(ordering: EventOrder) -> list[float]:
    """Return the times of those that are still held."""
    return [float(each.why) for each in ordering.flush(1e12)]  # type: ignore[union-attr]


@given(st.lists(st.floats(0, 50), max_size=60))
def test_within_the_delay_all_are_in_order(times: list[float]) -> None:
    """Whatever the order in which they come, none is late."""
    ordering = EventOrder(delay_s=60)
    assert out(ordering, times) + rest(ordering) == sorted(times)


@given(st.lists(st.floats(0, 10_000), max_size=80), st.integers(1, 20))
def test_none_is_lost_and_none_is_more_than_held(times: list[float], most: int) -> None:
    """However wild, each comes out once, and no more than so many are held."""
    ordering = EventOrder(delay_s=60, most=most)
    found = out(ordering, times)
    assert len(ordering) <= most
    assert sorted(found + rest(ordering)) == sorted(times)


def test_late_ones_come_at_once() -> None:
    """What is older than the watermark is not waited for, and comes out as late."""
    ordering = EventOrder(delay_s=60)
    out(ordering, [1000.0] * LEADERS)
    assert ordering.watermark == 940
    assert out(ordering, [100.0]) == [100.0]


def test_one_wrong_clock_does_not_make_all_others_late() -> None:
    """A few that are far ahead do not move the watermark."""
    ordering = EventOrder(delay_s=60)
    out(ordering, [1e9] * (LEADERS - 1) + [1000.0 + n for n in range(LEADERS)])
    assert ordering.watermark < 1000
    assert out(ordering, [990.0]) == []


@given(st.lists(st.floats(0, 500), max_size=60), st.integers(0, 60))
def test_a_restart_in_between_changes_nothing(times: list[float], place: int) -> None:
    """Saved and taken back, the same comes out."""
    whole = EventOrder(delay_s=60, most=10)
    wanted = out(whole, times) + rest(whole)
    first, second = EventOrder(delay_s=60, most=10), EventOrder(delay_s=60, most=10)
    found = out(first, times[:place])
    second.restore(msgspec.msgpack.decode(msgspec.msgpack.encode(first.saved())))
    assert found + out(second, times[place:]) + rest(second) == wanted
