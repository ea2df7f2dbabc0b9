"""A report as tables: CSV files in one archive, as spreadsheets open them.

What a spreadsheet would take for a formula is made text with an apostrophe (OWASP, "CSV
Injection"): names of blobs, reasons and user agents are others' words.
"""

import csv
import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from audit.reports.display_text import report_line
from audit.reports.model import Report

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
_BEGINNING: Final = (1980, 1, 1, 0, 0, 0)
"""The time of every member: an archive knows none before."""

_MADE_UP: Final = {"sample": "made up"}
"""The first column of each table of `sallyport report --sample`."""

_TABLES: Final = (
    "stores", "principals", "reached", "unattributed", "findings", "grants", "exceptions",
    "changes", "decisions", "activities", "roles", "attention",
    "signed_off",
)  # fmt: skip


def render_tables(report: Report) -> bytes:
    """Return the archive. The same report gives the same bytes."""
    found = {name: msgspec.to_builtins(getattr(report, name)) for name in _TABLES}
    known = msgspec.to_builtins(report.completeness)
    found |= {"sources": known["sources"], "gaps": known["gaps"], "quarantine": known["refused"]}
    found["of-no-concern"] = known["skipped"]
    found["unconfirmed"] = known["lives"]["unconfirmed"]
    found["young"] = [
        {"cluster": each["cluster"]} | row for each in known["learnt"] for row in each["young"]
    ]
    found["cases"] = [_without(case, "timeline") for case in msgspec.to_builtins(report.cases)]
    found["findings"] = [_with_state(row) for row in found["findings"]]
    found["statements"] = [
        {"finding": row.id} | said
        for row in report.findings
        for said in msgspec.to_builtins(row.progress.statements)
    ]
    compared = msgspec.to_builtins(report.comparison)
    found["stores-before"], found["detections-before"] = compared["stores"], compared["detections"]
    found["signed-off"] = found.pop("signed_off")
    found["bytes-by-day"] = _days(report)
    found["about"] = [{"what": key, "value": value} for key, value in _about(report)]
    if report.scope.sample:
        found = {name: [_MADE_UP | row for row in rows] for name, rows in found.items()}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for file_name, rows in sorted((f"{name}.csv", rows) for name, rows in found.items()):
            member = zipfile.ZipInfo(file_name, _BEGINNING)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3  # Whatever system it is made on.
            file.writestr(member, _csv(rows))
    return archive.getvalue()


def guard_cell(value: Any) -> str:
    """Return a cell's text that no spreadsheet takes for a formula."""
    text = report_line(str(value))
    if isinstance(value, str) and text.startswith(_FORMULA):
        return f"'{text}"
    return text


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")  # RFC 4180
    flat = [dict(_flat(row)) for row in rows]
    if flat:
        writer.writerow(flat[0].keys())
    for row in flat:
        writer.writerow([guard_cell(value) for value in row.values()])
    return file.getvalue()


def _flat(row: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for key, value in row.items():
        if key == "sums":
            yield from value.items()
        elif isinstance(value, dict):
            yield key, "; ".join(f"{name}: {each}" for name, each in value.items())
        elif isinstance(value, list):
            yield key, "; ".join(map(str, value))
        else:
            yield key, value


def _days(report: Report) -> list[dict[str, Any]]:
    return [
        {"day": day, "who": line.who or "all others", "bytes": line.bytes[number]}
        for line in report.pictured.lines
        for number, day in enumerate(report.pictured.days)
    ]


def _about(report: Report) -> Iterable[tuple[str, Any]]:
    yield "begin", report.scope.begin
    yield "end", report.scope.end
    yield "clusters", "; ".join(report.scope.clusters)
    yield "sample", report.scope.sample
    yield "ledger size", report.ledger.size
    yield "ledger root", report.ledger.root
    yield "ledger head", report.ledger.head
    yield "ledger", report.ledger.status
    yield "verification", report.ledger.verdict
    yield "accesses", report.completeness.accesses
    yield "gap hours", report.completeness.gap_hours
    yield "quarantine", report.completeness.refused_records
    yield "digest", report.digest


def _with_state(row: Mapping[str, Any]) -> dict[str, Any]:
    progress = row["progress"]
    told = {name: progress[name] for name in ("state", "acceptedUntil", "owner", "since")}
    return _without(row, "progress") | told


def _without(row: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != key}
