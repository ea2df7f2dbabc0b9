"""Decisions and Pods that confirm one another, and what has no other half."""

from pathlib import Path

from audit.ledger.records.frames import FrameKind
from audit.reports.completeness import PodConfirmations
from audit.reports.html import render_html
from core.base.ids import stable_id
from core.base.times import time_text
from core.decision.decision import Verdict
from core.weights.documents.events import Activity, Log, Topic, encode_event
from tests.unit.audit.reports.records import (
    CLUSTER,
    MAY,
    Encoded,
    access,
    at,
    decision,
    gap,
    life,
    report_of,
)

SECOND = 1000
NOON = at(2, 12)


async def lives_of(tmp_path: Path, *encoded: Encoded) -> PodConfirmations:
    """Return what a report of these says."""
    report = await report_of(tmp_path / "l.db", iter(encoded))
    return report.completeness.lives


def numbers(lives: PodConfirmations) -> tuple[int, ...]:
    """Return four: confirmed by Pod and audit log, no Pod, no decision, not in the ledger."""
    without = (lives.without_pod, lives.without_decision, lives.unrecorded)
    return (lives.by_pod, lives.by_audit, *without)


def seen(unix_ms: int, of: str) -> Encoded:
    """Return what kube-apiserver's audit log says of a decision."""
    made = Activity(
        format=1,
        id=stable_id(unix_ms, "seen", of),
        time=time_text(unix_ms // 1000),
        cluster=CLUSTER,
        log=Log.KUBERNETES,
        topic=Topic.DECISION_SEEN,
        operation="create",
        resource="train/pods/run",
        facts={"decision": of},
    )
    return FrameKind.ACTIVITY, made.id, encode_event(made)


async def test_pairs_confirm_one_another_and_the_others_are_named(tmp_path: Path) -> None:
    """A Pod by its UID: one pair, one decision without a Pod, one Pod without a decision."""
    lives = await lives_of(
        tmp_path,
        decision(NOON, 1),
        life(NOON + SECOND, 1),
        decision(NOON, 2),
        life(NOON + SECOND, 3),
        decision(NOON, 4, Verdict.DENY),
    )
    assert numbers(lives) == (1, 0, 1, 1, 0)
    (row,) = lives.unconfirmed
    assert (row.cluster, row.namespace, row.first_pods) == (CLUSTER, "train", ["run-3@pod-3"])
    assert row.first_decisions == [decision(NOON, 2)[1]]


async def test_audit_log_confirms_and_tells_of_decisions_that_are_missing(tmp_path: Path) -> None:
    """It names one of the ledger, whose Pod nobody saw, and one that the ledger does not have."""
    known, lost = decision(NOON, 1), decision(NOON, 2)
    lives = await lives_of(tmp_path, known, seen(NOON + 1, known[1]), seen(NOON + 2, lost[1]))
    assert numbers(lives) == (0, 1, 0, 0, 1)
    assert lives.unconfirmed[0].first_unrecorded == [lost[1]]


async def test_edges_of_a_period_make_no_half_pairs(tmp_path: Path) -> None:
    """Decided before its begin or begun after its end: the other half is found, and not counted."""
    lives = await lives_of(
        tmp_path,
        decision(MAY.begin_ms - SECOND, 1),
        life(MAY.begin_ms + SECOND, 1),
        decision(MAY.end_ms - SECOND, 2),
        life(MAY.end_ms + SECOND, 2),
        life(MAY.end_ms + SECOND, 3),
    )
    assert numbers(lives) == (1, 0, 0, 0, 0)
    assert (lives.admitted, lives.pods) == (1, 1)


async def test_what_falls_into_a_gap_of_the_record_is_marked(tmp_path: Path) -> None:
    """Nothing follows from it."""
    hour = 3_600_000
    lives = await lives_of(tmp_path, decision(NOON, 1), gap(NOON - hour, NOON + hour, "pods"))
    assert (lives.without_pod, lives.in_gaps) == (1, 1)


async def test_report_tells_of_them_first(tmp_path: Path) -> None:
    """Among what needs attention, and on the page by namespace."""
    encoded = [access(at(2)), decision(NOON, 1), life(NOON, 3), seen(NOON, decision(NOON, 9)[1])]
    report = await report_of(tmp_path / "l.db", iter(encoded))
    said = [(one.severity, one.text) for one in report.attention if one.part == "confirmed"]
    assert said == [
        ("high", "1 decision in kube-apiserver's audit log but not in the ledger"),
        ("medium", "1 Pod began that no decision admitted"),
        ("low", "1 admitted Pod: neither seen to live nor in kube-apiserver's audit log"),
    ]
    assert "run-3@pod-3" in render_html(report)
