"""Which notices a sink takes: by severity, by store and by event. Pure."""

from dataclasses import dataclass
from typing import Final

from audit.notifications.notice import Notice, NoticeEvent
from audit.reports.sample.cast import CLUSTER as SAMPLE_CLUSTER
from core.weights.documents.events import Severity

ORDINARY_EVENTS: Final = frozenset({NoticeEvent.FINDING, NoticeEvent.GAP})

_RANK: Final = {severity: number for number, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Route:
    """What one sink takes. What is empty means all."""

    at_least: Severity = Severity.LOW
    stores: frozenset[str] = frozenset()
    """A notice that names no store (keys of an account, a gap) concerns all of them."""
    events: frozenset[NoticeEvent] = ORDINARY_EVENTS
    since: str = ""
    """RFC 3339: what happened earlier is not told; empty: it begins with what is recorded next."""

    def takes(self, notice: Notice) -> bool:
        """Return whether the sink is told of a notice. The sample month is told to nobody."""
        if notice.cluster == SAMPLE_CLUSTER or notice.event not in self.events:
            return False
        is_grave = _RANK[notice.severity] >= _RANK[self.at_least]
        is_there = not self.stores or not notice.store or notice.store in self.stores
        return is_grave and is_there and notice.time >= self.since
