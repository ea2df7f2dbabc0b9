"""The tally of how decisions and Pods confirm one another, of all clusters."""

from typing import Final

from audit.reports.completeness import PodConfirmations, UnconfirmedRow
from audit.reports.model import MOST_ROWS, MOST_SHOWN
from audit.reports.periods import Period
from audit.reports.pod_confirmer import JudgedDecision, PodConfirmer, UnmatchedCounts
from audit.reports.tallies.bounded_rows import BoundedRows, cut_rows
from core.weights.documents.events import Activity, LogGap
from core.weights.documents.pod_life import PodLife

_PODS: Final = "pods"


class ConfirmationTally:
    """Takes decisions, Pods and what kube-apiserver's audit log says, in the order of time."""

    def __init__(self, period: Period) -> None:
        self._period = period
        self._gaps: dict[str, list[tuple[str, str]]] = {}
        self._clusters: BoundedRows[str, PodConfirmer] = BoundedRows(self._begin, MOST_ROWS)

    def _begin(self, cluster: str) -> PodConfirmer:
        begin, end = (time.removesuffix("Z") for time in (self._period.begin, self._period.end))
        return PodConfirmer(self._gaps.get(cluster, []), begin=begin, end=end)

    def add_gap(self, gap: LogGap) -> None:
        """Note a gap of the record of Pods: these come before all else."""
        spans = self._gaps.setdefault(gap.cluster, [])
        if gap.log == _PODS and len(spans) < 10 * MOST_ROWS:
            spans.append((gap.begin, gap.end))

    def take(self, cluster: str, document: JudgedDecision | PodLife | Activity) -> None:
        """Take one in."""
        if (confirming := self._clusters.get(cluster)) is not None:
            confirming.take(document)

    def lives(self, *, admitted: int, pods: int, unsure_ends: int) -> PodConfirmations:
        """Return all of it; nothing more may come."""
        found = [(name, each.outcome()) for name, each in sorted(self._clusters.items())]
        rows = [_row(name, each) for name, one in found for each in one.unmatched]
        order = sorted(
            rows,
            key=lambda row: (
                -row.unrecorded,
                -row.pods,
                -row.decisions,
                row.cluster,
                row.namespace,
            ),
        )
        kept, more = cut_rows(order, MOST_ROWS)
        return PodConfirmations(
            admitted=admitted,
            pods=pods,
            unsure_ends=unsure_ends,
            by_pod=sum(one.by_pod for _, one in found),
            by_audit=sum(one.by_audit for _, one in found),
            without_pod=sum(row.decisions for row in rows),
            without_decision=sum(row.pods for row in rows),
            unrecorded=sum(row.unrecorded for row in rows),
            in_gaps=sum(row.in_gaps for row in rows),
            unconfirmed=kept,
            more_unconfirmed=more,
        )


def _row(cluster: str, found: UnmatchedCounts) -> UnconfirmedRow:
    return UnconfirmedRow(
        cluster=cluster,
        namespace=found.namespace,
        decisions=found.decisions,
        first_decisions=list(found.first_decisions[:MOST_SHOWN]),
        pods=found.pods,
        first_pods=list(found.first_pods[:MOST_SHOWN]),
        unrecorded=found.unrecorded,
        first_unrecorded=list(found.first_unrecorded[:MOST_SHOWN]),
        in_gaps=found.in_gaps,
    )
