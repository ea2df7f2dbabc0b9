"""What the detections had learnt or could not look for, and where that is unknown."""

import zlib
from pathlib import Path

import msgspec
import pytest

from audit.access.detections.engine import BrokenDetection, DetectionEngine
from audit.access.ingest.state import DETECTIONS
from audit.ledger.store.store import Store
from audit.reports.completeness import LearntDetections
from audit.reports.html import render_html
from audit.reports.reader import parse_learnt
from core.base.times import DAY_MS
from core.weights.documents.access import decode_access
from tests.unit.audit.access.detections.events import Around
from tests.unit.audit.reports.records import (
    CLUSTER,
    MAY,
    access,
    at,
    fill,
    finding,
    read,
    report_of,
    something_of_everything,
)


def checkpoint(unix_ms: int) -> bytes:
    """Return what an ingest keeps after one access."""
    engine = DetectionEngine()
    engine.see(decode_access(access(unix_ms)[2]), Around())
    engine.unraised = {"ungranted": 3}
    engine.broken = {"enumeration": BrokenDetection(times=2, error="KeyError")}
    return zlib.compress(msgspec.msgpack.encode({"engine": engine.snapshot()}))


def test_checkpoint_of_the_periods_end_tells_what_is_young() -> None:
    """A principal that read on one day has no baseline."""
    found = parse_learnt(CLUSTER, MAY, checkpoint(at(30)))
    assert (found.at, found.unknown) == ("2026-05-30T09:00:00Z", "")
    assert "volume-above-baseline" in {one.detection for one in found.young}
    assert (found.unraised, found.broken) == ({"ungranted": 3}, {"enumeration": 2})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (checkpoint(MAY.end_ms + 8 * DAY_MS), "as of 2026-06-09T00:00:00Z, which is not this"),
        (checkpoint(MAY.begin_ms - 1), "as of 2026-04-30T23:59:59Z, which is not this"),
        (b"nonsense", "cannot be read"),
        (zlib.compress(msgspec.msgpack.encode({"engine": b"x"})), "of another release"),
    ],
    ids=["later", "earlier", "broken", "other"],
)
def test_other_checkpoints_tell_nothing_and_that_is_said(content: bytes, said: str) -> None:
    """Baselines of another time are not those by which the period was judged."""
    found = parse_learnt(CLUSTER, MAY, content)
    assert said in found.unknown
    assert found.young == []


async def test_report_reads_it_from_the_ledger(tmp_path: Path) -> None:
    """And says where there is none, or one that is younger than what was read."""
    async with Store(f"sqlite:///{tmp_path / 'l.db'}", keep_days=3650) as ledger:
        await fill(ledger, something_of_everything())
        assert (await read(ledger)).completeness.learnt == [
            LearntDetections(cluster=CLUSTER, unknown="the ledger has no checkpoint of it")
        ]
        await ledger.save_checkpoint(CLUSTER, DETECTIONS, 1, checkpoint(at(30)))
        report = await read(ledger)
        await ledger.save_checkpoint(CLUSTER, DETECTIONS, 10_000, checkpoint(at(30)))
        younger = (await read(ledger)).completeness.learnt[0].unknown
    assert any("too little history" in one.text for one in report.attention)
    assert "3 findings of ungranted were not raised" in render_html(report)
    assert younger == "its checkpoint is younger than this"


async def test_detection_that_did_not_work_is_told_first(tmp_path: Path) -> None:
    """By the findings that say so, one a day."""
    title = "The detection enumeration does not work (KeyError)"
    encoded = [
        finding(at(day), day, detection="enumeration", title=title, who="") for day in (3, 4)
    ]
    report = await report_of(tmp_path / "l.db", iter([access(at(2)), *encoded, finding(at(5))]))
    assert report.completeness.broken == {"enumeration": 2}
    texts = {one.text for one in report.attention if one.severity == "high"}
    assert "The detection enumeration did not work on 2 days" in texts


async def test_period_without_storage_logs_says_that_nothing_was_looked_at(tmp_path: Path) -> None:
    """Loudly, on the first page; one access is enough for silence about that."""
    silent = await report_of(tmp_path / "silent.db", iter([finding(at(3))]))
    spoken = await report_of(tmp_path / "spoken.db", iter([access(at(3), store="")]))
    assert "Nothing was looked at" in render_html(silent)
    assert silent.attention[0].severity == "critical"
    assert "Nothing was looked at" not in render_html(spoken)
