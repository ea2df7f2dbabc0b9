"""Rows of a report for the cases that `audit.access.cases` makes of findings."""

from collections.abc import Sequence
from typing import Final

from audit.access.cases import CaseStep, FindingCase, build_cases
from audit.reports.model import MOST_SHOWN, CaseMoment, CaseRow
from core.weights.documents.events import Finding

MOST_MOMENTS: Final = 40
"""Findings of one case's timeline; the rest is counted."""


def build_case_rows(findings: Sequence[Finding]) -> list[CaseRow]:
    """Return the cases of findings, the gravest first. Pure.

    One finding alone is no case: it is told among the findings.
    """
    return [_row(case) for case in build_cases(findings).cases if case.findings > 1]


def _row(case: FindingCase) -> CaseRow:
    steps, more = case.steps[:MOST_MOMENTS], case.steps[MOST_MOMENTS:]
    return CaseRow(
        id=case.id,
        severity=case.severity.value,
        title=case.title,
        summary=case.summary,
        first=case.begin,
        last=case.end,
        stores=case.stores[:MOST_SHOWN],
        who=case.who[: 2 * MOST_SHOWN],
        requesters=case.requesters[: 2 * MOST_SHOWN],
        addresses=case.addresses[: 2 * MOST_SHOWN],
        techniques=case.techniques,
        bytes=case.bytes,
        findings=case.findings,
        joined_by=case.joined_by,
        timeline=[_moment(step) for step in steps],
        more=len(more) + case.more_steps,
    )


def _moment(step: CaseStep) -> CaseMoment:
    return CaseMoment(
        time=step.time,
        severity=step.severity.value,
        phase=step.phase,
        title=step.title,
        finding=step.finding,
    )
