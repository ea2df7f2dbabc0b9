"""`units.*`: amounts with a unit, as Kubernetes writes them (OPA: topdown/parse_units.go).

`units.parse` counts with fractions, `units.parse_bytes` with floats of 64 bits, as OPA's do.
"""

import functools
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from policies.builtins import arguments

_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?")
_EXPONENT_DIGITS: Final = 6
_MOST_CHARACTERS: Final = 400
_MOST_EXPONENT: Final = 400
_MOST_KEPT: Final = 1024
"""Amounts; each takes 1 KB at most: longer texts are refused."""
_MOST_OF_FIVE: Final = 55
"""Powers of five up to this one are exact in 128 bits, in which OPA has them."""

_SI: Final = {letter: 1000**power for power, letter in enumerate("kMGTPE", 1)}
_BINARY: Final = {letter: 1024**power for power, letter in enumerate("kMGTPE", 1)}
_UNITS: Final = (
    {"": Fraction(1), "m": Fraction(0.001), "M": Fraction(1000**2)}
    | {name: Fraction(size) for each, size in _SI.items() for name in (each, each.upper())}
    | {each.lower(): Fraction(size) for each, size in _SI.items() if each != "M"}
    | {
        f"{name}i": Fraction(s)
        for each, s in _BINARY.items()
        for name in (each.lower(), each.upper())
    }
)
_BYTES: Final = (
    {"": 1}
    | {f"{each.lower()}{b}": size for each, size in _SI.items() for b in ("", "b")}
    | {f"{each.lower()}i{b}": size for each, size in _BINARY.items() for b in ("", "b")}
)


def parse(value: Any) -> int | Decimal:
    """`units.parse`: "10K" is 10000, "100m" is 0.1."""
    return _parsed(arguments.text(value, 1).replace('"', ""))


@functools.lru_cache(maxsize=_MOST_KEPT)
def _parsed(text: str) -> int | Decimal:
    """Read an amount; a rule reads a site's few limits for each container anew."""
    number, unit = _split(text)
    unit = unit[:1] + unit[1:].lower()
    if unit not in _UNITS:
        raise ValueError(f"unit {unit[:100]} not recognized")
    exact = _fraction(number, _MOST_EXPONENT) * _UNITS[unit]
    if exact.denominator == 1:
        return int(exact)
    return _ten_places(exact)


def parse_bytes(value: Any) -> int:
    """`units.parse_bytes`: "10K" is 10000, "10KiB" is 10240."""
    number, unit = _split(arguments.text(value, 1).lower().replace('"', ""))
    if unit not in _BYTES:
        raise ValueError(f"byte unit {unit[:100]} not recognized")
    return int(_rounded(_rounded(_fraction(number, _MOST_OF_FIVE)) * _BYTES[unit]))


def _split(text: str) -> tuple[str, str]:
    arguments.check_limit(len(text), _MOST_CHARACTERS, "the length of an amount")
    if " " in text:
        raise ValueError("spaces not allowed in resource strings")
    end = _end_of_number(text)
    if end == 0 or not text:
        raise ValueError("no amount provided")
    return text[:end], text[end:]


def _end_of_number(text: str) -> int:
    """Return where the number ends; "e" begins an exponent where digits or a sign follow."""
    at = 0
    while at < len(text):
        if text[at] in "eE":
            if not re.match(r"[0-9+-]", text[at + 1 :][:1]):
                return at
            at += text[at + 1] in "+-"
            digits = re.match(r"[0-9]*", text[at + 1 :][: _EXPONENT_DIGITS + 1])
            if digits and digits.end() > _EXPONENT_DIGITS:
                raise ValueError("exponent too large")
        elif text[at] not in "0123456789.+-":
            return at
        at += 1
    return at


def _fraction(number: str, most: int) -> Fraction:
    found = _NUMBER.fullmatch(number)
    if not found:
        raise ValueError("could not parse amount to a number")
    places = len(found[1].partition(".")[2])
    arguments.check_limit(abs(int(found[2] or 0) - places), most, "the exponent of an amount")
    return Fraction(number)


def _ten_places(exact: Fraction) -> Decimal:
    """Round to ten places, halves away from zero."""
    scaled = abs(exact) * 10**10
    units = int(scaled + Fraction(1, 2))
    sign = "-" if exact < 0 else ""
    return Decimal(f"{sign}{units // 10**10}.{units % 10**10:010}")


def _rounded(exact: Fraction) -> Fraction:
    """Round to a float whose mantissa has 64 bits, halves to even."""
    if not exact:
        return exact
    power = abs(exact.numerator).bit_length() - exact.denominator.bit_length() - 64
    scale = Fraction(2) ** power
    if abs(exact) / scale >= 2**64:
        scale *= 2
    return round(exact / scale) * scale
