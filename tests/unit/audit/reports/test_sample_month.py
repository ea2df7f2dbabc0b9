"""The sample month goes the way that real logs go, and its report tells the story in it."""

import asyncio
import io
import json
import zipfile
from pathlib import Path

import pytest

from audit.ledger.store.store import Store
from audit.reports.builder import canonical_json
from audit.reports.forms.ocsf import render_ocsf
from audit.reports.forms.oscal import render_oscal
from audit.reports.forms.tables import render_tables
from audit.reports.html import render_html
from audit.reports.model import Report
from audit.reports.periods import month_period
from audit.reports.sample.cast import EVALUATORS, LEAK_ADDRESS, PIPELINE, WORKERS
from audit.reports.sample.cluster_history import sample_frames
from audit.reports.sample.intake import take_sample
from audit.reports.sample.logs import storage_log_files
from cli.report.forms import sarif
from cli.report.openreports import openreports
from tests.unit.audit.reports.records import read

OCTOBER = month_period(2026, 10)
RECORDS = 16_000


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return the report of the month, taken in three days after its end."""
    path = tmp_path_factory.mktemp("sample") / "ledger.db"
    return asyncio.run(_taken(path))


async def _taken(path: Path) -> Report:
    def clock() -> float:
        return OCTOBER.end_ms / 1000 + 3 * 86_400

    async with Store(f"sqlite:///{path}", clock, keep_days=3650) as ledger:
        await take_sample(ledger, OCTOBER, clock)
        return await read(ledger, period=OCTOBER)


def test_month_is_believable_and_known_to_be_made_up(sample: Report) -> None:
    """About 40 principals and two stores; gaps, quarantine, and records that came twice."""
    known = sample.completeness
    assert sample.scope.sample
    assert known.accesses > RECORDS
    assert 36 <= len(sample.principals) <= 44
    assert [store.store for store in sample.stores] == ["distilled", "frontier"]
    assert (known.gap_hours, known.refused_records > 0) == (3.0, True)
    assert sum(source.known for source in known.sources) > 0
    assert known.unreadable == known.lives.without_decision == 0


def test_ordinary_life_is_attributed_and_granted(sample: Report) -> None:
    """Every Pod's access to its Pod, the human behind it and a grant."""
    ordinary = {f"oid:{worker.principal}": worker for worker in WORKERS}
    rows = [row for row in sample.principals if row.who in ordinary]
    assert {row.who for row in rows} == set(ordinary)
    for row in rows:
        assert row.confidence.keys() == {"exact"}, row.who
        assert row.humans == [ordinary[row.who].person]
        late = row.who == f"oid:{EVALUATORS[0].principal}"
        assert (row.ungranted > 0) == late, row.who


def test_story_is_told(sample: Report) -> None:
    """Keys listed, then a SAS that reads by night: one case. Reads after a grant had ended."""
    detections = {row.detection for row in sample.findings}
    assert {"key-or-anonymous-read", "ungranted", "log-gap", "keys-and-logging"} <= detections
    leak = next(case for case in sample.cases if LEAK_ADDRESS in case.addresses)
    assert leak.severity == "critical"
    assert f"oid:{PIPELINE[1]}" in leak.who
    assert sample.attention[0].part == "cases"


def test_findings_say_what_was_read_in_all(sample: Report) -> None:
    """The first alarm came after 8 of the evaluator's 128 GiB, and after one read of each night."""
    late = [row for row in sample.findings if row.detection == "ungranted"]
    assert {(row.events, row.bytes) for row in late} == {(16, 128 << 30)}
    nights = [row for row in sample.findings if row.detection == "key-or-anonymous-read"]
    (sas,) = (row for row in sample.principals if row.who == nights[0].who)
    assert sum(row.bytes for row in nights) == sas.sums.bytes_out
    assert sum(row.events for row in nights) == sas.sums.reads
    leak = next(case for case in sample.cases if LEAK_ADDRESS in case.addresses)
    assert (leak.events, leak.bytes) == (sas.sums.reads, sas.sums.bytes_out)


def test_ordinary_life_raises_nothing(sample: Report) -> None:
    """A sample that cries wolf teaches its readers to look away."""
    assert len(sample.findings) < 30
    guilty = {"", f"oid:{PIPELINE[1]}", f"oid:{EVALUATORS[0].principal}"}
    assert {row.who for row in sample.findings if not row.who.startswith("sas:")} <= guilty


def test_every_form_says_that_it_is_made_up(sample: Report) -> None:
    """Whichever of them somebody is sent."""
    assert "made up" in render_html(sample)
    events = [json.loads(line) for line in render_ocsf(sample).splitlines()]
    assert all(event["metadata"]["labels"] == ["sample: made up"] for event in events)
    with zipfile.ZipFile(io.BytesIO(render_tables(sample))) as tables:
        heads = [tables.read(name).decode().partition("\r\n")[0] for name in tables.namelist()]
    assert all(head.startswith("sample,") for head in heads if head)
    assert sarif(sample, "1.0")["runs"][0]["properties"]["sample"] is True
    assert "made up" in render_oscal(sample).decode()
    labels = [each["metadata"]["labels"] for each in openreports(sample)]
    assert all(each["sallyport.dev/sample"] == "true" for each in labels)
    assert b'"sample":true' in canonical_json(sample)


def test_page_is_made_of_it(sample: Report) -> None:
    """With all three pictures."""
    page = render_html(sample)
    assert page.count("<svg") == 4
    assert "these records are made up" in page


def test_any_month_has_one() -> None:
    """February too, and the same month gives the same bytes."""
    february = month_period(2027, 2)
    once, twice = dict(storage_log_files(february)), dict(storage_log_files(february))
    assert once == twice
    assert sum(content.count(b"\n") for content in once.values()) > RECORDS // 2
    assert [frame.id for frame in sample_frames(february)] == [
        frame.id for frame in sample_frames(february)
    ]
