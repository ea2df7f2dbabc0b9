"""Takes logs into the ledger: reads, attributes, binds to grants, shows to detections, stores.

A batch of a source, what is found in it, and the place from which the source goes on are stored
in one transaction: after a crash nothing is lost and nothing is there twice (docs/adr/0038).
"""

import asyncio
import gc
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, TypeVar

import msgspec

from audit.access.attribution.candidates import attribute
from audit.access.attribution.grants import find_covering_grant
from audit.access.attribution.lives import unix_seconds
from audit.access.detections.engine import DetectionEngine
from audit.access.ingest.intake import (
    BatchIntake,
    count_batch,
    finding_frames,
    intake_frame,
    make_intake,
)
from audit.access.ingest.lease import INGESTER, TAKEN_OVER, IngestLease
from audit.access.ingest.ledger_follower import BEGUN, IngestResumption, LedgerFollower
from audit.access.ingest.memory import IngestMemory
from audit.access.ingest.parser_process import ParserProcess
from audit.access.ingest.past_memories import PastMemories
from audit.access.ingest.state import MEMORY, IngestOptions, IngestState
from audit.access.model.batch import RecordBatch
from audit.access.parsers.reader import MOST_KINDS, OTHER_KINDS, RecordReader
from audit.access.parsers.store_index import WeightStores
from audit.ledger.records.frames import Frame
from audit.ledger.store.delivery import Delivery, FollowUp, StoredDelivery
from audit.ledger.store.store import Store
from core.base.errors import LedgerError
from core.weights.documents.access import Access, Confidence
from core.weights.documents.events import Finding
from core.weights.documents.intake import Intake

CONFIDENCES = tuple(each.value for each in Confidence)
"""All there are: each has a count, also of none."""

T = TypeVar("T")

SAVE_S: Final = 900.0
"""How often what is known of Pods and grants is kept, so that the next need not read it again."""

FOLLOW_S: Final = 1.0
"""How often the ledger is asked what is new of Pods and grants while old records are taken in."""

_AFTER: Final = (10_000, 10, 10)
"""Objects before the youngest are looked at, and passes before older ones are: all of them after a
million more. Each look at all of them passes over everything known of Pods, while nothing is taken
in; and next to nothing of what is taken in is in cycles."""


def slow_garbage_collection() -> None:
    """Look for cycles more seldom, in the whole process, from now on."""
    gc.set_threshold(*_AFTER)


@dataclass
class IngestCounts:
    """Totals since the process began."""

    records: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By source and outcome: `stored`, `known`, `refused`, `skipped`, `late`."""
    findings: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By detection and severity. After a crash some are found again, and stored once."""
    confidence: Counter[str] = field(default_factory=Counter)
    """New accesses to weights, by how sure it is whose they were."""
    skipped_kinds: Counter[str] = field(default_factory=Counter)
    """Records of no concern, by kind: at most MOST_KINDS of them, all others together."""
    ungranted: int = 0
    """New accesses to weights that no grant covered."""
    gaps: int = 0
    """New accesses whose attribution a gap in the record made less sure."""
    aside: int = 0
    """Of the refused: could be read, and are older than what is kept, or too far ahead."""
    newest: dict[str, float] = field(default_factory=dict)
    """Unix seconds of the latest record, by source."""
    oldest: dict[str, float] = field(default_factory=dict)
    """And of the earliest."""
    taken: dict[str, float] = field(default_factory=dict)
    """Unix seconds at which a source last brought something."""
    problems: list[str] = field(default_factory=list)
    """What could not be used, for the log; whoever logs it empties it."""

    def note(
        self, intake: Intake, accesses: Sequence[Access], findings: Sequence[Finding], now: float
    ) -> None:
        """Count a stretch that was stored now, in Unix seconds."""
        for outcome in ("stored", "known", "refused", "skipped", "late"):
            self.records[intake.source, outcome] += getattr(intake, outcome)
        for kind, count in intake.skipped_kinds.items():
            known = kind in self.skipped_kinds or len(self.skipped_kinds) < MOST_KINDS
            self.skipped_kinds[kind if known else OTHER_KINDS] += count
        self.note_findings(findings)
        weights = [access for access in accesses if access.store]
        self.confidence.update(each.attribution.confidence._value_ for each in weights)
        self.ungranted += sum(bool(each.ungranted) for each in weights)
        self.gaps += sum(each.attribution.gaps for each in weights)
        if intake.last:
            newest = unix_seconds(intake.last)
            self.newest[intake.source] = max(self.newest.get(intake.source, 0.0), newest)
            oldest = unix_seconds(intake.first)
            self.oldest[intake.source] = min(self.oldest.get(intake.source, oldest), oldest)
        self.taken[intake.source] = now

    def note_findings(self, findings: Iterable[Finding]) -> None:
        """Count findings."""
        self.findings.update((each.detection, each.severity.value) for each in findings)


class Ingest:
    """One cluster's logs on their way into the ledger. One task at a time may use it."""

    def __init__(  # noqa: PLR0913  What it is put together from.
        self,
        ledger: Store,
        cluster: str,
        reader: RecordReader,
        engine: Callable[[], DetectionEngine],
        options: IngestOptions,
        *,
        beside: ParserProcess | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Note what it works with; `engine` gives the detections with nothing seen."""
        self._beside = beside
        self.counts = IngestCounts()
        self._ledger = ledger
        self._cluster = cluster
        self._reader = reader
        self._engine = engine
        self._options = options
        self._clock = clock
        self._turn = IngestLease(ledger, cluster, clock)
        self._state = IngestState(cluster, options, engine())
        self._past = PastMemories(ledger, cluster, options)
        self._pending: list[Finding] = []
        self._worker = ThreadPoolExecutor(1, "weights")
        self._ready = False
        self._shown = 0
        self._followed_at = 0.0
        self._saved_at = time.monotonic()

    @property
    def watermark(self) -> float:
        """Unix seconds: what is older comes late."""
        return self._state.watch.around.watermark

    @property
    def failures(self) -> Mapping[str, int]:
        """How often each detection failed that did."""
        return {name: one.times for name, one in self._state.watch.engine.broken.items()}

    async def places(self) -> Mapping[str, str]:
        """Return where sources go on, by `RecordBatch.name`."""
        found = await self._ledger.places(self._cluster)
        return {name: place.decode() for name, place in found.items() if name != INGESTER}

    async def begin(self) -> None:
        """Take up what was known when the last one ended, and catch up with the ledger.

        Raises:
            LedgerError: the database fails; or another process has taken over, and still works.
        """
        await self._turn.take()
        self._ready = False
        self._pending.clear()
        self._shown = 0
        self._state = state = IngestState(self._cluster, self._options, self._engine())
        await IngestResumption(self._ledger, self._cluster, self._past, self._reader).resume(state)
        await self._follow(accesses=True)
        self.counts.problems += state.problems
        self._ready = True
        await self._deliver_pending()

    async def run(self, stretches: AsyncIterator[RecordBatch | None]) -> None:
        """Take stretches into the ledger, each whole; the next is read while one is stored.

        Where nothing came for a while, None stands for it.

        Raises:
            LedgerError: what came after the last that is stored is not kept: bring it again.
            SourceError: the source cannot be read.
        """
        if not self._ready:
            await self.begin()
        storing: asyncio.Task[None] | None = None
        try:
            async for stretch in stretches:
                if stretch is None:
                    await _end(storing)
                    await self.idle()
                    continue
                taken = await self._read_aside(stretch)
                if (left := self._wait_s(taken)) > 0:
                    stores = self._state.memory.index
                    await _end(storing)
                    await asyncio.sleep(left)
                    await self._follow(now=True)
                    if self._state.memory.index is not stores:  # What is weights has changed.
                        taken = await self._read_aside(stretch)
                accesses = await self._attributed(taken.accesses)
                await _end(storing)
                await self._follow()
                storing = asyncio.create_task(self._ingest(taken, accesses))
        finally:
            await _end(storing)

    async def idle(self) -> None:
        """Do what time demands where nothing comes: show what was held back for long enough.

        Raises:
            LedgerError: the database fails.
        """
        if not self._ready:
            await self.begin()
        if self._beside:
            self._beside.close()
        await self._follow(now=True)
        now = self._clock()
        held = len(self._state.watch.around.ordering)
        self._pending += self._state.watch.flush(now - self._options.delay_s)
        flushed = self._pending or len(self._state.watch.around.ordering) != held
        if flushed or self._turn.is_due:
            await self._deliver_pending()

    async def save(self) -> None:
        """Keep what is known now, so that the next one need not catch up."""
        if self._beside:
            self._beside.close()
        if self._ready:
            await self._deliver_pending()
            await self._save_memory()

    async def _read_aside(self, stretch: RecordBatch) -> BatchIntake:
        return await self._aside(self._read, stretch, int(self._clock() * 1000))

    def _read(self, stretch: RecordBatch, now_ms: int) -> BatchIntake:
        taken = BatchIntake(stretch)
        stores, begun = self._state.memory.index, self._reader.begun
        made = self._read_beside(stretch, stores)
        taken.read = len(made)
        if all(made):  # Then nobody need split lines here.
            taken.accesses += filter(None, made)
            return taken
        for record, access in zip(stretch.records, made, strict=True):
            taken.add(access or self._reader.read(record, stretch.source, stores, now_ms))
        taken.skipped_kinds = self._reader.take_skipped()
        if self._reader.begun != begun:
            taken.begun = self._reader.saved()
        return taken

    def _read_beside(self, stretch: RecordBatch, stores: WeightStores) -> Sequence[Access | None]:
        if self._beside is None:
            return (None,) * len(stretch.records)
        found = self._beside.read(stretch.records, stretch.source, stores)
        if self._beside.problem:
            self.counts.problems.append(self._beside.problem)
            self._beside = None
        return found

    async def _aside(self, work: Callable[..., T], *arguments: object) -> T:
        """Work on the one thread beside the loop and the store's."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, work, *arguments)

    def _wait_s(self, taken: BatchIntake) -> float:
        """Return how long what is recorded of Pods may need until it is here; 0 for old records."""
        patience, now = self._options.patience_s, self._clock()
        return min(taken.latest_ms(int(now * 1000)) / 1000 + patience - now, patience)

    async def _follow(self, *, accesses: bool = False, now: bool = False) -> None:
        """Take in what is new in the ledger: at once where it is asked for, else now and then."""
        at = time.monotonic()
        if not (accesses or now or at - self._followed_at >= FOLLOW_S):
            return
        self._followed_at = at
        if not await self._turn.is_own():
            self._ready = False
            raise LedgerError(TAKEN_OVER)
        following = LedgerFollower(self._ledger, self._cluster, self._state, self._past)
        async for found in following.events(accesses=accesses):
            self._pending += found
        self.counts.problems += following.problems
        if at - self._saved_at >= SAVE_S:
            await self._save_memory()

    async def _save_memory(self) -> None:
        self._saved_at = time.monotonic()
        content = self._state.saved_memory()
        at = self._state.memory_at
        await self._ledger.save_checkpoint(self._cluster, MEMORY, at, content)

    async def _attributed(self, accesses: Sequence[Access]) -> list[Access]:
        made: list[Access] = []
        for memory, some in await self._past.sorted(accesses, self._state.memory):
            made += await self._aside(self._attribute, some, memory)
        return made

    def _attribute(self, accesses: Sequence[Access], memory: IngestMemory) -> list[Access]:
        rules, made = self._options.rules, []
        for access in accesses:
            found = attribute(access, memory.histories, rules)
            grant, ungranted = find_covering_grant(access, found, memory.histories, memory.grants)
            made.append(
                msgspec.structs.replace(
                    access, attribution=found.attribution, grant=grant, ungranted=ungranted
                )
            )
        return made

    async def _ingest(self, taken: BatchIntake, accesses: list[Access]) -> None:
        stretch = taken.stretch
        delivery = Delivery(
            accesses=accesses,
            frames=list(taken.frames()),
            places={stretch.name: stretch.end.encode(), **self._turn.beat()},
            checkpoints={} if taken.begun is None else {BEGUN: taken.begun},
        )
        await self._store(delivery, lambda stored: self._then(taken, stored))

    def _then(self, taken: BatchIntake, stored: StoredDelivery) -> Delivery:
        """Show what is new to the detections. In the store's transaction, on its thread."""
        watch = self._state.watch
        late = watch.late
        found = [*self._pending, *watch.show(stored.accesses)]
        watch.accesses = stored.log_size
        self._shown += len(stored.accesses)
        counted = count_batch(taken, stored, watch.late - late)
        now = self._clock()
        intake = make_intake(self._cluster, taken, counted, int(now * 1000))
        self.counts.note(intake, stored.accesses, found, now)
        self.counts.aside += counted.aside
        due = self._shown >= self._options.checkpoint_every
        return Delivery(
            frames=[*finding_frames(found), intake_frame(intake)],
            checkpoints=self._checkpoint() if due else {},
        )

    async def _deliver_pending(self) -> None:
        """Store what was found besides, and a checkpoint that is of after it."""
        frames: list[Frame] = finding_frames(self._pending)
        self.counts.note_findings(self._pending)
        delivery = Delivery(frames=frames, places=self._turn.beat(), checkpoints=self._checkpoint())
        await self._store(delivery, None)

    async def _store(self, delivery: Delivery, then: FollowUp | None) -> None:
        self._ready = False  # What `then` changed is of no use where the transaction fails.
        await self._ledger.ingest(self._cluster, delivery, then)
        self._pending.clear()
        self._ready = True

    def _checkpoint(self) -> Mapping[str, bytes]:
        self._shown = 0
        return self._state.saved()


async def _end(storing: asyncio.Task[None] | None) -> None:
    if storing is not None:
        await storing
