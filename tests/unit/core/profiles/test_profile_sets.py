"""Profiles in force: their order, what they cover, and the revision that names them."""

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.profiles.container_profiles import (
    ContainerProfile,
    ProfileSpec,
    Relaxation,
    Version,
    build_profile_set,
)
from core.profiles.defaults import Defaults

NOW = (1, 36)
PRIVILEGES = ("host/network", "host/pid", "host/ipc", "run-as/root")


def profile(
    name: str,
    *privileges: str,
    rank: int = 100,
    includes: tuple[str, ...] = (),
    relaxations: tuple[Relaxation, ...] = (),
) -> ContainerProfile:
    """Return a profile as it is parsed."""
    spec = ProfileSpec(
        privileges=list(privileges),
        rank=rank,
        catalogue=1,
        includes=list(includes),
        relaxations=list(relaxations),
    )
    return ContainerProfile(name, spec)


def covered(profiles: list[ContainerProfile], name: str, version: Version = NOW) -> set[str]:
    """Return those of PRIVILEGES that a profile of the set covers."""
    found = build_profile_set(profiles, version).by_name[name]
    return {privilege for privilege in PRIVILEGES if found.covers(privilege)}


def test_profiles_are_tried_by_rank_then_by_name() -> None:
    """The order does not depend on that in which they were read."""
    given = [
        profile("b", rank=100),
        profile("z", rank=0),
        profile("a", rank=100),
        profile("a-first", rank=1000),
    ]
    for order in itertools.permutations(given):
        found = build_profile_set(order, NOW)
        assert [(p.name, p.rank) for p in found.ordered] == [
            ("z", 0),
            ("a", 100),
            ("b", 100),
            ("a-first", 1000),
        ]
        assert set(found.by_name) == {"a", "b", "z", "a-first"}
        assert found.problems == ()


def test_includes_are_a_union_over_all_levels() -> None:
    """A profile covers its own privileges and those of what it includes, however far away."""
    given = [
        profile("top", "host/network", includes=("middle",)),
        profile("middle", "host/pid", includes=("bottom",)),
        profile("bottom", "host/ipc"),
    ]
    assert covered(given, "top") == {"host/network", "host/pid", "host/ipc"}
    assert covered(given, "middle") == {"host/pid", "host/ipc"}
    assert covered(given, "bottom") == {"host/ipc"}


def test_includes_that_lead_back_are_harmless() -> None:
    """A circle ends, covers the union, and is no problem."""
    given = [
        profile("a", "host/network", includes=("b",)),
        profile("b", "host/pid", includes=("c", "b")),
        profile("c", "host/ipc", includes=("a",)),
    ]
    assert build_profile_set(given, NOW).problems == ()
    for name in "abc":
        assert covered(given, name) == {"host/network", "host/pid", "host/ipc"}


def test_include_that_does_not_exist_adds_nothing_and_is_a_problem() -> None:
    """The rest of the profile holds; the set says what is wrong, after what it was told."""
    given = [profile("a", "host/network", includes=("gone", "b")), profile("b", "host/pid")]
    found = build_profile_set(given, NOW, ["profiles/x.yaml: unreadable"])
    assert found.problems == (
        "profiles/x.yaml: unreadable",
        "ContainerProfile a: spec.includes: there is no 'gone'",
    )
    assert covered(given, "a") == {"host/network", "host/pid"}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ((1, 9), {"host/network"}),
        ((1, 34), {"host/network"}),
        ((1, 35), {"host/network", "run-as/root"}),
        ((1, 36), {"host/network", "run-as/root", "host/pid"}),
        ((1, 100), {"host/network", "run-as/root", "host/pid"}),
        ((2, 0), {"host/network", "run-as/root", "host/pid"}),
    ],
)
def test_relaxations_hold_from_their_version_on(version: Version, expected: set[str]) -> None:
    """What needs a newer cluster is covered only there, also where it is included."""
    given = [
        profile(
            "a",
            "host/network",
            relaxations=(
                Relaxation("1.35", ["run-as/root"]),
                Relaxation("v1.36.0", ["host/pid"]),
            ),
        ),
        profile("b", includes=("a",)),
    ]
    assert covered(given, "a", version) == expected
    assert covered(given, "b", version) == expected


SPECS = st.dictionaries(
    st.sampled_from(["a", "b", "ab"]),
    st.builds(
        lambda privileges, rank, includes, description: ProfileSpec(
            privileges=privileges,
            rank=rank,
            catalogue=1,
            includes=includes,
            description=description,
        ),
        st.lists(st.sampled_from(["a", "b", "ab"]), max_size=2),
        st.integers(0, 2),
        st.lists(st.sampled_from(["a", "b", "ab"]), max_size=2),
        st.sampled_from(["", "a", "b"]),
    ),
    max_size=3,
)
VERSIONS = st.sampled_from([(1, 35), (1, 36), (13, 6)])


@given(one=SPECS, other=SPECS, versions=st.tuples(VERSIONS, VERSIONS))
def test_revision_changes_exactly_when_the_content_does(
    one: dict[str, ProfileSpec],
    other: dict[str, ProfileSpec],
    versions: tuple[Version, Version],
) -> None:
    """Same profiles on the same version, same revision; anything else, another."""
    sets = [
        build_profile_set([ContainerProfile(n, spec) for n, spec in specs.items()], version)
        for specs, version in zip((one, other), versions, strict=True)
    ]
    same = one == other and versions[0] == versions[1]
    assert (sets[0].revision == sets[1].revision) is same


@given(specs=SPECS, data=st.data())
def test_revision_does_not_depend_on_the_order(
    specs: dict[str, ProfileSpec], data: st.DataObject
) -> None:
    """Two gates that list the profiles in other orders are at the same revision."""
    given = [ContainerProfile(name, spec) for name, spec in specs.items()]
    shuffled = data.draw(st.permutations(given))
    assert build_profile_set(given, NOW).revision == build_profile_set(shuffled, NOW).revision


def test_every_field_of_the_spec_is_in_the_revision() -> None:
    """No field can change without the revision telling."""
    base = profile("a", "host/network").spec
    variants = [
        base,
        msgspec.structs.replace(base, privileges=["host/pid"]),
        msgspec.structs.replace(base, rank=101),
        msgspec.structs.replace(base, catalogue=2),
        msgspec.structs.replace(base, description="x"),
        msgspec.structs.replace(base, includes=["b"]),
        msgspec.structs.replace(base, relaxations=[Relaxation("1.35", [])]),
        msgspec.structs.replace(base, defaults=Defaults()),
        msgspec.structs.replace(base, sandbox="by-risk"),
    ]
    assert len(variants) == 1 + len(ProfileSpec.__struct_fields__)
    revisions = {build_profile_set([ContainerProfile("a", v)], NOW).revision for v in variants}
    assert len(revisions) == len(variants)
