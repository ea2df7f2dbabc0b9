"""What the detections find of what is planted into a year, and what they raise for nothing.

The tuning saw `TUNED_ON`; what is measured are other seeds. `make proof` writes the table.
"""

import multiprocessing
from collections import Counter
from collections.abc import Iterable
from typing import Final

import pytest

from audit.access.detections.catalogue import DETECTIONS
from tests.harness.evidence import record
from tests.harness.sizes import PROOF, size
from tests.harness.worlds.weights_year.logs import Year
from tests.harness.worlds.weights_year.people import Shape
from tests.unit.audit.access.year.weights_year_score import (
    ATTACKS,
    Outcome,
    Score,
    found_by,
    run_year,
    score,
    table,
)

TUNED_ON: Final = frozenset({1, 2})
"""Seeds at which somebody looked while tuning."""

SEEDS: Final = (201, 202, 203) if PROOF else (11,)
TIMES: Final = size(1, 3)
"""Each attack is planted so often in a year."""

FIRST_DAY: Final = size(40, 45)
RECALL: Final = 0.9
GRAVE_A_WEEK: Final = 1.0
"""False alarms that are high or critical, of all detections together."""


def shape(seed: int) -> Shape:
    """Return the year of a seed: a season of fifty principals, or the whole."""
    return Shape(seed, principals=size(50, 200), days=size(84, 365))


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    """What came of the years."""
    if not PROOF:
        return [_run(SEEDS[0])]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        return pool.map(_run, SEEDS)


def test_no_seed_that_is_measured_was_tuned_on() -> None:
    """What a threshold was fitted to says nothing of it."""
    assert not TUNED_ON & {*SEEDS}


def test_every_detection_has_an_attack() -> None:
    """None is measured by nothing."""
    found = set(_finds())
    assert found == {each.id for each in DETECTIONS}


def test_nothing_is_refused_and_nothing_breaks(outcomes: list[Outcome]) -> None:
    """Every record of the generator's is read, and no detection fails on one."""
    for outcome in outcomes:
        assert outcome.refused == 0
        assert outcome.broken == {}
        assert outcome.accesses > size(10_000, 400_000)


@pytest.mark.proof
def test_attacks_are_told_from_a_year_of_normal_life(outcomes: list[Outcome]) -> None:
    """Recall and false alarms a week of each detection, on seeds that the tuning never saw."""
    scores = score(outcomes)
    if PROOF:
        _write(outcomes, scores)
    planted = sum(one.planted for one in scores.values())
    found = sum(one.found for one in scores.values())
    assert found >= RECALL * planted, _missed(outcomes)
    weeks = sum(one.days for one in outcomes) / 7
    grave = sum(one.false["high"] + one.false["critical"] for one in scores.values())
    assert grave <= GRAVE_A_WEEK * weeks


def _run(seed: int) -> Outcome:
    return run_year(shape(seed), TIMES, FIRST_DAY)


def _finds() -> Iterable[str]:
    year = Year(Shape(1, principals=60, days=120))
    for attack in ATTACKS:
        yield from attack(year, 60).finds


def _write(outcomes: list[Outcome], scores: dict[str, Score]) -> None:
    weeks = sum(one.days for one in outcomes) / 7
    accesses = sum(one.accesses for one in outcomes)
    alarms = sum(one.false.total() for one in scores.values()) / weeks
    grave = sum(one.false["high"] + one.false["critical"] for one in scores.values()) / weeks
    record(
        "detections",
        [
            f"- Three years of seeds {', '.join(map(str, SEEDS))}: 200 principals, 3 stores,",
            f"  365 days, {accesses:,} records together;",
            f"  each of {len(ATTACKS)} attacks {TIMES} times a year",
            f"- Tuned on seeds {', '.join(map(str, sorted(TUNED_ON)))}, and no others",
            f"- False alarms a week, all detections together: {alarms:.1f};",
            f"  high or critical: {grave:.2f}",
            "",
            "A finding is a false alarm where no planted attack explains it: by whom, where, when.",
            "An attack is found by a detection where that one raised a finding of it.",
            "",
            *table(scores, weeks).splitlines(),
            "",
            "What was missed:",
            "",
            *(_missed(outcomes) or ["- nothing"]),
        ],
    )


def _missed(outcomes: list[Outcome]) -> list[str]:
    counts = Counter(
        (attack.name, name)
        for outcome in outcomes
        for attack in outcome.planted
        for name in sorted(attack.finds)
        if not found_by(attack, name, outcome.findings)
    )
    return [f"- {name} by {one}: {count} times" for (name, one), count in sorted(counts.items())]
