"""Many sets of patterns, asked at once: the same answers as asking each."""

from hypothesis import given
from hypothesis import strategies as st

from core.profiles.privileges import PatternIndex, PatternSet, covers
from tests.unit.core.profiles.test_coverage import PATTERNS, PRIVILEGES

SETS = st.lists(st.lists(PATTERNS, max_size=5), max_size=6)


@given(SETS, st.lists(PRIVILEGES, min_size=1, max_size=4))
def test_index_agrees_with_each_set(sets: list[list[str]], privileges: list[str]) -> None:
    """Bit i says whether a pattern of set i covers; asking again gives the same."""
    index = PatternIndex(map(PatternSet, sets))
    for privilege in privileges * 2:
        expected = [any(covers(pattern, privilege) for pattern in each) for each in sets]
        answer = index.covering(privilege)
        assert [bool(answer >> place & 1) for place in range(len(sets))] == expected
        assert answer < 1 << len(sets)


def test_what_is_remembered_is_bounded() -> None:
    """An author who sends ever new privileges does not fill the memory."""
    index = PatternIndex([PatternSet(["host/port/*"])])
    for port in range(10_000):
        assert index.covering(f"host/port/{port}") == 1
        assert index.covering(f"host/other/{port}") == 0
    assert len(index._known) <= 4096  # noqa: SLF001
