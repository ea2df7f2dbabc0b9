"""Values of Entra ID in Graph, in its logs and in pushed events: levels, states, times, ids. Pure.

Of an event's id never a name, an address or mail is kept.
"""

import datetime as dt
import hashlib
import re
import uuid
from typing import Final

from core.risk.model import RiskLevel, RiskState
from core.risk.records import MOST_EVENT_TYPE, OTHER_TYPE

_USUAL: Final = re.compile(r"[0-9a-f]{16,64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_ISO: Final = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})T(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.\d{1,12})?"
    r"(?:[Zz]|([+-])(\d{2}):?(\d{2}))?"
)
"""RFC 3339, and what logs make of it: `2022-09-09T9:59:27.958Z`. Without a zone it is UTC."""

_AMERICAN: Final = re.compile(
    r"(\d{1,2})/(\d{1,2})/(\d{4}) (\d{1,2}):(\d{1,2}):(\d{1,2}) ([AaPp])[Mm]"
)
"""`8/22/2022 6:11:52 PM`, UTC, as records of RiskyUsers have it."""

_NOON: Final = 12

_LATEST: Final = 2**32 - 1
"""Snapshots keep seconds in 32 bits."""

_EVENT_TYPE: Final = re.compile(rf"[A-Za-z][A-Za-z0-9_-]{{0,{MOST_EVENT_TYPE - 1}}}")

_LEVELS: Final = {each.value.casefold(): each for each in RiskLevel}

_STATES: Final = {each.value.casefold(): each for each in RiskState}


def kept_event_id(text: str) -> str:
    """Return an event's id as it is where it can be nothing else; empty for none.

    Microsoft's are hexadecimal or GUIDs. Of anything else its SHA-256 is kept, by which whoever
    has the original finds it: an issuer may put what it likes into a `jti`.
    """
    if not text or _USUAL.fullmatch(text.lower()):
        return text.lower()
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def level_of(text: str | None) -> RiskLevel:
    """Return a `riskLevel`; what this release does not know, and nothing at all, are UNKNOWN."""
    return _LEVELS.get((text or "").casefold(), RiskLevel.UNKNOWN)


def state_of(text: str | None) -> RiskState:
    """Return a `riskState`, as `level_of`."""
    return _STATES.get((text or "").casefold(), RiskState.UNKNOWN)


def seconds_of(text: str | None) -> int | None:
    """Return Unix seconds, fractions cut off; None for what is no time after 1970."""
    try:
        seconds = int(_time(text or "").timestamp())
    except (ValueError, OverflowError):
        return None
    return seconds if 0 < seconds <= _LATEST else None


def object_id_of(text: str | None) -> str | None:
    """Return an object id or client id, a GUID in lower case; None for anything else.

    Only the usual form counts: braces, `urn:uuid:` and 32 digits without dashes do not.
    """
    try:
        written = str(uuid.UUID(text or ""))
    except ValueError:
        return None
    return written if written == (text or "").lower() else None


def event_type_of(text: str) -> str:
    """Return an event's type, which is an open set of words; OTHER_TYPE for what is no word."""
    return text if not text or _EVENT_TYPE.fullmatch(text) else OTHER_TYPE


def _time(text: str) -> dt.datetime:
    """Read a time.

    Raises:
        ValueError: it has neither form, or is no date.
    """
    if found := _ISO.fullmatch(text):
        *fields, sign, hours, minutes = found.groups()
        offset = dt.timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        zone = dt.timezone(-offset if sign == "-" else offset)
        return dt.datetime(*(int(each) for each in fields), tzinfo=zone)  # type: ignore[arg-type,misc]
    if found := _AMERICAN.fullmatch(text):
        month, day, year, hour, minute, second = (int(each) for each in found.groups()[:6])
        if not 1 <= hour <= _NOON:
            raise ValueError("no hour of a clock of twelve")
        hour = hour % _NOON + (_NOON if found.group(7) in "Pp" else 0)
        return dt.datetime(year, month, day, hour, minute, second, tzinfo=dt.UTC)
    raise ValueError("no time")
