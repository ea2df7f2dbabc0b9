"""Tells owners before an AccessGrant ends, and which Pods still run under one that has ended.

What a grant let start goes on when it ends: kube-apiserver stops nothing. So the Pods are told, and
evicted where the operator wants that; new ones are refused by the gate.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import structlog
from prometheus_client import CollectorRegistry, Gauge

from control.events import DueEvent, EventWriter
from control.eviction import evict
from control.loop import Loop
from control.weights.access.live_grants import GrantFacts
from core.base.errors import InvalidObjectError
from core.base.sallyport_objects import parse_time
from core.base.times import time_text
from core.people.two_person import PEOPLE_NEEDED
from core.weights.access_grants import KIND, AccessGrant
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from kube.resources.live_pods import LivePod, list_live_pods

INTERVAL_S: Final = 30.0
BEFORE: Final = (
    ("EndsInAWeek", 7 * 86_400.0),
    ("EndsInADay", 86_400.0),
    ("EndsInAnHour", 3600.0),
)
"""Reasons of Events, and so long before its end a grant is announced."""

AFTER_S: Final = 7 * 86_400.0
"""So long after its end the Pods under a grant are looked for."""

_SHOWN: Final = 8
_MOST_SERIES: Final = 200

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class EndedGrant:
    """A grant that has ended, and what still runs under it."""

    grant: AccessGrant
    at: float
    pods: tuple[LivePod, ...]


class GrantExpiry:
    """Each run announces what is due, and looks at what has ended. `loop` is its loop."""

    def __init__(
        self,
        objects: Objects,
        facts: GrantFacts,
        registry: CollectorRegistry,
        clock: Callable[[], float],
        when_ended: Literal["report", "evict"] = "report",
    ) -> None:
        self._objects = objects
        self._announcing = EventWriter(objects)
        self._facts = facts
        self._clock = clock
        self._evicts = when_ended == "evict"
        self._ending = Gauge(
            "sallyport_grants_ending",
            "AccessGrants that end within a day; NaN where another replica leads.",
            registry=registry,
        )
        self._running = Gauge(
            "sallyport_grants_ended_pods",
            "Pods that still run under an AccessGrant that has ended; only the leader shows them.",
            ("namespace", "grant"),
            registry=registry,
        )
        self._forget()
        self.loop = Loop("grant-endings", INTERVAL_S, self.run, forget=self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Look at all grants once.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotSyncedError: they have not been loaded.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        now = self._clock()
        known = [(grant, self._end_of(grant)) for grant in self._facts.grants()]
        ends = [(grant, end) for grant, end in known if end is not None]
        self._ending.set(sum(now < end <= now + BEFORE[1][1] for _, end in ends))
        ended = [
            EndedGrant(grant, end, await self._under(grant, end, ends, now))
            for grant, end in ends
            if end <= now < end + AFTER_S
        ]
        told = [*_before(ends), *_after(ended)]
        await self._announcing.tell(leadership, told, now)
        self._show(ended)
        if self._evicts:
            await self._evict(leadership, ended)

    async def _under(
        self,
        grant: AccessGrant,
        end: float,
        ends: Sequence[tuple[AccessGrant, float]],
        now: float,
    ) -> tuple[LivePod, ...]:
        """Return the Pods of before its end without those whose account another grant still has."""
        meta, found = grant.meta, []
        for account in grant.spec.service_accounts or ():
            if any(_replaces(other, grant, account) and now < till for other, till in ends):
                continue
            pods = await list_live_pods(self._objects, meta.namespace, account=account)
            found += [pod for pod in pods if pod.created < end]
        return tuple(sorted(found, key=lambda pod: pod.name))

    async def _evict(self, leadership: Leadership, ended: Sequence[EndedGrant]) -> None:
        for one in ended:
            for pod in one.pods:
                leadership.require()
                why = await evict(self._objects, one.grant.meta.namespace, pod)
                _log.info(
                    "a Pod of a grant that has ended was asked to go",
                    grant=one.grant.id,
                    pod=pod.name,
                    stays=why,
                )

    def _end_of(self, grant: AccessGrant) -> float | None:
        """Return when it ends: also when one approval too many ends, or it is being deleted.

        None of one that two people have not approved: nothing runs under it.
        """
        consents = self._facts.consents(grant.meta.namespace, grant.meta.uid)
        of_it = [each.expires for each in consents if each.digest == grant.approvable.digest]
        if len(of_it) < PEOPLE_NEEDED:
            return None
        if grant.meta.deletion_timestamp is not None:
            try:
                return parse_time(grant.meta.deletion_timestamp, field="", what=KIND)
            except InvalidObjectError:
                return self._clock()
        return min(grant.expires, sorted(of_it, reverse=True)[PEOPLE_NEEDED - 1])

    def _show(self, ended: Sequence[EndedGrant]) -> None:
        self._running.clear()
        for one in sorted(ended, key=lambda each: -len(each.pods))[:_MOST_SERIES]:
            if one.pods:
                meta = one.grant.meta
                self._running.labels(meta.namespace, meta.name).set(len(one.pods))

    def _forget(self) -> None:
        self._ending.set(math.nan)
        self._running.clear()


def _replaces(other: AccessGrant, grant: AccessGrant, account: str) -> bool:
    """Return whether another grant names the same account and store, in the same namespace."""
    return (
        other.meta.uid != grant.meta.uid
        and other.meta.namespace == grant.meta.namespace
        and other.spec.store == grant.spec.store
        and account in (other.spec.service_accounts or ())
    )


def _before(ends: Sequence[tuple[AccessGrant, float]]) -> Iterator[DueEvent]:
    for grant, end in ends:
        whose = f" Its owner: {grant.spec.owner}." if grant.spec.owner else ""
        message = (
            f"Ends at {time_text(end)}: from then on no Pod that reaches {grant.spec.store} "
            f"starts under it.{whose} Who needs it longer changes spec.expiresAt, and two others "
            "approve it again."
        )
        for reason, seconds in BEFORE:
            if end - seconds > _made(grant):
                yield DueEvent(KIND, grant.meta, end - seconds, reason, message)


def _after(ended: Sequence[EndedGrant]) -> Iterator[DueEvent]:
    for one in ended:
        names = ", ".join(pod.name for pod in one.pods[:_SHOWN])
        more = f" and {len(one.pods) - _SHOWN} more" if len(one.pods) > _SHOWN else ""
        still = f"{len(one.pods)} Pods still run under it: {names}{more}."
        message = f"It has ended. {still if one.pods else 'No Pod runs under it any more.'}"
        yield DueEvent(KIND, one.grant.meta, one.at, "GrantEnded", message[:1000])


def _made(grant: AccessGrant) -> float:
    try:
        return parse_time(grant.meta.creation_timestamp or "", field="", what=KIND)
    except InvalidObjectError:
        return 0.0
