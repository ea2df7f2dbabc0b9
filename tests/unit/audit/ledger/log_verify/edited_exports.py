"""Every field of every line of an export, written over in each way there is; and the lines."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from tests.unit.audit.ledger.log_verify.honest_log import OLD, Scene

AT: Final = 123

NOT_COVERED: Final[dict[str, str]] = {
    "export.made another": "when the export was made: nothing is judged by it",
    "export.format another": "a release reads the formats before and after its own",
    "export.format one less": "a release reads the formats before and after its own",
    "export.keys another": "which keys it names: the reader's own, or an anchor's, count",
    "export.keys left out": "as another: the reader's own key is asked",
    "export.keys emptied": "as another: the reader's own key is asked",
}
"""Edits that need not be found where the reader has a key, and why."""

_LINES: Final = {
    "export": 0,
    "leaf": AT + 3,
    "removed leaf": OLD - 10,
    "head": -2,
    "end": -1,
}
"""Which line of the export is edited; before the leaf AT are the first line and two heads."""


@dataclass(frozen=True, slots=True)
class LineEdit:
    """One line that is written over."""

    name: str
    change: Callable[[list[bytes]], list[bytes]]
    at: int | None
    """Position that must be named; None: that of no record, or any."""

    @property
    def is_covered(self) -> bool:
        """Whether it must be found."""
        return self.name not in NOT_COVERED


def edits() -> Iterator[LineEdit]:
    """Yield each edit of a field, then each of whole lines."""
    lines = Scene().lines()
    for kind, number in _LINES.items():
        read = json.loads(lines[number])
        fields = {**read, **({"since": "", "until": ""} if kind == "export" else {})}
        for field, value in fields.items():
            for way, new in _ways(value).items():
                yield _of_field(f"{kind}.{field} {way}", number, (field,), new)
        for field, value in read.get("head", {}).items():
            for way, new in _ways(value).items():
                yield _of_field(f"{kind}.head.{field} {way}", number, ("head", field), new)
        yield _of_field(f"{kind} with a field more", number, ("more",), 1)
    yield from _of_lines(len(lines))


_LEFT_OUT: Final = object()


def _ways(value: Any) -> dict[str, Any]:
    """Return what a value is written over with, by what is done."""
    ways: dict[str, Any] = {"left out": _LEFT_OUT, "of another type": {"a": [1]}, "null": None}
    if isinstance(value, bool):
        return ways | {"another": not value}
    if isinstance(value, int):
        huge = {"huge": 10**30, "below nothing": -1, "a fraction": value + 0.5}
        return ways | huge | {"another": value + 1, "one less": value - 1, "as a text": f"{value}"}
    if isinstance(value, str):
        return ways | _texts(value)
    if isinstance(value, list):
        return ways | {"another": ["AAAA"], "emptied": []}
    return ways | {"emptied": {}}


def _texts(value: str) -> dict[str, Any]:
    last = "0" if value[-1:] != "0" else "1"
    flipped = value[:-1] + last if value else "2026-11-20T00:00:00.000Z"
    others = {"a letter short": value[:-1], "emptied": "", "in capitals": value.upper()}
    made = {"another": flipped, "with a space": f"{value[:2]} {value[2:]}", "a number": 7} | others
    return {way: new for way, new in made.items() if new != value}


def _of_field(name: str, number: int, path: tuple[str, ...], new: Any) -> LineEdit:
    def change(lines: list[bytes]) -> list[bytes]:
        read = json.loads(lines[number])
        part = read[path[0]] if len(path) > 1 else read
        if new is _LEFT_OUT:
            part.pop(path[-1], None)
        else:
            part[path[-1]] = new
        text = json.dumps(read, separators=(",", ":"), ensure_ascii=False)
        lines[number] = text.encode() + b"\n"
        return lines

    return LineEdit(name, change, None)


def _of_lines(count: int) -> Iterator[LineEdit]:
    """Yield what is done to lines whole: gone, twice, in the place of the next, not ended."""
    for name, number in (*_LINES.items(), ("one of the middle", count // 2)):
        yield LineEdit(f"line of {name} gone", _without(number), None)
        yield LineEdit(f"line of {name} twice", _twice(number), None)
        yield LineEdit(f"line of {name} cut short", _cut(number), None)
        yield LineEdit(f"line of {name} with white space", _spaced(number), None)
    yield LineEdit("two lines of leaves swapped", _swapped, None)


def _without(number: int) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: [*lines[:number], *lines[number:][1:]]


def _twice(number: int) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: [*lines[:number], lines[number], *lines[number:]]


def _cut(number: int) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: [*lines[:number], lines[number][:-2], *lines[number:][1:]]


def _spaced(number: int) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: [*lines[:number], b" " + lines[number], *lines[number:][1:]]


def _swapped(lines: list[bytes]) -> list[bytes]:
    return [*lines[:AT], lines[AT + 1], lines[AT], *lines[AT + 2 :]]
