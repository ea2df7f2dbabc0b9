"""`regex.*`: Go's regular expressions are RE2's, which finds in linear time (OPA: regex.go).

A search costs at most the size of the program times the length of the text, and many searches as
often that: the product is limited, since nothing can interrupt a function of the host.
"""

import functools
from collections.abc import Iterator
from typing import Any, Final

import re2

from policies.builtins import arguments

_LONGEST_PATTERN: Final = 4096
_PROGRAM_BYTES: Final = 1 << 20
_MOST_STEPS: Final = 4_000_000
_MOST_CHARACTERS: Final = 1_000_000
_MOST_PIECES: Final = 50_000
_NAME_CHARACTERS: Final = frozenset(
    "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)
Spans = list[tuple[int, int]]


def why_no_pattern(text: str) -> str:
    """Say why a text is no regular expression, alone or as the whole of a value; empty if it is."""
    try:
        for pattern in (
            text,
            f"^(?:{text})$",
        ):  # `a)(b` is one only in the second, `\Qa` in the first.
            _compiled(pattern)
    except ValueError as error:
        return str(error)
    return ""


def whole(pattern: str, text: str) -> bool:
    """Return whether an expression takes a text from its begin to its end."""
    expression, given = _compiled(pattern), text.encode()
    _check_steps(expression, len(given))
    return expression.fullmatch(given) is not None


def match(pattern: Any, value: Any) -> bool:
    """`regex.match`: whether it is somewhere in a text."""
    expression, text = _compiled(arguments.text(pattern, 1)), arguments.text(value, 2).encode()
    _check_steps(expression, len(text))
    return expression.search(text) is not None


def find_all_string_submatch_n(pattern: Any, value: Any, most: Any) -> list[list[str]]:
    """`regex.find_all_string_submatch_n`: the first matches with their groups."""
    expression, text = _compiled(arguments.text(pattern, 1)), arguments.text(value, 2).encode()
    found = _matches(expression, text, arguments.whole(most, 3))
    # A group that took no part is at -1, which is an empty text to Go.
    return [[text[slice(*span)].decode() for span in spans] for spans in found]


def find_n(pattern: Any, value: Any, most: Any) -> list[str]:
    """`regex.find_n`: the first matches; all of them for a number below zero."""
    expression, text = _compiled(arguments.text(pattern, 1)), arguments.text(value, 2).encode()
    wanted = arguments.whole(most, 3)
    return [text[slice(*spans[0])].decode() for spans in _matches(expression, text, wanted)]


def replace(value: Any, pattern: Any, replacement: Any) -> str:
    """`regex.replace`: with `$1` and `${name}` for groups."""
    text, expression = arguments.text(value, 1).encode(), _compiled(arguments.text(pattern, 2))
    parts = _template(arguments.text(replacement, 3))
    out, end, length, pieces = [], 0, 0, 0
    for spans in _matches(expression, text, -1):
        piece = text[end : spans[0][0]] + _expanded(parts, expression, text, spans)
        length += len(piece)
        pieces += len(parts)
        arguments.check_limit(pieces, _MOST_PIECES, "the number of pieces of a text")
        arguments.check_limit(length, _MOST_CHARACTERS, "the length of a text")
        out.append(piece)
        end = spans[0][1]
    return b"".join([*out, text[end:]]).decode()


def split(pattern: Any, value: Any) -> list[str]:
    """`regex.split`: what is between the matches."""
    expression, text = _compiled(arguments.text(pattern, 1)), arguments.text(value, 2).encode()
    if pattern and not text:
        return [""]
    parts, begin, end = [], 0, 0
    for (start, stop), *_ in _matches(expression, text, -1):
        end = start
        if stop != 0:
            parts.append(text[begin:end].decode())
        begin = stop
    if end != len(text):
        parts.append(text[begin:].decode())
    return parts


def template_match(template: Any, value: Any, start: Any, end: Any) -> bool:
    """`regex.template_match`: a text with regular expressions between two delimiters."""
    marks = [arguments.text(start, 3), arguments.text(end, 4)]
    text, given = arguments.text(template, 1), arguments.text(value, 2).encode()
    arguments.check_limit(len(text), _LONGEST_PATTERN, "the length of a template")
    if any(len(mark.encode()) != 1 for mark in marks):
        raise ValueError("a delimiter has to be exactly one character long")
    expression = _compiled(_templated(text, marks[0], marks[1]))
    _check_steps(expression, len(given))
    return expression.search(given) is not None


def _templated(text: str, start: str, end: str) -> str:
    pattern, done = "^", 0
    for begin, stop in _delimited(text, start, end):
        inner = text[begin + 1 : stop - 1]
        _compiled(f"^{inner}$")
        pattern += f"{quote_meta(text[done:begin])}({inner})"
        done = stop
    return f"{pattern}{quote_meta(text[done:])}$"


def _delimited(text: str, start: str, end: str) -> Spans:
    found, level, begin = [], 0, 0
    for place, character in enumerate(text):
        if character == start:
            level += 1
            if level == 1:
                begin = place
        elif character == end:
            level -= 1
            if level == 0:
                found.append((begin, place + 1))
        if level < 0:
            break
    if level:
        raise ValueError(f"unbalanced braces in {text[:200]!r}")
    return found


def quote_meta(text: str) -> str:
    """Quote as Go's regexp.QuoteMeta does."""
    return "".join(f"\\{each}" if each in r"\.+*?()|[]{}^$" else each for each in text)


@functools.lru_cache(maxsize=64)
def _compiled(pattern: str) -> Any:
    arguments.check_limit(len(pattern), _LONGEST_PATTERN, "the length of a pattern")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PROGRAM_BYTES
    try:
        return re2.compile(pattern.encode(), options)
    except re2.error as error:
        said = error.args[0] if error.args else ""
        shown = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise ValueError(f"error parsing regexp: {shown}") from error


def _check_steps(expression: Any, length: int, before: int = 0) -> int:
    """Count what a search may cost, and refuse what is too much in all."""
    steps: int = before + expression.programsize * (length + 1)
    arguments.check_limit(steps, _MOST_STEPS, "the work of a regular expression on this text")
    return steps


def _matches(expression: Any, text: bytes, most: int) -> Iterator[Spans]:
    """Yield the spans of each match and its groups; an empty one next to a match is none (Go)."""
    place, last_end, found, steps = 0, -1, 0, 0
    while place <= len(text) and found != most:
        steps = _check_steps(expression, len(text) - place, steps)
        match = expression.search(text, place)
        if match is None:
            return
        start, end = match.span()
        if start != end or start != last_end:
            found += 1
            yield [match.span(group) for group in range(expression.groups + 1)]
        last_end = end
        place = end if end > place else _next_character(text, place)


def _next_character(text: bytes, place: int) -> int:
    place += 1
    while place < len(text) and text[place] & 0xC0 == 0x80:
        place += 1
    return place


def _template(text: str) -> list[str | tuple[str]]:
    """Take a replacement apart as Go's Regexp.Expand does; names of groups are in tuples."""
    parts: list[str | tuple[str]] = []
    while text:
        before, mark, text = text.partition("$")
        parts.append(before)
        if not mark:
            break
        if text.startswith("$"):
            parts.append("$")
            text = text[1:]
            continue
        name, rest = _named(text)
        if name is None:
            parts.append("$")
        else:
            parts.append((name,))
            text = rest
    return parts


def _named(text: str) -> tuple[str | None, str]:
    braced = text.startswith("{")
    end = start = int(braced)
    while end < len(text) and (text[end] in _NAME_CHARACTERS or _is_letter(text[end])):
        end += 1
    if end == start or (braced and text[end : end + 1] != "}"):
        return None, text
    return text[start:end], text[end + braced :]


def _is_letter(character: str) -> bool:
    return not character.isascii() and (character.isalpha() or character.isdecimal())


def _expanded(parts: list[str | tuple[str]], expression: Any, text: bytes, spans: Spans) -> bytes:
    out = []
    for part in parts:
        if isinstance(part, str):
            out.append(part.encode())
            continue
        number = _group(part[0], expression)
        if 0 <= number < len(spans) and spans[number][0] >= 0:
            out.append(text[slice(*spans[number])])
    return b"".join(out)


def _group(name: str, expression: Any) -> int:
    if name.isascii() and name.isdigit():
        plain = name == "0" or not name.startswith("0")
        return int(name) if plain and len(name) < 9 else -1
    return int(expression.groupindex.get(name.encode(), -1))
