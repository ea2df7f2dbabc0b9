"""A report's findings as SARIF 2.1.0: with the weights' store for a place, as there is no file."""

from typing import Final

from audit.reports.display_text import safe_line
from audit.reports.model import FindingRow, Report
from cli.shared.sarif import SCHEMA, Json, plain, weight

FINGERPRINT: Final = "sallyportWeightFinding/v1"

_LEVELS: Final = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}


def sarif(report: Report, version: str) -> Json:
    """Give the log: one run, a rule for each detection, a result for each finding."""
    worst: dict[str, FindingRow] = {}
    for finding in report.findings:  # The gravest first.
        worst.setdefault(finding.detection, finding)
    detections = sorted(worst)
    rules = [
        {"id": each, "shortDescription": {"text": each.replace("-", " ")}}
        | weight(worst[each].severity)
        for each in detections
    ]
    run: Json = {
        "tool": {"driver": {"name": "Sallyport", "version": version, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True, "endTimeUtc": report.made}],
        "results": [_result(one, detections.index(one.detection)) for one in report.findings],
        "properties": {"report": report.digest, "more": report.more_findings},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(finding: FindingRow, index: int) -> Json:
    text = f"{finding.title}. {finding.detail} Fix: {finding.remedy}"
    where = f"WeightStore {finding.store}" if finding.store else "no store"
    return {
        "ruleId": finding.detection,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": plain(safe_line(text))},
        "locations": [
            {"logicalLocations": [{"fullyQualifiedName": safe_line(where), "kind": "resource"}]}
        ],
        "partialFingerprints": {FINGERPRINT: finding.id},
        "properties": {"time": finding.time, "who": finding.who, "techniques": finding.techniques},
    }
