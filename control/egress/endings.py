"""Tells that allowlists end: an Event two weeks, three days and a day before, and a metric."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from control.egress.cluster_state import EgressState
from control.egress.metrics import EgressMetrics
from control.events import DueEvent, EventWriter
from control.loop import Loop
from core.base.times import DAY_S, time_text
from core.egress.allowlists import KIND, EgressAllowlist
from kube.leader.lease import Leadership

INTERVAL_S: Final = 60.0
BEFORE: Final = (("EndsIn14Days", 14), ("EndsIn3Days", 3), ("EndsTomorrow", 1))
"""Reasons of Events, and how many days before the end each is written."""


@dataclass
class Endings:
    """Looks at the allowlists of namespaces that are closed."""

    state: EgressState
    events: EventWriter
    metrics: EgressMetrics
    clock: Callable[[], float] = time.time

    @property
    def loop(self) -> Loop:
        """Its loop."""
        return Loop("egress-endings", INTERVAL_S, self.run)

    async def run(self, leadership: Leadership) -> None:
        """Write the Events that are due, and show how many allowlists end soon.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        now, found = self.clock(), list(self._allowlists())
        self.metrics.ending(count_endings(found, now))
        await self.events.tell(leadership, due_endings(found), now)

    def _allowlists(self) -> Iterator[EgressAllowlist]:
        for namespace, intents in self.state.intents.items():
            if self.state.closure_of(namespace).closes:
                yield from (each.allowlist for each in intents.values() if each.allowlist)


def due_endings(allowlists: Iterable[EgressAllowlist]) -> Iterator[DueEvent]:
    """Yield when each ending is to be told; nothing for times before the allowlist was made."""
    for each in allowlists:
        until = time_text(each.expires)
        message = (
            f"Ends at {until}: from then on its connections are closed. Its owner: "
            f"{each.spec.owner}. Who needs it longer sets spec.expiresAt anew."
        )
        for reason, days in BEFORE:
            at = time_text(each.expires - days * DAY_S)
            if at > (each.meta.creation_timestamp or ""):
                yield DueEvent(KIND, each.meta, each.expires - days * DAY_S, reason, message)


def count_endings(allowlists: Iterable[EgressAllowlist], now: float) -> Counter[int]:
    """Return how many are in time and end within so many days, for each of `BEFORE`."""
    found = Counter({days: 0 for _, days in BEFORE})
    for each in allowlists:
        left = each.expires - now
        found.update(days for _, days in BEFORE if 0 < left <= days * DAY_S)
    return found
