"""The budget for refusals: how many a requester has kept in a minute; the rest is counted.

A refusal costs its author nothing, and whoever reaches the gate's port can make up any number. So
each *share*, a namespace and in it a requester, has so many records a minute. Beyond them each
distinct refusal (its rules, and what policies saw of the object, images included) keeps one record,
up to as many again, and all others become aggregates. Names that nobody vouches for are one share.
All shares together have a bound too, and when the spool fills, all get less: the largest are cut
first, and what is admitted keeps the rest of the spool to itself.

Memory is bounded: MOST_SHARES, one key for each record of the minute, MOST_AGGREGATES.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from core.base.errors import NotRecordedError
from core.decision.decision import Decision, Verdict

PER_MINUTE: Final = 60
"""Records of refusals that a share has kept each minute, unless a setting says otherwise."""

SHARES_IN_ALL: Final = 10
"""So many times the records of one share all shares have together; then each has one a minute."""

MOST_SHARES: Final = 512
"""Shares told apart in one minute; those that come later are the share of unknown names."""

MOST_AGGREGATES: Final = 64
"""Aggregates told apart in one minute; what comes later is one for each verdict."""

SEAL_S: Final = 60.0
"""Aggregates become records so often."""

SCARCE: Final = 0.25
"""From this part of a full spool on, shares get less."""

ADMISSIONS_ONLY: Final = 0.5
"""From this part on no refusal has a record of its own; aggregates have until the next."""

_NO_AGGREGATES: Final = 0.75
"""From this part on aggregates go on counting in memory."""

_OF_A_SHARE: Final = 8
"""Aggregates told apart of one share in one minute."""

_MOST_RULES: Final = 32


class Share(NamedTuple):
    """Whose refusal or admission it is, by names that somebody vouches for."""

    namespace: str
    """Empty where there is none, or nobody knows it."""
    requester: str
    """As it is recorded; empty where nobody vouches for the name."""


OTHERS: Final = Share("", "")
"""All whose names nobody vouches for, and all of no namespace."""


class RefusalKind(NamedTuple):
    """Refusals that are alike."""

    share: Share
    verdict: Verdict
    rules: tuple[str, ...] = ()
    projection: str = ""


@dataclass
class RefusalCount:
    """How many of a kind had no records of their own."""

    kind: RefusalKind
    count: int
    first_ms: int
    last_ms: int
    kept: str = ""
    """Id of a decision of the kind that has a record."""


@dataclass
class _Minute:
    """What a share had in this minute."""

    kept: int = 0
    distinct: int = 0
    """Of those kept, how many were beyond the first ones."""
    ids: dict[int, str] = field(default_factory=dict)
    """Decisions on record, by the hash of their kind."""
    aggregates: set[RefusalKind] = field(default_factory=set)


class RefusalBudget:
    """Says of each refusal whether it has a record, and counts the others."""

    def __init__(
        self,
        per_minute: int = PER_MINUTE,
        fill: Callable[[], float] = lambda: 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take how many records a share has each minute; `fill` gives how full the spool is."""
        self.aggregated = 0
        """Refusals counted, since the beginning."""
        self._per_minute = per_minute
        self._fill = fill
        self._clock = clock
        self._shares: dict[Share, _Minute] = {}
        self._kept = 0
        self._ends_at = 0.0
        self._counts: dict[RefusalKind, RefusalCount] = {}
        self._seal_at = clock() + SEAL_S

    def keeps(self, share: Share, decision: Decision, projection: str, unix_ms: int) -> bool:
        """Return whether a refusal has a record of its own; else it is counted."""
        if (now := self._clock()) >= self._ends_at:
            self._ends_at, self._kept = now + 60.0, 0
            self._shares.clear()
        if share not in self._shares and len(self._shares) >= MOST_SHARES:
            share = OTHERS
        minute = self._shares.setdefault(share, _Minute())
        rules = tuple(dict.fromkeys(finding.rule for finding in decision.findings))[:_MOST_RULES]
        kind = RefusalKind(share, decision.verdict, rules, projection)
        key = hash(kind)
        allowance = self._allowance()
        if minute.kept - minute.distinct < allowance:
            minute.ids.setdefault(key, decision.id)
        elif key not in minute.ids and minute.distinct < allowance and self._has_more:
            minute.ids[key] = decision.id
            minute.distinct += 1
        else:
            self._count(minute, kind, unix_ms)
            return False
        minute.kept += 1
        self._kept += 1
        return True

    def seal(self, write: Callable[[RefusalCount], None], *, ends: bool = False) -> None:
        """Write what was counted, each minute, or because it `ends`; what is not taken stays.

        `write` raises NotRecordedError where it does not take one.
        """
        now = self._clock()
        if not self._counts or (not ends and (now < self._seal_at or not self._has_room)):
            return
        self._seal_at = now + SEAL_S
        for kind, count in list(self._counts.items()):
            try:
                write(count)
            except NotRecordedError:
                return
            del self._counts[kind]

    @property
    def waiting(self) -> int:
        """How many aggregates are in memory."""
        return len(self._counts)

    @property
    def _has_more(self) -> bool:
        return self._kept < SHARES_IN_ALL * self._per_minute

    @property
    def _has_room(self) -> bool:
        return self._fill() < _NO_AGGREGATES

    def _allowance(self) -> int:
        """Return how many records each share has in this minute."""
        if (fill := self._fill()) >= ADMISSIONS_ONLY:
            return 0
        if not self._has_more:
            return 1
        left = min((ADMISSIONS_ONLY - fill) / (ADMISSIONS_ONLY - SCARCE), 1.0)
        return max(int(self._per_minute * left), 1)

    def _count(self, minute: _Minute, kind: RefusalKind, unix_ms: int) -> None:
        self.aggregated += 1
        kept = minute.ids.get(hash(kind), "")
        if not kept:
            kind = kind._replace(projection="")
        if kind not in minute.aggregates and len(minute.aggregates) >= _OF_A_SHARE:
            kind, kept = RefusalKind(kind.share, kind.verdict), ""
        if kind not in self._counts and len(self._counts) >= MOST_AGGREGATES:
            kind, kept = RefusalKind(OTHERS, kind.verdict), ""
        minute.aggregates.add(kind)
        count = self._counts.get(kind)
        if count is None:
            self._counts[kind] = RefusalCount(kind, 1, unix_ms, unix_ms, kept)
        else:
            count.count += 1
            count.last_ms = max(count.last_ms, unix_ms)
