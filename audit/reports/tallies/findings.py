"""The tally of a period's findings."""

import heapq
from collections import Counter, defaultdict
from typing import Final

from audit.access.cases import place_of
from audit.access.model.findings import is_failure
from audit.access.progress import UNTOUCHED, FindingProgress, Statements
from audit.reports.model import MOST_ROWS, MOST_SHOWN, FindingRow
from audit.reports.tallies.bounded_rows import cut_rows
from audit.reports.tallies.finding_figures import Figures, FindingFigures
from audit.reports.tallies.period_before import DetectionCount
from core.weights.documents.events import Finding, Severity

RANKS: Final = {Severity.CRITICAL: 0, Severity.HIGH: 1, Severity.MEDIUM: 2, Severity.LOW: 3}

MOST_FINDINGS: Final = 2000
"""Findings that are kept while a report is made, the gravest: cases are made of these."""


class FindingTally:
    """Takes findings; keeps the gravest.

    `now_ms` are the Unix milliseconds as of which what people said of them is read.
    """

    def __init__(self, now_ms: int) -> None:
        self._kept: list[tuple[int, str, Finding]] = []
        self._now_ms = now_ms
        self.statements = Statements()
        """All that people said of findings, taken before them."""
        self.severities = Counter[str]()
        self.closed = Counter[str]()
        self.detections: defaultdict[str, DetectionCount] = defaultdict(DetectionCount)
        self.broken = Counter[str]()
        """Days on which a detection did not work: it says so once on each."""
        self.late = 0

    def add(self, finding: Finding) -> None:
        """Keep a finding, while there is no graver one in its place."""
        if is_failure(finding):
            self.broken[finding.detection] += 1
        self.severities[finding.severity.value] += 1
        is_closed = self.progress(finding).is_closed
        self.closed[finding.severity.value] += is_closed
        counted = self.detections[finding.detection]
        counted.findings += 1
        counted.open += not is_closed
        self.late += finding.late
        entry = (-RANKS[finding.severity], place_of(finding), finding)
        if len(self._kept) < MOST_FINDINGS:
            heapq.heappush(self._kept, entry)
        else:
            heapq.heappushpop(self._kept, entry)

    def progress(self, finding: Finding) -> FindingProgress:
        """Return how far people are with a finding."""
        return self.statements.of_finding(finding, self._now_ms)

    def findings(self) -> list[Finding]:
        """Return those that are kept, in the order of time."""
        return sorted((each for _, _, each in self._kept), key=lambda one: (one.time, one.id))

    def rows(self, figures: FindingFigures) -> tuple[list[FindingRow], int]:
        """Return the gravest, and how many more there are."""
        order = sorted(self.findings(), key=lambda one: (RANKS[one.severity], one.time, one.id))
        rows, _ = cut_rows(order, MOST_ROWS)
        made = [finding_row(one, figures.of_finding(one), self.progress(one)) for one in rows]
        return made, self.severities.total() - len(made)


def finding_row(
    finding: Finding, figures: Figures | None, progress: FindingProgress = UNTOUCHED
) -> FindingRow:
    """Return what a report says of a finding: what the ledger counts, or else what it told."""
    seen = figures or _told_figures(finding)
    return FindingRow(
        id=finding.id,
        detection=finding.detection,
        severity=finding.severity.value,
        time=finding.time,
        first=seen.first,
        last=seen.last,
        counted=figures is not None,
        store=finding.store,
        who=finding.who,
        title=finding.title,
        detail=finding.detail,
        remedy=finding.remedy,
        techniques=finding.techniques,
        events=seen.events,
        bytes=seen.amount,
        addresses=finding.addresses[:MOST_SHOWN],
        pods=finding.pods[:MOST_SHOWN],
        requesters=finding.requesters[:MOST_SHOWN],
        late=finding.late,
        evidence=seen.evidence,
        more_evidence=seen.events - len(seen.evidence) if figures else 0,
        progress=progress,
    )


def _told_figures(finding: Finding) -> Figures:
    """Return what a finding told when it was found."""
    figures = Figures()
    figures.events, figures.amount = finding.events, finding.bytes
    figures.first, figures.last = finding.first, finding.time
    figures.evidence = finding.evidence
    return figures
