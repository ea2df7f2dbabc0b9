"""Arguments of functions that OPA compiles in otherwise than its own are."""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_GLOBS: Final = [
    *["", "*", "**", "?", "a*", "*a", "*a*", "a?", "?*", "***", "*_by_lua*", "a**b", "é*", "?é"],
    *["a.*", "*.b", "**.b", "a/**", "*:*", "*.{com,org}", "{a,b}", "{a*,b}*", "{,a}", "{a,}", "{}"],
    *["a{b,c{d,e}}", "{a", "a}", "a,b", "}", "{a}}", "{{a}", "{(a),b}", "[a-c]", "[!a]", "[!a-c]*"],
    *[
        "[^a]",
        "[a",
        "[a-",
        "[]a]",
        "[]",
        "[!]",
        "[!!]",
        "[c-a]",
        "[a-c-e]",
        "[-a]",
        "[\\]]",
        "[--a]",
    ],
    *[
        "(a)",
        "a|b",
        "a+",
        "^a$",
        "$",
        "a.b",
        "\\*",
        "\\?",
        "a\\",
        "\\a",
        "\\{a\\}",
        "\x00*",
        "*\x00",
    ],
]
_MATCHED: Final = [
    *[
        "",
        "a",
        "b",
        "ab",
        "a.b",
        "a/b",
        "a:b",
        "a,b",
        "(a)",
        "a|b",
        "a+",
        "^a$",
        "^",
        "$",
        "*",
        "?",
    ],
    *[
        "a\nb",
        "\na",
        "a\n",
        "content_by_lua x\n",
        "content_by_lua\nx",
        "x\ny",
        "\n",
        "a\rb",
        "\x00",
    ],
    *[
        "a\x00b",
        "é",
        "aé",
        "😀",
        "a😀b",
        "x.com",
        "x.y.org",
        "{a",
        "{a}",
        "a}",
        "}",
        "[a",
        "]",
        "-",
        "!",
    ],
    *["\\", "a\\b", "abd", "acd", "ace", "aaa", "."],
]
_DELIMITERS: Final = [
    *[
        None,
        [],
        ["."],
        ["/"],
        ["/", "."],
        ["a"],
        ["\n"],
        ["^"],
        ["]", "-"],
        ["\\"],
        ["é"],
        ["\x00"],
    ],
    *[["ab"], [""], [1], "."],
]
_ADDRESSES: Final = [
    *[
        "10.0.0.1",
        "10.0.0.0/8",
        "10.0.0.1/8",
        "0.0.0.0/0",
        "169.254.0.0/16",
        "::/0",
        "::1",
        "::/80",
    ],
    *[
        "::ffff:169.254.169.254",
        "::ffff:a9fe:a9fe",
        "::ffff:10.0.0.0/104",
        "::ffff:0:0/96",
        "::/95",
    ],
    *["::fffe:0:0/95", "::10.0.0.1", "1:2:3:4:5:6:7::", "1::2:3:4:5:6:7:8", "2001:db8::/32", ""],
    *[
        "2001:DB8::1",
        "2001:db8:::1",
        "fe80::1%eth0",
        "010.0.0.1",
        "10.0.0.1 ",
        " 10.0.0.1",
        "10.0.0",
    ],
    *["10.0.0.1\n", "10.0.0.1\x00", "10.0.0.0/8\x00", "10.0.0.0/8a", "10.0.0.0/ 8", "10.0.0.0/8/8"],
    *[
        "10.0.0.0/+8",
        "10.0.0.0/-1",
        "10.0.0.0/08",
        "10.0.0.0/000008",
        "10.0.0.0/33",
        "10.0.0.0/",
        "/8",
    ],
    *["::/129", "::ffff:0:0/97", "0x0a.0.0.1", "167772161", "10.0.0.256", "[::1]", "１0.0.0.1"],
]
_EXPRESSIONS: Final = [
    *[
        "\x00",
        "a\x00",
        "\x00b",
        "a\x00b",
        "(\x00",
        "(\x00)|(b)",
        "[\x00]",
        "a|\x00",
        "\x00*",
        "\x00(",
    ],
    *["\\x00", "(a)?b"],
]
_SEARCHED: Final = ["", "a", "b", "ab", "x", "\x00", "a\x00b", "a\x00\x00", "\n"]
_NUMBERS: Final = [
    *[
        "-0",
        "-0.0",
        "0.0",
        "1e5",
        "1E+2",
        "12.50",
        "1e308",
        "1e400",
        "-1e309",
        "1.7976931348623159e308",
    ],
    *[
        "9" * 30,
        "9" * 309,
        "1e21",
        "NaN",
        "nan",
        "inf",
        "-Inf",
        "Infinity",
        "１",
        "1\n",
        "1\x00",
        " 1",
    ],
    *["0x", "0b1", "1n", "1e5e5", "1.2.3", "\ufeff1", "1 "],
    *["".join(each) for n in (1, 2, 3) for each in itertools.product("+-.e", repeat=n)],
    *[
        f"{before}1{after}"
        for before in ("", "-", "--", "e")
        for after in ("e", "e+", "e-", "x", "-")
    ],
]

_PLACES: Final[Mapping[str, Sequence[Sequence[Any]]]] = {
    "glob.match": [_GLOBS, _DELIMITERS, _MATCHED],
    "net.cidr_contains": [_ADDRESSES, _ADDRESSES],
    "net.cidr_intersects": [_ADDRESSES, _ADDRESSES],
    "net.cidr_overlap": [_ADDRESSES, _ADDRESSES],
    "re_match": [_EXPRESSIONS, _SEARCHED],
    "regex.find_all_string_submatch_n": [_EXPRESSIONS, _SEARCHED, [-1, 1, 0]],
    "regex.is_valid": [_EXPRESSIONS],
    "regex.match": [_EXPRESSIONS, _SEARCHED],
    "to_number": [_NUMBERS],
}
_ALWAYS: Final[Mapping[str, Sequence[Sequence[Any]]]] = {
    "glob.match": [
        *[("*_by_lua*", None, "content_by_lua x\n"), ("*_by_lua*", None, "content_by_lua\nx")],
        *[("(a)", None, "(a)"), ("(a)", None, "a"), ("^a$", None, "a"), ("{a", None, "a")],
        *[("*", ["\n"], "a\nb"), ("**", [], "a\n.b"), ("*", None, "a.b"), ("*", [], "a.b")],
    ],
    "net.cidr_contains": [
        *[("169.254.0.0/16", "::ffff:169.254.169.254"), ("::/0", "::ffff:169.254.169.254")],
        *[("10.0.0.0/8", "10.0.0.1\x00"), ("10.0.0.0/8a", "10.0.0.1"), ("::/80", "::/80")],
        *[("10.0.0.0/ 8", "10.0.0.1"), ("10.0.0.0/8/8", "10.0.0.1"), ("10.0.0.0/+8", "10.0.0.1")],
    ],
    "net.cidr_intersects": [
        *[("::/0", "::ffff:10.0.0.0/104"), ("10.0.0.0/8", "::ffff:10.0.0.0/104")],
        *[("10.0.0.0/8", "10.0.0.0/8\x00"), ("::/0", "10.0.0.0/8")],
    ],
}


def telling(name: str, most: int) -> Iterator[Sequence[Any]]:
    """Yield arguments of a function, the same in each run: known ones, then up to `most` of all."""
    yield from _ALWAYS.get(name, ())
    if name in _PLACES:
        every = list(itertools.product(*_PLACES[name]))
        rng = random.Random(name)  # noqa: S311  Not for secrets.
        yield from rng.sample(every, min(most, len(every)))
