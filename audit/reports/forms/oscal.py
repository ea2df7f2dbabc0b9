"""A report as OSCAL assessment results 1.2 (NIST): what of some controls it shows, and what not.

The controls are those of NIST SP 800-53 revision 5 that a record of accesses can speak of. Ids are
made of the report's digest: the same report has the same.
"""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from audit.reports.attention import plural
from audit.reports.display_text import report_line
from audit.reports.model import Report

VERSION: Final = "1.2.0"

_SPACE: Final = uuid.UUID("9f2c5f5e-5f0b-5c53-9d0e-6f7c0a1e4b11")
"""Of all ids that are made here (RFC 9562, version 5)."""

Json = dict[str, Any]


@dataclass(frozen=True)
class _Evidence:
    """What the report shows of one control."""

    control: str
    title: str
    holds: bool
    text: str


def render_oscal(report: Report) -> bytes:
    """Return the document as JSON."""
    shows = list(_shows(report))
    result: Json = {
        "uuid": _id(report, "result"),
        "title": f"Access to model weights, {report.scope.begin} to {report.scope.end}",
        "description": _description(report),
        "start": report.scope.begin,
        "end": report.scope.end,
        "props": [
            {"name": "report-digest", "ns": _NS, "value": report.digest},
            {"name": "ledger-size", "ns": _NS, "value": str(report.ledger.size)},
            *(
                [{"name": "ledger-root", "ns": _NS, "value": report.ledger.root}]
                * bool(report.ledger.root)
            ),
            *(
                [{"name": "ledger-head", "ns": _NS, "value": report.ledger.head}]
                * bool(report.ledger.head)
            ),
        ],
        "reviewed-controls": {
            "control-selections": [
                {
                    "include-controls": [
                        {"control-id": control}
                        for control in sorted({one.control for one in shows})
                    ]
                }
            ]
        },
        "observations": [_observation(report, one) for one in shows],
        "findings": [_finding(report, one) for one in shows],
    }
    found = [_detected(report, number) for number in range(len(report.findings))]
    result["observations"] += found
    document = {
        "assessment-results": {
            "uuid": _id(report, "document"),
            "metadata": {
                "title": "Access to model weights",
                "last-modified": report.made,
                "version": report.digest.removeprefix("sha256:")[:12],
                "oscal-version": VERSION,
            },
            "import-ap": {"href": "#", "remarks": "There is no assessment plan: it is continuous."},
            "results": [result],
        }
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


_NS: Final = "https://sallyport.dev/ns/oscal"


def _shows(report: Report) -> Iterator[_Evidence]:
    known = report.completeness
    outside = sum(row.ungranted for row in report.stores)
    said = f"{plural(outside, 'access', 'accesses')} of weights had no live, twice-approved grant."
    yield _Evidence(
        "ac-3", "Weights are read under a live, twice-approved grant", not outside, said
    )
    unused = sum(not row.accesses and row.state == "live" for row in report.grants)
    said = f"{plural(unused, 'live grant')} of {len(report.grants)} in the report nobody used."
    yield _Evidence("ac-6", "Grants are no wider than is used", not unused, said)
    nobody = sum(row.accesses - row.granted for row in report.unattributed)
    said = f"For {plural(nobody, 'access', 'accesses')} no Pod and no person is known."
    yield _Evidence("au-10", "Accesses are attributed to who made them", not nobody, said)
    whole = bool(known.storage) and not (known.gap_hours or known.refused_records)
    said = (
        f"{known.accesses} accesses; {known.gap_hours:g} hours of storage logs are missing; "
        f"{plural(known.refused_records, 'record')} could not be read."
    )
    yield _Evidence("au-12", "Records of accesses are complete", whole, said)
    sealed = bool(report.ledger.time) and report.ledger.sound is not False
    status = report.ledger.status or "The ledger has no signed tree head."
    said = f"{status}; {report.ledger.verdict}"
    yield _Evidence("au-9", "Records are protected against change", sealed, said)
    grave = report.severities.get("high", 0) + report.severities.get("critical", 0)
    said = f"{plural(grave, 'finding')} of high or critical severity."
    yield _Evidence(
        "si-4", "Attacks on the weights are looked for, and none was found", not grave, said
    )


def _observation(report: Report, one: _Evidence) -> Json:
    return {
        "uuid": _id(report, "observation", one.control),
        "title": one.title,
        "description": one.text,
        "methods": ["EXAMINE"],
        "types": ["control-objective"],
        "collected": report.made,
    }


def _detected(report: Report, number: int) -> Json:
    found = report.findings[number]
    return {
        "uuid": _id(report, "detected", found.id),
        "title": report_line(found.title) or found.detection,
        "description": f"{report_line(found.detail)} {report_line(found.remedy)}".strip()
        or found.detection,
        "props": [
            {"name": "severity", "ns": _NS, "value": found.severity},
            {"name": "detection", "ns": _NS, "value": found.detection},
            {"name": "finding", "ns": _NS, "value": found.id},
            {"name": "first", "ns": _NS, "value": found.first},
            {"name": "last", "ns": _NS, "value": found.last},
            {"name": "events", "ns": _NS, "value": str(found.events)},
            {"name": "bytes", "ns": _NS, "value": str(found.bytes)},
        ],
        "methods": ["TEST"],
        "types": ["finding"],
        "collected": found.time,
    }


def _finding(report: Report, one: _Evidence) -> Json:
    observations = [{"observation-uuid": _id(report, "observation", one.control)}]
    if one.control == "si-4":
        observations += [
            {"observation-uuid": _id(report, "detected", found.id)} for found in report.findings
        ]
    return {
        "uuid": _id(report, "finding", one.control),
        "title": one.title,
        "description": one.text,
        "target": {
            "type": "objective-id",
            "target-id": f"{one.control}_obj",
            "status": {"state": "satisfied" if one.holds else "not-satisfied"},
        },
        "related-observations": observations,
    }


def _description(report: Report) -> str:
    said = "From storage's own logs, attributed to Pods and people, and the grants of the time."
    return f"A sample: these records are made up. {said}" if report.scope.sample else said


def _id(report: Report, *words: str) -> str:
    return str(uuid.uuid5(_SPACE, "\n".join((report.digest, *words))))
