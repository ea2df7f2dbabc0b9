"""Floors are reported as they are: held, not held, not measured."""

import pytest

from bench.comparison import Floor, floors, report
from bench.contenders import GANG_GATE, GO_CHECK, UNCACHED_GATE

GOOD = {
    UNCACHED_GATE: {"reviews_per_second": 1600.0, "p99_ms": 20.0, "cpu_ms": 0.6},
    GANG_GATE: {"reviews_per_second": 6100.0},
    GO_CHECK: {"cpu_ms": 0.9},
}
MEMORY = {"rest_mib": 110.0, "half_mib": 150.0, "after_mib": 151.0}


def test_all_hold() -> None:
    """Nothing is said not to hold where everything does."""
    assert [floor.holds for floor in floors(GOOD, MEMORY)] == [True] * 6


@pytest.mark.parametrize(
    ("contender", "measure", "value", "place"),
    [
        (UNCACHED_GATE, "reviews_per_second", 1499.0, 0),
        (UNCACHED_GATE, "p99_ms", 25.0, 1),
        (GANG_GATE, "reviews_per_second", 5999.0, 2),
        (GO_CHECK, "cpu_ms", 0.7, 3),
    ],
)
def test_each_that_does_not_hold_is_named(
    contender: str, measure: str, value: float, place: int
) -> None:
    """The one that is missed, and no other."""
    measures = {name: dict(each) for name, each in GOOD.items()}
    measures[contender][measure] = value
    held = [floor.holds for floor in floors(measures, MEMORY)]
    assert [index for index, holds in enumerate(held) if not holds] == [place]


def test_memory_that_is_large_or_grows() -> None:
    """Both are floors of their own."""
    held = [floor.holds for floor in floors(GOOD, {"half_mib": 200.0, "after_mib": 260.0})]
    assert held[4:] == [False, False]


def test_without_the_go_check_nothing_is_claimed() -> None:
    """What could not be measured is neither held nor missed, and says so."""
    measures = {name: each for name, each in GOOD.items() if name != GO_CHECK}
    lines = report(floors(measures, MEMORY))
    assert [line for line in lines if line.startswith("NOT MEASURED")] == [
        "NOT MEASURED  CPU of the Go check / ours: at least 1.2"
    ]


def test_a_line_says_what_was_wanted_and_measured() -> None:
    """In words that need no table."""
    line = Floor("uncached p99", 31.5, 25, at_least=False, unit="ms").line()
    assert line == "DOES NOT HOLD uncached p99: under 25 ms; measured 31.5"
