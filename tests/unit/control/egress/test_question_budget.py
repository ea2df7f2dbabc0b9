"""How many questions a second bursts may ask."""

from hypothesis import given
from hypothesis import strategies as st

from control.egress.question_budget import QuestionBudget

steps = st.lists(st.tuples(st.floats(0, 5), st.integers(0, 200)), max_size=30)


@given(st.floats(1, 50), steps)
def test_no_more_is_given_than_the_rate_brings(rate: float, asked: list[tuple[float, int]]) -> None:
    """From the beginning to any time: what the bucket held, and what came in since."""
    budget, now, given_so_far = QuestionBudget(rate), 0.0, 0
    for pause, wanted in asked:
        now += pause
        given_so_far += (got := budget.take(wanted, now))
        assert 0 <= got <= wanted
        assert given_so_far <= rate * (now + 2) + 1e-6


def test_what_is_given_back_can_be_taken_again() -> None:
    """What another bound forbade was not asked."""
    budget = QuestionBudget(5)
    assert budget.take(100, 0.0) == 10
    budget.give_back(4)
    assert budget.take(100, 0.0) == 4


def test_a_clock_put_back_brings_nothing_and_takes_nothing() -> None:
    """And it goes on from there."""
    budget = QuestionBudget(5)
    budget.take(100, 1000.0)
    assert budget.take(100, 0.0) == 0
    assert budget.take(100, 1.0) == 5
