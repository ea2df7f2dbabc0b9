"""Tells that openings end, by Events and a metric; and that one ended while Pods of it still ran.

What was refused since is not known here: policies drop packets, and tell nobody.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from audit.ledger.records.recorder import LedgerRecorder
from control.egress.cluster_state import EgressState
from control.egress.metrics import EgressMetrics
from control.events import DueEvent, EventWriter
from control.loop import Loop
from core.approvals.break_glass_egress import BreakGlassOpening, describe_openings
from core.base import names
from core.base.ids import stable_id
from core.base.times import DAY_S, milli_text, time_text
from core.egress.allowlists import (
    ENDS_DAYS,
    KIND,
    SET_KIND,
    EgressAllowlist,
    EgressDestinations,
)
from core.kubernetes.label_selectors import matches
from core.weights.documents.object_change import ENDED_IN_USE, FORMAT, ObjectChange
from egress.compiler.allowlists import selects_of
from kube.client.objects import Objects
from kube.egress.watch import Intent
from kube.leader.lease import Leadership
from kube.resources.live_pods import LivePod, list_live_pods

INTERVAL_S: Final = 60.0
BEFORE: Final = tuple(zip(("EndsIn14Days", "EndsIn3Days", "EndsTomorrow"), ENDS_DAYS, strict=True))
"""Reasons of Events, and how many days before the end each is written."""
IN_USE: Final = "EndedInUse"
"""Reason of the Event of an allowlist that ended while Pods that it was for still ran."""


@dataclass
class Endings:
    """Looks at the allowlists of namespaces that are closed, and at the sets that they use."""

    state: EgressState
    events: EventWriter
    metrics: EgressMetrics
    objects: Objects
    clock: Callable[[], float] = time.time
    opened: Callable[[str], Sequence[BreakGlassOpening]] = lambda _: ()
    """Gives what BreakGlasses open of a namespace."""
    recorder: LedgerRecorder | None = None
    """Records for the sinks of the auditor; None where nothing is recorded."""
    _uses: EventWriter = field(init=False)
    _looked: set[str] = field(default_factory=set)
    """Names of Events about whose Pods is known."""

    def __post_init__(self) -> None:
        """Keep apart what was told of each: a writer forgets what is not due any more."""
        self._uses = EventWriter(self.objects)

    @property
    def loop(self) -> Loop:
        """Its loop."""
        return Loop("egress-endings", INTERVAL_S, self.run, forget=self._looked.clear)

    async def run(self, leadership: Leadership) -> None:
        """Write the Events that are due, and show how many allowlists end soon.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotRecordedError: the spool takes nothing: it is noticed again.
            NotSyncedError: the cluster's id is not known yet.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        now, found = self.clock(), list(self._allowlists())
        allowlists = [allowlist for _, allowlist in found]
        self.metrics.ending(count_endings(allowlists, now))
        due = [*due_endings(allowlists), *due_set_endings(self._used_sets())]
        await self.events.tell(leadership, due, now)
        await self._tell_of_use(leadership, found, now)

    def _allowlists(self) -> Iterator[tuple[Intent, EgressAllowlist]]:
        for namespace, intents in self.state.intents.items():
            if self.state.closure_of(namespace).closes:
                yield from ((each, each.allowlist) for each in intents.values() if each.allowlist)

    def _used_sets(self) -> Iterator[EgressDestinations]:
        sets = self.state.sets
        return (sets[name] for name in sorted(sets) if self.state.referring("set", name))

    async def _tell_of_use(
        self,
        leadership: Leadership,
        found: Iterable[tuple[Intent, EgressAllowlist]],
        now: float,
    ) -> None:
        """Write of those that have just ended how many of their Pods still run."""
        due = {
            _in_use(allowlist, "").name: allowlist
            for intent, allowlist in found
            if is_ended(intent, allowlist, now)
        }
        self._looked &= due.keys()
        unlooked = (each for name, each in due.items() if name not in self._looked)
        # They are given namespace by namespace; Pods are read once for all of one.
        for namespace, ended in groupby(unlooked, key=lambda each: each.meta.namespace):
            leadership.require()
            pods = await list_live_pods(self.objects, namespace)
            for allowlist in ended:
                await self._tell_of_one(leadership, allowlist, pods, now)
                self._looked.add(_in_use(allowlist, "").name)

    async def _tell_of_one(
        self,
        leadership: Leadership,
        allowlist: EgressAllowlist,
        pods: Iterable[LivePod],
        now: float,
    ) -> None:
        namespace = allowlist.meta.namespace
        selects = (*selects_of(allowlist), *self.state.closure_of(namespace).selects)
        count = sum(not each.host_network and matches(selects, each.labels) for each in pods)
        if not count:
            return
        workloads = [(each.kind, each.name) for each in allowlist.spec.workloads or ()]
        glass = (each for each in self.opened(namespace) if each.concerns(workloads))
        left = describe_left(count, describe_openings(glass))
        leadership.require()
        await self._uses.tell(leadership, [_in_use(allowlist, left)], now)
        if self.recorder is not None:
            self.recorder.record_change(in_use_change(allowlist, self.recorder.cluster(), left))


def is_ended(intent: Intent, allowlist: EgressAllowlist, now: float) -> bool:
    """Return whether an allowlist that opened something has ended a moment ago.

    But for those whose Pods are evicted: that is told by itself.
    """
    evicts = allowlist.spec.when_expired == "Evict"
    opened = names.EGRESS_FINALIZER in intent.finalizers and not intent.deleting
    return opened and not evicts and _in_use(allowlist, "").is_due(now)


def describe_left(count: int, opened: str) -> str:
    """Say how many Pods still run, and what is closed to them; `opened` is what BreakGlasses do."""
    left = f"{count} Pods that it was for still run"
    if count == 1:
        left = "a Pod that it was for still runs"
    closed = f"closed to them once this is over: {opened}" if opened else "closed to them"
    return f"{left}: what only it opened is {closed}"


def _in_use(allowlist: EgressAllowlist, left: str) -> DueEvent:
    message = (
        f"It has ended, and {left}. Whether they tried it, flow logs say (sallyport egress status "
        f"--flows). Its owner: {allowlist.spec.owner}. Who still needs it writes spec.expiresAt "
        "anew."
    )
    return DueEvent(KIND, allowlist.meta, allowlist.expires, IN_USE, message)


def in_use_change(allowlist: EgressAllowlist, cluster: str, left: str) -> ObjectChange:
    """Return the record of an allowlist that ended in use; the same has the same id."""
    meta, ms = allowlist.meta, round(allowlist.expires * 1000)
    return ObjectChange(
        format=FORMAT,
        id=stable_id(ms, "change", cluster, KIND, meta.uid, ENDED_IN_USE),
        time=milli_text(ms),
        cluster=cluster,
        event=ENDED_IN_USE,
        kind=KIND,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        digest=allowlist.approvable.digest,
        why=left,
    )


def due_endings(allowlists: Iterable[EgressAllowlist]) -> Iterator[DueEvent]:
    """Yield when each ending is to be told; nothing for times before the allowlist was made."""
    for each in allowlists:
        message = (
            f"Ends at {time_text(each.expires)}: from then on its connections are closed. Its "
            f"owner: {each.spec.owner}. Who needs it longer sets spec.expiresAt anew."
        )
        yield from _before(KIND, each, each.expires, message)


def due_set_endings(sets: Iterable[EgressDestinations]) -> Iterator[DueEvent]:
    """Yield the same of sets that have an end."""
    for each in sets:
        if each.expires is not None:
            message = (
                f"Ends at {time_text(each.expires)}: from then on it opens nothing to the "
                f"allowlists that name it. Its owner: {each.spec.owner}. Who needs it longer sets "
                "spec.expiresAt anew."
            )
            yield from _before(SET_KIND, each, each.expires, message)


def _before(
    kind: str, what: EgressAllowlist | EgressDestinations, expires: float, message: str
) -> Iterator[DueEvent]:
    for reason, days in BEFORE:
        at = expires - days * DAY_S
        if time_text(at) > (what.meta.creation_timestamp or ""):
            yield DueEvent(kind, what.meta, at, reason, message)


def count_endings(allowlists: Iterable[EgressAllowlist], now: float) -> Counter[int]:
    """Return how many are in time and end within so many days, for each of `BEFORE`."""
    found = Counter({days: 0 for _, days in BEFORE})
    for each in allowlists:
        left = each.expires - now
        found.update(days for _, days in BEFORE if 0 < left <= days * DAY_S)
    return found
