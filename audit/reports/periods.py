"""Periods that reports are about: whole months, or from a time to a time. Pure."""

import datetime as dt
import re
from typing import Final

import msgspec

from core.base.errors import SettingsError
from core.base.times import DAY_MS, time_text

_MONTH: Final = re.compile(r"(\d{4})-(\d{2})")
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_MONTHS: Final = 12
_MOST_DAYS: Final = 366
"""Days of a report: its pictures show days, and a year of them is what fits."""


class Period(msgspec.Struct, frozen=True):
    """From a time to a time, in milliseconds since the epoch; the end is not in it."""

    begin_ms: int
    end_ms: int

    @property
    def begin(self) -> str:
        """RFC 3339."""
        return time_text(self.begin_ms // 1000)

    @property
    def end(self) -> str:
        """RFC 3339; the first moment after it."""
        return time_text(self.end_ms // 1000)

    @property
    def first_day(self) -> int:
        """The first day, counted from the epoch (UTC)."""
        return self.begin_ms // DAY_MS

    @property
    def days(self) -> int:
        """How many days (UTC) it touches."""
        return -(-self.end_ms // DAY_MS) - self.first_day

    def holds(self, unix_ms: int) -> bool:
        """Return whether a moment lies in it."""
        return self.begin_ms <= unix_ms < self.end_ms


def month_period(year: int, number: int) -> Period:
    """Return a month (UTC)."""
    first = dt.datetime(year, number, 1, tzinfo=dt.UTC)
    after = first.replace(year=year + number // 12, month=number % 12 + 1)
    return Period(_ms(first), _ms(after))


def month_before(unix_ms: int) -> Period:
    """Return the last whole month (UTC) before a moment."""
    now = dt.datetime.fromtimestamp(unix_ms / 1000, dt.UTC)
    last = now.replace(day=1) - dt.timedelta(days=1)
    return month_period(last.year, last.month)


def parse_period(text: str) -> Period:
    """Read a month, `2026-10`.

    Raises:
        SettingsError: it is none.
    """
    found = _MONTH.fullmatch(text)
    if found is None or not (1 <= int(found[2]) <= _MONTHS and int(found[1])):
        raise SettingsError(f"--period {text}: give a month such as 2026-10")
    return month_period(int(found[1]), int(found[2]))


def parse_span(since: str, until: str) -> Period:
    """Read a period from a day or time to a day or time; the end is not in it.

    Raises:
        SettingsError: one of them is none, or they are the wrong way round, or too far apart.
    """
    period = Period(_moment("--since", since), _moment("--until", until))
    if period.begin_ms >= period.end_ms:
        raise SettingsError(f"--until {until}: must be after --since {since}")
    if period.days > _MOST_DAYS + 1:
        raise SettingsError(f"--since {since}: a report is about a year at most")
    return period


def unix_ms_of(text: str) -> int:
    """Return the milliseconds since the epoch of an RFC 3339 time; 0 where it is none."""
    try:
        time = dt.datetime.fromisoformat(text)
    except ValueError:
        return 0
    return _ms(time if time.tzinfo is not None else time.replace(tzinfo=dt.UTC))


def day_text(day: int) -> str:
    """Return a day that is counted from the epoch as `2026-10-31`."""
    return (dt.date(1970, 1, 1) + dt.timedelta(days=day)).isoformat()


def _moment(flag: str, text: str) -> int:
    try:
        time = dt.datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is not None and _DAY.fullmatch(text):
        time = time.replace(tzinfo=dt.UTC)
    if time is None or time.tzinfo is None:
        raise SettingsError(
            f"{flag} {text}: give a day (2026-10-01) or a time with its zone (2026-10-01T09:00:00Z)"
        )
    return _ms(time)


def _ms(time: dt.datetime) -> int:
    return int((time - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) / dt.timedelta(milliseconds=1))
