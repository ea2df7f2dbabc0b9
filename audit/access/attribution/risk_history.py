"""Which identities were at risk when, from what was recorded: earlier accesses are judged too."""

import math
from bisect import bisect_right
from typing import Any, Final

import msgspec

from audit.access.attribution.lives import unix_seconds
from audit.ledger.records.frames import FrameKind
from core.base.ids import uuid7_unix_ms
from core.base.times import DAY_S

LASTS_S: Final = 30.0 * DAY_S
"""So long a risk counts after it was last told of: Entra ID keeps who is at risk so until somebody
dismisses or remediates it, and its detections themselves for 30 to 90 days (Microsoft Learn, "How
long does Microsoft Entra ID store reporting data?")."""

MOST_PEOPLE: Final = 20_000
"""Identities whose risk is remembered; those of whom nothing was heard longest are forgotten."""

MOST_SPANS: Final = 16
"""Of one identity; the oldest are forgotten."""

_CLEAN: Final = "clean"


class _LookBack(msgspec.Struct, rename="camel"):
    """A document of a look back, as far as it is read here."""

    id: str
    subject: str
    standing: str = ""
    since: str = ""


class _Assessed(msgspec.Struct):
    who: str
    standing: str
    since: str = ""


class _Decision(msgspec.Struct):
    """A decision document, as far as it is read here."""

    id: str
    risk: list[_Assessed] = []


_TOLD: Final = msgspec.json.Decoder(_LookBack)
_JUDGED: Final = msgspec.json.Decoder(_Decision)


class _Span(msgspec.Struct, array_like=True):
    begin: float
    end: float
    standing: str
    told: float
    """When it was last told of."""


class RiskHistory:
    """Who was at risk from when until when.

    Documents may come in any order, and again: one that ends a risk, and comes after two tellings
    of it have become one, leaves it at risk for longer.
    """

    def __init__(self) -> None:
        self._spans: dict[str, list[_Span]] = {}
        self._cleared: dict[str, float] = {}
        """When they were last told to be clean; of the last MOST_PEOPLE."""

    def take(self, kind: int, payload: bytes) -> None:
        """Take in a document; of kinds that say nothing of risk, nothing.

        Raises:
            ValueError: it cannot be read.
        """
        if kind == FrameKind.LOOK_BACK:
            told = _TOLD.decode(payload)
            if told.standing:
                self._tell(told.subject, told.standing, told.since, uuid7_unix_ms(told.id) / 1000)
        elif kind == FrameKind.DECISION and b'"risk"' in payload:
            judged = _JUDGED.decode(payload)
            for one in judged.risk:
                self._tell(one.who, one.standing, one.since, uuid7_unix_ms(judged.id) / 1000)

    def at(self, who: str, unix_s: float) -> str:
        """Say how an identity stood then; empty where it was not at risk, as far as was told."""
        for span in reversed(self._spans.get(who, ())):
            if span.begin <= unix_s < span.end:
                return span.standing
        return ""

    def saved(self) -> dict[str, Any]:
        """Return them as plain values."""
        return {"spans": self._spans, "cleared": self._cleared}

    def restore(self, saved: dict[str, Any]) -> None:
        """Take back what `saved` gave."""
        self._spans = msgspec.convert(saved["spans"], dict[str, list[_Span]])
        self._cleared = saved["cleared"]

    def _tell(self, who: str, standing: str, since: str, at: float) -> None:
        who = who.lower() if who.startswith(("oid:", "client:")) else who
        spans = self._spans.pop(who, [])
        if standing == _CLEAN:
            for span in spans:
                if span.told <= at:
                    span.end = min(span.end, max(span.begin, at))
            self._clear(who, at)
        else:
            begin = unix_seconds(since) if since else at
            end, cleared = max(begin, at) + LASTS_S, self._cleared.get(who, -math.inf)
            if at <= cleared:  # It was told later than that it had ended.
                end = min(end, max(begin, cleared))
            spans.insert(
                bisect_right(spans, begin, key=lambda span: span.begin),
                _Span(begin, end, standing, at),
            )
            _join(spans)
            del spans[:-MOST_SPANS]
        if spans:
            self._spans[who] = spans
        if len(self._spans) > MOST_PEOPLE:
            del self._spans[next(iter(self._spans))]

    def _clear(self, who: str, at: float) -> None:
        self._cleared[who] = max(at, self._cleared.pop(who, at))
        if len(self._cleared) > MOST_PEOPLE:
            del self._cleared[next(iter(self._cleared))]


def _join(spans: list[_Span]) -> None:
    """Let one that begins where another still lasts, and says the same, be one with it."""
    place = 1
    while place < len(spans):
        before, after = spans[place - 1], spans[place]
        if after.begin <= before.end and after.standing == before.standing:
            before.end = max(before.end, after.end)
            before.told = max(before.told, after.told)
            del spans[place]
        else:
            place += 1
