"""The numbers of a report are those of its ledger."""

from pathlib import Path

from audit.reports.model import MOST_ROWS, AccessSums, Report
from audit.reports.periods import Period
from audit.reports.tallies.bounded_rows import BoundedRows
from core.base.times import DAY_MS
from core.weights.documents.access import Act, Attribution, Confidence
from core.weights.documents.events import Severity
from tests.unit.audit.reports.records import (
    GRANT,
    HUMAN,
    MAY,
    READER,
    access,
    at,
    change,
    finding,
    gap,
    intake,
    leaked,
    refused,
    report_of,
)


def test_population_comes_with_what_is_missing(report: Report) -> None:
    """Read, stored, twice, late, in quarantine; hours of gaps that overlap count once."""
    known = report.completeness
    (source,) = known.sources
    assert (source.read, source.stored, source.known, source.refused, source.late) == (
        14,
        10,
        1,
        3,
        2,
    )
    assert (known.refused_records, known.refused[0].records, known.refused[0].place) == (
        3,
        3,
        "file:0",
    )
    assert (len(known.gaps), known.gap_hours) == (2, 4.0)
    assert (known.accesses, known.elsewhere) == (9, 1)
    assert known.confidence == {"exact": 7, "unattributed": 2}
    assert known.storage == 10


def test_no_record_in_quarantine_is_shown(report: Report) -> None:
    """Its text may hold anything: only reason and place are told."""
    assert "secret stuff" not in repr(report)


def test_accesses_are_summed_by_principal_and_store(report: Report) -> None:
    """What failed is in no other number; who asked and who approved stand beside."""
    by_who = {row.who: row for row in report.principals}
    reader, sas = by_who[f"oid:{READER}"], by_who[f"sas:{'ab' * 8}"]
    assert reader.sums == AccessSums(reads=5, lists=1, failed=1, bytes_out=507)
    assert (reader.humans, reader.grants, reader.approvers) == (
        [HUMAN],
        [GRANT],
        ["oid:a", "oid:b"],
    )
    assert (reader.service_accounts, reader.pods, reader.ungranted) == (["train/trainer"], 1, 0)
    assert (sas.sums.reads, sas.ungranted, sas.humans) == (2, 2, [])
    (store,) = report.stores
    assert (store.principals, store.ungranted, store.unattributed) == (2, 2, 2)


def test_reach_leads_from_the_human_to_the_store(report: Report) -> None:
    """With nobody where no Pod answers for it, and that is counted by its reason."""
    ways = {(row.human, row.service_account, row.who): row.accesses for row in report.reached}
    assert ways == {
        (HUMAN, "train/trainer", f"oid:{READER}"): 6,
        ("", "", f"sas:{'ab' * 8}"): 2,
    }
    (row,) = report.unattributed
    assert (row.accesses, row.granted, row.why) == (2, 0, "not looked at")


def test_grant_says_whether_it_was_used(report: Report) -> None:
    """Also one that was given before the period, and lives on in it."""
    (grant,) = report.grants
    assert (grant.id, grant.state, grant.given) == (GRANT, "live", False)
    assert (grant.accesses, grant.bytes) == (6, 507)


async def test_grant_that_ended_before_is_not_told(tmp_path: Path) -> None:
    """And one that nobody approved is told as such, one that ended as ended."""
    spec = {"store": "s", "expiresAt": "2027-01-01T00:00:00Z"}
    report = await report_of(
        tmp_path / "l.db",
        iter(
            [
                change(at(1) - 9 * DAY_MS, "approved", name="old", uid="1", spec=spec),
                change(at(1) - 5 * DAY_MS, "ended", name="old", uid="1", spec=spec),
                change(at(2), "approved", name="over", uid="2", spec=spec, approvers=["a", "b"]),
                change(at(9), "ended", name="over", uid="2", spec=spec),
                change(at(3), "there", name="asked", uid="3", spec=spec),
                change(at(4), "approved", name="gone", uid="4", spec=spec),
                change(at(5), "deleted", name="gone", uid="4"),
            ]
        ),
    )
    assert {row.id: (row.state, row.given) for row in report.grants} == {
        "train/over@2": ("ended", True),
        "train/asked@3": ("not approved", False),
        "train/gone@4": ("deleted", True),
    }


def test_decisions_changes_and_activities_are_told(report: Report) -> None:
    """By namespace; exceptions stand apart from other changes."""
    (row,) = report.decisions
    assert (row.namespace, row.allowed, row.refused, row.errors) == ("train", 2, 1, 1)
    assert [change.name for change in report.exceptions] == ["train/llama"]
    assert [(change.kind, change.by) for change in report.changes] == [
        ("ContainerProfile", [HUMAN])
    ]
    (activity,) = report.activities
    assert (activity.topic, activity.succeeded, activity.addresses) == (
        "keys-listed",
        1,
        ["198.51.100.4"],
    )


def test_findings_of_one_story_are_a_case(report: Report) -> None:
    """With its timeline; severities count all findings."""
    assert report.severities == {"low": 0, "medium": 0, "high": 2, "critical": 0}
    (case,) = report.cases
    assert [moment.finding for moment in case.timeline] == [row.id for row in report.findings]


def test_what_needs_attention_is_said_gravest_first(report: Report) -> None:
    """Cases, what nobody granted, gaps, quarantine, Pods without a decision, a missing head."""
    grave = [one.severity for one in report.attention]
    assert grave == sorted(grave, key=["critical", "high", "medium", "low"].index)
    parts = {one.part for one in report.attention}
    assert parts == {"cases", "access", "completeness", "confirmed", "unattributed", "ledger"}


async def test_report_of_nothing_says_that_nothing_came_in(tmp_path: Path) -> None:
    """Silence proves nothing, and the report says so first."""
    report = await report_of(tmp_path / "l.db", iter([]))
    assert report.attention[0].severity == "critical"
    assert "No storage log was taken in" in report.attention[0].text


async def test_stretch_counts_by_the_times_of_its_records(tmp_path: Path) -> None:
    """Logs of May that are taken in in July are of May; those of June, taken in then, are not."""
    july = MAY.end_ms + 40 * DAY_MS
    of_may = {"first": "2026-05-30T00:00:00Z", "last": "2026-06-01T00:00:00Z"}
    report = await report_of(
        tmp_path / "l.db",
        iter(
            [
                intake(july, read=5, stored=5, **of_may),
                intake(july + 1, read=7, stored=7, first="2026-06-01T00:00:00Z", last="2026-06-02"),
                refused(july + 2),
                gap(MAY.end_ms - 3_600_000, july),
            ]
        ),
    )
    assert [source.read for source in report.completeness.sources] == [5]
    assert report.completeness.refused_records == 1
    assert report.completeness.gap_hours == 1.0


async def test_report_of_one_store_leaves_out_other_stores(tmp_path: Path) -> None:
    """What is of no store stays; other stores do not."""
    report = await report_of(
        tmp_path / "l.db",
        iter(
            [
                access(at(2), 1),
                access(at(2), 2, store="other"),
                finding(at(2), 1),
                finding(at(2), 2, store="other", severity=Severity.CRITICAL),
                finding(at(2), 3, store="", who=""),
            ]
        ),
        store="frontier",
    )
    assert [row.store for row in report.stores] == ["frontier"]
    assert report.severities["critical"] == 0
    assert sum(report.severities.values()) == 2


async def test_copy_counts_once_and_a_failed_access_moves_nothing(tmp_path: Path) -> None:
    """CopyBlob has three records; a refusal has a body too."""
    copies = [
        access(at(2), count, act=Act.COPY, operation_count=count, bytes_out=0) for count in range(3)
    ]
    failed = access(at(2), 9, status=403, bytes_out=500)
    report = await report_of(tmp_path / "l.db", iter([*copies, failed]))
    assert report.principals[0].sums == AccessSums(reads=1, failed=1)


async def test_lists_are_bounded_and_say_how_many_more(tmp_path: Path) -> None:
    """Sums hold all of it."""
    many = MOST_ROWS + 30
    report = await report_of(
        tmp_path / "l.db",
        iter(access(at(2, minute=1), number, principal=f"p-{number}") for number in range(many)),
    )
    assert (len(report.principals), report.more_principals) == (MOST_ROWS, 30)
    assert report.stores[0].sums.reads == many
    assert sum(sum(line.bytes) for line in report.pictured.lines) == 100 * many


def test_keys_beyond_the_bound_are_counted() -> None:
    """Whoever makes up principals fills no memory."""
    rows = BoundedRows[int, list[int]](lambda _: [], 2)
    assert [rows.get(number) is None for number in (1, 2, 3, 1)] == [False, False, True, False]
    assert (rows.overflowed, len(rows)) == (1, 2)


async def test_odd_accesses_come_first_in_the_pictures(tmp_path: Path) -> None:
    """However little they read beside the rest."""
    much = [access(at(2), number, principal=f"p-{number}", bytes_out=10**9) for number in range(20)]
    report = await report_of(tmp_path / "l.db", iter([*much, leaked(at(3, 2))]))
    first = report.pictured.lines[0]
    assert (first.who, first.odd_bytes[2]) == (f"sas:{'ab' * 8}", 100)
    assert report.pictured.odd_hours[6][2] == 1  # 3 May 2026 is a Sunday.
    assert report.pictured.lines[-1].who == ""


async def test_end_of_a_period_is_not_in_it(tmp_path: Path) -> None:
    """Also where it is of hours."""
    hours = Period(at(2, 9), at(2, 10))
    report = await report_of(
        tmp_path / "l.db",
        iter([access(at(2, 9), 1), access(at(2, 10), 2), access(at(2, 8), 3)]),
        period=hours,
    )
    assert report.completeness.accesses == 1


async def test_differences_of_azure_are_told_as_last_read(tmp_path: Path) -> None:
    """What could not be read is told too: it is never nothing."""
    differing = {"difference": "wider", "principal": READER, "detail": "may write", "remedy": "no"}
    first = {"format": 1, "store": "frontier", "resource": "r", "at": "", "differing": [differing]}
    last = first | {"gaps": ["role definitions: 403"]}
    told = {"kind": "StoreAccess", "name": "frontier", "namespace": ""}
    changes = [
        change(at(2), "changed", spec=first, **told),
        change(at(3), "changed", spec=last, **told),
    ]
    report = await report_of(tmp_path / "l.db", iter(changes))
    assert [(row.difference, row.principal) for row in report.roles] == [
        ("wider", f"oid:{READER}"),
        ("not-read", ""),
    ]
    assert report.changes == []


async def test_person_who_reads_by_hand_is_the_human(tmp_path: Path) -> None:
    """No Pod answers for it, but a grant to people does: it is not odd."""
    by_hand = access(
        at(2),
        attribution=Attribution(confidence=Confidence.UNATTRIBUTED, why="a person"),
    )
    report = await report_of(tmp_path / "l.db", iter([by_hand]))
    assert [row.human for row in report.reached] == [f"oid:{READER}"]
    assert report.unattributed[0].granted == 1
    assert "unattributed" not in {one.part for one in report.attention}
