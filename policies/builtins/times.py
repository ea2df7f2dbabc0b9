"""`time.*` without a clock: times are numbers that a policy is given (OPA: topdown/time.go).

Durations are Go's, with days, weeks and years. Time zones are those of the tzdata package, the same
wherever this runs.
"""

import datetime as dt
import functools
import importlib.resources
import re
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

from policies.builtins import arguments
from policies.builtins.go_time import (
    NAMED,
    SECOND,
    WEEKDAYS,
    ClockTime,
    days_since_1970,
    parse_time_ns,
    write_time,
)

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

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_ZONE: Final = re.compile(r"[A-Za-z0-9_+-]{1,40}(/[A-Za-z0-9_+-]{1,40}){0,2}")

_MOST_ADDED: Final = 10**6
_DAY: Final = 86400
_NUMBER_OR_ARRAY: Final = "one of {either number (ns) or [number (ns), string (tz)]}"


def parse_duration_ns(value: Any) -> int:
    """`time.parse_duration_ns`: "1h30m", "2w"."""
    text = arguments.text(value, 1)
    arguments.check_limit(len(text), _LONGEST, "the length of a duration")
    plain = _in_hours(text) if re.search("[dwy]", text) else text
    return _parse_nanoseconds(plain, f"time: invalid duration {text!r}")


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


def _parse_nanoseconds(text: str, problem: str) -> int:
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
    """Return the digits that fit 64 bits, and the power of ten that they stand over."""
    number, scale = 0, 1.0
    for digit in digits:
        if number > (_LARGEST - 1) // 10 or number * 10 + int(digit) > _LARGEST:
            break
        number = number * 10 + int(digit)
        scale *= 10
    return number, scale


Zone = dt.tzinfo


def parse_ns(layout: Any, value: Any) -> int:
    """`time.parse_ns`: a time by a layout of Go's, as nanoseconds since 1970."""
    given = arguments.text(layout, 1)
    return _in_range(parse_time_ns(NAMED.get(given, given), arguments.text(value, 2)))


def parse_rfc3339_ns(value: Any) -> int:
    """`time.parse_rfc3339_ns`: "2026-11-23T05:00:00Z"."""
    return _in_range(parse_time_ns(NAMED["RFC3339"], arguments.text(value, 1)))


def _in_range(time: int) -> int:
    if not -_LARGEST <= time < _LARGEST:
        raise ValueError("time outside of valid range")
    return time


def format_time(value: Any) -> str:
    """`time.format`: as RFC 3339, or by the layout in the third place of an array."""
    time, zone = _given(value)
    layout = ""
    if isinstance(value, list) and len(value) > 2:
        layout = arguments.text(value[2], 1)
    return write_time(_shown(time, zone), NAMED.get(layout, layout or NAMED["RFC3339Nano"]))


def date(value: Any) -> list[int]:
    """`time.date`: year, month, day."""
    return list(_shown(*_given(value))[:3])


def clock(value: Any) -> list[int]:
    """`time.clock`: hour, minute, second."""
    shown = _shown(*_given(value))
    return [shown.hour, shown.minute, shown.second]


def weekday(value: Any) -> str:
    """`time.weekday`: the day's English name."""
    return WEEKDAYS[_shown(*_given(value)).weekday]


def add_date(value: Any, years: Any, months: Any, days: Any) -> int:
    """`time.add_date`: the same time of day that many years, months and days later."""
    time, zone = _given(value)
    added = [arguments.whole(each, at) for at, each in enumerate((years, months, days), 2)]
    arguments.check_limit(max(map(abs, added)), _MOST_ADDED, "what is added to a date")
    shown = _shown(time, zone)
    later = days_since_1970(shown.year + added[0], shown.month + added[1], shown.day + added[2])
    seconds = later * _DAY + shown.hour * 3600 + shown.minute * 60 + shown.second
    if abs(seconds * SECOND) > 2 * _LARGEST:
        raise ValueError("time outside of valid range")
    # As Go's Date: the offset of that time, taken for one in UTC, then of what comes of it.
    offset = _offset(seconds - _offset(seconds, zone), zone) if _offset(seconds, zone) else 0
    return _in_range((seconds - offset) * SECOND + shown.nanosecond)


def diff(one: Any, other: Any) -> list[int]:
    """`time.diff`: years, months, days, hours, minutes and seconds between two times."""
    (time, zone), (later, _) = _given(one), _given(other)
    first, last = _shown(min(time, later), zone), _shown(max(time, later), zone)
    pairs = zip(_fields(first), _fields(last), strict=True)
    year, month, day, hour, minute, second = (b - a for a, b in pairs)
    if second < 0:
        second, minute = second + 60, minute - 1
    if minute < 0:
        minute, hour = minute + 60, hour - 1
    if hour < 0:
        hour, day = hour + 24, day - 1
    if day < 0:
        ends = [days_since_1970(first.year, first.month + each, 1) for each in (0, 1)]
        day, month = day + ends[1] - ends[0], month - 1
    if month < 0:
        month, year = month + 12, year - 1
    return [year, month, day, hour, minute, second]


def _fields(shown: ClockTime) -> tuple[int, ...]:
    return (*shown[:3], shown.hour, shown.minute, shown.second)


def _given(value: Any) -> tuple[int, Zone]:
    """Read a time: nanoseconds, or an array of them and a zone."""
    if isinstance(value, list):
        if not value:
            raise arguments.must_be(1, _NUMBER_OR_ARRAY, value)
        zone = _zone(arguments.text(value[1], 1)) if len(value) > 1 else dt.UTC
        return _nanoseconds(value[0]), zone
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise arguments.must_be(1, _NUMBER_OR_ARRAY, value)
    return _nanoseconds(value), dt.UTC


def _nanoseconds(value: Any) -> int:
    number = arguments.number(value, 1)
    if number != int(number) or not -_LARGEST <= number < _LARGEST:
        raise ValueError("timestamp too big")
    return int(number)


def _zone(name: str) -> Zone:
    if name in {"", "UTC"}:
        return dt.UTC
    if name == "Local":
        raise ValueError("the time zone Local is another on each machine: name one")
    if not _ZONE.fullmatch(name):
        raise ValueError(f"unknown time zone {name[:60]}")
    return _loaded(name)


@functools.lru_cache(maxsize=600)
def _loaded(name: str) -> ZoneInfo:
    place = importlib.resources.files("tzdata").joinpath("zoneinfo", *name.split("/"))
    try:
        with place.open("rb") as file:
            return ZoneInfo.from_file(file, key=name)
    except (OSError, ValueError):
        raise ValueError(f"unknown time zone {name}") from None


def _moment(seconds: int, zone: Zone) -> dt.datetime:
    return (_EPOCH + dt.timedelta(seconds=seconds)).astimezone(zone)


def _offset(seconds: int, zone: Zone) -> int:
    return int((_moment(seconds, zone).utcoffset() or dt.timedelta()).total_seconds())


def _shown(time: int, zone: Zone) -> ClockTime:
    seconds, nanosecond = divmod(time, SECOND)
    moment = _moment(seconds, zone)
    return ClockTime(
        moment.year,
        moment.month,
        moment.day,
        moment.timetuple().tm_yday,
        moment.hour,
        moment.minute,
        moment.second,
        nanosecond,
        moment.weekday(),
        int((moment.utcoffset() or dt.timedelta()).total_seconds()),
        moment.tzname() or "",
    )
