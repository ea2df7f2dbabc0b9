"""Go's layouts of times: "2006-01-02 15:04:05", read and written (time/format.go of Go 1.26)."""

import re
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


class Shown(NamedTuple):
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


def chunks(layout: str) -> Iterator[tuple[str, str, str]]:
    """Yield each literal text with what follows it, empty at the end, and what is left then."""
    arguments.limited(len(layout), LONGEST, "the length of a layout")
    place = 0
    while found := _CHUNK.search(layout, place):
        yield layout[place : found.start()], found[0], layout[found.end() :]
        place = found.end()
    yield layout[place:], "", ""


def written(time: Shown, layout: str) -> str:
    """Write a time."""
    return "".join(
        literal + (_one(time, chunk) if chunk else "") for literal, chunk, _ in chunks(layout)
    )


def _one(time: Shown, chunk: str) -> str:
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
