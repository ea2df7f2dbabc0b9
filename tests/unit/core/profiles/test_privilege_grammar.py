"""What a pattern may look like: the grammar at the head of `core/profiles/privileges.py`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InvalidObjectError
from core.profiles.privileges import validate_pattern

PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-"

SEGMENTS = st.text(st.sampled_from(PLAIN), min_size=1, max_size=8).filter(
    lambda text: text not in {".", ".."}
) | st.binary(min_size=1, max_size=4).map(lambda octets: "".join(f"%{o:02X}" for o in octets))


@pytest.mark.parametrize(
    "pattern",
    [
        "host/network",
        "capability/NET_ADMIN",
        "volume/hostPath:ro/var/log",
        "volume/hostPath:ro/**",
        "host/port/8080",
        "*",
        "**",
        "*/*",
        "*/network",
        "host/*/8080",
        "host/*/**",
        "sysctl/kernel.shm_rmid_forced",
        "volume/hostPath:rw/%2F",
        "volume/hostPath:rw/%2E%2E",
        "a%20b/...",
        "a",
    ],
)
def test_patterns_of_the_grammar_are_accepted(pattern: str) -> None:
    """Segments of the plain characters, `%XX`, `*` anywhere, and a last `**` pass."""
    validate_pattern(pattern, field="spec.privileges[0]")


@pytest.mark.parametrize(
    ("pattern", "segment"),
    [
        ("", ""),
        ("/", ""),
        ("/host", ""),
        ("host/", ""),
        ("host//network", ""),
        ("host/.", "."),
        ("volume/hostPath:ro/..", ".."),
        ("volume/hostPath:ro/../etc", ".."),
        ("../host", ".."),
        ("host/net*", "net*"),
        ("host/***", "***"),
        ("host/[a-z]", "[a-z]"),
        ("host/n?twork", "n?twork"),
        ("host/a b", "a b"),
        ("host/é", "é"),
        ("host/%2f", "%2f"),
        ("host/%2", "%2"),
        ("host/%GG", "%GG"),
        ("host/network\n", "network\n"),
        ("host/\0", "\0"),
    ],
)
def test_other_patterns_are_refused_with_the_field_and_the_segment(
    pattern: str, segment: str
) -> None:
    """The message names the object, the field, the pattern and what is wrong with it."""
    with pytest.raises(InvalidObjectError) as refused:
        validate_pattern(pattern, field="spec.privileges[3]", what="ContainerProfile rdma")
    assert (refused.value.what, refused.value.field) == (
        "ContainerProfile rdma",
        "spec.privileges[3]",
    )
    assert str(refused.value).startswith(
        f"ContainerProfile rdma: spec.privileges[3]: {pattern!r}: segment {segment!r} must be "
    )


@pytest.mark.parametrize("pattern", ["**/network", "host/**/port", "**/**", "a/**/*"])
def test_two_stars_may_only_stand_last(pattern: str) -> None:
    """A `**` before another segment is refused, and the message says so."""
    with pytest.raises(InvalidObjectError) as refused:
        validate_pattern(pattern, field="spec.privileges[0]")
    assert refused.value.problem == f'{pattern!r}: "**" may only stand last'


@given(
    segments=st.lists(SEGMENTS | st.just("*"), min_size=1, max_size=5),
    rest=st.sampled_from([[], ["**"]]),
)
def test_what_is_made_by_the_grammar_is_accepted(segments: list[str], rest: list[str]) -> None:
    """Every list of segments, joined, is a pattern."""
    validate_pattern("/".join(segments + rest), field="privileges")


@given(
    before=st.lists(SEGMENTS, max_size=3),
    bad=st.sampled_from(["", ".", ".."])
    | st.characters(exclude_characters=PLAIN + "*/%").map(lambda c: f"a{c}"),
    after=st.lists(SEGMENTS, max_size=3),
)
def test_one_bad_segment_refuses_the_whole(before: list[str], bad: str, after: list[str]) -> None:
    """No character or directory outside the grammar gets in, wherever it stands."""
    with pytest.raises(InvalidObjectError, match="privileges"):
        validate_pattern("/".join([*before, bad, *after]), field="privileges")
