"""A report as metrics in Prometheus' text format, for its node exporter's textfile collector.

What findings and cases come to is that of the ledger for the period. Labels hold ids, detections,
severities and stores; no principal, address or human is in any.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from audit.reports.display_text import report_line
from audit.reports.model import CaseRow, FindingRow, Report
from audit.reports.periods import unix_ms_of

_MS: Final = 1000

_Sample = tuple[Mapping[str, str], float]


def render_prometheus(report: Report) -> bytes:
    """Return the metrics, a line each. The same report gives the same bytes."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_ReportMetrics(report))
    return generate_latest(registry)


class _ReportMetrics(Collector):
    def __init__(self, report: Report) -> None:
        self._report = report
        self._sample = {"sample": "made up"} if report.scope.sample else {}

    def collect(self) -> Iterator[Metric]:
        report, scope = self._report, self._report.scope
        about = {"report": report.digest, "head": report.ledger.head}
        yield self._family(
            "sallyport_report_info", "The report that these metrics are of.", [(about, 1)]
        )
        begin, end = (unix_ms_of(time) / _MS for time in (scope.begin, scope.end))
        yield self._family(
            "sallyport_report_begin_timestamp_seconds", "When the period begins.", [({}, begin)]
        )
        yield self._family(
            "sallyport_report_end_timestamp_seconds", "When the period ends.", [({}, end)]
        )
        counts: list[_Sample] = []
        for severity, found in report.severities.items():
            closed = report.closed.get(severity, 0)
            for state, count in (("open", found - closed), ("closed", closed)):
                counts.append(({"severity": severity, "state": state}, count))
        yield self._family(
            "sallyport_report_findings", "Findings, those that are not listed too.", counts
        )
        more = (("finding", report.more_findings), ("case", report.more_cases))
        unlisted = [({"kind": kind}, count) for kind, count in more]
        yield self._family(
            "sallyport_report_unlisted", "Those that have no metrics of their own.", unlisted
        )
        findings = [(_labels_of_finding(row), row) for row in report.findings]
        yield from self._figures("finding", findings)
        evidence = [(labels, len(row.evidence) + row.more_evidence) for labels, row in findings]
        yield self._family(
            "sallyport_report_finding_evidence", "Records that a finding rests on.", evidence
        )
        yield from self._figures("case", [(_labels_of_case(row), row) for row in report.cases])

    def _figures(
        self, kind: str, rows: Sequence[tuple[Mapping[str, str], FindingRow | CaseRow]]
    ) -> Iterator[Metric]:
        """Yield what each finding, or each case, comes to in the period."""
        events = [(labels, row.events) for labels, row in rows]
        yield self._family(
            f"sallyport_report_{kind}_events", f"Events that a {kind} is about.", events
        )
        sizes = [(labels, row.bytes) for labels, row in rows]
        yield self._family(
            f"sallyport_report_{kind}_bytes", f"Bytes that a {kind} is about.", sizes
        )
        for end, times in (
            ("first", [(labels, row.first) for labels, row in rows]),
            ("last", [(labels, row.last) for labels, row in rows]),
        ):
            known = [(labels, unix_ms_of(time) / _MS) for labels, time in times if time]
            text = f"When the {end} event of a {kind} was."
            yield self._family(f"sallyport_report_{kind}_{end}_timestamp_seconds", text, known)

    def _family(self, name: str, text: str, samples: Iterable[_Sample]) -> Metric:
        family = GaugeMetricFamily(name, text)
        for labels, value in samples:
            family.add_sample(family.name, {**labels, **self._sample}, float(value))
        return family


def _labels_of_finding(row: FindingRow) -> Mapping[str, str]:
    return {
        "finding": row.id,
        "detection": row.detection,
        "severity": row.severity,
        "store": report_line(row.store),
        "state": row.progress.state,
        "counted": _word(is_true=row.counted),
    }


def _labels_of_case(row: CaseRow) -> Mapping[str, str]:
    return {"case": row.id, "severity": row.severity, "counted": _word(is_true=row.counted)}


def _word(*, is_true: bool) -> str:
    return "true" if is_true else "false"
