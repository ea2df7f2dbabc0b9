"""`sallyport findings`: what the auditor found in accesses to model weights."""

from collections.abc import Sequence
from typing import Final

import msgspec

from app.records.ledger import open_ledger
from app.settings.root import Settings
from audit.access.cases import FindingCase, place_of
from audit.access.detections.catalogue import DETECTIONS
from audit.access.model.detection import ResponseStep
from audit.access.progress import FindingProgress, Statements
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.store import Store
from audit.reports.cases import report_cases
from audit.reports.model import FindingRow
from audit.reports.pages import ReportRequest
from audit.reports.periods import Period
from audit.reports.tallies.finding_figures import FindingFigures
from audit.reports.tallies.findings import finding_row
from cli.shared.decision_queries import now_ms
from cli.shared.ledger_documents import LAST_MS, find_one, read_kind
from core.base.times import DAY_MS, milliseconds_of
from core.weights.audit_statements import FindingState
from core.weights.documents.access import decode_access
from core.weights.documents.events import Finding, Severity, decode_finding
from core.weights.documents.object_change import decode_change

FORMAT: Final = 1
"""Of `-o json`."""

AROUND_MS: Final = 30 * DAY_MS
"""So long before and after a finding its case is looked for, and it counts accesses."""

_ORDER: Final = list(Severity)


def is_as_grave(severity: Severity, least: Severity) -> bool:
    """Return whether a severity is at least as grave as another."""
    return _ORDER.index(severity) >= _ORDER.index(least)


class FindingFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which findings are asked for; what is empty means all."""

    severity: Severity = Severity.LOW
    """At least so grave."""
    detections: frozenset[str] = frozenset()
    store: str = ""
    who: str = ""
    states: frozenset[FindingState] = frozenset()
    limit: int = 50

    def means(self, finding: Finding) -> bool:
        """Return whether a finding is asked for; `who` is its principal or a human behind it."""
        is_grave = is_as_grave(finding.severity, self.severity)
        is_theirs = not self.who or self.who in {finding.who, *finding.requesters}
        is_there = not self.store or finding.store == self.store
        is_of = not self.detections or finding.detection in self.detections
        return is_grave and is_theirs and is_there and is_of


class FindingLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One finding of a list: what it comes to is said by `findings show`."""

    id: str
    time: str
    """RFC 3339: when it was found, by the clock of what it was found in."""
    cluster: str
    severity: Severity
    detection: str
    store: str
    account: str
    who: str
    requesters: list[str]
    title: str
    state: FindingState
    """As people say now; `findings show` has who said it."""
    owner: str


class FindingList(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`sallyport findings list -o json`."""

    format: int
    findings: list[FindingLine]
    """The newest first."""
    more: int
    """Older ones of the same window that `--limit` left out."""


class CaseName(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The case that a finding belongs to."""

    id: str
    title: str
    findings: int


class ShownFinding(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`sallyport findings show -o json`."""

    format: int
    finding: FindingRow
    """With the figures of all accesses that it is about, until thirty days after it."""
    cluster: str
    account: str
    container: str
    steps: list[ResponseStep]
    """What to do, the most urgent first; empty where the detection has only its remedy."""
    recoverable: str
    case: CaseName | None
    """None: no other finding belongs to the same story."""


async def list_findings(
    settings: Settings, wanted: ReportRequest, asked: FindingFilter
) -> FindingList:
    """Return the newest findings of a window.

    Raises:
        LedgerError: there is no ledger, or it does not answer.
    """
    async with open_ledger(settings) as store:
        statements = await read_statements(store, wanted.period.begin_ms)
        found = [
            _line(one, statements.of_finding(one, now_ms()))
            async for one in read_kind(store, wanted, FrameKind.FINDING, decode_finding)
            if asked.means(one)
        ]
    found = [one for one in found if not asked.states or one.state in asked.states]
    found.sort(key=lambda one: (one.time, one.id), reverse=True)
    kept = found[: asked.limit]
    return FindingList(format=FORMAT, findings=kept, more=len(found) - len(kept))


async def show_finding(
    settings: Settings, finding_id: str, cluster: str | None = None
) -> ShownFinding:
    """Return a finding, with what it comes to and what belongs to it.

    Raises:
        SettingsError: the id is none, or none that the ledger has.
        LedgerError: there is no ledger, or it does not answer.
    """
    async with open_ledger(settings) as store:
        finding = await find_one(
            store, FrameKind.FINDING, finding_id, decode_finding, "findings", cluster
        )
        case = await _case_of(store, finding)
        figures = await count_accesses(store, [finding], [])
        statements = await read_statements(store, milliseconds_of(finding.time))
    progress = statements.of_finding(finding, now_ms())
    detection = next((one for one in DETECTIONS if one.id == finding.detection), None)
    return ShownFinding(
        format=FORMAT,
        finding=finding_row(finding, figures.of_finding(finding), progress),
        cluster=finding.cluster,
        account=finding.account,
        container=finding.container,
        steps=list(detection.steps) if detection else [],
        recoverable=detection.recoverable if detection else "",
        case=None if case is None else _name_of(case),
    )


async def read_statements(store: Store, since_ms: int) -> Statements:
    """Return what people have said of findings since a time, up to now.

    Raises:
        LedgerError: the ledger does not answer.
    """
    statements = Statements()
    wanted = ReportRequest(Period(since_ms, LAST_MS))
    async for change in read_kind(store, wanted, FrameKind.CHANGE, decode_change):
        statements.add(change)
    return statements


async def count_accesses(
    store: Store, findings: Sequence[Finding], cases: Sequence[FindingCase]
) -> FindingFigures:
    """Count the accesses that findings and cases are about, until thirty days after the last.

    Raises:
        LedgerError: the ledger does not answer.
    """
    figures = FindingFigures(findings, cases)
    wanted = ReportRequest(counted_period(findings, figures))
    async for access in read_kind(store, wanted, FrameKind.ACCESS, decode_access):
        figures.add(access)
    return figures


def counted_period(findings: Sequence[Finding], figures: FindingFigures) -> Period:
    """Return in which time findings count accesses: at most until thirty days after the last."""
    begin, end = figures.span()
    last = max(milliseconds_of(one.time) for one in findings) + AROUND_MS
    return Period(begin, last if end is None else end)


async def _case_of(store: Store, finding: Finding) -> FindingCase | None:
    at = milliseconds_of(finding.time)
    wanted = ReportRequest(Period(max(at - AROUND_MS, 0), at + AROUND_MS), cluster=finding.cluster)
    near = [one async for one in read_kind(store, wanted, FrameKind.FINDING, decode_finding)]
    return next(
        (case for case in report_cases(near) if place_of(finding) in case.members),
        None,
    )


def _name_of(case: FindingCase) -> CaseName:
    return CaseName(id=case.id, title=case.title, findings=case.findings)


def _line(finding: Finding, progress: FindingProgress) -> FindingLine:
    return FindingLine(
        id=finding.id,
        time=finding.time,
        cluster=finding.cluster,
        severity=finding.severity,
        detection=finding.detection,
        store=finding.store,
        account=finding.account,
        who=finding.who,
        requesters=finding.requesters,
        title=finding.title,
        state=FindingState(progress.state),
        owner=progress.owner,
    )
