"""`sprintf`: Go's fmt.Sprintf, of what Rego hands it (fmt/print.go of Go 1.26).

What it is handed are whole numbers, floats and strings; every other value is its own text.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from policies.builtins import arguments
from policies.builtins.printing import Flags, bad_verb, is_big, printed, type_of
from policies.builtins.rego_repr import shown

_LARGEST_NUMBER: Final = 1_000_000
"""Of a width or a precision, to Go."""

_MOST_CHARACTERS: Final = 1_000_000
_LONGEST_TEMPLATE: Final = 16_384
_MOST_VALUES: Final = 4096
_SHORTEST_INDEX: Final = len("[1]")


def sprintf(template: Any, values: Any) -> str:
    """`sprintf`: a template, filled with values."""
    text, given = arguments.text(template, 1), arguments.array(values, 2)
    arguments.limited(len(text), _LONGEST_TEMPLATE, "the length of a template")
    arguments.limited(len(given), _MOST_VALUES, "the number of values")
    return _Template(text, [_operand(each) for each in given]).filled()


def _operand(value: Any) -> Any:
    if isinstance(value, Decimal):
        number = float(value)
        # What no float can hold stays a text, as it is written.
        return number if abs(number) != float("inf") else shown(value)
    plain = isinstance(value, (str, int)) and not isinstance(value, bool)
    return value if plain else shown(value)


class _Template:
    def __init__(self, text: str, values: Sequence[Any]) -> None:
        self._text = text
        self._values = values
        self._at = 0
        self._next = 0
        self._reordered = False
        self._after_index = False
        self._good = True
        self._out: list[str] = []
        self._length = 0

    def filled(self) -> str:
        while self._at < len(self._text):
            mark = self._text.find("%", self._at)
            end = len(self._text) if mark < 0 else mark
            self._write(self._text[self._at : end])
            self._at = end + 1
            if mark >= 0:
                self._one()
        if not self._reordered and self._next < len(self._values):
            extra = self._values[self._next :]
            listed = ", ".join(f"{type_of(each)}={printed(each, 'v', Flags())}" for each in extra)
            self._write(f"%!(EXTRA {listed})")
        return "".join(self._out)

    def _write(self, text: str) -> None:
        self._length += len(text)
        arguments.limited(self._length, _MOST_CHARACTERS, "the length of a text")
        self._out.append(text)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _one(self) -> None:
        """Fill one place, from after its "%"."""
        flags = self._flags()
        self._good = True
        self._after_index = False
        self._index()
        self._width(flags)
        if self._peek() == "." and self._at + 1 < len(self._text):
            self._at += 1
            self._precision(flags)
        if not self._after_index:
            self._index()
        verb = self._peek()
        self._at += 1
        self._write(self._filled(verb, flags) if verb else "%!(NOVERB)")

    def _filled(self, verb: str, flags: Flags) -> str:
        if verb == "%":
            return "%"
        if not self._good:
            return f"%!{verb}(BADINDEX)"
        if self._next >= len(self._values):
            return f"%!{verb}(MISSING)"
        value = self._values[self._next]
        self._next += 1
        if verb in "vw" and not is_big(value):
            # %+v and %#v speak of Go's own types; a large number reads the flags itself.
            flags = replace(flags, plus=False, sharp=False, syntax=flags.sharp)
        if verb == "w":
            return bad_verb(value, verb, flags)
        return printed(value, verb, flags)

    def _flags(self) -> Flags:
        flags = Flags()
        names = {"#": "sharp", "0": "zero", "+": "plus", "-": "minus", " ": "space"}
        while name := names.get(self._peek()):
            setattr(flags, name, True)
            self._at += 1
        return flags

    def _width(self, flags: Flags) -> None:
        if self._peek() == "*":
            self._at += 1
            flags.width = self._from_values()
            if flags.width is None:
                self._write("%!(BADWIDTH)")
            elif flags.width < 0:
                flags.width, flags.minus, flags.zero = -flags.width, True, False
            self._after_index = False
        else:
            flags.width = self._digits()
            if self._after_index and flags.width is not None:
                self._good = False

    def _precision(self, flags: Flags) -> None:
        if self._after_index:
            self._good = False
        self._index()
        if self._peek() == "*":
            self._at += 1
            flags.precision = self._from_values()
            if flags.precision is not None and flags.precision < 0:
                flags.precision = None
            if flags.precision is None:
                self._write("%!(BADPREC)")
            self._after_index = False
        else:
            flags.precision = self._digits() or 0

    def _digits(self) -> int | None:
        start = self._at
        number = 0
        while "0" <= self._peek() <= "9":
            number = number * 10 + int(self._peek())
            self._at += 1
            if number > _LARGEST_NUMBER:
                self._at = len(self._text)
                return None
        return number if self._at > start else None

    def _from_values(self) -> int | None:
        if self._next >= len(self._values):
            return None
        value = self._values[self._next]
        self._next += 1
        small = isinstance(value, int) and abs(value) <= _LARGEST_NUMBER
        return value if small else None

    def _index(self) -> None:
        """Read "[3]", which says whose turn it is."""
        self._after_index = False
        if self._peek() != "[":
            return
        self._reordered = True
        end = self._text.find("]", self._at)
        if end < 0 or len(self._text) - self._at < _SHORTEST_INDEX:
            self._at += 1
            self._good = False
            return
        found = re.fullmatch(r"[0-9]{1,30}", self._text[self._at + 1 : end])
        number = int(found[0]) if found else _LARGEST_NUMBER + 1
        self._at = end + 1
        if 1 <= number <= len(self._values):
            self._next = number - 1
            self._after_index = True
        else:
            self._good = False
            self._after_index = number <= _LARGEST_NUMBER
