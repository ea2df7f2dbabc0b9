"""Functions of strings (OPA: topdown/strings.go)."""

from bisect import bisect_left
from typing import Any, Final

from policies.builtins import arguments
from policies.builtins.values import Set

_MOST_FOUND: Final = 20_000
_LONGEST: Final = 1_000_000
_MOST_COMPARED: Final = 20_000_000
_GLOB_CHARACTERS: Final = frozenset("*?\\[]{}")


def any_prefix_match(value: Any, prefixes: Any) -> bool:
    """`strings.any_prefix_match`: whether one of the strings begins with one of the prefixes."""
    return _any_begins(_some(value, 1), _some(prefixes, 2))


def any_suffix_match(value: Any, suffixes: Any) -> bool:
    """`strings.any_suffix_match`: whether one of the strings ends with one of the suffixes."""
    ended = [each[::-1] for each in _some(value, 1)]
    return _any_begins(ended, [each[::-1] for each in _some(suffixes, 2)])


def _some(value: Any, position: int) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, (list, Set)):
        raise arguments.must_be(position, "one of {string, set, array}", value)
    return arguments.texts(value, position)


def _any_begins(values: list[str], prefixes: list[str]) -> bool:
    """What begins with a prefix is the next after it in order, if anything does."""
    ordered = sorted(values)
    for prefix in prefixes:
        place = bisect_left(ordered, prefix)
        if place < len(ordered) and ordered[place].startswith(prefix):
            return True
    return False


def concat(separator: Any, values: Any) -> str:
    """`concat`: the strings of an array, or of a set in order."""
    mark = arguments.text(separator, 1)
    if not isinstance(values, (list, Set)):
        raise arguments.must_be(2, "one of {set, array}", values)
    found = arguments.texts(values, 2)
    # Python orders by code points, OPA by the bytes of UTF-8: that is the same.
    return mark.join(sorted(found) if isinstance(values, Set) else found)


def replace(value: Any, old: Any, new: Any) -> str:
    """`replace`: of an empty text, what is new comes before each character and at the end."""
    text, out, into = arguments.text(value, 1), arguments.text(old, 2), arguments.text(new, 3)
    arguments.check_limit((len(text) + 1) * (len(into) + 1), _LONGEST, "the length of the answer")
    return text.replace(out, into)


def count(value: Any, part: Any) -> int:
    """`strings.count`: how often a part is in a string, without overlap."""
    return arguments.text(value, 1).count(arguments.text(part, 2))


def split_n(value: Any, delimiter: Any, most: Any) -> list[str]:
    """`strings.split_n`: the first parts, or, counted below zero, the last ones."""
    text, mark = arguments.text(value, 1), arguments.text(delimiter, 2)
    wanted = arguments.whole(most, 3)
    parts = text.split(mark) if mark else list(text)
    return parts[:wanted] if wanted >= 0 else parts[max(len(parts) + wanted, 0) :]


def indexof_n(value: Any, part: Any) -> list[int]:
    """`indexof_n`: where a part is, overlaps included."""
    text, wanted = arguments.text(value, 1), arguments.text(part, 2)
    if not wanted:
        raise ValueError("empty search character")
    arguments.check_limit(len(text) * len(wanted), _MOST_COMPARED, "the work of a search")
    found: list[int] = []
    place = text.find(wanted)
    while place >= 0:
        found.append(place)
        arguments.check_limit(len(found), _MOST_FOUND, "the number of places found")
        place = text.find(wanted, place + 1)
    return found


def quote_meta(pattern: Any) -> str:
    """`glob.quote_meta`: a pattern that stands for the text alone (gobwas/glob)."""
    text = arguments.text(pattern, 1)
    return "".join(f"\\{each}" if each in _GLOB_CHARACTERS else each for each in text)
