"""The forms of a report, by the words of `--format`, SARIF among them."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec
import yaml

from audit.access.detections.catalogue import DETECTIONS
from audit.reports.builder import canonical_json
from audit.reports.display_text import report_line
from audit.reports.forms.ocsf import render_ocsf
from audit.reports.forms.oscal import render_oscal
from audit.reports.forms.prometheus import render_prometheus
from audit.reports.forms.tables import render_tables
from audit.reports.html import render_html
from audit.reports.model import FindingRow, Report
from audit.reports.pdf import render_pdf
from cli.report.openreports import openreports
from cli.shared.sarif import SCHEMA, Json, plain, weight
from core.base.errors import SettingsError

FINGERPRINT: Final = "sallyportWeightFinding/v1"

_DETECTIONS: Final = {each.id: each for each in DETECTIONS}

_LEVELS: Final = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}


def sarif(report: Report, version: str) -> Json:
    """Return the log: one run, a rule for each detection, a result for each finding."""
    worst: dict[str, FindingRow] = {}
    for finding in report.findings:  # The gravest first.
        worst.setdefault(finding.detection, finding)
    detections = sorted(worst)
    rules = [_rule(each) | weight(worst[each].severity) for each in detections]
    run: Json = {
        "tool": {"driver": {"name": "Sallyport", "version": version, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True, "endTimeUtc": report.made}],
        "results": [_result(one, detections.index(one.detection)) for one in report.findings],
        "properties": {
            "report": report.digest,
            "head": report.ledger.head,
            "more": report.more_findings,
            "sample": report.scope.sample,
        },
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(detection_id: str) -> Json:
    """Return what a rule says by itself: code scanning shows it beside each result."""
    detection = _DETECTIONS.get(detection_id)
    if detection is None:  # Of another release.
        words = detection_id.replace("-", " ")
        return {"id": detection_id} | _described(words, words, words)
    steps = "".join(f"\n- within {one.minutes} minutes: {one.action}" for one in detection.steps)
    help_text = f"{detection.about}\n\n{detection.remedy}{steps}"
    return {"id": detection_id} | _described(detection.title, detection.about, help_text)


def _described(title: str, about: str, help_text: str) -> Json:
    return {
        "shortDescription": {"text": plain(title)},
        "fullDescription": {"text": plain(about)},
        "help": {"text": plain(help_text), "markdown": help_text},
    }


def _result(finding: FindingRow, index: int) -> Json:
    text = f"{finding.title}. {finding.detail} Fix: {finding.remedy}"
    where = f"WeightStore {finding.store}" if finding.store else "no store"
    file = f"weightstores/{quote(finding.store)}" if finding.store else "weight-logs"
    return {
        "ruleId": finding.detection,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": plain(report_line(text))},
        "locations": [
            {
                # GitHub's code scanning takes no result without a file and a line.
                "physicalLocation": {
                    "artifactLocation": {"uri": file},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [
                    {"fullyQualifiedName": report_line(where), "kind": "resource"}
                ],
            }
        ],
        "partialFingerprints": {FINGERPRINT: finding.id},
        "suppressions": _suppressions(finding),
        "properties": {
            "time": finding.time,
            "who": finding.who,
            "techniques": finding.techniques,
            "first": finding.first,
            "last": finding.last,
            "events": finding.events,
            "bytes": finding.bytes,
            "counted": finding.counted,
            "evidence": finding.evidence,
            "moreEvidence": finding.more_evidence,
            "state": finding.progress.state,
            "owner": finding.progress.owner,
        },
    }


def _suppressions(finding: FindingRow) -> list[Json]:
    """Return why nobody need look at a finding any more; empty (SARIF 3.27.23) where one must."""
    if not finding.progress.is_closed:
        return []
    note = finding.progress.deciding_note
    why = {"justification": plain(report_line(note))} if note else {}
    return [{"kind": "external", "status": "accepted"} | why]


class Form(NamedTuple):
    """How one is made, and how its file's name ends."""

    make: Callable[[Report], bytes]
    suffix: str


def _yaml(report: Report) -> bytes:
    text: str = yaml.safe_dump_all(openreports(report), sort_keys=False, allow_unicode=True)
    return text.encode()


def _sarif(report: Report) -> bytes:
    log = sarif(report, version("sallyport"))
    return msgspec.json.format(msgspec.json.encode(log), indent=1) + b"\n"


FORMS: Final = {
    "html": Form(lambda report: render_html(report).encode(), ".html"),
    "pdf": Form(render_pdf, ".pdf"),
    "csv": Form(render_tables, ".csv.zip"),
    "json": Form(canonical_json, ".json"),
    "oscal": Form(render_oscal, ".oscal.json"),
    "ocsf": Form(render_ocsf, ".ocsf.jsonl"),
    "sarif": Form(_sarif, ".sarif"),
    "openreports": Form(_yaml, ".openreports.yaml"),
    "prometheus": Form(render_prometheus, ".prom"),
}


def parse_forms(text: str) -> list[str]:
    """Read the words of `--format`.

    Raises:
        SettingsError: one of them is no form.
    """
    words = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if unknown := [word for word in words if word not in FORMS]:
        raise SettingsError(f"--format {unknown[0]}: give some of {', '.join(FORMS)}")
    if not words:
        raise SettingsError(f"--format: give some of {', '.join(FORMS)}")
    return words
