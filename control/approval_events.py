"""Events about approvals: before an exception ends, when glass is broken, and when that is over.

Nothing is asked of kube-apiserver but to write them: what they are about is in memory.
"""

import datetime as dt
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from control.events import DueEvent, EventWriter
from control.loop import Loop
from core.approvals import break_glass, exceptions
from core.approvals.break_glass import BreakGlass
from core.approvals.exceptions import PolicyException
from core.base import names
from core.base.times import time_text
from core.people.two_person import PEOPLE_NEEDED
from kube.approvals.watch import BreakGlasses, Exceptions, WatchedBreakGlasses, WatchedExceptions
from kube.client.objects import Objects
from kube.leader.lease import Leadership, wall_time

INTERVAL_S: Final = 15.0

BEFORE_S: Final = 86_400
"""So long before its end an exception is announced."""


class ApprovalEvents:
    """Each run writes the Events that are due. `loop` is its loop."""

    def __init__(
        self,
        objects: Objects,
        excepted: Exceptions | WatchedExceptions,
        sealed: BreakGlasses | WatchedBreakGlasses,
        registry: CollectorRegistry,
        clock: Callable[[], dt.datetime] = wall_time,
    ) -> None:
        self._announcing = EventWriter(objects)
        self._excepted = excepted
        self._sealed = sealed
        self._clock = clock
        self._ending = Gauge(
            "sallyport_exceptions_ending",
            "PolicyExceptions that end within a day; NaN where another replica leads.",
            registry=registry,
        )
        self._open = Gauge(
            "sallyport_break_glass_open",
            "BreakGlasses that are activated and have not ended; NaN where another replica leads.",
            registry=registry,
        )
        self._forget()
        self.loop = Loop("endings", INTERVAL_S, self.run, forget=self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Look at all of them once, and write what is due.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotSyncedError: they have not been loaded.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        now = self._clock().timestamp()
        found = [(each, self._end_of(each)) for each in self._excepted.everywhere()]
        sealed = self._sealed.everywhere()
        self._ending.set(sum(now < end <= now + BEFORE_S for _, end in found))
        self._open.set(sum(one.is_open(now) for one in sealed))
        await self._announcing.tell(leadership, due_events(found, sealed), now)

    def _end_of(self, exception: PolicyException) -> float:
        """Return when it ends: also when one approval too many ends."""
        consents = self._excepted.consents(exception.meta.namespace, exception.meta.uid)
        of_it = [each.expires for each in consents if each.digest == exception.approvable.digest]
        approved = sorted(of_it, reverse=True)[PEOPLE_NEEDED - 1 : PEOPLE_NEEDED]
        return min([exception.expires, *approved])

    def _forget(self) -> None:
        self._ending.set(math.nan)
        self._open.set(math.nan)


def due_events(
    excepted: Iterable[tuple[PolicyException, float]], sealed: Iterable[BreakGlass]
) -> Iterator[DueEvent]:
    """Yield all that is announced, whenever it is due."""
    for exception, end in excepted:
        message = f"Ends at {time_text(end)}: what it excuses is refused from then on."
        yield DueEvent(exceptions.KIND, exception.meta, end - BEFORE_S, "EndsSoon", message)
    for one in sealed:
        if one.began is None:
            continue
        by = one.meta.annotation(names.ACTIVATED_BY_ANNOTATION)
        where = ", ".join(one.spec.namespaces[:8])
        opens = "; opens egress" if one.spec.egress else ""
        message = f"Activated by {by}, until {one.until}, in {where}{opens}: {one.spec.reason}"
        yield DueEvent(break_glass.KIND, one.meta, one.began, "GlassBroken", message[:1000])
        opens = ", and the egress that it opened is closed" if one.spec.egress else ""
        message = f"Over: what it relaxed is refused again{opens}. sallyport decisions --rule "
        message += "break-glass/relaxed shows what it let in."
        yield DueEvent(break_glass.KIND, one.meta, one.ends, "GlassOver", message)
