"""The tally of a period's decisions."""

from collections import Counter

import msgspec

from audit.reports.model import MOST_ROWS, NamespaceDecisions
from audit.reports.tallies.bounded_rows import BoundedRows, cut_rows
from core.decision.decision import Verdict
from core.decision.document import Asked, is_final
from core.decision.refusal_aggregate import RefusalAggregate


class ReportedDecision(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What a report reads of a decision's document: the rest of it is skipped unread."""

    id: str
    time: str
    cluster: str
    source: str
    request: Asked
    verdict: Verdict
    allowed: bool
    sandbox: str | None = None


class DecisionTally:
    """Takes decisions; gives a row for each namespace."""

    def __init__(self) -> None:
        self._rows = BoundedRows[tuple[str, str], Counter[str]](lambda _: Counter())
        self.admitted = 0

    def add(self, decided: ReportedDecision) -> None:
        """Count a decision of the gate that ended a request; others decide nothing."""
        request = decided.request
        if not is_final(decided.source, allowed=decided.allowed) or request.dry_run:
            return
        made = request.operation == "CREATE" and not request.subresource
        if decided.verdict in {Verdict.ALLOW, Verdict.WARN} and made and request.kind == "Pod":
            self.admitted += 1
        if (row := self._rows.get((decided.cluster, request.namespace))) is not None:
            row[decided.verdict.value] += 1
            row["sandboxed"] += decided.sandbox is not None

    def add_aggregate(self, aggregate: RefusalAggregate) -> None:
        """Count refusals that have no records of their own."""
        if (row := self._rows.get((aggregate.cluster, aggregate.namespace))) is not None:
            row[aggregate.verdict] += aggregate.count
            row["aggregated"] += aggregate.count

    def rows(self) -> tuple[list[NamespaceDecisions], int]:
        """Return the rows, those with most refusals and errors first."""
        rows = (
            NamespaceDecisions(
                cluster=cluster,
                namespace=namespace,
                allowed=row["allow"],
                warned=row["warn"],
                refused=row["deny"],
                errors=row["error"],
                sandboxed=row["sandboxed"],
                aggregated=row["aggregated"],
            )
            for (cluster, namespace), row in self._rows.items()
        )
        return cut_rows(
            sorted(rows, key=lambda row: (-row.errors, -row.refused, row.cluster, row.namespace)),
            MOST_ROWS,
        )
