"""Decisions and Pods confirm one another, in bounded memory; what has no other half is told."""

import datetime as dt
import tracemalloc
import uuid
from collections.abc import Iterator
from typing import Any

from audit.reports.pod_confirmer import (
    MOST_FIRST,
    PATIENCE_S,
    ConfirmationResult,
    confirm_decisions,
)
from core.base.ids import stable_id
from core.base.times import milli_text
from core.decision.document import DecisionDocument
from core.weights.documents.events import Activity, Log, LogGap, Topic
from core.weights.documents.pod_life import LifeEvent, PodLife
from tests.unit.audit.ledger.store.documents import document

START_MS = int(dt.datetime(2026, 10, 1, tzinfo=dt.UTC).timestamp()) * 1000


def uid_of(number: int) -> str:
    """Return the UID of a Pod."""
    return str(uuid.UUID(int=(number + 1) << 64))


def decided(number: int, at_s: float = 0.0, **changes: Any) -> DecisionDocument:
    """Return the decision that admitted Pod `number`."""
    ms = START_MS + round((at_s or number) * 1000)
    chosen = {"id": stable_id(ms, "decision", str(number)), "object_uid": uid_of(number), **changes}
    made: DecisionDocument = document(ms, **chosen)
    return made


def lived(number: int, at_s: float = 0.0, **changes: Any) -> PodLife:
    """Return the record of Pod `number` seen for the first time."""
    time = milli_text(START_MS + round((at_s or number) * 1000))
    fields: dict[str, Any] = {
        "format": 1,
        "id": uid_of(number),
        "time": time,
        "cluster": "c-1",
        "event": LifeEvent.SEEN,
        "uid": uid_of(number),
        "namespace": "train",
        "name": f"pod-{number}",
        "service_account": "default",
        "began": time,
    }
    return PodLife(**fields | changes)


def audited(decision: DecisionDocument, *, succeeded: bool = True) -> Activity:
    """Return kube-apiserver's own record of a decision."""
    return Activity(
        format=1,
        id=decision.id,
        time=decision.time,
        cluster="c-1",
        log=Log.KUBERNETES,
        topic=Topic.DECISION_SEEN,
        operation="create pods",
        succeeded=succeeded,
        resource="train/pod",
        facts={"decision": decision.id},
    )


def test_what_was_admitted_and_lived_is_confirmed_whichever_came_first() -> None:
    """A Pod's creation is to the second, so it may lie before its decision."""
    decisions = [decided(1, 1.4), decided(2, 2.2)]
    lives = [lived(1, 1.0), lived(2, 3.0)]
    assert confirm_decisions(decisions, lives) == ConfirmationResult(by_pod=2)


def test_a_decision_without_a_pod_and_a_pod_without_a_decision_are_told() -> None:
    """By namespace, with their ids."""
    lonely = decided(1)
    (found,) = confirm_decisions([lonely, decided(3)], [lived(2), lived(3)]).unmatched
    assert (found.namespace, found.decisions, found.pods) == ("train", 1, 1)
    assert found.first_decisions == (lonely.id,)
    assert found.first_pods == (f"pod-2@{uid_of(2)}",)
    assert found.in_gaps == 0


def test_what_comes_of_no_decision_is_no_finding() -> None:
    """Refusals, dry runs, updates, other kinds, other judgements: no Pod is owed."""
    decisions = [
        refused_of(decided(1)),
        decided(2, dry_run=True),
        decided(3, operation="UPDATE"),
        decided(4, kind="Job"),
        decided(5, subresource="exec"),
        decided(6, object_uid=""),
    ]
    assert confirm_decisions(decisions, []) == ConfirmationResult()


def refused_of(decision: DecisionDocument) -> DecisionDocument:
    """Return the same, refused."""
    changed: DecisionDocument = document(
        START_MS, id=decision.id, object_uid=decision.request.object_uid, allowed=False
    )
    return changed


def test_kube_apiservers_own_record_confirms_where_no_pod_was_seen() -> None:
    """Its audit log holds a second copy; a request that failed after all confirms nothing."""
    first, second = decided(1), decided(2)
    confirmed = confirm_decisions(
        [first, second], [], [audited(first), audited(second, succeeded=False)]
    )
    assert confirmed.by_audit == 1
    (found,) = confirmed.unmatched
    assert found.first_decisions == (second.id,)


def test_a_decision_that_the_ledger_does_not_have_is_told() -> None:
    """It was lost, or somebody forged it: only kube-apiserver knows of it."""
    lost, kept, refused = decided(1), decided(2), refused_of(decided(3))
    seen = sorted([audited(lost), audited(kept), audited(refused)], key=lambda each: each.time)
    decisions = sorted([kept, refused], key=lambda each: each.time)
    (found,) = confirm_decisions(decisions, [lived(2)], seen).unmatched
    assert (found.unrecorded, found.first_unrecorded) == (1, (lost.id,))
    assert (found.decisions, found.pods) == (0, 0)


def test_later_documents_of_a_pod_are_no_new_pods() -> None:
    """Its addresses, its end, and that it is told again each week."""
    began = milli_text(START_MS + 1000)
    later = [
        lived(1, 5.0, event=LifeEvent.ADDRESSED, began=began),
        lived(1, 7200.0, began=began),
        lived(1, 7300.0, event=LifeEvent.ENDED, began=began),
    ]
    assert confirm_decisions([decided(1)], [lived(1), *later]) == ConfirmationResult(by_pod=1)


def test_of_a_gap_nothing_follows_and_it_is_said() -> None:
    """Both are counted; so is how many of them fall into it."""
    gap = LogGap(
        format=1,
        id=uid_of(0),
        cluster="c-1",
        log="pods",
        subject="Pod",
        begin=milli_text(START_MS),
        end=milli_text(START_MS + 5000),
        why="",
    )
    (found,) = confirm_decisions([decided(1), decided(9)], [], gaps=[gap]).unmatched
    assert (found.decisions, found.in_gaps) == (2, 1)


def test_namespaces_where_nothing_is_judged_are_left_out() -> None:
    """Their Pods have no decision by design."""
    outside = lived(1, namespace="kube-system")
    assert (
        confirm_decisions([], [outside], ignored={"kube-system"}.__contains__)
        == ConfirmationResult()
    )


def test_only_the_first_are_named() -> None:
    """And all are counted."""
    (found,) = confirm_decisions([decided(n) for n in range(1, 101)], []).unmatched
    assert found.decisions == 100
    assert len(found.first_decisions) == MOST_FIRST


def test_memory_does_not_grow_with_the_period() -> None:
    """Ten times as many pairs need no more than once what waits at a time."""

    def peak(pods: int) -> int:
        def decisions() -> Iterator[DecisionDocument]:
            return (decided(n, n * 2.0 + 1) for n in range(pods))

        def lives() -> Iterator[PodLife]:
            return (lived(n, n * 2.0 + 2) for n in range(pods))

        tracemalloc.start()
        assert confirm_decisions(decisions(), lives()) == ConfirmationResult(by_pod=pods)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    waiting = PATIENCE_S // 2
    assert peak(10 * waiting) < 1.5 * peak(2 * waiting)
