"""Events about what two people approved: before an exception ends, when glass is broken and over.

Nothing is asked of kube-apiserver but to write them: what they are about is in memory.
"""

import datetime as dt
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Protocol

import structlog
from prometheus_client import CollectorRegistry, Gauge

from control.loop import Loop
from core import break_glass, exceptions, names
from core.break_glass import BreakGlass
from core.errors import ClusterError
from core.exceptions import PolicyException
from core.guarded import Meta
from core.two_person import PEOPLE_NEEDED, Consent
from kube.lease import Leadership, wall_time
from kube.objects import Objects

INTERVAL_S: Final = 15.0

BEFORE_S: Final = 86_400
"""So long before its end an exception is announced."""

LATE_S: Final = 3000.0
"""So late an Event is still written. Kubernetes keeps Events for an hour, and by its name a second
one of an object is refused so long: there is at most one, whichever replica leads."""

_log = structlog.get_logger(__name__)


class Excepted(Protocol):
    """The exceptions in memory."""

    def everywhere(self) -> Sequence[PolicyException]:
        """Give all of them."""

    def consents(self, namespace: str, uid: str) -> tuple[Consent, ...]:
        """Give the approvals of one."""


class Sealed(Protocol):
    """The BreakGlasses in memory."""

    def everywhere(self) -> Sequence[BreakGlass]:
        """Give all of them."""


@dataclass(frozen=True)
class Moment:
    """Something that happens to an object at a time."""

    kind: str
    meta: Meta
    at: float
    """Unix seconds."""
    reason: str
    message: str

    @property
    def name(self) -> str:
        """Name its Event: the same, whoever writes it."""
        return f"{self.meta.name[:180]}.{self.meta.uid[:36]}.{self.reason.lower()}"

    def is_due(self, now: float) -> bool:
        """Say whether it is time to write its Event, and not too late."""
        return self.at <= now < self.at + LATE_S


class Endings:
    """Each run writes the Events that are due. `loop` is its loop."""

    def __init__(
        self,
        objects: Objects,
        excepted: Excepted,
        sealed: Sealed,
        registry: CollectorRegistry,
        clock: Callable[[], dt.datetime] = wall_time,
    ) -> None:
        self._objects = objects
        self._excepted = excepted
        self._sealed = sealed
        self._clock = clock
        self._told: set[str] = set()
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
        due = [each for each in moments(found, sealed) if each.is_due(now)]
        self._told &= {each.name for each in due}
        for moment in due:
            if moment.name not in self._told:
                leadership.require()
                await self._tell(moment)

    def _end_of(self, exception: PolicyException) -> float:
        """Give when it ends: also when one approval too many ends."""
        consents = self._excepted.consents(exception.meta.namespace, exception.meta.uid)
        of_it = [each.expires for each in consents if each.digest == exception.approvable.digest]
        approved = sorted(of_it, reverse=True)[PEOPLE_NEEDED - 1 : PEOPLE_NEEDED]
        return min([exception.expires, *approved])

    async def _tell(self, moment: Moment) -> None:
        place = moment.meta.namespace or "default"
        try:
            await self._objects.create(
                f"/api/v1/namespaces/{place}/events", event_of(moment, place)
            )
        except ClusterError as error:
            if error.status not in {
                HTTPStatus.CONFLICT,
                HTTPStatus.FORBIDDEN,
                HTTPStatus.NOT_FOUND,
            }:
                raise
            if error.status != HTTPStatus.CONFLICT:
                _log.warning("no Event could be written", name=moment.name, problem=str(error))
        self._told.add(moment.name)

    def _forget(self) -> None:
        self._ending.set(math.nan)
        self._open.set(math.nan)


def moments(
    excepted: Iterable[tuple[PolicyException, float]], sealed: Iterable[BreakGlass]
) -> Iterator[Moment]:
    """Give all that is announced, whenever it is due."""
    for exception, end in excepted:
        message = f"Ends at {_text(end)}: what it excuses is refused from then on."
        yield Moment(exceptions.KIND, exception.meta, end - BEFORE_S, "EndsSoon", message)
    for one in sealed:
        if one.began is None:
            continue
        by = one.meta.annotation(names.ACTIVATED_BY_ANNOTATION)
        where = ", ".join(one.spec.namespaces[:8])
        message = f"Activated by {by}, until {one.until}, in {where}: {one.spec.reason}"
        yield Moment(break_glass.KIND, one.meta, one.began, "GlassBroken", message[:1000])
        message = "Over: what it relaxed is refused again. sallyport decisions --rule "
        message += "break-glass/relaxed shows what it let in."
        yield Moment(break_glass.KIND, one.meta, one.ends, "GlassOver", message)


def event_of(moment: Moment, place: str) -> dict[str, Any]:
    """Give the Event (core v1) of a moment."""
    meta = moment.meta
    time = _text(moment.at)
    involved = {"apiVersion": names.API_VERSION, "kind": moment.kind, "name": meta.name}
    return {
        "metadata": {"name": moment.name, "namespace": place},
        "involvedObject": involved | {"uid": meta.uid} | _within(meta.namespace),
        "type": "Warning",
        "reason": moment.reason,
        "message": moment.message,
        "source": {"component": "sallyport-control"},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }


def _within(namespace: str) -> dict[str, str]:
    return {"namespace": namespace} if namespace else {}


def _text(seconds: float) -> str:
    return f"{dt.datetime.fromtimestamp(seconds, dt.UTC):%Y-%m-%dT%H:%M:%SZ}"
