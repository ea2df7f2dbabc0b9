"""How `?timeout=` becomes the time in which a review is judged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.deadline import budget_of, budget_of_query, parse_timeout


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10),
        ("500ms", 0.5),
        ("1m", 30),
        ("0m9s", 9),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("2s500ms", 2.5),
        ("1500000µs", 1.5),
        ("20us", 0.00002),
        ("1h", 30),
    ],
)
def test_go_durations_are_read(text: str, seconds: float) -> None:
    """As time.Duration writes itself; never more than Kubernetes' 30 s."""
    assert parse_timeout(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "10", "s", "-5s", "ten", "0s", "1s2", "1 s", "1" * 65 + "s"])
def test_anything_else_is_the_default(text: str) -> None:
    """Kubernetes' own default of 10 s."""
    assert parse_timeout(text) == 10


@given(st.text(max_size=80))
def test_any_text_gives_a_usable_timeout(text: str) -> None:
    """Nothing raises, and the result is in bounds."""
    assert 0 < parse_timeout(text) <= 30


@given(st.floats(min_value=1e-6, max_value=30))
def test_the_budget_ends_before_the_timeout(timeout: float) -> None:
    """There is always time to answer, and time to judge."""
    assert timeout / 2 <= budget_of(timeout) < timeout
    if timeout >= 0.2:
        assert timeout - budget_of(timeout) == pytest.approx(max(0.1, timeout * 0.1))


@pytest.mark.parametrize(
    ("query", "budget"),
    [(b"timeout=10s", 9), (b"", 9), (b"a=b&timeout=2s", 1.8), (b"timeout=%ff\xff", 9)],
)
def test_the_query_string_is_read(query: bytes, budget: float) -> None:
    """A bad query is as good as none."""
    assert budget_of_query(query) == pytest.approx(budget)
