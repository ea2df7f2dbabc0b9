"""Times as Azure's and Kubernetes' logs write them, in all the ways that were seen. Pure."""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from core.base.errors import UnreadableRecordError
from core.base.short_text_cache import cache_short_text
from core.base.times import milli_text, time_text

EARLIEST_MS: Final = 1_262_304_000_000
"""2010: there was no such storage before."""

LATEST_MS: Final = 7_258_118_400_000
"""2200: later than that is no time, and would hold every watermark there."""

_FORMS: Final = (
    "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y %I:%M %p",
    "%m/%d/%Y %H:%M",
    "%A, %d-%b-%y %H:%M:%S GMT",
    "%a, %d %b %Y %H:%M:%S GMT",
    "%Y/%m/%d %H:%M:%S",
    "%Y-%m-%d %H:%M:%S",
)
"""lastModifiedTime and older exports: `6/30/2022 12:07:25 PM`, `Tuesday, 09-Aug-11 21:13:26 GMT`,
`Thu, 30 Jun 2022 12:07:25 GMT`, `2020/10/08 10:48:50.9190722`. Those of .NET may have an offset
(`6/30/2022 12:07:25 PM +00:00`), those of the portal a comma (`6/30/2022, 12:07:25.123 PM`)."""

_ISO: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d?\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s*(Z|UTC|[+-]\d\d:?\d\d)?",
    re.IGNORECASE,
)
_FRACTION: Final = re.compile(r"(\d:\d\d:\d\d)\.(\d{1,9})")
_OFFSET: Final = re.compile(r"\s*(?:(UTC|Z)|([+-])(\d?\d):(\d\d))$", re.IGNORECASE)
_DOTNET: Final = re.compile(r"\\?/Date\((\d{12,14})(?:[+-]\d{4})?\)\\?/")
"""As Windows PowerShell writes a time into JSON: ms since the epoch, whatever the offset."""

_SPACES: Final = str.maketrans("\N{NARROW NO-BREAK SPACE}\N{NO-BREAK SPACE}", "  ")
"""What .NET writes before AM and PM where its calendars are of ICU 72 or later."""
_MOST: Final = 64
_FULL: Final = 23
"""Characters of `2026-05-01T09:00:00.000`."""


def parse_log_time(text: str, field: str = "time") -> tuple[int, str]:
    """Return a record's time in ms since the epoch, and as RFC 3339 with milliseconds.

    Raises:
        UnreadableRecordError: it is none; naming `field`.
    """
    fraction = text[20:-1]
    if len(text) > _FULL and text[19] == "." and text[-1] == "Z" and fraction.isdigit():
        seconds = _second(text[:19])
        if seconds is not None and fraction.isascii():
            return seconds * 1000 + int(fraction[:3]), text[:_FULL] + "Z"
    unix_ms = _any(text)
    if unix_ms is None or not EARLIEST_MS <= unix_ms < LATEST_MS:
        raise UnreadableRecordError("is no time between 2010 and 2200", field)
    return unix_ms, milli_text(unix_ms)


@cache_short_text(16_384, longest=_MOST)
def normalize_time(text: str) -> str:
    """Return a time of whatever form as RFC 3339 with seconds; as it is where it is of none."""
    unix_ms = _any(text)
    if unix_ms is None or not 0 <= unix_ms < LATEST_MS:
        return text[:_MOST]
    return time_text(unix_ms // 1000)


@lru_cache(maxsize=4096)
def _second(text: str) -> int | None:
    """Return the Unix time of `2026-05-01T09:00:00`.

    None where it is none, or out of all bounds.
    """
    if text[7] != "-" or text[10] != "T":  # It takes weeks and other separators, too.
        return None
    try:
        unix_s = int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None
    return unix_s if EARLIEST_MS <= unix_s * 1000 < LATEST_MS else None


def _any(text: str) -> int | None:
    text = text.strip().translate(_SPACES)
    if len(text) > _MOST or not text.isascii():
        return None
    found = _ISO.fullmatch(text)
    try:
        if found is not None:
            day, clock, fraction, zone = found.groups()
            offset = "+00:00" if (zone or "Z").upper() in {"Z", "UTC"} else zone
            moment = datetime.fromisoformat(f"{day}T{clock.zfill(8)}{offset}")
            return int(moment.timestamp()) * 1000 + _milliseconds(fraction)
        if text.isdigit():
            return int(text) * (1 if len(text) > 11 else 1000)  # noqa: PLR2004  ms have 13 digits.
        if (written := _DOTNET.fullmatch(text)) is not None:
            return int(written[1])
    except (ValueError, OverflowError):
        return None
    return _formed(text)


def _formed(text: str) -> int | None:
    """Read a form that names no offset, or ends with one, with or without a fraction."""
    offset_ms = 0
    if (zone := _OFFSET.search(text)) is not None:
        text = text[: zone.start()]
        minutes = int(zone[3] or 0) * 60 + int(zone[4] or 0)
        offset_ms = minutes * (-60_000 if zone[2] == "-" else 60_000)
    fraction = _FRACTION.search(text)
    milliseconds = _milliseconds(fraction[2]) if fraction else 0
    plain = _FRACTION.sub(r"\1", text).replace(", ", " ") if text[:1].isdigit() else text
    for form in _FORMS:
        try:
            moment = datetime.strptime(plain, form).replace(tzinfo=UTC)
            return int(moment.timestamp()) * 1000 + milliseconds - offset_ms
        except (ValueError, OverflowError):
            continue
    return None


def _milliseconds(fraction: str | None) -> int:
    return int((fraction or "0").ljust(3, "0")[:3])
