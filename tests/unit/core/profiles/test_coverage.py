"""Which privileges a pattern covers, and that sets of patterns answer the same."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.profiles.privileges import PatternSet, covers

FEW = st.sampled_from(["a", "b", "a:b", "%2E%2E"])
PRIVILEGES = st.lists(FEW, min_size=1, max_size=4).map("/".join)
PATTERNS = st.builds(
    lambda segments, rest: "/".join(segments + rest),
    st.lists(FEW | st.just("*"), min_size=1, max_size=4),
    st.sampled_from([[], ["**"]]),
) | st.just("**")


def as_expression(pattern: str) -> str:
    """Return the pattern as a regular expression: a second reading of the grammar."""
    parts = {"*": "[^/]+", "**": "[^/]+(?:/[^/]+)*"}
    return "/".join(parts.get(segment, re.escape(segment)) for segment in pattern.split("/"))


@pytest.mark.parametrize(
    ("pattern", "privilege", "expected"),
    [
        ("host/network", "host/network", True),
        ("host/network", "host/pid", False),
        ("host/network", "host", False),
        ("host", "host/network", False),
        ("host/network", "host/network/x", False),
        ("host/Network", "host/network", False),
        ("host/net.ork", "host/network", False),
        ("*", "host", True),
        ("*", "host/network", False),
        ("host/*", "host/network", True),
        ("host/*", "host", False),
        ("host/*", "host/port/80", False),
        ("host/*/80", "host/port/80", True),
        ("host/*/80", "host/port/81", False),
        ("*/*/80", "host/port/80", True),
        ("**", "host", True),
        ("**", "volume/hostPath:ro/var/log", True),
        ("host/**", "host", False),
        ("host/**", "host/port", True),
        ("host/**", "host/port/80", True),
        ("host/**", "hostile/port", False),
        ("host/*/**", "host/port", False),
        ("host/*/**", "host/port/80", True),
        ("volume/hostPath:ro/**", "volume/hostPath:ro/var/log", True),
        ("volume/hostPath:ro/**", "volume/hostPath:rw/var/log", False),
        ("volume/hostPath:ro/var/**", "volume/hostPath:ro/var", False),
        ("volume/hostPath:ro/var/**", "volume/hostPath:ro/variable/x", False),
        ("volume/*", "volume/hostPath:ro/%2F", False),
        # A way back up is a privilege of its own: what it leads to does not cover it.
        ("volume/hostPath:rw/etc/**", "volume/hostPath:rw/var/%2E%2E/etc/x", False),
        ("volume/hostPath:rw/etc", "volume/hostPath:rw/var/%2E%2E/etc", False),
    ],
)
def test_a_pattern_covers_by_whole_segments(
    pattern: str, privilege: str, *, expected: bool
) -> None:
    """`*` is one segment, a last `**` one or more, and all else stands for itself."""
    assert covers(pattern, privilege) is expected
    assert PatternSet([pattern]).covers(privilege) is expected


@given(pattern=PATTERNS, privilege=PRIVILEGES)
def test_covers_agrees_with_a_regular_expression(pattern: str, privilege: str) -> None:
    """An independent reading of the grammar gives the same answer."""
    assert covers(pattern, privilege) is bool(re.fullmatch(as_expression(pattern), privilege))


@given(patterns=st.lists(PATTERNS, max_size=6), privilege=PRIVILEGES)
def test_a_set_covers_what_any_of_its_patterns_covers(patterns: list[str], privilege: str) -> None:
    """The compiled set gives the answer of asking each pattern."""
    expected = any(covers(pattern, privilege) for pattern in patterns)
    assert PatternSet(patterns).covers(privilege) is expected


def test_an_empty_set_covers_nothing() -> None:
    """A profile without privileges is no profile for all."""
    assert not PatternSet([]).covers("host/network")


@given(prefix=PRIVILEGES, more=st.lists(FEW, max_size=3))
def test_two_stars_stand_for_one_or_more_segments(prefix: str, more: list[str]) -> None:
    """`a/**` covers what is below `a`, never `a` itself."""
    privilege = "/".join([prefix, *more])
    assert covers(f"{prefix}/**", privilege) is bool(more)
    assert PatternSet([f"{prefix}/**"]).covers(privilege) is bool(more)
