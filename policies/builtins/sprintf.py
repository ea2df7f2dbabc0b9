"""`sprintf`: Go's fmt.Sprintf (fmt/print.go and fmt/format.go of Go 1.26).

What it is handed are whole numbers, floats and strings; every other value is its own text.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from policies.builtins import arguments
from policies.builtins.rego_repr import go_quote, rego_repr

_WORD: Final = 2**63
_BASES: Final = {"b": 2, "o": 8, "O": 8, "d": 10, "x": 16, "X": 16, "v": 10, "s": 10}
_LAST_CHARACTER: Final = 0x10FFFF
_REPLACEMENT: Final = 0xFFFD
_LEAST_POWER: Final = -4
_MOST_POWER: Final = 6
_MOST_CHARACTERS: Final = 1_000_000
_MOST_OF_FLOAT: Final = 2000
"""Digits that a float may be asked for; none has more than 1,100."""

_LARGEST_NUMBER: Final = 1_000_000
"""Of a width or a precision, to Go."""

_LONGEST_TEMPLATE: Final = 16_384
_MOST_VALUES: Final = 4096
_SHORTEST_INDEX: Final = len("[1]")


@dataclass
class Flags:
    """What stands between "%" and the verb."""

    sharp: bool = False
    zero: bool = False
    plus: bool = False
    minus: bool = False
    space: bool = False
    syntax: bool = False
    """What `#` means to %v: as Go writes a value in a program."""
    width: int | None = None
    precision: int | None = None


def type_of(value: Any) -> str:
    """Name the type that Go knows a value as."""
    if isinstance(value, float):
        return "float64"
    if isinstance(value, str):
        return "string"
    return "int64" if _is_word(value) else "*big.Int"


def print_value(value: Any, verb: str, flags: Flags) -> str:
    """Return a value as a verb shows it.

    Raises:
        ValueError: it would be longer than is supplied, or is what only OPA's own process knows.
    """
    arguments.check_limit(flags.width or 0, _MOST_CHARACTERS, "a width")
    if verb == "T":
        return _text(type_of(value), "s", flags)
    if isinstance(value, str):
        return _text(value, verb, flags) if verb in "vsxXq" else bad_verb(value, verb, flags)
    if isinstance(value, float):
        return _float(value, verb, flags)
    return _integer(value, verb, flags) if _is_word(value) else _big(value, verb, flags)


def bad_verb(value: Any, verb: str, flags: Flags) -> str:
    """Say, as Go does, that a verb does not go with a value."""
    if is_big(value):
        raise ValueError(f"%{verb} of a number of more than 64 bits is not supplied")
    return f"%!{verb}({type_of(value)}={print_value(value, 'v', flags)})"


def is_big(value: Any) -> bool:
    """Return whether a value is a whole number of more than 64 bits."""
    return isinstance(value, int) and not _is_word(value)


def _is_word(value: Any) -> bool:
    return isinstance(value, int) and -_WORD <= value < _WORD


def _padded(text: str, flags: Flags, *, zero: bool | None = None) -> str:
    missing = (flags.width or 0) - len(text)
    if missing <= 0:
        return text
    if flags.minus:
        return text + " " * missing
    filled = flags.zero if zero is None else zero
    return ("0" if filled else " ") * missing + text


def _text(value: str, verb: str, flags: Flags) -> str:
    if verb in "xX":
        return _hexadecimal(value.encode(), flags, upper=verb == "X")
    cut = value if flags.precision is None else value[: flags.precision]
    if verb == "q" or (verb == "v" and flags.syntax):
        if flags.sharp and _can_backquote(cut):
            return _padded(f"`{cut}`", flags)
        return _padded(go_quote(cut, ascii_only=flags.plus), flags)
    return _padded(cut, flags)


def _can_backquote(text: str) -> bool:
    return not any(each in "`\x7f\ufeff" or (ord(each) < 0x20 and each != "\t") for each in text)


def _hexadecimal(content: bytes, flags: Flags, *, upper: bool) -> str:
    if flags.precision is not None:
        content = content[: flags.precision]
    prefix = "0x" if flags.sharp else ""
    pairs = [f"{each:02x}" for each in content]
    text = f" {prefix}".join(pairs) if flags.space else "".join(pairs)
    text = prefix + text if pairs else ""
    return _padded(text.upper() if upper else text, flags)


def _integer(value: int, verb: str, flags: Flags) -> str:
    if verb in "vdboOxX":
        return _digits(value, verb, flags)
    if verb == "c":
        return _padded(_character(value), flags)
    if verb == "q":
        return _padded(go_quote(_character(value), "'", ascii_only=flags.plus), flags)
    if verb == "U":
        return _code_point(value, flags)
    return bad_verb(value, verb, flags)


def _character(value: int) -> str:
    surrogate = 0xD800 <= value <= 0xDFFF
    known = 0 <= value <= _LAST_CHARACTER and not surrogate
    return chr(value if known else _REPLACEMENT)


def _code_point(value: int, flags: Flags) -> str:
    number = value % 2**64
    precision = max(flags.precision or 4, 4)
    arguments.check_limit(precision, _MOST_CHARACTERS, "a precision")
    text = f"U+{number:0{precision}X}"
    if flags.sharp and number <= _LAST_CHARACTER and chr(number).isprintable():
        text += f" '{chr(number)}'"
    return _padded(text, flags, zero=False)


def _number(value: int, verb: str) -> str:
    base = _BASES[verb]
    if base == 10:
        return str(abs(value))
    return f"{abs(value):{'X' if verb == 'X' else {2: 'b', 8: 'o', 16: 'x'}[base]}}"


def _sign(value: float, flags: Flags) -> str:
    if value < 0:
        return "-"
    return "+" if flags.plus else " " if flags.space else ""


def _digits(value: int, verb: str, flags: Flags) -> str:
    digits, sign, precision = _number(value, verb), _sign(value, flags), flags.precision or 0
    if flags.precision is not None:
        if precision == 0 and value == 0:
            return " " * (flags.width or 0)
    elif flags.zero and not flags.minus and flags.width is not None:
        precision = flags.width - len(sign)
    arguments.check_limit(precision, _MOST_CHARACTERS, "a precision")
    digits = digits.rjust(precision, "0")
    return _padded(sign + _prefix(digits, verb, flags) + digits, flags, zero=False)


def _prefix(digits: str, verb: str, flags: Flags) -> str:
    if verb == "O":
        return "0o"
    if not flags.sharp:
        return ""
    if verb == "o":
        return "" if digits.startswith("0") else "0"
    return {"b": "0b", "x": "0x", "X": "0X"}.get(verb, "")


def _big(value: int, verb: str, flags: Flags) -> str:
    """Follow math/big's own Format (intconv.go)."""
    if verb not in _BASES:
        return f"%!{verb}(big.Int={value})"
    digits, sign = _number(value, verb), _sign(value, flags)
    sharp = {"b": "0b", "o": "0", "x": "0x", "X": "0X"}.get(verb, "") if flags.sharp else ""
    prefix = sign + ("0o" if verb == "O" else sharp)
    precision = flags.precision or 0
    arguments.check_limit(precision, _MOST_CHARACTERS, "a precision")
    digits = digits.rjust(precision, "0")
    if flags.zero and not flags.minus and flags.precision is None:
        return prefix + digits.rjust((flags.width or 0) - len(prefix), "0")
    return _padded(prefix + digits, flags, zero=False)


def _float(value: float, verb: str, flags: Flags) -> str:
    if verb not in "vgGeEfF":
        if verb in "bxX":
            raise ValueError(f"%{verb} of a float is not supplied: use %v or %f")
        return bad_verb(value, verb, flags)
    if flags.sharp:
        raise ValueError("the flag # of a float is not supplied: leave it out")
    precision = flags.precision
    arguments.check_limit(precision or 0, _MOST_OF_FLOAT, "a precision of a float")
    sign = "-" if math.copysign(1, value) < 0 else _sign(value, flags)
    text = _magnitude(abs(value), "g" if verb == "v" else verb, precision)
    if flags.zero and not flags.minus and flags.width is not None and sign:
        return sign + text.rjust(flags.width - len(sign), "0")
    return _padded(sign + text, flags)


def _magnitude(value: float, verb: str, precision: int | None) -> str:
    if verb in "fF":
        return f"{value:.{6 if precision is None else precision}f}"
    if verb in "eE":
        return f"{value:.{6 if precision is None else precision}{verb}}"
    if precision is not None:
        text = f"{value:.{precision or 1}g}"
        # Go writes what is whole and fits its digits as it is, as Python does.
        return text.upper() if verb == "G" else text
    shortest = repr(value)
    power = int(shortest.partition("e")[2]) if "e" in shortest else _power(shortest)
    return _shortest(_significant(shortest), power, verb)


def _power(plain: str) -> int:
    """Return the power of ten of the first digit that is not 0; of 0, 0."""
    whole, _, rest = plain.partition(".")
    if whole.strip("0"):
        return len(whole) - 1
    return len(rest.lstrip("0")) - len(rest) - 1 if rest.strip("0") else 0


def _significant(shortest: str) -> str:
    digits = shortest.partition("e")[0].replace(".", "").lstrip("0")
    return digits.rstrip("0") or "0"


def _shortest(digits: str, power: int, verb: str) -> str:
    """Follow strconv's 'g' with as many digits as are needed (%e below -4, and from 6 on)."""
    if power < _LEAST_POWER or power >= _MOST_POWER:
        rest = f".{digits[1:]}" if digits[1:] else ""
        text = f"{digits[0]}{rest}e{'-' if power < 0 else '+'}{abs(power):02}"
        return text.upper() if verb == "G" else text
    if power < 0:
        return f"0.{'0' * (-power - 1)}{digits}"
    whole, rest = digits[: power + 1].ljust(power + 1, "0"), digits[power + 1 :]
    return f"{whole}.{rest}" if rest else whole


def sprintf(template: Any, values: Any) -> str:
    """`sprintf`: a template, filled with values."""
    text, given = arguments.text(template, 1), arguments.array(values, 2)
    arguments.check_limit(len(text), _LONGEST_TEMPLATE, "the length of a template")
    arguments.check_limit(len(given), _MOST_VALUES, "the number of values")
    return _Template(text, [_operand(each) for each in given]).filled()


def _operand(value: Any) -> Any:
    if isinstance(value, Decimal):
        number = float(value)
        # What no float can hold stays a text, as it is written.
        return number if abs(number) != float("inf") else rego_repr(value)
    plain = isinstance(value, (str, int)) and not isinstance(value, bool)
    return value if plain else rego_repr(value)


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
            listed = ", ".join(
                f"{type_of(each)}={print_value(each, 'v', Flags())}" for each in extra
            )
            self._write(f"%!(EXTRA {listed})")
        return "".join(self._out)

    def _write(self, text: str) -> None:
        self._length += len(text)
        arguments.check_limit(self._length, _MOST_CHARACTERS, "the length of a text")
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
        return print_value(value, verb, flags)

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
