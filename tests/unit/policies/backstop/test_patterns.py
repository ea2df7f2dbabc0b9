"""What CEL matches is never less than what a pattern covers, and more only where it must be."""

import re

from hypothesis import given
from hypothesis import strategies as st

from core.profiles.privileges import covers
from policies.backstop.parameters import expression, expressions, is_relevant, spellings
from policies.backstop.rules import COVERED

SEGMENTS = st.sampled_from(
    ["host", "network", "capability", "volume", "hostPath:ro", "var", "log", "a.b", "axb"]
)
ENCODED = st.sampled_from(["%2F", "%2E%2E", "a%20b", "x" * 201])
PRIVILEGES = st.lists(SEGMENTS | ENCODED, min_size=1, max_size=4).map("/".join)
PATTERNS = st.tuples(
    st.lists(SEGMENTS | ENCODED | st.just("*"), min_size=1, max_size=4), st.booleans()
).map(lambda made: "/".join([*made[0], *(["**"] if made[1] else [])]))


@given(PATTERNS, PRIVILEGES)
def test_what_is_covered_is_matched(pattern: str, privilege: str) -> None:
    """However CEL writes it; and where nothing is encoded, nothing else is matched."""
    found = [re.fullmatch(expression(pattern), each) for each in spellings(privilege)]
    if covers(pattern, privilege):
        assert all(found)
    elif not any("%" in segment or len(segment) > 200 for segment in privilege.split("/")):
        assert not any(found)


@given(PATTERNS, PRIVILEGES)
def test_no_pattern_that_matters_is_left_out(pattern: str, privilege: str) -> None:
    """One that covers any privilege that is held concerns the back-stop."""
    held = any(covers(one, privilege) for each in COVERED for one in each.patterns)
    if held and covers(pattern, privilege):
        assert is_relevant(pattern)


def test_expressions_leave_the_rest_out() -> None:
    """Patterns of images and limits cost nothing; a dot is no wildcard."""
    assert expressions(["image/from/**", "host/*", "host/*", "limits/unset/cpu"]) == ["host/[^/@]+"]
    assert expression("volume/hostPath:ro/a.b/**") == "volume/hostPath:ro/a[.]b/[^@]+"
    assert expression("volume/hostPath:rw/%2F") == "volume/hostPath:rw/(?:%|%2F)"


def test_the_root_has_two_spellings() -> None:
    """As the root of the node, and as a name that cannot be encoded in CEL."""
    assert spellings("volume/hostPath:ro/%2F") == [
        "volume/hostPath:ro/%",
        "volume/hostPath:ro/%2F",
    ]
    assert spellings("host/network") == ["host/network"]
