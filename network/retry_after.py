"""Reads when a server of HTTP wants to be asked again (RFC 9110, 10.2.3)."""

import datetime as dt
from email.utils import parsedate_to_datetime
from typing import Final

LONGEST_S: Final = 86_400.0
"""A number of seconds is cut to a day: who waits has a limit of their own."""


def read_retry_after(text: str | None, date: float | None) -> float:
    """Return the seconds of a Retry-After: a number, or a date against the answer's own Date.

    0 for what is neither (RFC 9110, 10.2.3).
    """
    if text is None:
        return 0.0
    if text.strip().isdecimal():
        return float(min(int(text.strip()[:9]), LONGEST_S))
    at = read_date(text)
    return max(0.0, at - date) if at is not None and date is not None else 0.0


def read_date(text: str | None) -> float | None:
    """Return the Unix time of an HTTP date; None for what is none."""
    try:
        at = parsedate_to_datetime(text or "")
    except (ValueError, TypeError, IndexError):
        return None
    return (at if at.tzinfo else at.replace(tzinfo=dt.UTC)).timestamp()
