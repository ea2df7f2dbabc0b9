"""Times of which the record of Pods or of identities may lack something."""

import math
from bisect import insort
from itertools import pairwise
from typing import Any, Final

from audit.access.attribution.lives import unix_seconds
from core.weights.documents.events import LogGap

PODS: Final = "pods"
IDENTITIES: Final = "identities"

MOST_GAPS: Final = 1024
"""Of each record; beyond, the two that are nearest to each other become one."""


class RecordGaps:
    """Gaps of the records that attribution rests on, as spans of Unix seconds."""

    def __init__(self) -> None:
        self._spans: dict[str, list[tuple[float, float]]] = {PODS: [], IDENTITIES: []}
        self._begun = math.inf

    def begin(self, at_s: float) -> None:
        """Note that a Pod was recorded: before the first that was, nothing was."""
        self._begun = min(self._begun, at_s)

    def take(self, gap: LogGap) -> None:
        """Take in a gap; those of other logs say nothing of Pods.

        Raises:
            ValueError: its times are none.
        """
        spans = self._spans.get(gap.log)
        if spans is None:
            return
        span = unix_seconds(gap.begin), unix_seconds(gap.end)
        if span in spans:
            return
        insort(spans, span)
        while len(spans) > MOST_GAPS:
            _join_nearest(spans)

    def touches(self, log: str, begin_s: float, end_s: float) -> tuple[float, float] | None:
        """Return the first gap of a record that has a moment in between.

        Before it began, all is.
        """
        if begin_s <= self._begun:
            return -math.inf, self._begun
        for begin, end in self._spans[log]:
            if begin > end_s:
                return None
            if end >= begin_s:
                return begin, end
        return None

    def forget(self, before_s: float) -> None:
        """Forget those that ended before a time."""
        for spans in self._spans.values():
            spans[:] = [span for span in spans if span[1] >= before_s]

    def saved(self) -> dict[str, Any]:
        """Return them as plain values."""
        return {"begun": self._begun, **self._spans}

    def restore(self, saved: dict[str, Any]) -> None:
        """Take back what `saved` gave."""
        self._begun = saved["begun"]
        for log in self._spans:
            self._spans[log] = [(begin, end) for begin, end in saved.get(log, [])]


def _join_nearest(spans: list[tuple[float, float]]) -> None:
    apart = [after[0] - before[1] for before, after in pairwise(spans)]
    place = apart.index(min(apart))
    joined = (spans[place][0], max(spans[place][1], spans[place + 1][1]))
    spans[place : place + 2] = [joined]
