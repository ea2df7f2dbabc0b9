"""The loop that records the life of every Pod, begin, addresses and end, into the spool.

It goes on where its predecessor was: by a list of exactly the version up to which all is recorded,
and a watch from there. So a new leader, or a restart, repeats nothing and misses nothing as long as
kube-apiserver remembers that version (five minutes). After more it lists what is there, gives those
of which it knew their ends, as not seen, and records a gap: who came and went in it is not known.
Memory is by `control.weights.pod_lifecycle.live_pods`: nothing but what documents say is kept of a
Pod.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Final, TypeVar

import msgspec
import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge

from audit.ledger.records.recorder import LedgerRecorder
from control.loop import Loop
from control.weights.checkpoint import (
    EVER,
    SAVE_S,
    Checkpoint,
    CheckpointProgress,
    CheckpointStore,
    build_gap,
)
from control.weights.pod_lifecycle.documents import PodDocumentBuilder, PodSigns
from control.weights.pod_lifecycle.live_pods import ENDED_POD, LivePods, key_of, uid_of
from core.base.errors import ClusterError, NotRecordedError
from core.weights.documents.pod_life import LifeEvent, PodLife
from core.weights.documents.roll_calls import build_roll_call
from kube.leader.lease import Leadership
from kube.watch.change_stream import Change, ChangeStream, is_lost
from kube.weights.pod_lifecycle import PodLifecycle, read_pod_lifecycle

INTERVAL_S: Final = 1.0
"""From the end of one watch to the next, which goes on at the same version."""

LONGEST_S: Final = 1800.0
"""Of one run: a list of 225,000 Pods, recorded as fast as the spool takes them, and a watch."""

BEFORE_S: Final = 120.0
"""A Pod in which nothing moved for so long before what is recorded for good is recorded already;
so far may a kubelet's clock be behind."""

PATIENCE_S: Final = 20.0
"""So long a spool that takes nothing is waited for, before the run fails and is tried again."""
_RETRY_S: Final = 0.1
_WAITED_S: Final = 0.005

_D = TypeVar("_D")

_log = structlog.get_logger(__name__)


class LifeMetrics:
    """Counters and gauges of the recorder of lives."""

    def __init__(self, registry: CollectorRegistry) -> None:
        gauge = partial(Gauge, registry=registry)
        self._pods = gauge(
            "sallyport_pods_followed",
            "Pods whose life is followed; NaN where another replica leads.",
        )
        self._reached = gauge(
            "sallyport_pods_recorded_timestamp_seconds",
            "Unix time up to which the life of Pods is recorded for good; NaN where another "
            "replica leads.",
        )
        self._documents = Counter(
            "sallyport_pod_lives",
            "Events of Pods that were recorded, by event.",
            ("event",),
            registry=registry,
        )
        self._gaps = Counter(
            "sallyport_pod_gaps",
            "Stretches of time of which the record of Pods may lack something.",
            registry=registry,
        )
        for event in LifeEvent:
            self._documents.labels(event.value)
        self.forget()

    def show(self, pods: int, reached: float) -> None:
        """Show how many are followed, and up to when (Unix seconds; 0 for not yet)."""
        self._pods.set(pods)
        self._reached.set(reached or math.nan)

    def count(self, event: LifeEvent) -> None:
        """Count a document."""
        self._documents.labels(event.value).inc()

    def count_gap(self) -> None:
        """Count a gap."""
        self._gaps.inc()

    def forget(self) -> None:
        """Show nothing that only a leader knows."""
        self._pods.set(math.nan)
        self._reached.set(math.nan)


@dataclass(frozen=True)
class LifeParts:
    """What the recorder of lives works with."""

    cluster: str
    pods: ChangeStream
    reached: CheckpointStore
    records: LedgerRecorder
    kept_until: Callable[[], float]
    """Gives the Unix seconds up to which all that was recorded is kept for good."""
    signs: Callable[[PodLifecycle, msgspec.Raw], PodSigns]
    metrics: LifeMetrics
    clock: Callable[[], float] = time.time
    patience_s: float = PATIENCE_S
    save_s: float = SAVE_S


@dataclass
class _Term:
    """What is known in one term of leadership, or for as long as nobody else leads."""

    leadership: Leadership
    reaching: CheckpointProgress
    living: LivePods = field(default_factory=LivePods)
    version: str = ""
    """Up to which all is recorded; empty where it must be listed again."""
    whole: bool = False
    """Whether `living` holds all Pods that were recorded."""
    at: float = 0.0
    """Unix seconds: when it was last known that nothing was missed."""
    told_again: float = 0.0


class PodLives:
    """`loop` is its loop: each run lists if it must, and watches for about a minute."""

    def __init__(self, parts: LifeParts) -> None:
        self._parts = parts
        self._term: _Term | None = None
        self.loop = Loop("pod-lives", INTERVAL_S, self.run, LONGEST_S, self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Record what happens to Pods for about a minute.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotRecordedError: the spool takes nothing. Nothing is lost as long as kube-apiserver
                remembers: the next run goes on at what was recorded last.
            NotSyncedError: service accounts or volumes have not been loaded.
            NotLeaderError: the term is over.
        """
        term = self._term
        if term is None or term.leadership is not leadership:
            term = self._term = _Term(leadership, CheckpointProgress(self._parts.save_s))
        if not term.version:
            await self._begin(term)
        try:
            await self._watch(term)
        except ClusterError as error:
            if error.status != HTTPStatus.GONE:
                raise
            term.version = ""
            _log.info("watch of Pods is too old: listing again", error=str(error))
        await self._tell_again(term)

    async def _begin(self, term: _Term) -> None:
        """Come to know which Pods live, and record what is new of them."""
        if term.whole:
            await self._list_again(term)
        else:
            reached = await self._parts.reached.load()
            if reached is None or not await self._resume(term, reached):
                await self._list_anew(term, reached)
            term.whole = True
        await self._reach(term, term.at)

    async def _resume(self, term: _Term, reached: Checkpoint) -> bool:
        """Take up the Pods as they were when all was recorded; False where nobody knows."""
        term.living = LivePods()
        try:
            async for page in self._parts.pods.pages(reached.version):
                for raw in page.items:
                    self._remember(term, *self._read(raw))
        except ClusterError as error:
            if not is_lost(error):
                raise
            _log.warning("how Pods were is not known any more: a gap", error=str(error))
            return False
        term.version = reached.version
        term.at = term.told_again = reached.time
        return True

    async def _list_anew(self, term: _Term, reached: Checkpoint | None) -> None:
        """List all Pods, record those that may be new, and call the roll."""
        term.living = LivePods()
        since = reached.time - BEFORE_S if reached else EVER
        began, version = self._parts.clock(), ""
        async for page in self._parts.pods.pages(""):
            version = version or page.version
            for raw in page.items:
                pod, signs = self._read(raw)
                if pod.moved < since:
                    self._remember(term, pod, signs)
                else:
                    await self._take(term, pod, signs, gone=False)
        why = "control was away for longer than kube-apiserver remembers"
        if reached is None:
            why = "nobody recorded Pods before"
        uids = [uid for uid, _ in term.living.items()]
        for each in build_roll_call(self._parts.cluster, uids, round(began * 1000), why):
            await self._record(self._parts.records.record_change, each)
        await self._note_gap(reached.time if reached else EVER, began, why)
        term.version, term.at, term.told_again = version, began, began

    async def _list_again(self, term: _Term) -> None:
        """List all Pods against those that are known: who is not there any more has ended."""
        began, version, there = self._parts.clock(), "", set[int]()
        async for page in self._parts.pods.pages(""):
            version = version or page.version
            for raw in page.items:
                pod, signs = self._read(raw)
                there.add(key_of(pod.uid))
                await self._take(term, pod, signs, gone=False)
        teller = self._teller(term)
        for key in sorted(term.living.uids() - there):
            uid = uid_of(key)
            kept = term.living.get(uid)
            if kept is not None and kept is not ENDED_POD:
                await self._record_lives([teller.vanished(uid, kept, began)])
            term.living.drop(uid)
        why = "kube-apiserver had forgotten what happened since the last event"
        await self._note_gap(term.at, began, why)
        term.version, term.at = version, began

    async def _watch(self, term: _Term) -> None:
        parts = self._parts
        began = waiting = parts.clock()
        async with parts.pods.watch(term.version) as batches:
            async for changes in batches:
                term.leadership.require()
                came = parts.clock()
                for change in changes:
                    await self._apply(term, change)
                    term.version = change.version
                # Only who had to wait knows that nothing older is still on its way.
                await self._reach(term, came if came - waiting > _WAITED_S else term.at)
                waiting = parts.clock()
        # It ended as it should: nothing was missed until it began, and nobody knows of since.
        await self._reach(term, began)

    async def _reach(self, term: _Term, at: float) -> None:
        """Note that all up to a moment is in the spool, and store it once that is kept."""
        term.at = max(term.at, at)
        reaching = term.reaching
        reaching.note(term.version, term.at)
        mark = reaching.due(self._parts.kept_until, self._parts.clock())
        if mark is not None:
            await self._parts.reached.save(term.leadership, mark.version, mark.time)
        self._parts.metrics.show(len(term.living), reaching.time)

    async def _apply(self, term: _Term, change: Change) -> None:
        if not change.bookmark:
            pod, signs = self._read(change.object)
            await self._take(term, pod, signs, gone=change.deleted)

    def _read(self, raw: msgspec.Raw) -> tuple[PodLifecycle, PodSigns]:
        pod = read_pod_lifecycle(raw)
        return pod, self._parts.signs(pod, raw)

    async def _take(self, term: _Term, pod: PodLifecycle, signs: PodSigns, *, gone: bool) -> None:
        """Record what is new of a Pod; only then it is remembered."""
        told = self._teller(term).tell(pod, signs, gone=gone, now=self._parts.clock())
        await self._record_lives(told.documents)
        if told.kept is None:
            term.living.drop(pod.uid)
        else:
            term.living.put(pod.uid, told.kept)

    def _remember(self, term: _Term, pod: PodLifecycle, signs: PodSigns) -> None:
        kept = ENDED_POD if pod.finished else self._teller(term).remember(pod, signs)
        term.living.put(pod.uid, kept)

    async def _tell_again(self, term: _Term) -> None:
        now = self._parts.clock()
        await self._record_lives(self._teller(term).again(term.told_again, now))
        term.told_again = now

    async def _record_lives(self, lives: Iterable[PodLife]) -> None:
        for life in lives:
            await self._record(self._parts.records.record_life, life)
            self._parts.metrics.count(life.event)

    def _teller(self, term: _Term) -> PodDocumentBuilder:
        return PodDocumentBuilder(self._parts.cluster, term.living)

    async def _note_gap(self, begin: float, end: float, why: str) -> None:
        found = build_gap(self._parts.cluster, "pods", "Pod", begin, end, why)
        await self._record(self._parts.records.record_gap, found)
        _log.warning("a gap in the record of Pods", begin=found.begin, end=found.end, why=why)
        self._parts.metrics.count_gap()

    async def _record(self, put: Callable[[_D], None], document: _D) -> None:
        """Put a document into the spool, waiting a while where that is full.

        Raises:
            NotRecordedError: it still is.
        """
        until = time.monotonic() + self._parts.patience_s
        while True:
            try:
                put(document)
            except NotRecordedError:
                if time.monotonic() >= until:
                    raise
                await asyncio.sleep(_RETRY_S)
            else:
                return

    def _forget(self) -> None:
        self._term = None
        self._parts.metrics.forget()
