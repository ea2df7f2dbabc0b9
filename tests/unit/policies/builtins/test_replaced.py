"""Functions that OPA's WebAssembly has with other values than OPA, as the host has them."""

from decimal import Decimal
from typing import Any

import pytest

from policies.builtins import globs, networks
from policies.builtins.objects import to_number


@pytest.mark.parametrize(
    ("pattern", "delimiters", "value", "matches"),
    [
        ("*_by_lua*", None, "content_by_lua\nx", True),
        ("*_by_lua*", None, "content_by_lua x\n", True),
        ("(a)", None, "(a)", True),
        ("(a)", None, "a", False),
        ("^a$", None, "a", False),
        ("a.b", None, "axb", False),
        ("*", [], "a.b", False),
        ("*", None, "a.b", True),
        ("**", ["."], "a.b", True),
        ("?", ["\n"], "\n", False),
        ("{a*,b}c", None, "axc", True),
        ("{,a}", None, "", True),
        ("[!a-c]", None, "\n", True),
        ("[]-_]", None, "^", True),
        ("\\*", None, "a", False),
        ("\x00*", None, "a", False),
    ],
)
def test_a_glob_takes_a_text_as_in_opa(
    pattern: str, delimiters: Any, value: str, *, matches: bool
) -> None:
    """Whatever its characters mean in a regular expression."""
    assert globs.match(pattern, delimiters, value) is matches


@pytest.mark.parametrize(
    "pattern", ["{a", "[a", "[]", "[!]", "[b-a]", "[a-", "[a-c-e]", "a\\", "["]
)
def test_a_pattern_that_is_no_glob_fails(pattern: str) -> None:
    """Rather than match nothing."""
    with pytest.raises(ValueError, match="glob: "):
        globs.match(pattern, None, "a")


@pytest.mark.parametrize("delimiters", [".", 1, ["ab"], [""], [1], {}])
def test_delimiters_are_characters(delimiters: Any) -> None:
    """In an array, or there are none."""
    with pytest.raises(ValueError, match="operand 2"):
        globs.match("a", delimiters, "a")


def test_ipv4_within_ipv6_is_ipv4() -> None:
    """So that nobody gets round a network by writing an address otherwise."""
    assert networks.contains("169.254.0.0/16", "::ffff:169.254.169.254")
    assert networks.intersects("10.0.0.0/8", "::ffff:10.0.0.0/104")
    assert not networks.contains("::/0", "::ffff:169.254.169.254")
    assert not networks.intersects("::/0", "10.0.0.0/8")


@pytest.mark.parametrize(
    "bad",
    ["10.0.0.1\x00", "10.0.0.0/8a", "10.0.0.0/ 8", "10.0.0.0/8/8", "10.0.0.0/+8", "010.0.0.1"],
)
def test_what_is_no_network_fails(bad: str) -> None:
    """Nothing after it, before it or within it is passed over."""
    with pytest.raises(ValueError, match="invalid CIDR"):
        networks.contains("10.0.0.0/8", bad)
    with pytest.raises(ValueError, match="invalid CIDR"):
        networks.intersects("10.0.0.0/8", bad)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *[(None, 0), (False, 0), (True, 1), (7, 7), ("7", 7), ("-7", -7), ("1e2", 100)],
        *[("05", 5), ("+5", 5), ("5.", 5), (".5", Decimal("0.5")), ("-0.50", Decimal("-0.5"))],
    ],
)
def test_a_number_is_read(value: Any, number: Any) -> None:
    """As OPA counts with it, though OPA cannot write all of them."""
    assert to_number(value) == number


@pytest.mark.parametrize(
    "bad",
    [
        *[
            "",
            "-",
            ".",
            "e",
            "1e",
            "1e+",
            "+-1",
            "1 ",
            " 1",
            "1\n",
            "1_0",
            "0x5p0",
            "１",
            "nan",
            "Inf",
        ],
        *["1e400", "1e-500", "9" * 309, "9" * 1001, [], {}],
    ],
)
def test_what_is_no_number_fails(bad: Any) -> None:
    """It is neither nothing nor infinite."""
    with pytest.raises(ValueError, match=r"."):
        to_number(bad)
