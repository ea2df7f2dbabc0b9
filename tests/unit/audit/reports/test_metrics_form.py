"""The report as metrics: read back by Prometheus' own parser, and held against the report."""

import subprocess

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from audit.reports.forms.prometheus import render_prometheus
from audit.reports.model import Report
from tests.harness.programs.availability import require


def values_of(report: Report, name: str) -> dict[str, float]:
    """Return the values of a metric by its first label that names one thing."""
    families = text_string_to_metric_families(render_prometheus(report).decode())
    samples = [one for family in families for one in family.samples]
    return {
        one.labels.get("finding") or one.labels.get("case") or "": one.value
        for one in samples
        if one.name == f"sallyport_report_{name}"
    }


@pytest.mark.parametrize("field", ["events", "bytes"])
def test_each_finding_and_case_comes_to_what_the_report_says(report: Report, field: str) -> None:
    """The figures are those of the accesses, not of the first alarm."""
    first, *others = report.findings
    large = msgspec.structs.replace(first, events=16, bytes=128 << 30)
    told = msgspec.structs.replace(report, findings=[large, *others])
    findings = {row.id: getattr(row, field) for row in told.findings}
    assert values_of(told, f"finding_{field}") == findings
    cases = {row.id: getattr(row, field) for row in told.cases}
    assert values_of(told, f"case_{field}") == cases


def test_evidence_is_counted_whole(report: Report) -> None:
    """Also beyond the first hundred ids."""
    row = msgspec.structs.replace(report.findings[0], more_evidence=4711)
    found = values_of(msgspec.structs.replace(report, findings=[row]), "finding_evidence")
    assert found == {row.id: len(row.evidence) + 4711}


def test_what_people_closed_is_told_apart(report: Report) -> None:
    """All severities, those that are not listed too."""
    counted = msgspec.structs.replace(report, severities={"high": 7}, closed={"high": 3})
    text = render_prometheus(counted).decode()
    assert 'sallyport_report_findings{severity="high",state="open"} 4.0' in text
    assert 'sallyport_report_findings{severity="high",state="closed"} 3.0' in text


def test_nobody_is_named(report: Report) -> None:
    """Labels have no principal, address, Pod or requester."""
    text = render_prometheus(report).decode()
    for row in report.findings:
        for word in (row.who, *row.addresses, *row.pods, *row.requesters):
            assert not word or word not in text


def test_the_made_up_month_is_marked_on_each_metric(report: Report) -> None:
    """An alert on real metrics can leave it out."""
    scope = msgspec.structs.replace(report.scope, sample=True)
    text = render_prometheus(msgspec.structs.replace(report, scope=scope)).decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines
    assert all('sample="made up"' in line for line in lines)


def test_a_store_of_any_name_keeps_the_text_valid(report: Report) -> None:
    """Prometheus' own linter takes it."""
    row = msgspec.structs.replace(report.findings[0], store='a"b\\c\nd')
    odd = msgspec.structs.replace(report, findings=[row, *report.findings[1:]])
    command = [str(require("promtool")), "check", "metrics"]
    text = render_prometheus(odd)
    checked = subprocess.run(command, input=text, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
