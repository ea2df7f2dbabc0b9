"""`time.parse_duration_ns`: Go's durations, with days, weeks and years (OPA: topdown/time.go)."""

import re
from decimal import Decimal
from typing import Any, Final

from policies.builtins import arguments

_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,  # The Greek letter; above it is the sign.
    "ms": 1_000_000,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_HOURS: Final = {"d": 24, "w": 7 * 24, "y": 365 * 24}
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_SEGMENT: Final = r"([0-9.]+)(ms|us|µs|ns|[a-z])"
_EXTENDED: Final = re.compile(rf"([-+]?)((?:{_SEGMENT})+)")
_LARGEST: Final = 2**63
_LONGEST: Final = 1000


def parse_ns(value: Any) -> int:
    """`time.parse_duration_ns`: "1h30m", "2w"."""
    text = arguments.text(value, 1)
    arguments.limited(len(text), _LONGEST, "the length of a duration")
    plain = _in_hours(text) if re.search("[dwy]", text) else text
    return _nanoseconds(plain, f"time: invalid duration {text!r}")


def _in_hours(text: str) -> str:
    found = _EXTENDED.fullmatch(text)
    if not found:
        raise ValueError(f"time: invalid duration {text!r}")
    return found[1] + re.sub(_SEGMENT, _segment, found[2])


def _segment(found: "re.Match[str]") -> str:
    digits, unit = found.groups()
    if unit not in _HOURS:
        return found[0]
    if digits.count(".") > 1 or digits == ".":
        raise ValueError(f"time: invalid duration: bad value {digits!r}")
    hours = Decimal(repr(float(digits) * _HOURS[unit]))
    if not hours.is_finite():
        raise ValueError(f"time: invalid duration: bad value {digits!r}")
    shown = f"{hours:f}"
    return f"{shown.removesuffix('.0')}h"


def _nanoseconds(text: str, problem: str) -> int:
    """Count in 64 bits without a sign, as Go does."""
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in {"-", "+"} else text
    if rest == "0":
        return 0
    if not rest:
        raise ValueError(problem)
    total = 0
    while rest:
        found = _PART.match(rest)
        if not found or not (found[1] or found[2]) or found[3] not in _UNITS:
            raise ValueError(problem)
        rest = rest[found.end() :]
        total = (total + _part(found, problem)) % (2 * _LARGEST)
        if total > _LARGEST:
            raise ValueError(problem)
    if negative:
        return -total
    if total == _LARGEST:
        raise ValueError(problem)
    return total


def _part(found: "re.Match[str]", problem: str) -> int:
    unit, whole = _UNITS[found[3]], int(found[1] or 0)
    if whole > _LARGEST // unit:
        raise ValueError(problem)
    fraction, scale = _fraction(found[2] or "")
    amount = whole * unit + int(float(fraction) * (float(unit) / scale))
    if amount > _LARGEST:
        raise ValueError(problem)
    return amount


def _fraction(digits: str) -> tuple[int, float]:
    """Give the digits that fit 64 bits, and the power of ten that they stand over."""
    number, scale = 0, 1.0
    for digit in digits:
        if number > (_LARGEST - 1) // 10 or number * 10 + int(digit) > _LARGEST:
            break
        number = number * 10 + int(digit)
        scale *= 10
    return number, scale
