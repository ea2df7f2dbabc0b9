"""A report shows what people did since, what the period before was like, and who signed off."""

import asyncio
import csv
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audit.ledger.records.frames import FrameKind
from audit.reports.forms.ocsf import render_ocsf
from audit.reports.forms.tables import render_tables
from audit.reports.html import render_html
from audit.reports.model import Report
from audit.reports.periods import month_period, parse_span
from audit.reports.tallies.period_before import period_before
from cli.report.forms import sarif
from cli.report.openreports import openreports
from core.base.ids import stable_id
from core.base.times import DAY_MS, time_text
from core.weights.documents.object_change import ObjectChange, encode_change
from tests.unit.audit.reports.records import (
    CLUSTER,
    HOSTILE,
    MAY,
    Encoded,
    access,
    at,
    finding,
    intake,
    report_of,
)

ANN = "oid:00000000-0000-4000-8000-00000000000a"
BEN = "oid:00000000-0000-4000-8000-00000000000b"
FIRST = stable_id(at(10, 3), "finding", "10")
SECOND = stable_id(at(11, 3), "finding", "11")
DIGEST = f"sha256:{64 * 'a'}"


def said(unix_ms: int, by: str, **spec: Any) -> Encoded:
    """Return a statement as `control` records it."""
    made = ObjectChange(
        format=1,
        id=stable_id(unix_ms, "change", by, json.dumps(spec, sort_keys=True)),
        time=time_text(unix_ms // 1000),
        cluster=CLUSTER,
        event="there",
        kind="AuditStatement",
        name="said",
        uid=f"{by}-{unix_ms}",
        by=[by],
        spec=spec,
    )
    return FrameKind.CHANGE, made.id, encode_change(made)


def told() -> Iterator[Encoded]:
    """Yield two months: in May two grave findings, of which one is closed in June."""
    yield from (access(at(2, minute=number), number) for number in range(4))
    yield access(at(3), 9, ungranted="no grant covers it", grant="")
    yield from (access(at(-20, minute=number), 100 + number, bytes_out=7) for number in range(2))
    yield from (finding(at(day, 3), day) for day in (10, 11))
    yield finding(at(-9), 50, detection="copy-out")
    for hour, who in enumerate((ANN, BEN)):
        yield said(
            MAY.end_ms + 5 * DAY_MS + hour * 3_600_000,
            who,
            finding=FIRST,
            state="falseAlarm",
            note=f"{HOSTILE} {hour}",
        )
    yield said(MAY.end_ms + DAY_MS, ANN, finding=SECOND, state="accepted", note="n",
               acceptedUntil="2026-09-01T00:00:00Z", owner="self")  # fmt: skip
    yield said(MAY.end_ms + 2 * DAY_MS, ANN, report=DIGEST, note=HOSTILE)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report on May, made in June."""
    path = tmp_path_factory.mktemp("since") / "ledger.db"
    return asyncio.run(report_of(path, told()))


def test_what_was_said_after_the_period_counts(report: Report) -> None:
    """One is closed by two people, one waits for the second."""
    rows = {row.id: row.progress for row in report.findings}
    assert (rows[FIRST].state, rows[FIRST].since[:7]) == ("falseAlarm", "2026-06")
    assert (rows[SECOND].state, rows[SECOND].owner) == ("new", ANN)
    assert rows[SECOND].waiting.startswith("accepted, asked for by")
    assert (report.severities["high"], report.closed["high"]) == (2, 1)
    (case,) = report.cases
    assert (case.findings, case.open_findings) == (2, 1)


def test_period_stands_beside_the_one_before(report: Report) -> None:
    """Accesses by store, findings by detection."""
    assert (report.comparison.begin[:10], report.comparison.end[:10]) == (
        "2026-04-01",
        "2026-05-01",
    )
    (store,) = report.comparison.stores
    assert (store.accesses, store.accesses_before) == (5, 2)
    assert (store.bytes_out, store.bytes_out_before) == (500, 14)
    assert (store.ungranted, store.ungranted_before) == (1, 0)
    found = report.comparison.detections
    rows = {row.detection: (row.findings, row.open, row.before) for row in found}
    assert rows == {"copy-out": (0, 0, 1), "key-or-anonymous-read": (2, 1, 0)}


@pytest.mark.parametrize(
    ("period", "before"),
    [
        (month_period(2026, 3), month_period(2026, 2)),
        (month_period(2026, 1), month_period(2025, 12)),
        (parse_span("2026-05-08", "2026-05-15"), parse_span("2026-05-01", "2026-05-08")),
        (parse_span("2026-05-01", "2026-05-08"), parse_span("2026-04-24", "2026-05-01")),
    ],
)
def test_before_a_month_is_a_month(period: Any, before: Any) -> None:
    """Before another span, one as long."""
    assert period_before(period) == before


def test_sign_offs_of_earlier_reports_are_shown(report: Report) -> None:
    """With how many people signed."""
    (row,) = report.signed_off
    assert (row.report, row.by) == (DIGEST, [ANN])
    page = render_html(report)
    assert DIGEST in page
    assert "one of two people" in page


def test_the_page_says_who_said_what(report: Report) -> None:
    """Escaped; and how many are open."""
    page = render_html(report)
    assert "<script>alert" not in page
    assert "1 finding is open, 1 is closed." in page
    assert "“" in page
    assert "false alarm" in page


def test_no_grave_case_that_is_closed_needs_attention(tmp_path: Path) -> None:
    """Once all its findings are."""
    closing = (
        said(MAY.end_ms + hour, who, finding=one, state="falseAlarm", note="n")
        for hour, who in enumerate((ANN, BEN))
        for one in (FIRST, SECOND)
    )
    made = asyncio.run(
        report_of(
            tmp_path / "ledger.db", iter([finding(at(10, 3), 10), finding(at(11, 3), 11), *closing])
        )
    )
    assert made.closed["high"] == 2
    assert not [one for one in made.attention if one.part in {"cases", "findings"}]


def test_every_form_says_which_are_closed(report: Report) -> None:
    """CSV, OCSF, SARIF, OpenReports."""
    with zipfile.ZipFile(io.BytesIO(render_tables(report))) as archive:
        tables = {
            name: list(csv.DictReader(io.StringIO(archive.read(f"{name}.csv").decode())))
            for name in ("findings", "statements", "signed-off", "stores-before")
        }
    states = {row["id"]: row["state"] for row in tables["findings"]}
    assert states == {FIRST: "falseAlarm", SECOND: "new"}
    assert [row["counts"] for row in tables["statements"]] == ["False", "True", "False"]
    assert tables["signed-off"][0]["report"] == DIGEST
    events = [json.loads(line) for line in render_ocsf(report).splitlines()]
    statuses = {one["metadata"]["uid"]: one["status_id"] for one in events if "finding_info" in one}
    assert statuses == {FIRST: 3, SECOND: 1}
    results = {
        one["partialFingerprints"]["sallyportWeightFinding/v1"]: one["suppressions"]
        for one in sarif(report, "1")["runs"][0]["results"]
    }
    assert [one["kind"] for one in results[FIRST]] == ["external"]
    assert results[SECOND] == []
    published = openreports(report)[0]["results"]
    words = {one["properties"].get("finding"): one["result"] for one in published}
    assert (words[FIRST], words[SECOND]) == ("skip", "fail")


def test_kinds_of_no_concern_are_told(tmp_path: Path) -> None:
    """Of all stretches together, the most frequent first; escaped, and in CSV too."""
    kinds = {HOSTILE: 2, "azure-activity: microsoft.compute/virtualmachines/write": 40}
    taken = intake(at(31, 23), read=42, skipped=42, first=time_text(at(2)), skipped_kinds=kinds)
    made = asyncio.run(report_of(tmp_path / "ledger.db", iter([taken])))
    told = [(row.kind, row.records) for row in made.completeness.skipped]
    assert told == sorted(kinds.items(), key=lambda item: -item[1])
    page = render_html(made)
    assert "microsoft.compute/virtualmachines/write" in page
    assert "<script>alert" not in page
    with zipfile.ZipFile(io.BytesIO(render_tables(made))) as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read("of-no-concern.csv").decode())))
    assert [row["records"] for row in rows] == ["40", "2"]
