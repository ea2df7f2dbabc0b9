"""Times as text: RFC 3339, UTC."""

import datetime as dt
import time
from functools import lru_cache
from typing import Final

DAY_S: Final = 86_400
DAY_MS: Final = 1000 * DAY_S
_SECOND_MS: Final = 1000

LATEST_S: Final = 253_402_300_799
"""Unix seconds: the last second of the year 9999; a later one cannot be written as a date."""


@lru_cache(maxsize=8)
def second_text(seconds: int) -> str:
    """Return a second of Unix time without its zone; what happens within one second shares it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def time_text(unix_s: float) -> str:
    """Return Unix seconds as RFC 3339 to the second, UTC: `2026-10-01T12:00:00Z`."""
    return f"{second_text(int(unix_s))}Z"


def milli_text(unix_ms: int) -> str:
    """Return milliseconds of Unix time as RFC 3339, UTC: `2026-10-01T12:00:00.000Z`."""
    return f"{second_text(unix_ms // 1000)}.{unix_ms % 1000:03}Z"


def day_text(unix_s: float) -> str:
    """Return the day of a time, UTC: `2026-10-01`."""
    return second_text(int(unix_s))[:10]


def seconds_of(text: str) -> float:
    """Return the Unix time in seconds of a time as RFC 3339 writes it.

    Raises:
        ValueError: it is none.
    """
    return dt.datetime.fromisoformat(text).timestamp()


def milliseconds_of(text: str) -> int:
    """Return the Unix time in milliseconds of a time as RFC 3339 writes it.

    Raises:
        ValueError: it is none.
    """
    return round(seconds_of(text) * 1000)


def is_at(text: str, unix_ms: int) -> bool:
    """Return whether a time as RFC 3339 writes it is one of Unix milliseconds, to the second.

    Some documents have whole seconds or microseconds, whose ids have milliseconds.
    """
    if text == milli_text(unix_ms):
        return True
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return False
    return moment.tzinfo is not None and abs(moment.timestamp() * 1000 - unix_ms) <= _SECOND_MS
