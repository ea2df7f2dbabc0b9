"""Times in Go's layouts, `2006-01-02 15:04:05`: written, and parsed (time/format.go of Go 1.26)."""

import re
from calendar import isleap, monthrange
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from policies.builtins import arguments

NAMED: Final = {
    "ANSIC": "Mon Jan _2 15:04:05 2006",
    "UnixDate": "Mon Jan _2 15:04:05 MST 2006",
    "RubyDate": "Mon Jan 02 15:04:05 -0700 2006",
    "RFC822": "02 Jan 06 15:04 MST",
    "RFC822Z": "02 Jan 06 15:04 -0700",
    "RFC850": "Monday, 02-Jan-06 15:04:05 MST",
    "RFC1123": "Mon, 02 Jan 2006 15:04:05 MST",
    "RFC1123Z": "Mon, 02 Jan 2006 15:04:05 -0700",
    "RFC3339": "2006-01-02T15:04:05Z07:00",
    "RFC3339Nano": "2006-01-02T15:04:05.999999999Z07:00",
}
"""Layouts that have a name in Rego."""

MONTHS: Final = tuple(
    "January February March April May June July August September October November December".split()
)
WEEKDAYS: Final = tuple("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split())

LONGEST: Final = 1000
"""Characters of a layout, and of what is read with it."""

_CHUNK: Final = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|0[1-6]|002|15|1|2006|2|_2(?!006)|__2|3|4|5|PM|pm"
    r"|[-Z]070000|[-Z]07:00:00|[-Z]0700|[-Z]07:00|[-Z]07|[.,](?:0+|9+)(?![0-9])"
)
ZONED: Final = re.compile(r"[-Z]07.*")
FRACTION: Final = re.compile(r"[.,][09]+")

SECOND: Final = 10**9
"""In nanoseconds."""

_DAY: Final = 86400
_PLACES: Final = 9
_TEN_BELOW: Final = 69
"""Years of two digits from here on are of the last century."""

_ZONE: Final = re.compile(
    r"ChST|MeST|GMT(?:[+-][0-9]+)?|[+-][0-9]+|[A-Z]{4}T(?![A-Z])|(?:[A-Z]{3}T|WITA)(?![A-Z])"
    r"|[A-Z]{3}(?![A-Z])"
)
_LAST_OFFSET: Final = 23
_FIELDS: Final = {
    "01": "month",
    "1": "month",
    "02": "day",
    "2": "day",
    "_2": "day",
    "15": "hour",
    "03": "hour12",
    "3": "hour12",
    "04": "minute",
    "4": "minute",
    "05": "second",
    "5": "second",
}
_ALLOWED: Final = {
    "month": range(1, 13),
    "hour": range(24),
    "hour12": range(13),
    "minute": range(60),
    "second": range(60),
}


class ClockTime(NamedTuple):
    """A time as clocks of one place show it."""

    year: int
    month: int
    day: int
    year_day: int
    hour: int
    minute: int
    second: int
    nanosecond: int
    weekday: int
    """From Monday, 0."""
    offset: int
    """Seconds east of Greenwich."""
    zone: str


def split_layout(layout: str) -> Iterator[tuple[str, str, str]]:
    """Yield each literal text with what follows it, empty at the end, and what is left then."""
    arguments.check_limit(len(layout), LONGEST, "the length of a layout")
    place = 0
    while found := _CHUNK.search(layout, place):
        yield layout[place : found.start()], found[0], layout[found.end() :]
        place = found.end()
    yield layout[place:], "", ""


def write_time(time: ClockTime, layout: str) -> str:
    """Write a time."""
    return "".join(
        literal + (_one(time, chunk) if chunk else "") for literal, chunk, _ in split_layout(layout)
    )


def _one(time: ClockTime, chunk: str) -> str:
    if chunk == "MST":
        return time.zone or _offset(time.offset, "-0700")
    if ZONED.fullmatch(chunk):
        return _offset(time.offset, chunk)
    if FRACTION.fullmatch(chunk):
        return _fraction(time.nanosecond, chunk)
    half = "PM" if time.hour >= 12 else "AM"
    twelve = time.hour % 12 or 12
    month, weekday = MONTHS[time.month - 1], WEEKDAYS[time.weekday]
    texts: dict[str, Any] = {
        "January": month,
        "Jan": month[:3],
        "Monday": weekday,
        "Mon": weekday[:3],
        "01": f"{time.month:02}",
        "1": time.month,
        "02": f"{time.day:02}",
        "_2": f"{time.day:2}",
        "2": time.day,
        "002": f"{time.year_day:03}",
        "__2": f"{time.year_day:3}",
        "2006": f"{time.year:04}",
        "06": f"{time.year % 100:02}",
        "15": f"{time.hour:02}",
        "03": f"{twelve:02}",
        "3": twelve,
        "04": f"{time.minute:02}",
        "4": time.minute,
        "05": f"{time.second:02}",
        "5": time.second,
        "PM": half,
        "pm": half.lower(),
    }
    return str(texts[chunk])


def _offset(offset: int, chunk: str) -> str:
    if chunk.startswith("Z") and offset == 0:
        return "Z"
    # Go takes the sign from the minutes: an offset of some seconds has none.
    minutes = abs(offset) // 60
    negative = offset < 0 and minutes > 0
    seconds = abs(offset) % 60 if negative or offset >= 0 else -(abs(offset) % 60)
    mark = ":" if ":" in chunk else ""
    text = f"{'-' if negative else '+'}{minutes // 60:02}"
    if len(chunk) > len("-07"):
        text += f"{mark}{minutes % 60:02}"
    if len(chunk.replace(":", "")) > len("-0700"):
        text += f"{mark}{seconds:02}" if seconds >= 0 else f"{mark}-{-seconds:02}"
    return text


def _fraction(nanosecond: int, chunk: str) -> str:
    places = len(chunk) - 1
    digits = f"{nanosecond:09}"[:places] if places < 9 else f"{nanosecond:09}"
    if chunk[1] == "0":
        return chunk[0] + digits
    digits = digits.rstrip("0")
    return chunk[0] + digits if digits else ""


def parse_time_ns(layout: str, value: str) -> int:
    """Return the nanoseconds since 1970 in UTC.

    Raises:
        ValueError: the value is not of that layout, or no time that there is.
    """
    arguments.check_limit(len(value), LONGEST, "the length of a time")
    return _Reading(layout, value).done()


def days_since_1970(year: int, month: int, day: int) -> int:
    """Count days in the calendar of Gregory, also before it was his; months may be any number."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year + day - 719469


class _Reading:
    def __init__(self, layout: str, value: str) -> None:
        self._problem = f"parsing time {value[:60]!r} as {layout[:60]!r}: cannot parse"
        self._rest = value
        self._found: dict[str, int] = {}
        self._half = ""
        self._utc = False
        for literal, chunk, left in split_layout(layout):
            self._skip(literal)
            if chunk:
                self._read(chunk, left)
        if self._rest:
            self._fail()

    def _fail(self) -> None:
        raise ValueError(self._problem)

    def _skip(self, literal: str) -> None:
        """Pass over a text; some spaces stand for any number of them."""
        while literal:
            if literal[0] == " ":
                if self._rest and self._rest[0] != " ":
                    self._fail()
                literal, self._rest = literal.lstrip(" "), self._rest.lstrip(" ")
            elif self._rest[:1] == literal[0]:
                literal, self._rest = literal[1:], self._rest[1:]
            else:
                self._fail()

    def _read(self, chunk: str, left: str) -> None:
        if chunk in _FIELDS:
            self._number(chunk, left)
        elif chunk in {"January", "Jan", "Monday", "Mon"}:
            self._name(chunk)
        elif chunk in {"2006", "06"}:
            self._year(chunk)
        elif chunk in {"002", "__2"}:
            self._year_day(chunk)
        elif chunk in {"PM", "pm"}:
            self._half = self._taken(2)
            if self._half not in ({"PM", "AM"} if chunk == "PM" else {"pm", "am"}):
                self._fail()
        elif chunk == "MST":
            self._zone()
        elif ZONED.fullmatch(chunk):
            self._offset(chunk)
        elif FRACTION.fullmatch(chunk):
            self._fraction(chunk)

    def _taken(self, count: int) -> str:
        if len(self._rest) < count:
            self._fail()
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken

    def _matched(self, pattern: str) -> str:
        found = re.match(pattern, self._rest)
        if not found:
            raise ValueError(self._problem)
        self._rest = self._rest[found.end() :]
        return found[0]

    def _number(self, chunk: str, left: str) -> None:
        field = _FIELDS[chunk]
        if chunk == "_2":
            self._rest = self._rest.removeprefix(" ")
        two = chunk.startswith("0")
        number = int(self._matched("[0-9][0-9]" if two else "[0-9][0-9]?"))
        if number not in _ALLOWED.get(field, range(100)):
            self._fail()
        self._found["hour" if field == "hour12" else field] = number
        if field == "second" and re.match(r"[.,][0-9]", self._rest):
            following = next(split_layout(left))[1]
            if not FRACTION.fullmatch(following):
                self._nanosecond(self._matched(r"[.,][0-9]+"))

    def _nanosecond(self, text: str) -> None:
        """Read a fraction with its point; digits beyond the ninth count for nothing."""
        digits = text[1 : 1 + _PLACES]
        if not re.fullmatch(r"\+?[0-9]+", digits):
            self._fail()
        self._found["nanosecond"] = int(digits) * 10 ** (_PLACES - len(digits))

    def _fraction(self, chunk: str) -> None:
        if chunk[1] == "0":
            text = self._taken(len(chunk))
            if text[0] not in ".,":
                self._fail()
            self._nanosecond(text)
        elif re.match(r"[.,][0-9]", self._rest):
            self._nanosecond(self._matched(r"[.,][0-9]+"))

    def _name(self, chunk: str) -> None:
        names = MONTHS if chunk in {"January", "Jan"} else WEEKDAYS
        if len(chunk) == 3:
            names = tuple(name[:3] for name in names)
        for number, name in enumerate(names, 1):
            start = self._rest[: len(name)]
            if start.isascii() and start.lower() == name.lower():
                self._rest = self._rest[len(name) :]
                if names[0].startswith("Jan"):
                    self._found["month"] = number
                return
        self._fail()

    def _year(self, chunk: str) -> None:
        if chunk == "2006":
            self._found["year"] = int(self._matched("[0-9]{4}"))
        else:
            year = int(self._matched("[0-9][0-9]|[+-][0-9]"))
            self._found["year"] = year + (1900 if year >= _TEN_BELOW else 2000)

    def _year_day(self, chunk: str) -> None:
        if chunk == "__2":
            self._rest = self._rest.removeprefix(" ").removeprefix(" ")
        digits = self._matched("[0-9]{3}" if chunk == "002" else "[0-9]{1,3}")
        self._found["year_day"] = int(digits)

    def _zone(self) -> None:
        """Read a zone's name, which says nothing of its offset."""
        if self._rest.startswith("UTC"):
            self._rest = self._rest[3:]
            self._utc = True
            return
        found = _ZONE.match(self._rest)
        if not found:
            raise ValueError(self._problem)
        text = found[0]
        digits = text.removeprefix("GMT")[1:]
        if digits.isdecimal() and (len(digits) > 18 or int(digits) > _LAST_OFFSET):
            if not text.startswith("GMT"):
                self._fail()
            text = "GMT"
        self._rest = self._rest[len(text) :]

    def _offset(self, chunk: str) -> None:
        if chunk.startswith("Z") and self._rest.startswith("Z"):
            self._rest = self._rest[1:]
            self._utc = True
            return
        parts = len(chunk.replace(":", "")) // 2
        mark = ":" if ":" in chunk else ""
        text = self._matched(r"[+-][0-9]{2}" + rf"{mark}[0-9]{{2}}" * (parts - 1))
        hours, minutes, seconds = ([int(each) for each in re.findall("[0-9]{2}", text)] + [0, 0])[
            :3
        ]
        if hours > 24 or minutes > 60 or seconds > 60:
            self._fail()
        offset = (hours * 60 + minutes) * 60 + seconds
        self._found["offset"] = -offset if text.startswith("-") else offset

    def done(self) -> int:
        """Put together what was read."""
        found = self._found
        year, hour = found.get("year", 0), found.get("hour", 0)
        if self._half in {"PM", "pm"} and hour < 12:
            hour += 12
        elif self._half in {"AM", "am"} and hour == 12:
            hour = 0
        month, day = self._date(year)
        seconds = days_since_1970(year, month, day) * _DAY
        seconds += hour * 3600 + found.get("minute", 0) * 60 + found.get("second", 0)
        offset = found.get("offset", -1)
        # To Go -1 means that none was read, also where it was.
        if not self._utc and offset != -1:
            seconds -= offset
        return seconds * SECOND + found.get("nanosecond", 0)

    def _date(self, year: int) -> tuple[int, int]:
        month, day = self._found.get("month", -1), self._found.get("day", -1)
        if "year_day" in self._found:
            that = self._of_year_day(year, self._found["year_day"])
            if month not in {-1, that[0]} or day not in {-1, that[1]}:
                self._fail()
            return that
        month, day = month if month >= 0 else 1, day if day >= 0 else 1
        if not 1 <= day <= _days_in(month, year):
            self._fail()
        return month, day

    def _of_year_day(self, year: int, number: int) -> tuple[int, int]:
        if not 1 <= number <= 365 + isleap(year):
            self._fail()
        month = 1
        while number > _days_in(month, year):
            number -= _days_in(month, year)
            month += 1
        return month, number


def _days_in(month: int, year: int) -> int:
    return monthrange(2004 if isleap(year) else 2001, month)[1]
