"""Puts events into the order of their times, as far as waiting a bounded while does it.

What is put in decides what comes out, and no clock does: the same events in the same order come
out the same, at once or after a restart in between.
"""

import heapq
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from audit.access.model.defaults import DELAY_S
from audit.access.model.detection import Event
from core.base.ids import uuid7_unix_ms
from core.weights.documents.access import Access
from core.weights.documents.events import Activity, LogGap

MOST_HELD: Final = 20_000
"""Events that are held back; where more come in DELAY_S, the order is kept among so many."""

LEADERS: Final = 16
"""The watermark follows the last of so many newest events: a few whose clock is ahead move nothing,
and all others are not late because of them."""

_TAGS: Final = {"access": Access, "activity": Activity, "gap": LogGap}
_KINDS: Final = {kind: tag for tag, kind in _TAGS.items()}


class EventOrder:
    """Holds events back until the watermark has passed them. Times are Unix seconds."""

    def __init__(self, delay_s: float = DELAY_S, most: int = MOST_HELD) -> None:
        self._delay_s = delay_s
        self._most = most
        self._held: list[tuple[float, str, int, Event]] = []
        self._taken = 0
        self._newest: list[float] = []
        """The times of the last LEADERS, the least of them first."""
        self.watermark = -math.inf
        """Events of before are late."""

    def __len__(self) -> int:
        """Count what is held back."""
        return len(self._held)

    def put(self, event: Event, at: float) -> Sequence[Event]:
        """Take an event of a time; give those whose turn it is. One that is late comes at once."""
        if at < self.watermark:
            return (event,)
        self._hold(event, at)
        self._lead(at)
        held, most = self._held, self._most
        due: list[Event] = []
        while held and (held[0][0] < self.watermark or len(held) > most):
            first = heapq.heappop(held)
            self.watermark = max(self.watermark, first[0])
            due.append(first[-1])
        return due

    def flush(self, until_s: float) -> Iterator[Event]:
        """Yield what is held from before a time: nobody waits for what is older any more."""
        while self._held and self._held[0][0] < until_s:
            first = heapq.heappop(self._held)
            self.watermark = max(self.watermark, first[0])
            yield first[-1]

    def saved(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        held = [
            [at, _KINDS[type(event)], msgspec.json.encode(event)]
            for at, _, _, event in sorted(self._held, key=lambda one: one[:3])
        ]
        return {"held": held, "newest": sorted(self._newest), "watermark": self.watermark}

    def restore(self, saved: dict[str, Any]) -> None:
        """Take back what `saved` gave."""
        self._held = []
        for at, tag, content in saved["held"]:
            self._hold(msgspec.json.decode(content, type=_TAGS[tag]), at)
        self._newest = list(saved["newest"])
        self.watermark = saved["watermark"]

    def _hold(self, event: Event, at: float) -> None:
        self._taken += 1
        heapq.heappush(self._held, (at, event.id, self._taken, event))

    def _lead(self, at: float) -> None:
        """Move the watermark by the last of those that lead."""
        newest = self._newest
        if len(newest) < LEADERS:
            heapq.heappush(newest, at)
        elif at > newest[0]:
            heapq.heapreplace(newest, at)
        else:
            return
        if len(newest) == LEADERS and newest[0] - self._delay_s > self.watermark:
            self.watermark = newest[0] - self._delay_s


def event_seconds(event: Event) -> float:
    """Return an event's time: an id has it, and of a gap it is the end's."""
    return uuid7_unix_ms(event.id) / 1000
