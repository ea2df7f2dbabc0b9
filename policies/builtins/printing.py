"""One value in a template of `sprintf`, with one verb and its flags (fmt/format.go of Go 1.26)."""

import math
from dataclasses import dataclass
from typing import Any, Final

from policies.builtins import arguments
from policies.builtins.rego_repr import quoted

_WORD: Final = 2**63
_BASES: Final = {"b": 2, "o": 8, "O": 8, "d": 10, "x": 16, "X": 16, "v": 10, "s": 10}
_LAST_CHARACTER: Final = 0x10FFFF
_REPLACEMENT: Final = 0xFFFD
_LEAST_POWER: Final = -4
_MOST_POWER: Final = 6
_MOST_CHARACTERS: Final = 1_000_000
_MOST_OF_FLOAT: Final = 2000
"""Digits that a float may be asked for; none has more than 1,100."""


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


def printed(value: Any, verb: str, flags: Flags) -> str:
    """Give a value as a verb shows it.

    Raises:
        ValueError: it would be longer than is supplied, or is what only OPA's own process knows.
    """
    arguments.limited(flags.width or 0, _MOST_CHARACTERS, "a width")
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
    return f"%!{verb}({type_of(value)}={printed(value, 'v', flags)})"


def is_big(value: Any) -> bool:
    """Say whether a value is a whole number of more than 64 bits."""
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
        return _padded(quoted(cut, ascii_only=flags.plus), flags)
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
        return _padded(quoted(_character(value), "'", ascii_only=flags.plus), flags)
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
    arguments.limited(precision, _MOST_CHARACTERS, "a precision")
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
    arguments.limited(precision, _MOST_CHARACTERS, "a precision")
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
    arguments.limited(precision, _MOST_CHARACTERS, "a precision")
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
    arguments.limited(precision or 0, _MOST_OF_FLOAT, "a precision of a float")
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
    """Give the power of ten of the first digit that is not 0; of 0, 0."""
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
