"""`glob.match`: patterns as gobwas/glob 1.0 reads them (OPA: topdown/glob.go).

A pattern becomes a regular expression, which finds in linear time.
"""

import functools
from typing import Any, Final

from policies.builtins import arguments, regexes

_LONGEST_PATTERN: Final = 4096
_ANYTHING: Final = "(?s:.)"
_BREAKERS: Final = frozenset("?*[{")
_INNER_BREAKERS: Final = _BREAKERS | frozenset("},")


def match(pattern: Any, delimiters: Any, value: Any) -> bool:
    """`glob.match`: whether a pattern takes a text whole; `*` and `?` take no delimiter."""
    text, marks = arguments.text(pattern, 1), _delimiters(delimiters)
    return regexes.whole(_expression(text, marks), arguments.text(value, 3))


def _delimiters(given: Any) -> str:
    """Null is none; an empty array is the point."""
    if given is None:
        return ""
    if not isinstance(given, list):
        raise arguments.must_be(2, "one of {array, null}", given)
    if any(len(each) != 1 for each in arguments.texts(given, 2)):
        raise ValueError("operand 2 must be array of single characters")
    return "".join(given) or "."


@functools.lru_cache(maxsize=256)
def _expression(pattern: str, delimiters: str) -> str:
    arguments.check_limit(len(pattern), _LONGEST_PATTERN, "the length of a pattern")
    return _Reader(pattern, delimiters).whole()


class _Reader:
    """Reads a pattern from the left."""

    def __init__(self, pattern: str, delimiters: str) -> None:
        self._text = pattern
        self._at = 0
        self._one = _one_of(delimiters, negated=True) if delimiters else _ANYTHING

    def whole(self) -> str:
        """Return the regular expression that takes the same."""
        out: list[str] = []
        depth = 0
        while self._at < len(self._text):
            character = self._text[self._at]
            if depth and character in "},":
                self._at += 1
                depth -= character == "}"
                out.append(")" if character == "}" else "|")
            elif character == "{":
                self._at += 1
                depth += 1
                out.append("(?:")
            elif character in _BREAKERS:
                out.append(self._wildcard(character))
            else:
                out.append(regexes.quote_meta(self._until(_INNER_BREAKERS if depth else _BREAKERS)))
        if depth:
            raise ValueError("glob: unclosed `{`")
        return "".join(out)

    def _wildcard(self, character: str) -> str:
        self._at += 1
        if character == "?":
            return self._one
        if character == "[":
            return self._class()
        if self._text[self._at : self._at + 1] != "*":
            return f"{self._one}*"
        self._at += 1
        return f"{_ANYTHING}*"

    def _class(self) -> str:
        """Read `[abc]`, `[a-c]` or one of them after `!`, from behind its opening."""
        negated = self._text[self._at : self._at + 1] == "!"
        self._at += negated
        if self._text[self._at + 1 : self._at + 2] == "-":
            low, high = self._text[self._at], self._text[self._at + 2 : self._at + 3]
            self._at += 3
            if not high or high < low:
                raise ValueError("glob: a range without an end, or whose end is before its begin")
            made = f"[{'^' if negated else ''}{_code(low)}-{_code(high)}]"
        else:
            members = self._until(frozenset("]"))
            if not members:
                raise ValueError("glob: an empty class of characters")
            made = _one_of(members, negated=negated)
        if self._text[self._at : self._at + 1] != "]":
            raise ValueError("glob: a class of characters that is not closed")
        self._at += 1
        return made

    def _until(self, breakers: frozenset[str]) -> str:
        """Read characters up to one of some, or the end; one after a backslash is itself."""
        found: list[str] = []
        while self._at < len(self._text) and self._text[self._at] not in breakers:
            self._at += self._text[self._at] == "\\"
            if self._at == len(self._text):
                raise ValueError("glob: trailing backslash")
            found.append(self._text[self._at])
            self._at += 1
        return "".join(found)


def _one_of(characters: str, *, negated: bool) -> str:
    codes = "".join(_code(each) for each in sorted(set(characters)))
    return f"[{'^' if negated else ''}{codes}]"


def _code(character: str) -> str:
    return f"\\x{{{ord(character):x}}}"
