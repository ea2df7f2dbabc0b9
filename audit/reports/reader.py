"""Reads a period from the ledger into tallies, page by page, and what detections had learnt.

Nothing is kept of what is read but sums and bounded lists. No clock is asked: the same ledger and
the same period give the same report.
"""

import dataclasses
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Final, TypeVar

import msgspec

from audit.access.detections.engine import DetectionEngine
from audit.access.ingest.state import DETECTIONS
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.queries import LedgerQueries
from audit.reports.builder import Tallies
from audit.reports.cases import report_cases
from audit.reports.completeness import LearntDetections, YoungRow
from audit.reports.model import MOST_ROWS
from audit.reports.pages import DocumentPages, Progress, ReportRequest, merge_pages
from audit.reports.periods import Period
from audit.reports.pod_confirmer import PATIENCE_MS
from audit.reports.removals import LedgerRemovals, read_removals
from audit.reports.tallies.accesses import AccessTally
from audit.reports.tallies.activities import ActivityTally
from audit.reports.tallies.bounded_rows import cut_rows
from audit.reports.tallies.decisions import DecisionTally, ReportedDecision
from audit.reports.tallies.finding_figures import FindingFigures
from audit.reports.tallies.findings import FindingTally
from audit.reports.tallies.intakes import IntakeTally
from audit.reports.tallies.objects import ObjectTally
from audit.reports.tallies.period_before import PeriodBeforeTally, period_before
from core.base.ids import uuid7_unix_ms
from core.base.times import DAY_MS, time_text
from core.decision.refusal_aggregate import decode_aggregate
from core.weights.access_grants import MAX_DAYS
from core.weights.documents.access import Access, decode_access
from core.weights.documents.events import (
    Activity,
    Finding,
    decode_activity,
    decode_finding,
    decode_gap,
)
from core.weights.documents.intake import decode_intake, decode_refused
from core.weights.documents.object_change import ObjectChange, decode_change
from core.weights.documents.pod_life import PodLife, decode_life

T = TypeVar("T")

_MOST_AFTER_MS: Final = 7 * DAY_MS
"""So long after a period's end a checkpoint still tells how the baselines were in it."""

_MOST_YOUNG: Final = 20

_NO_ENTRY: Final = "no entry of the ledger has it; a report without --at-head may tell it"

_LAST_MS: Final = 2**48 - 1

_CONFIRMING: Final[Mapping[FrameKind, Callable[[bytes], ReportedDecision | PodLife | Activity]]] = {
    FrameKind.DECISION: msgspec.json.Decoder(ReportedDecision).decode,
    FrameKind.POD_LIFE: decode_life,
    FrameKind.ACTIVITY: decode_activity,
}
"""In this order where the time is the same."""


class _Saved(msgspec.Struct):
    """What of `audit.access.ingest.detection_feed`'s checkpoint is read."""

    engine: bytes


async def read_learnt(
    source: LedgerQueries, wanted: ReportRequest, clusters: Iterable[str]
) -> list[LearntDetections]:
    """Read what the detections of each cluster had learnt.

    Raises:
        LedgerError: the ledger does not answer.
    """
    found = []
    for cluster in sorted(clusters)[:MOST_ROWS]:
        if wanted.at_head:
            found.append(LearntDetections(cluster=cluster, unknown=_NO_ENTRY))
            continue
        checkpoint = await source.load_checkpoint(cluster, DETECTIONS)
        if checkpoint is None:
            found.append(
                LearntDetections(cluster=cluster, unknown="the ledger has no checkpoint of it")
            )
        elif wanted.size is not None and checkpoint[0] > wanted.size:
            found.append(
                LearntDetections(cluster=cluster, unknown="its checkpoint is younger than this")
            )
        else:
            found.append(parse_learnt(cluster, wanted.period, checkpoint[1]))
    return found


def parse_learnt(cluster: str, period: Period, content: bytes) -> LearntDetections:
    """Read a checkpoint. Pure."""
    engine = DetectionEngine()
    try:
        saved = msgspec.msgpack.decode(zlib.decompress(content), type=_Saved)
    except (zlib.error, ValueError):
        return LearntDetections(cluster=cluster, unknown="its checkpoint cannot be read")
    if engine.restore(saved.engine):
        return LearntDetections(cluster=cluster, unknown="its checkpoint is of another release")
    at_ms = int(engine.newest * 1000)
    if not period.begin_ms <= at_ms < period.end_ms + _MOST_AFTER_MS:
        text = f"its checkpoint is as of {time_text(at_ms // 1000)}, which is not this period's end"
        return LearntDetections(cluster=cluster, unknown=text)
    young = [
        YoungRow(detection=one.detection, subject=one.subject, why=one.why)
        for one in engine.young(engine.newest)
    ]
    young.sort(key=lambda one: (one.detection, one.subject, one.why))
    kept, more = cut_rows(young, _MOST_YOUNG)
    return LearntDetections(
        cluster=cluster,
        at=time_text(at_ms // 1000),
        young=kept,
        more_young=more,
        unraised=dict(sorted(engine.unraised.items())),
        broken={name: one.times for name, one in sorted(engine.broken.items())},
    )


async def read_tallies(source: LedgerQueries, wanted: ReportRequest, progress: Progress) -> Tallies:
    """Read the period.

    Raises:
        LedgerError: the ledger does not give it; or retention removed some of it since the log had
            the entries that are read.
    """
    removals = await read_removals(source, wanted.size)
    wanted = dataclasses.replace(wanted, removals=removals.before)
    reader = _Reader(source, wanted, progress, removals)
    await reader.read_all()
    removals = await read_removals(source, wanted.size)  # Retention may have begun meanwhile.
    for kind, period in reader.read:
        removals.demand(kind, period, wanted.cluster)
    clusters = reader.tallies.clusters.list()
    reader.tallies.intakes.learnt = await read_learnt(source, wanted, clusters)
    return reader.tallies


class _Reader:
    def __init__(
        self,
        source: LedgerQueries,
        wanted: ReportRequest,
        progress: Progress,
        removals: LedgerRemovals,
    ) -> None:
        self._source, self._wanted, self._progress = source, wanted, progress
        self._removals = removals
        self.read: list[tuple[FrameKind, Period]] = []
        """What was read."""
        period = wanted.period
        self.tallies = Tallies(
            AccessTally(period),
            IntakeTally(period),
            ObjectTally(period, wanted.store),
            DecisionTally(),
            FindingTally(wanted.now_ms or period.end_ms),
            ActivityTally(),
            PeriodBeforeTally(period_before(period)),
        )
        self._since_grants = Period(max(period.begin_ms - MAX_DAYS * DAY_MS, 0), period.end_ms)
        self._ever_since = Period(period.begin_ms, _LAST_MS)
        """Stretches and refused records bear the time at which they were taken in."""

    async def read_all(self) -> None:
        tallies, period = self.tallies, self._wanted.period
        intakes, ever = tallies.intakes, self._ever_since
        await self._each(
            FrameKind.INTAKE,
            ever,
            decode_intake,
            lambda one: intakes.add_intake(one, uuid7_unix_ms(one.id)),
        )
        await self._each(FrameKind.REFUSED, ever, decode_refused, intakes.add_refused)
        await self._each(FrameKind.LOG_GAP, ever, decode_gap, intakes.add_gap)
        await self._each(FrameKind.CHANGE, self._since_grants, decode_change, self._add_change)
        after = Period(period.end_ms, _LAST_MS)
        add_statement = tallies.findings.statements.add
        await self._each_beside(FrameKind.CHANGE, after, decode_change, add_statement)
        await self._confirm()
        add_aggregate = tallies.decisions.add_aggregate
        await self._each(FrameKind.AGGREGATE, period, decode_aggregate, add_aggregate)
        await self._each(FrameKind.FINDING, period, decode_finding, self._add_finding)
        findings = tallies.findings.findings()
        tallies.cases = report_cases(findings)
        tallies.figures = FindingFigures(findings, tallies.cases)
        await self._each(FrameKind.ACCESS, period, decode_access, self._add_access)
        await self._read_before()

    async def _read_before(self) -> None:
        """Read what the period is compared with."""
        before = self.tallies.before

        def add_finding(finding: Finding) -> None:
            if self._concerns(finding.store):
                before.add_finding(finding)

        def add_access(access: Access) -> None:
            if self._concerns(access.store):
                before.add_access(access)

        await self._each_beside(FrameKind.FINDING, before.period, decode_finding, add_finding)
        await self._each_beside(FrameKind.ACCESS, before.period, decode_access, add_access)

    def _add_change(self, change: ObjectChange) -> None:
        at_ms = uuid7_unix_ms(change.id)
        self.tallies.objects.add(change, at_ms)
        if at_ms >= self._wanted.period.begin_ms:
            self.tallies.findings.statements.add(change)

    def _add_finding(self, finding: Finding) -> None:
        if self._concerns(finding.store):
            self.tallies.findings.add(finding)

    def _add_activity(self, activity: Activity) -> None:
        if self._concerns(activity.store):
            self.tallies.activities.add(activity)

    def _add_access(self, access: Access) -> None:
        self.tallies.intakes.storage += 1
        self.tallies.figures.add(access)
        if self._concerns(access.store):
            self.tallies.accesses.add(access)

    def _concerns(self, store: str) -> bool:
        """Return whether it is of the one store that was asked for; what is of none is of all."""
        return not self._wanted.store or not store or store == self._wanted.store

    async def _confirm(self) -> None:
        """Read what confirms one another, a little more of it than the period has."""
        period = self._wanted.period
        wider = Period(max(period.begin_ms - PATIENCE_MS, 0), period.end_ms + PATIENCE_MS)
        kinds = [self._pages(kind, wider) for kind in _CONFIRMING]
        take = self.tallies.intakes.confirmations.take
        async for kind, document in merge_pages(kinds):
            is_within = period.holds(int.from_bytes(document.id[:6]))
            try:
                decoded = _CONFIRMING[kind](document.payload)
            except ValueError:
                self.tallies.intakes.unreadable += is_within
                continue
            take(document.cluster, decoded)
            if is_within:
                self.tallies.clusters.add(document.cluster)
                self._count(decoded)

    def _count(self, document: ReportedDecision | PodLife | Activity) -> None:
        if isinstance(document, PodLife):
            self.tallies.intakes.add_life(document)
        elif isinstance(document, ReportedDecision):
            self.tallies.decisions.add(document)
        else:
            self._add_activity(document)

    def _pages(self, kind: FrameKind, period: Period) -> DocumentPages:
        """Return the pages of a kind.

        Raises:
            LedgerError: retention removed some of it since.
        """
        self._removals.demand(kind, period, self._wanted.cluster)
        self.read.append((kind, period))
        return DocumentPages(self._source, self._wanted, self._progress, kind, period)

    async def _each(
        self,
        kind: FrameKind,
        period: Period,
        decode: Callable[[bytes], T],
        add: Callable[[T], None],
    ) -> None:
        """Add each document; one that cannot be read is counted."""
        async for cluster, decoded in self._decoded(kind, period, decode):
            if decoded is None:
                self.tallies.intakes.unreadable += 1
            else:
                self.tallies.clusters.add(cluster)
                add(decoded)

    async def _each_beside(
        self,
        kind: FrameKind,
        period: Period,
        decode: Callable[[bytes], T],
        add: Callable[[T], None],
    ) -> None:
        """Add each document of another time than the period; one that cannot be read is none."""
        async for _, decoded in self._decoded(kind, period, decode):
            if decoded is not None:
                add(decoded)

    async def _decoded(
        self, kind: FrameKind, period: Period, decode: Callable[[bytes], T]
    ) -> AsyncIterator[tuple[str, T | None]]:
        """Yield the cluster of each document, and it; None for one that cannot be read."""
        pages = self._pages(kind, period)
        while (page := await pages.next()) is not None:
            for document in page:
                try:
                    decoded = decode(document.payload)
                except ValueError:
                    yield document.cluster, None
                else:
                    yield document.cluster, decoded
