"""Which pattern covers all that another covers, beside every privilege that could tell."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.profiles.privileges import (
    PatternSet,
    contains_pattern,
    covers,
    find_uncovered,
    reduce_patterns,
)

WORDS = ("a", "b", "c")
"""Patterns spell `a` and `b`; `c` stands for all that no pattern spells."""

LONGEST = 3
PRIVILEGES = tuple(
    "/".join(parts)
    for length in range(1, LONGEST + 3)
    for parts in itertools.product(WORDS, repeat=length)
)
"""Longer than any pattern by two, so that a last `**` shows itself."""

_segments = st.lists(st.sampled_from(("a", "b", "*")), min_size=1, max_size=LONGEST)
patterns = st.builds(
    lambda parts, rest: "/".join([*parts[: LONGEST - rest], *["**"] * rest]),
    _segments,
    st.integers(0, 1),
)
sets = st.lists(patterns, max_size=5)


def covered(by: list[str]) -> set[str]:
    """Return every privilege that some of the patterns cover."""
    return {p for p in PRIVILEGES if any(covers(pattern, p) for pattern in by)}


@given(sets, patterns)
def test_what_is_contained_covers_nothing_else(many: list[str], one: str) -> None:
    """Contained is what covers nothing that the others leave uncovered, and only that."""
    assert contains_pattern(PatternSet(many), one, LONGEST) is (covered([one]) <= covered(many))


@given(sets, sets)
def test_the_difference_is_symmetric_and_exact(one: list[str], other: list[str]) -> None:
    """Each side's difference names a pattern where it covers more, and none where it does not."""
    for ours, theirs in ((one, other), (other, one)):
        found = find_uncovered(ours, PatternSet(theirs))
        assert bool(found) is not (covered(ours) <= covered(theirs))
        assert set(found) <= set(ours)
        assert covered(ours) - covered(theirs) == covered(found) - covered(theirs)


@given(sets)
def test_equal_sets_do_not_differ(many: list[str]) -> None:
    """Written in another order, or with what says nothing new left out, it is the same."""
    assert find_uncovered(many, PatternSet(reversed(many))) == []
    assert find_uncovered(many, PatternSet(reduce_patterns(many))) == []
    assert find_uncovered(reduce_patterns(many), PatternSet(many)) == []


@given(sets)
def test_reduced_patterns_are_all_needed(many: list[str]) -> None:
    """Without any one of them something is no longer covered."""
    left = reduce_patterns(many)
    assert covered(left) == covered(many)
    for pattern in left:
        assert covered([other for other in left if other != pattern]) < covered(left)


@given(sets)
def test_a_compiled_set_gives_its_patterns_back(many: list[str]) -> None:
    """Each once, as it was written."""
    assert sorted(PatternSet(many)) == sorted(set(many))


@pytest.mark.parametrize(
    ("many", "one", "contained"),
    [
        (["host/*"], "host/network", True),
        (["host/network"], "host/*", False),
        (["a/*", "a/*/**"], "a/**", True),
        (["a/*", "a/*/*/**"], "a/**", False),
        (["**"], "a/*/b/**", True),
        ([], "a", False),
    ],
)
def test_a_pattern_by_hand(many: list[str], one: str, *, contained: bool) -> None:
    """Several together may cover what none covers alone."""
    longest = max((p.count("/") + 1 for p in many), default=0)
    assert contains_pattern(PatternSet(many), one, longest) is contained
