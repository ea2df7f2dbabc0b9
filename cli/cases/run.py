"""`sallyport cases`: findings that tell one story."""

from typing import Final

import msgspec

from app.records.ledger import open_ledger
from app.settings.root import Settings
from audit.access.cases import FindingCase, build_cases, place_of
from audit.ledger.records.frames import FrameKind
from audit.reports.cases import case_row, count_open
from audit.reports.model import CaseRow
from audit.reports.pages import ReportRequest
from cli.findings.run import count_accesses, is_as_grave, read_statements
from cli.shared.decision_queries import now_ms
from cli.shared.ledger_documents import read_id, read_kind
from core.base.errors import SettingsError
from core.base.times import milliseconds_of
from core.weights.documents.events import Finding, Severity, decode_finding

FORMAT: Final = 1
"""Of `-o json`."""


class CaseLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One case of a list."""

    id: str
    severity: Severity
    title: str
    first: str
    last: str
    stores: list[str]
    who: list[str]
    findings: int
    phases: list[str]


class CaseList(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`sallyport cases list -o json`."""

    format: int
    cases: list[CaseLine]
    """The gravest first."""
    more: int
    """That `--limit` left out."""


class ShownCase(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`sallyport cases show -o json`."""

    format: int
    case: CaseRow


async def list_cases(
    settings: Settings, wanted: ReportRequest, severity: Severity, limit: int
) -> CaseList:
    """Return the cases of a window's findings, at least so grave; one finding alone is one, too.

    Raises:
        LedgerError: there is no ledger, or it does not answer.
    """
    _, cases = await _read(settings, wanted)
    grave = [one for one in cases if is_as_grave(one.severity, severity)]
    lines = [_line(case) for case in grave[:limit]]
    return CaseList(format=FORMAT, cases=lines, more=len(grave) - len(lines))


async def show_case(settings: Settings, wanted: ReportRequest, case_id: str) -> ShownCase:
    """Return a case of a window's findings, with what it comes to.

    Raises:
        SettingsError: it is no id, the window has no such case, or several begin so.
        LedgerError: there is no ledger, or it does not answer.
    """
    digits = read_id(case_id)
    findings, cases = await _read(settings, wanted)
    found = [one for one in cases if one.id.replace("-", "").startswith(digits)]
    if not found:
        raise SettingsError(
            f"{case_id}: no case of this window has the id; a case has that of its first finding, "
            "so a window that begins later has another: give --since further back"
        )
    if len(found) > 1:
        raise SettingsError(f"{case_id}: {len(found)} ids begin so: give more digits")
    (case,) = found
    members = [one for one in findings if place_of(one) in case.members]
    async with open_ledger(settings) as store:
        figures = await count_accesses(store, members, [case])
        statements = await read_statements(store, milliseconds_of(case.begin))
    closed = [one for one in members if statements.of_finding(one, now_ms()).is_closed]
    row = case_row(case, figures.of_case(case), count_open(case, closed))
    return ShownCase(format=FORMAT, case=row)


async def _read(
    settings: Settings, wanted: ReportRequest
) -> tuple[list[Finding], list[FindingCase]]:
    async with open_ledger(settings) as store:
        findings = [
            one async for one in read_kind(store, wanted, FrameKind.FINDING, decode_finding)
        ]
    return findings, build_cases(findings).cases


def _line(case: FindingCase) -> CaseLine:
    return CaseLine(
        id=case.id,
        severity=case.severity,
        title=case.title,
        first=case.begin,
        last=case.end,
        stores=case.stores,
        who=case.who,
        findings=case.findings,
        phases=case.phases,
    )
