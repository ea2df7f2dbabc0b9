"""Gathers what Graph told, and writes it: changes at once, times alone seldom."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from control.risk.poll.metrics import PollMetrics
from core.risk.model import RiskLevel, RiskSource
from core.risk.snapshot import Coverage, RiskSnapshot, SnapshotDraft
from identity.entra.application_ids import IdQueue
from identity.entra.graph_requests import Resource
from identity.entra.snapshot_merge import (
    HeardPage,
    ListedPrincipals,
    bind_tenant,
    coverages_of,
    forget_unlisted,
    forget_unused,
    merge_page,
    put_coverages,
)
from identity.risk.entry_merge import MergeResult
from identity.risk.standings import entry_at_risk
from kube.leader.lease import Leadership
from kube.risk.store import RiskStore


@dataclass
class SnapshotWriter:
    """What was heard and is not written yet, and the snapshot as this process knows it.

    Others write it as well: what it knows is at most a heartbeat old.
    """

    store: RiskStore
    metrics: PollMetrics
    heartbeat_s: float
    elapsed: Callable[[], float] = time.monotonic
    snapshot: RiskSnapshot = field(default_factory=RiskSnapshot)
    missed: dict[Resource, frozenset[bytes]] = field(default_factory=dict)
    """Who is at risk, and was not listed by the last pass over all of them."""
    written_at: float = 0.0
    _pending: list[HeardPage | ListedPrincipals] = field(default_factory=list)

    async def begin(self, leadership: Leadership, tenant: str) -> RiskSnapshot:
        """Begin a term: read the snapshot, and make it this tenant's."""
        self._pending.clear()
        self.missed.clear()
        await self._update(lambda draft: bind_tenant(draft, tenant), leadership)
        return self.snapshot

    def add(self, heard: HeardPage | ListedPrincipals) -> None:
        """Take in what was heard."""
        self._pending.append(heard)

    async def flush(
        self,
        leadership: Leadership,
        coverages: Mapping[Resource, Coverage],
        unused: IdQueue | None = None,
    ) -> None:
        """Write what differs; that nothing does is written once a heartbeat.

        Args:
            leadership: the term.
            coverages: how far each resource is known.
            unused: ids of applications that are not in it are forgotten; None for not now.

        Raises:
            ClusterError: it could not be written; it is kept for the next time.
            NotLeaderError: the term is over.
        """
        self.metrics.cover(coverages)
        pending = list(self._pending)
        trial = SnapshotDraft.of(self.snapshot)
        counts, missed = _put(trial, pending, unused)
        is_due = self.elapsed() - self.written_at >= self.heartbeat_s
        is_due = is_due or _is_behind(self.snapshot, coverages, self.heartbeat_s)
        if trial.changed or is_due or _differ(self.snapshot, coverages):

            def change(draft: SnapshotDraft) -> None:
                nonlocal missed
                _, missed = _put(draft, pending, unused)
                put_coverages(draft, coverages)

            await self._update(change, leadership)
        del self._pending[: len(pending)]
        self.missed.update(missed)
        for resource, count in counts.items():
            self.metrics.refuse(resource, 0, count)

    async def _update(
        self, change: Callable[[SnapshotDraft], None], leadership: Leadership
    ) -> None:
        before = self.snapshot
        self.snapshot = await self.store.update(change, leadership)
        self.written_at = self.elapsed()
        if self.snapshot is not before:
            self.metrics.count(_levels(self.snapshot))


def _put(
    draft: SnapshotDraft, pending: list[HeardPage | ListedPrincipals], unused: IdQueue | None
) -> tuple[dict[Resource, Counter[MergeResult]], dict[Resource, frozenset[bytes]]]:
    """Put what was heard into a draft; give what became of it, and whom passes missed."""
    counts: dict[Resource, Counter[MergeResult]] = {}
    missed = {}
    for each in pending:
        if isinstance(each, HeardPage):
            counts.setdefault(each.resource, Counter()).update(merge_page(draft, each))
        else:
            missed[each.resource] = forget_unlisted(draft, each)
    if unused is not None:
        forget_unused(draft, unused)
    return counts, missed


def _differ(snapshot: RiskSnapshot, coverages: Mapping[Resource, Coverage]) -> bool:
    """Return whether more than times differ: a problem, a licence, the first time of something."""
    stored = coverages_of(snapshot.head, coverages)
    return any(_lasting(stored[each]) != _lasting(coverages[each]) for each in coverages)


def _is_behind(
    snapshot: RiskSnapshot, coverages: Mapping[Resource, Coverage], seconds: float
) -> bool:
    """Return whether what is stored is older than a heartbeat: nobody may have led before."""
    stored = coverages_of(snapshot.head, coverages)
    return any(
        each.as_of is not None and each.as_of - (stored[resource].as_of or 0.0) >= seconds
        for resource, each in coverages.items()
    )


def _lasting(coverage: Coverage) -> Coverage:
    is_known, is_full = coverage.as_of is not None, coverage.full is not None
    return msgspec.structs.replace(coverage, as_of=is_known, full=is_full, through="")


def _levels(snapshot: RiskSnapshot) -> list[RiskLevel]:
    return [each.level for _, each in snapshot.entries(RiskSource.ENTRA) if entry_at_risk(each)]
