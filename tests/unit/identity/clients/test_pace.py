"""Graph is asked no more often than its limit allows, and left alone when it asks for that."""

from hypothesis import given
from hypothesis import strategies as st

from identity.clients.microsoft_http import (
    LAST_BACK_OFF_S,
    LONGEST_RETRY_AFTER_S,
    RequestPace,
)
from network.retry_after import read_date, read_retry_after

DATE = "Sun, 22 Nov 2026 08:00:00 GMT"


def test_a_new_term_waits_before_its_first_request() -> None:
    """The leader before may have asked a moment ago."""
    pace = RequestPace(1.0)
    pace.begin(100.0)
    assert pace.ready_at >= 101.0


@given(st.lists(st.tuples(st.floats(0, 5), st.sampled_from(["ok", "throttled"])), max_size=30))
def test_requests_are_a_second_apart_whatever_happens(events: list[tuple[float, str]]) -> None:
    """From an answer to the next request at least `rate_s` pass, and 5 seconds after a failure."""
    pace, now = RequestPace(1.0), 0.0
    pace.begin(now)
    for took, end in events:
        now = max(now, pace.ready_at) + took
        if end == "ok":
            pace.succeeded()
        else:
            pace.back_off(now, 0.0, 0.5)
        pace.answered(now)
        assert pace.ready_at >= now + (1.0 if end == "ok" else 5.0)


def test_without_retry_after_waits_double_up_to_a_minute() -> None:
    """5, 10, 20, 40, 60, 60: Graph's risk resources do not say how long."""
    waits = []
    pace = RequestPace(1.0)
    for _ in range(6):
        now = pace.ready_at
        pace.back_off(now, 0.0, 0.0)
        waits.append(pace.ready_at - now)
    assert waits == [5, 10, 20, 40, 60, 60]
    pace.succeeded()
    now = pace.ready_at
    pace.back_off(now, 0.0, 0.0)
    assert pace.ready_at - now == 5


@given(st.floats(0, 1))
def test_chance_spreads_what_comes_back(chance: float) -> None:
    """By a quarter at most; and never longer than the longest wait."""
    pace = RequestPace(1.0)
    pace.back_off(0.0, 0.0, chance)
    assert 5.0 <= pace.ready_at <= 6.25
    pace = RequestPace(1.0, failures=20)
    pace.back_off(0.0, 0.0, chance)
    assert pace.ready_at == LAST_BACK_OFF_S


def test_retry_after_is_honoured_up_to_ten_minutes() -> None:
    """Also when it is longer than any wait of ours; a day is not."""
    pace = RequestPace(1.0)
    pace.back_off(0.0, 300.0, 0.0)
    assert pace.ready_at == 300.0
    pace = RequestPace(1.0)
    pace.back_off(0.0, read_retry_after("86400", None), 1.0)
    assert pace.ready_at == LONGEST_RETRY_AFTER_S


def test_retry_after_is_seconds_or_a_date() -> None:
    """RFC 9110; a date counts against Graph's own clock, and nonsense for nothing."""
    date = read_date(DATE)
    assert date is not None
    assert read_retry_after("17", None) == 17
    assert read_retry_after("Sun, 22 Nov 2026 08:01:40 GMT", date) == 100
    assert read_retry_after("Sun, 22 Nov 2026 07:00:00 GMT", date) == 0
    for nonsense in (None, "", "soon", "-5", "1.5", "٣"):
        assert read_retry_after(nonsense, date) <= 3


def test_a_date_that_is_none_is_none() -> None:
    """Whatever a server sends."""
    assert read_date(DATE) == 1_795_334_400
    for nonsense in (None, "", "yesterday", "Sun, 99 Nov 2026 08:00:00 GMT"):
        assert read_date(nonsense) is None
