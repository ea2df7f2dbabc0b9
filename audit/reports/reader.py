"""Reads a period from the ledger, page by page, and makes the report of it.

Nothing is kept of what is read but sums and bounded lists. No clock is asked: the same ledger and
the same period give the same report.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec

from audit.ledger.records.frames import FrameKind
from audit.reports.builder import Tallies
from audit.reports.learning import read_learnt
from audit.reports.pages import Documents, Pages, Progress, Wanted, in_order
from audit.reports.periods import DAY_MS, Period
from audit.reports.tallies.accesses import AccessTally
from audit.reports.tallies.confirmations import PATIENCE_MS
from audit.reports.tallies.decisions_and_findings import (
    ActivityTally,
    Decided,
    DecisionTally,
    FindingTally,
)
from audit.reports.tallies.intakes import IntakeTally
from audit.reports.tallies.objects import ObjectTally
from core.decision.document import uuid7_unix_ms
from core.weights.access import Access, decode_access
from core.weights.access_grants import MAX_DAYS
from core.weights.events import Activity, Finding, decode_activity, decode_finding, decode_gap
from core.weights.intake import decode_intake, decode_refused
from core.weights.pod_lifecycle import PodLife, decode_change, decode_life

T = TypeVar("T")

_LAST_MS: Final = 2**48 - 1
_CONFIRMING: Final[Mapping[FrameKind, Callable[[bytes], Decided | PodLife | Activity]]] = {
    FrameKind.DECISION: msgspec.json.Decoder(Decided).decode,
    FrameKind.POD_LIFE: decode_life,
    FrameKind.ACTIVITY: decode_activity,
}
"""In this order where the time is the same."""


async def read_tallies(source: Documents, wanted: Wanted, progress: Progress) -> Tallies:
    """Read the period.

    Raises:
        LedgerError: the ledger does not give it.
    """
    reader = _Reader(source, wanted, progress)
    await reader.read_all()
    clusters = reader.tallies.clusters.list()
    reader.tallies.intakes.learnt = await read_learnt(source, wanted, clusters)
    return reader.tallies


class _Reader:
    def __init__(self, source: Documents, wanted: Wanted, progress: Progress) -> None:
        self._source, self._wanted, self._progress = source, wanted, progress
        period = wanted.period
        self.tallies = Tallies(
            AccessTally(period),
            IntakeTally(period),
            ObjectTally(period, wanted.store),
            DecisionTally(),
            FindingTally(),
            ActivityTally(),
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
        await self._each(
            FrameKind.CHANGE,
            self._since_grants,
            decode_change,
            lambda one: tallies.objects.add(one, uuid7_unix_ms(one.id)),
        )
        await self._confirm()
        await self._each(FrameKind.FINDING, period, decode_finding, self._add_finding)
        await self._each(FrameKind.ACCESS, period, decode_access, self._add_access)

    def _add_finding(self, finding: Finding) -> None:
        if self._concerns(finding.store):
            self.tallies.findings.add(finding)

    def _add_activity(self, activity: Activity) -> None:
        if self._concerns(activity.store):
            self.tallies.activities.add(activity)

    def _add_access(self, access: Access) -> None:
        self.tallies.intakes.storage += 1
        if self._concerns(access.store):
            self.tallies.accesses.add(access)

    def _concerns(self, store: str) -> bool:
        """Say whether it is of the one store that was asked for; what is of none is of all."""
        return not self._wanted.store or not store or store == self._wanted.store

    async def _confirm(self) -> None:
        """Read what confirms one another, a little more of it than the period has."""
        period = self._wanted.period
        wider = Period(max(period.begin_ms - PATIENCE_MS, 0), period.end_ms + PATIENCE_MS)
        kinds = [self._pages(kind, wider) for kind in _CONFIRMING]
        take = self.tallies.intakes.confirmations.take
        async for kind, document in in_order(kinds):
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

    def _count(self, document: Decided | PodLife | Activity) -> None:
        if isinstance(document, PodLife):
            self.tallies.intakes.add_life(document)
        elif isinstance(document, Decided):
            self.tallies.decisions.add(document)
        else:
            self._add_activity(document)

    def _pages(self, kind: FrameKind, period: Period) -> Pages:
        return Pages(self._source, self._wanted, self._progress, kind, period)

    async def _each(
        self,
        kind: FrameKind,
        period: Period,
        decode: Callable[[bytes], T],
        add: Callable[[T], None],
    ) -> None:
        """Add each document; one that cannot be read is counted."""
        pages = self._pages(kind, period)
        while (page := await pages.next()) is not None:
            for document in page:
                try:
                    decoded = decode(document.payload)
                except ValueError:
                    self.tallies.intakes.unreadable += 1
                    continue
                self.tallies.clusters.add(document.cluster)
                add(decoded)
