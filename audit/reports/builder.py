"""Builds a report of the tallies, with its digest.

Pure but for the tallies, which it only reads.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from audit.access.cases import FindingCase
from audit.reports.attention import find_attention
from audit.reports.cases import case_row, count_open
from audit.reports.model import FORMAT, LedgerState, Report, ReportScope
from audit.reports.periods import Period
from audit.reports.tallies.accesses import AccessTally
from audit.reports.tallies.activities import ActivityTally
from audit.reports.tallies.bounded_rows import DistinctTexts, cut_rows
from audit.reports.tallies.decisions import DecisionTally
from audit.reports.tallies.finding_figures import FindingFigures
from audit.reports.tallies.findings import FindingTally
from audit.reports.tallies.intakes import IntakeTally
from audit.reports.tallies.objects import ObjectTally
from audit.reports.tallies.period_before import PeriodBeforeTally
from core.weights.documents.events import Severity

SAMPLE_CLUSTER: Final = "sample-month"
"""The cluster's id under which `sallyport run` keeps its made-up month."""

MOST_CASES: Final = 50

_MOST_SIGNED: Final = 50


@dataclass
class Tallies:
    """All that one pass over the ledger gave."""

    accesses: AccessTally
    intakes: IntakeTally
    objects: ObjectTally
    decisions: DecisionTally
    findings: FindingTally
    activities: ActivityTally
    before: PeriodBeforeTally
    cases: list[FindingCase] = field(default_factory=list)
    figures: FindingFigures = field(default_factory=FindingFigures)
    clusters: DistinctTexts = field(default_factory=lambda: DistinctTexts(64))


def make_report(
    tallies: Tallies,
    period: Period,
    ledger: LedgerState,
    *,
    store: str = "",
    people: Mapping[str, str] | None = None,
) -> Report:
    """Make the report; `people` are names by id, of which it holds those that it needs."""
    accesses, objects, findings = tallies.accesses, tallies.objects, tallies.findings
    tallies.intakes.admitted = tallies.decisions.admitted
    principals, more_principals = accesses.principals(objects.approvers())
    reached, more_reached = accesses.reached()
    unattributed, more_unattributed = accesses.unattributed()
    figures = tallies.figures
    cases, more_cases = cut_rows(tallies.cases, MOST_CASES)
    rows, more_findings = findings.rows(figures)
    grants, more_grants = objects.grants(accesses.grants)
    exceptions, more_exceptions = objects.exceptions()
    changes, more_changes = objects.changes()
    roles, more_roles = objects.roles()
    decisions, more_decisions = tallies.decisions.rows()
    clusters = tallies.clusters.list()
    closed = [one for one in findings.findings() if findings.progress(one).is_closed]
    signed, more_signed = cut_rows(findings.statements.signed_off(), _MOST_SIGNED)
    stores = accesses.stores()
    report = Report(
        format=FORMAT,
        scope=ReportScope(
            begin=period.begin,
            end=period.end,
            clusters=clusters,
            store=store,
            sample=SAMPLE_CLUSTER in clusters,
        ),
        made=ledger.time or period.end,
        ledger=ledger,
        completeness=tallies.intakes.completeness(accesses, findings),
        attention=[],
        stores=stores,
        principals=principals,
        more_principals=more_principals,
        reached=reached,
        more_reached=more_reached,
        pictured=accesses.pictured(),
        unattributed=unattributed,
        more_unattributed=more_unattributed,
        cases=[case_row(case, figures.of_case(case), count_open(case, closed)) for case in cases],
        more_cases=more_cases,
        findings=rows,
        more_findings=more_findings,
        severities={each.value: findings.severities[each.value] for each in Severity},
        closed={each.value: findings.closed[each.value] for each in Severity},
        comparison=tallies.before.compare(stores, findings.detections),
        signed_off=list(signed),
        more_signed_off=more_signed,
        grants=grants,
        more_grants=more_grants,
        exceptions=exceptions,
        more_exceptions=more_exceptions,
        changes=changes,
        more_changes=more_changes,
        decisions=decisions,
        more_decisions=more_decisions,
        activities=tallies.activities.rows(),
        roles=roles,
        more_roles=more_roles,
    )
    report = msgspec.structs.replace(report, attention=find_attention(report))
    return seal_report(_named(report, people or {}))


def seal_report(report: Report) -> Report:
    """Return the report with its digest."""
    return msgspec.structs.replace(report, digest=digest_of(report))


def digest_of(report: Report) -> str:
    """Return the digest of a report's canonical JSON: keys sorted, its own digest empty."""
    empty = msgspec.structs.replace(report, digest="")
    return f"sha256:{hashlib.sha256(canonical_json(empty)).hexdigest()}"


def canonical_json(report: Report) -> bytes:
    """Return the report as JSON: keys sorted, no space."""
    return msgspec.json.encode(report, order="sorted")


def _named(report: Report, people: Mapping[str, str]) -> Report:
    """Take those names into the report whose ids stand in it."""
    if not people:
        return report
    text = canonical_json(report).decode()
    known = {key: name for key, name in sorted(people.items()) if key and key in text}
    return msgspec.structs.replace(report, people=known)
