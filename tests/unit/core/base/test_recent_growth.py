"""Growth over a window, and how long room lasts at it."""

from hypothesis import given
from hypothesis import strategies as st

from core.base.recent_growth import RecentGrowth, seconds_left

HOUR = 3600.0


def test_growth_is_of_the_window_and_of_no_older_time() -> None:
    """A day of little, then an hour of much: each window tells its own."""
    growth = RecentGrowth(24 * HOUR, 60.0)
    value = 0.0
    for minute in range(24 * 60):
        value += 600.0 if minute < 23 * 60 else 60_000.0
        growth.add(minute * 60.0, value)
    assert growth.per_second(HOUR) == 1000.0
    found = growth.per_second(24 * HOUR)
    assert found is not None
    assert 50 < found < 53


def test_of_too_little_nothing_is_told() -> None:
    """A burst after a start is no rate; what shrinks never fills."""
    growth = RecentGrowth(24 * HOUR, 60.0)
    assert growth.per_second(HOUR) is None
    growth.add(0.0, 1e6)
    growth.add(300.0, 2e6)
    assert growth.per_second(HOUR) is None
    growth.add(900.0, 1e5)
    assert growth.per_second(HOUR) == -1000.0
    assert growth.per_second(24 * HOUR) is None
    assert seconds_left(10.0, growth.per_second(HOUR)) is None
    assert seconds_left(10.0, growth.per_second(24 * HOUR)) is None


def test_room_that_is_used_up_lasts_no_time() -> None:
    """Never a negative one."""
    assert seconds_left(1000.0, 10.0) == 100.0
    assert seconds_left(-5.0, 10.0) == 0.0


@given(steps=st.lists(st.floats(0.1, 500.0), min_size=200, max_size=400))
def test_an_even_rate_is_found_whatever_the_times(steps: list[float]) -> None:
    """And memory stays bounded by window and interval."""
    growth = RecentGrowth(2 * HOUR, 60.0)
    now = 0.0
    for step in steps:
        now += step
        growth.add(now, 7.0 * now)
    found = growth.per_second(HOUR)
    if found is not None:
        assert abs(found - 7.0) < 1e-6
    assert len(growth._samples) <= 2 * HOUR / 60.0 + 2  # noqa: SLF001
