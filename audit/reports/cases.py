"""Rows of a report for the cases that `audit.access.cases` makes of findings."""

from collections.abc import Collection, Sequence
from typing import Final

from audit.access.cases import CaseStep, FindingCase, build_cases, place_of
from audit.reports.model import MOST_SHOWN, CaseMoment, CaseRow
from audit.reports.tallies.finding_figures import Figures
from core.weights.documents.events import Finding

MOST_MOMENTS: Final = 40
"""Findings of one case's timeline; the rest is counted."""


def report_cases(findings: Sequence[Finding]) -> list[FindingCase]:
    """Return the cases of findings, the gravest first. Pure.

    One finding alone is no case: it is told among the findings.
    """
    return [case for case in build_cases(findings).cases if case.findings > 1]


def case_row(case: FindingCase, figures: Figures | None, open_findings: int) -> CaseRow:
    """Return what a report says of a case: what the ledger counts, or else what findings told.

    `open_findings` of its findings nobody has closed.
    """
    first, last, events, amount = case.begin, case.end, case.events, case.bytes
    if figures is not None:
        first, last = min(first, figures.first), max(last, figures.last)
        events, amount = figures.events, figures.amount
    steps, more = case.steps[:MOST_MOMENTS], case.steps[MOST_MOMENTS:]
    return CaseRow(
        id=case.id,
        severity=case.severity.value,
        title=case.title,
        summary=case.summary,
        first=first,
        last=last,
        stores=case.stores[:MOST_SHOWN],
        who=case.who[: 2 * MOST_SHOWN],
        requesters=case.requesters[: 2 * MOST_SHOWN],
        addresses=case.addresses[: 2 * MOST_SHOWN],
        techniques=case.techniques,
        counted=figures is not None,
        events=events,
        bytes=amount,
        findings=case.findings,
        joined_by=case.joined_by,
        timeline=[_moment(step) for step in steps],
        more=len(more) + case.more_steps,
        open_findings=open_findings,
    )


def count_open(case: FindingCase, closed: Collection[Finding]) -> int:
    """Return how many of a case's findings are not among those that people have closed."""
    return case.findings - sum(place_of(one) in case.members for one in closed)


def _moment(step: CaseStep) -> CaseMoment:
    return CaseMoment(
        time=step.time,
        severity=step.severity.value,
        phase=step.phase,
        title=step.title,
        finding=step.finding,
    )
