"""Lines and JSON values of a log that is read piece by piece, in bounded memory. Pure.

A log may have gigabytes, a line of it that somebody made any length. So no reader has more at once
than one line or one record; what is longer is told, and left out.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

MAX_LINE: Final = 1024 * 1024
"""Characters of a line; Hubble's have some thousand."""
MAX_RECORD: Final = 32 * 1024 * 1024
"""Characters of one JSON record in an array: Azure's hold a minute of a network's flows."""
MAX_TEXT: Final = 253
"""Characters kept of a name; none of Kubernetes or the DNS has more."""
TOO_LONG: Final = f"is longer than {MAX_LINE} characters"

_SPACE: Final = " \t\r\n,"
_AFTER: Final = frozenset(f"{_SPACE}]")
"""What stands after a number that is whole."""
_DECODER: Final = json.JSONDecoder()


class BrokenArrayError(ValueError):
    """An array of records that ends early, or has something that is no JSON; says where."""


def lines_of(pieces: Iterable[str]) -> Iterator[tuple[int, str | None]]:
    """Yield the lines of a text with their numbers, from 1; None for one that is too long."""
    number, kept, too_long = 1, "", False
    for piece in pieces:
        *whole, rest = piece.split("\n")
        for part in whole:
            line = kept + part
            too_long = too_long or len(line) > MAX_LINE
            yield number, None if too_long else line.removesuffix("\r")
            number, kept, too_long = number + 1, "", False
        kept += rest
        if len(kept) > MAX_LINE:
            kept, too_long = "", True
    if kept or too_long:
        yield number, None if too_long else kept


def records_of(pieces: Iterable[str], fields: Iterable[str]) -> Iterator[Any]:
    """Yield the values of a JSON array: the text itself, or the first of the fields that it has.

    The field must be the first of the text's object, as those who write such logs have it.

    Raises:
        BrokenArrayError: there is no such array, or something in it is no JSON.
    """
    feed = _Feed(pieces)
    feed.open(fields)
    while feed.has_more():
        yield feed.value()


class _Feed:
    """A text of which only so much is kept as one record needs."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = iter(pieces)
        self._text = ""
        self._at = 0

    def _more(self) -> bool:
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._text = self._text[self._at :] + piece
        self._at = 0
        return True

    def open(self, fields: Iterable[str]) -> None:
        """Go to the first value of the array."""
        named = "|".join(map(re.escape, fields))
        head = re.compile(rf'\s*(?:\{{\s*"(?:{named})"\s*:\s*)?\[')
        while (found := head.match(self._text)) is None:
            if len(self._text) > MAX_LINE or not self._more():
                raise BrokenArrayError(f"begins with no array of records ({named})")
        self._at = found.end()

    def has_more(self) -> bool:
        """Go to the next value; say whether there is one."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at] != "]"
            if not self._more():
                raise BrokenArrayError("ends within its array of records")

    def value(self) -> Any:
        """Return the value here, and go past it."""
        while True:
            try:
                found, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise BrokenArrayError("has a record that is nested too deeply") from None
            except ValueError:
                end = -1
            if end >= 0 and (
                isinstance(found, dict | list | str) or self._text[end:][:1] in _AFTER
            ):
                self._at = end
                return found
            if len(self._text) - self._at > MAX_RECORD or not self._more():
                problem = "has a record that is no JSON, or too long: the rest is left out"
                raise BrokenArrayError(problem)


def bounded(text: str) -> str:
    """Return as much of a name as names have."""
    return text[:MAX_TEXT]


def peek(pieces: Iterable[str]) -> tuple[str, Iterator[str]]:
    """Return the first piece that is not blank, with what is before it, and all of them anew."""
    rest = iter(pieces)
    first = ""
    while not first.strip() and (piece := next(rest, None)) is not None:
        first += piece
    return first, chain([first], rest)
