"""Tallies of decisions, findings and activities of a period."""

import heapq
from collections import Counter
from typing import Final

import msgspec

from audit.access.model.findings import is_failure
from audit.reports.model import MOST_ROWS, MOST_SHOWN, ActivityCount, FindingRow, NamespaceDecisions
from audit.reports.tallies.bounded_rows import BoundedRows, DistinctTexts, cut_rows
from core.decision.decision import Verdict
from core.decision.document import Asked, is_final
from core.weights.documents.events import Activity, Finding, Severity

RANKS: Final = {Severity.CRITICAL: 0, Severity.HIGH: 1, Severity.MEDIUM: 2, Severity.LOW: 3}

MOST_FINDINGS: Final = 2000
"""Findings that are kept while a report is made, the gravest: cases are made of these."""


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
            )
            for (cluster, namespace), row in self._rows.items()
        )
        return cut_rows(
            sorted(rows, key=lambda row: (-row.errors, -row.refused, row.cluster, row.namespace)),
            MOST_ROWS,
        )


class FindingTally:
    """Takes findings; keeps the gravest."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, str, Finding]] = []
        self.severities = Counter[str]()
        self.broken = Counter[str]()
        """Days on which a detection did not work: it says so once on each."""
        self.late = 0

    def add(self, finding: Finding) -> None:
        """Keep a finding, while there is no graver one in its place."""
        if is_failure(finding):
            self.broken[finding.detection] += 1
        self.severities[finding.severity.value] += 1
        self.late += finding.late
        entry = (-RANKS[finding.severity], f"{finding.cluster}/{finding.id}", finding)
        if len(self._kept) < MOST_FINDINGS:
            heapq.heappush(self._kept, entry)
        else:
            heapq.heappushpop(self._kept, entry)

    def findings(self) -> list[Finding]:
        """Return those that are kept, in the order of time."""
        return sorted((each for _, _, each in self._kept), key=lambda one: (one.time, one.id))

    def rows(self) -> tuple[list[FindingRow], int]:
        """Return the gravest, and how many more there are."""
        order = sorted(self.findings(), key=lambda one: (RANKS[one.severity], one.time, one.id))
        rows, _ = cut_rows(order, MOST_ROWS)
        return [finding_row(one) for one in rows], self.severities.total() - len(rows)


def finding_row(finding: Finding) -> FindingRow:
    """Return what a report says of a finding."""
    return FindingRow(
        id=finding.id,
        detection=finding.detection,
        severity=finding.severity.value,
        time=finding.time,
        first=finding.first,
        store=finding.store,
        who=finding.who,
        title=finding.title,
        detail=finding.detail,
        remedy=finding.remedy,
        techniques=finding.techniques,
        events=finding.events,
        bytes=finding.bytes,
        addresses=finding.addresses[:MOST_SHOWN],
        pods=finding.pods[:MOST_SHOWN],
        requesters=finding.requesters[:MOST_SHOWN],
        late=finding.late,
        evidence=finding.evidence,
    )


class _Topic:
    def __init__(self) -> None:
        self.succeeded = self.failed = 0
        self.principals, self.addresses = DistinctTexts(64), DistinctTexts(64)
        self.last = ""


class ActivityTally:
    """Takes entries of the activity and audit logs; gives a row for each subject."""

    def __init__(self) -> None:
        self._rows = BoundedRows[tuple[str, str, str], _Topic](lambda _: _Topic(), MOST_ROWS)

    def add(self, activity: Activity) -> None:
        """Count an entry."""
        row = self._rows.get((activity.topic.value, activity.log.value, activity.store))
        if row is None:
            return
        row.succeeded += activity.succeeded
        row.failed += not activity.succeeded
        row.principals.add(activity.who)
        row.addresses.add(activity.address)
        row.last = max(row.last, activity.time)

    def rows(self) -> list[ActivityCount]:
        """Return the rows, by subject."""
        return [
            ActivityCount(
                topic=topic,
                log=log,
                store=store,
                succeeded=row.succeeded,
                failed=row.failed,
                principals=row.principals.list(MOST_SHOWN),
                addresses=row.addresses.list(MOST_SHOWN),
                last=row.last,
            )
            for (topic, log, store), row in sorted(self._rows.items())
        ]
