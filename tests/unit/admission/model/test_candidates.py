"""What is asked of all profiles at once agrees with asking each of them."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from admission.model.candidates import MAX_PRIVILEGES, MOST_NEAREST, Candidate, candidates
from core.base import names
from core.decision.namespaces import Namespace
from core.profiles.container_profiles import CATALOGUE, Profile, ProfileSet
from core.profiles.privileges import PatternSet
from tests.unit.core.profiles.test_coverage import PATTERNS, PRIVILEGES

NAMES = st.sampled_from([f"p-{number}" for number in range(12)])
SINCE = st.integers(1, CATALOGUE + 1)


@st.composite
def profile_sets(draw: st.DrawFn) -> ProfileSet:
    """Return a few profiles, in the order in which they are tried."""
    made = [
        Profile(
            name,
            draw(st.integers(0, 2)),
            PatternSet(draw(st.lists(PATTERNS, max_size=3))),
            draw(st.integers(1, CATALOGUE)),
        )
        for name in draw(st.sets(NAMES, max_size=12))
    ]
    return ProfileSet("r", tuple(sorted(made, key=lambda one: (one.rank, one.name))))


def in_ceiling(ceiling: set[str] | None) -> Namespace:
    """Return a namespace with this ceiling."""
    if ceiling is None:
        return Namespace("n")
    return Namespace("n", annotations={names.CEILING_ANNOTATION: ",".join(ceiling)})


def one_by_one(
    profiles: ProfileSet, ceiling: set[str] | None, privileges: Mapping[str, int]
) -> list[Candidate]:
    """Say the same by looking at each profile: a second reading."""
    found = []
    for profile in profiles.ordered:
        lacks = {privilege for privilege in privileges if not profile.covers(privilege)}
        later = {privilege for privilege in lacks if privileges[privilege] > profile.catalogue}
        if ceiling is None or profile.name in ceiling:
            found.append(Candidate(profile, frozenset(lacks - later), frozenset(later)))
    return found


@given(
    profile_sets(),
    st.none() | st.sets(NAMES, max_size=6),
    st.dictionaries(PRIVILEGES, SINCE, max_size=6),
)
def test_all_at_once_agrees_with_one_by_one(
    profiles: ProfileSet, ceiling: set[str] | None, privileges: dict[str, int]
) -> None:
    """Which cover, in which order; which come nearest; who has a privilege; who lacks it."""
    expected = one_by_one(profiles, ceiling, privileges)
    found = candidates(profiles, in_ceiling(ceiling), privileges)
    covering = [each for each in expected if not each.gaps]
    lacking = sorted((each for each in expected if each.gaps), key=lambda each: len(each.gaps))
    assert len(found) == len(expected)
    assert list(found.covering()) == covering
    assert found.covering_names() == [each.name for each in covering]
    assert list(found.nearest) == lacking[:MOST_NEAREST]
    for privilege in privileges:
        has = [each.name for each in expected if privilege not in each.gaps | each.later]
        assert found.covering_names_of(privilege) == has
        assert (privilege in found.uncovered_privileges()) == (not has)
    for profile in profiles.ordered:
        one = next((each for each in expected if each.name == profile.name), None)
        assert found.only(profile.name).first() == one
    assert found.only("unknown").first() is None


def test_too_many_privileges_have_no_candidates() -> None:
    """More than the limit are not compared with any profile."""
    everything = ProfileSet("r", (Profile("all", 0, PatternSet(["**"])),))
    needed = dict.fromkeys((f"host/port/{port}" for port in range(MAX_PRIVILEGES)), 1)
    assert len(candidates(everything, None, needed)) == 1
    assert len(candidates(everything, None, {**needed, "host/pid": 1})) == 0
