"""What is asked of the ledger's decisions: filters and times, as they were typed."""

import datetime as dt
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from audit.ledger.store.decisions import DecisionQuery
from cli.output import WORDS
from core.base.errors import SettingsError
from core.decision.decision import Verdict
from core.people.subject import Subject

_AGO: Final = re.compile(r"(\d{1,6})([smhdw])")

_ID: Final = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
)

_UNIT_MS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}

_LABELS: Final = ("oid:", "user:", "system:")


def make_query(
    filters: Mapping[str, Any],
    user: str | None,
    since: str | None,
    until: str | None = None,
    before: str | None = None,
) -> DecisionQuery:
    """Make the query of what was typed; `filters` are its fields, None where not given.

    Raises:
        SettingsError: `since` or `until` is no time, or `before` no whole id.
    """
    if before is not None and not _ID.fullmatch(before):
        raise SettingsError(f"--before {before}: give a decision's whole id, as the list shows it")
    given = {name: value for name, value in filters.items() if value is not None}
    return DecisionQuery(
        requesters=() if user is None else _names_of(user),
        since_ms=None if since is None else read_since(since, now_ms()),
        until_ms=None if until is None else read_since(until, now_ms(), "--until"),
        before=None if before is None else before.lower(),
        **given,
    )


def read_verdicts(words: Iterable[str]) -> frozenset[Verdict]:
    """Return the verdicts of words that were typed: their names, or as lists say them.

    Raises:
        SettingsError: one is neither.
    """
    known = {each.value: each for each in Verdict}
    known |= {word: verdict for verdict, word in WORDS.items()}
    for word in words:
        if word.lower() not in known:
            raise SettingsError(f"--verdict {word}: give one of {', '.join(known)}")
    return frozenset(known[word.lower()] for word in words)


def _names_of(user: str) -> tuple[str, ...]:
    """Return the names a user may be recorded by: the pseudonym, or the name itself."""
    return (user,) if user.startswith(_LABELS) else (Subject(username=user).label, user)


def read_since(since: str, now_ms: int, flag: str = "--since") -> int:
    """Return a time that was typed, in milliseconds since the epoch.

    Raises:
        SettingsError: it is none.
    """
    ago = _AGO.fullmatch(since)
    if ago:
        return now_ms - int(ago[1]) * _UNIT_MS[ago[2]]
    try:
        time_of_day = dt.datetime.fromisoformat(since)
    except ValueError:
        time_of_day = None
    if time_of_day is None or time_of_day.tzinfo is None:
        raise SettingsError(
            f"{flag} {since}: give how long ago (15m, 2h, 3d) or a time with its zone "
            "(2026-11-21T09:00:00Z)"
        )
    return max(int(time_of_day.timestamp() * 1000), 0)


def now_ms() -> int:
    """Return the time now, in milliseconds since the epoch."""
    return int(time.time() * 1000)
