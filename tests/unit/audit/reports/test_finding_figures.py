"""What a report says that a finding comes to is what the ledger has of it, not its first alarm."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.ledger.records.frames import FrameKind
from audit.reports.model import CaseRow, FindingRow, Report
from audit.reports.periods import Period, parse_period
from audit.reports.tallies.finding_figures import MOST_EVIDENCE, FindingFigures
from core.weights.documents.access import Access, Act, Caller, SignedBy, encode_access
from core.weights.documents.events import Finding, encode_event
from tests.unit.audit.access.detections.events import (
    BOB,
    START,
    Around,
    access,
    attributed,
    reads,
    shown,
    write,
)
from tests.unit.audit.access.detections.examples import EXAMPLES, Example
from tests.unit.audit.access.detections.test_examples import TOLD_IN, named
from tests.unit.audit.reports.records import CLUSTER, Encoded, report_of

MARCH = parse_period("2026-03")
KEY: dict[str, Any] = {
    "signed_by": SignedBy.ACCOUNT_KEY,
    "principal": "",
    "grant": "",
    "token": "k1",
}
UNGRANTED: dict[str, Any] = {"principal": BOB, "grant": "", "ungranted": "no grant covers it"}

assert TOLD_IN


def month(accesses: Sequence[Access], findings: Sequence[Finding]) -> Iterator[Encoded]:
    """Yield what a ledger holds of them."""
    yield from ((FrameKind.ACCESS, one.id, encode_access(one)) for one in accesses)
    yield from ((FrameKind.FINDING, one.id, encode_event(one)) for one in findings)


def reported(path: Path, accesses: Sequence[Access], period: Period = MARCH) -> Report:
    """Return the report of a ledger with accesses, and with what the detections find in them."""
    here = [msgspec.structs.replace(one, cluster=CLUSTER) for one in accesses]
    findings = shown(sorted(here, key=lambda one: one.id), around=Around(cluster=CLUSTER))
    return asyncio.run(report_of(path / "ledger.db", month(here, findings), period=period))


def of(report: Report, detection: str) -> list[FindingRow]:
    """Return the findings of a detection."""
    return [row for row in report.findings if row.detection == detection]


def test_reads_after_the_first_alarm_are_counted(tmp_path: Path) -> None:
    """The finding is written at the first read; all sixteen are in the report."""
    taken = list(reads(START, range(16), **UNGRANTED))
    (row,) = of(reported(tmp_path, taken), "ungranted")[:1]
    assert (row.counted, row.events) == (True, 16)
    assert row.bytes == sum(one.bytes_out for one in taken)
    assert (row.first, row.last) == (taken[0].time, taken[-1].time)
    assert row.evidence == [one.id for one in taken]


def test_first_hundred_ids_stand_and_the_others_are_counted(tmp_path: Path) -> None:
    """The ids come in the order of time."""
    taken = list(reads(START, range(130), **KEY))
    row = of(reported(tmp_path, taken), "key-or-anonymous-read")[0]
    assert row.evidence == [one.id for one in taken[:MOST_EVIDENCE]]
    assert (row.events, row.more_evidence) == (130, 30)


def test_only_the_period_counts(tmp_path: Path) -> None:
    """A day of another month, and of another principal, are in no figure."""
    taken = [*reads(START, range(3), **KEY), *reads(START + 40 * 86_400, range(5), **KEY)]
    taken += reads(START, range(4))
    row = of(reported(tmp_path, taken), "key-or-anonymous-read")[0]
    assert row.events == 3


def test_a_case_counts_an_access_once(tmp_path: Path) -> None:
    """Several detections look at the same bytes."""
    stolen = UNGRANTED | {"caller": Caller.PUBLIC, "attribution": attributed()}
    taken = list(reads(START, range(16), **stolen))
    report = reported(tmp_path, taken)
    assert len({row.detection for row in report.findings}) > 1
    (case,) = report.cases
    assert (case.counted, case.events) == (True, 16)
    assert case.bytes == sum(one.bytes_out for one in taken)


def test_what_is_sent_counts_for_a_change(tmp_path: Path) -> None:
    """Of writes with a key: what they sent."""
    taken = [write(START + at, f"step-1/shard-{at}", 1000 + at, **KEY) for at in range(5)]
    row = of(reported(tmp_path, taken), "key-or-anonymous-change")[0]
    assert (row.events, row.bytes) == (5, 5010)


def test_a_finding_of_no_access_says_what_it_told() -> None:
    """An entry of another log is no access: the finding tells of it alone."""
    figures = FindingFigures(shown(EXAMPLES[0].tell()), ())
    assert all(figures.of_finding(one) is None for one in shown(EXAMPLES[0].tell()))


@pytest.mark.parametrize("example", [one for one in EXAMPLES if one.severities], ids=named)
def test_findings_count_the_accesses_that_they_rest_on(example: Example) -> None:
    """Of each detection: what completed a finding is among what it counts."""
    events = list(example.tell())
    findings = shown(events, example.detection, example.around())
    figures = FindingFigures(findings, ())
    known = {one.id: one for one in events if isinstance(one, Access)}
    for one in known.values():
        figures.add(one)
    for finding in findings:
        counted = figures.of_finding(finding)
        last = known.get(finding.evidence[-1]) if finding.evidence else None
        if last is not None and example.detection in COUNTED:
            assert counted is not None, finding.title
            requests = {known[each].correlation for each in counted.evidence}
            assert last.correlation in requests or counted.events > MOST_EVIDENCE, finding.title


COUNTED = frozenset(
    {
        *("key-or-anonymous-read", "volume-above-baseline", "slow-exfiltration", "new-caller"),
        *("enumeration", "copy-out", "no-live-pod", "token-two-addresses", "access-at-risk"),
        *("ungranted", "delegation-key", "key-or-anonymous-change", "mass-delete"),
        *("overwritten-weights", "customer-key", "archived-weights", "refused-burst"),
    }
)
"""The detections whose findings are about accesses."""


@st.composite
def months(draw: st.DrawFn) -> list[Access]:
    """Make accesses of few principals on few days, by all ways of signing, refused ones too."""
    kinds = st.sampled_from([{}, KEY, UNGRANTED, KEY | {"signed_by": SignedBy.ANONYMOUS}])
    made: dict[str, Access] = {}
    for number in range(draw(st.integers(1, 40))):
        when = START + draw(st.integers(0, 3)) * 86_400 + draw(st.integers(0, 86_399))
        asked: dict[str, Any] = {
            "store": draw(st.sampled_from(["frontier", "small"])),
            "blob": f"step-{number % 3}/shard-{number}",
            "status": draw(st.sampled_from([200, 200, 200, 403])),
            "address": draw(st.sampled_from(["10.0.0.4", "203.0.113.9"])),
        } | draw(kinds)
        size = draw(st.integers(0, 1 << 40))
        is_write = draw(st.booleans())
        one = write(when, **asked, size=size) if is_write else access(when, **asked, bytes_out=size)
        made[one.id] = one
    return sorted(made.values(), key=lambda one: one.id)


@settings(max_examples=40, deadline=None)
@given(accesses=months())
def test_sums_of_a_report_are_those_of_its_ledger(
    accesses: list[Access], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever the month: each finding and each case, and all that was read by key or ungranted."""
    report = reported(tmp_path_factory.mktemp("month"), accesses)
    by_id = {one.id: one for one in accesses}
    rows = {row.id: row for row in report.findings}
    for row in rows.values():
        if row.counted:
            compare(row, [by_id[each] for each in row.evidence])
    for case in report.cases:
        told = [rows[one.finding] for one in case.timeline]
        ids = {each for row in told if row.counted for each in row.evidence}
        assert case.events == len(ids) or not case.counted
    for detection, is_about in ABOUT.items():
        expected = Counter[tuple[str, str, str]]()
        for one in filter(is_about, accesses):
            expected[one.store, one.who, one.time[:10]] += one.bytes_out
        found = {(row.store, row.who, row.first[:10]): row.bytes for row in of(report, detection)}
        assert found == dict(expected)


def compare(row: FindingRow | CaseRow, accesses: Sequence[Access]) -> None:
    """Hold a row against the accesses whose ids stand beside it."""
    assert row.events == len(accesses)
    assert (row.first, row.last) == (accesses[0].time, accesses[-1].time)
    assert row.bytes in {
        sum(one.bytes_out for one in accesses),
        sum(one.bytes_in for one in accesses),
    }


ABOUT = {
    "key-or-anonymous-read": lambda one: (
        one.act is Act.READ
        and one.status == 200
        and one.signed_by in {SignedBy.ACCOUNT_KEY, SignedBy.ANONYMOUS}
    ),
    "ungranted": lambda one: (
        one.status == 200
        and bool(one.ungranted)
        and one.signed_by not in {SignedBy.ACCOUNT_KEY, SignedBy.ANONYMOUS}
    ),
}
"""What a reader of docs/detections would count."""
