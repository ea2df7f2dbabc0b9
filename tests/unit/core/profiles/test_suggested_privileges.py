"""The least list of privileges: it covers all, nothing else, and each line is needed."""

from hypothesis import given
from hypothesis import strategies as st

from core.decision.decision import Need
from core.profiles.privileges import PatternSet
from core.profiles.suggestion import (
    FOLD_FROM,
    MOST_PLACES,
    ExaminedObject,
    SuggestedLine,
    fold_lines,
    suggest_privileges,
)

_families = st.sampled_from(
    [
        "host/port",
        "volume/hostPath:ro/var/log",
        "volume/hostPath:rw/var/lib",
        "volume/hostPath:rw/data/sets",
        "volume/hostPath:ro",
        "volume/hostPath:ro/%2E%2E/x",
        "image/from/docker.io/library",
        "image/from/ghcr.io",
        "capability",
        "dns/host-alias",
    ]
)
privileges = st.builds(
    lambda family, rest: "/".join([family, *rest]),
    _families,
    st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=3),
)
examined = st.lists(
    st.builds(
        lambda needed, number: ExaminedObject(
            f"Pod p{number}", "", [Need("rule", p, f"spec.{p}") for p in needed]
        ),
        st.lists(privileges, max_size=20),
        st.integers(0, 9),
    ),
    max_size=6,
)


def needed(objects: list[ExaminedObject]) -> set[str]:
    """Return all privileges that the objects need."""
    return {need.privilege for one in objects for need in one.needs}


def test_evidence_is_kept_and_counted() -> None:
    """The first places in full, of a template with its path; the others as a number."""
    many = [Need("r", "host/network", "spec.hostNetwork") for _ in range(MOST_PLACES + 3)]
    first = ExaminedObject(
        "Deployment a", "spec.template", [Need("r", "host/pid", "spec.hostPID", "c")]
    )
    pid, network = sorted(
        suggest_privileges([first, ExaminedObject("Pod b", "", many)]), key=_by_name
    )[::-1]
    assert pid == SuggestedLine("host/pid", pid.places)
    assert (pid.places[0].object, pid.places[0].path) == (
        "Deployment a",
        "spec.template.spec.hostPID",
    )
    assert pid.places[0].container == "c"
    assert (len(network.places), network.more_places) == (MOST_PLACES, 3)


def _by_name(line: SuggestedLine) -> str:
    return line.privilege


@given(examined)
def test_a_suggestion_is_exactly_what_is_needed(objects: list[ExaminedObject]) -> None:
    """A line for each privilege that some object needs, and no other; sorted."""
    lines = [line.privilege for line in suggest_privileges(objects)]
    assert lines == sorted(needed(objects))


@given(examined)
def test_a_folded_suggestion_covers_all_and_needs_each_line(objects: list[ExaminedObject]) -> None:
    """Whatever was folded is still covered; without any one line something is not."""
    wanted = needed(objects)
    lines = fold_lines(suggest_privileges(objects))
    assert all(PatternSet(line.privilege for line in lines).covers(p) for p in wanted)
    for line in lines:
        others = PatternSet(each.privilege for each in lines if each is not line)
        assert not all(others.covers(p) for p in wanted)


@given(examined)
def test_a_fold_says_for_what_it_stands(objects: list[ExaminedObject]) -> None:
    """Each pattern lists what it folds, all of it needed; each other line is a privilege."""
    wanted = needed(objects)
    for line in fold_lines(suggest_privileges(objects)):
        if line.folds:
            assert len(line.folds) >= FOLD_FROM
            assert set(line.folds) <= wanted
            assert all(PatternSet([line.privilege]).covers(p) for p in line.folds)
        else:
            assert line.privilege in wanted


@given(examined)
def test_a_fold_is_never_wide(objects: list[ExaminedObject]) -> None:
    """No capability, nothing that leads up, not a whole node, registry or system folder."""
    for line in fold_lines(suggest_privileges(objects)):
        if line.folds:
            spelt = line.privilege.rstrip("*").rstrip("/")
            assert not spelt.startswith("capability")
            assert "%2E%2E" not in spelt
            assert spelt not in {"volume/hostPath:rw/var/lib", "volume/hostPath:ro"}
            assert spelt not in {"image/from", "image/from/ghcr.io"}


def test_the_narrowest_pattern_is_taken() -> None:
    """Twelve paths below one folder become that folder's pattern, and leave the others alone."""
    paths = [f"volume/hostPath:ro/var/log/{name}" for name in "abcdefghijkl"]
    ports = [f"host/port/{port}" for port in (80, 443, 8080)]
    objects = [ExaminedObject("Pod p", "", [Need("r", p, "spec") for p in paths + ports])]
    lines = [line.privilege for line in fold_lines(suggest_privileges(objects))]
    assert lines == [*sorted(ports), "volume/hostPath:ro/var/log/*"]
