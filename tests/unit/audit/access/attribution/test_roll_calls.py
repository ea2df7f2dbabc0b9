"""A roll call ends the Pods that do not answer, whichever comes first: it, or what was before."""

import uuid
from typing import Any

import pytest

from audit.access.attribution.candidates import attribute
from audit.access.attribution.histories import Histories
from audit.ledger.records.frames import FrameKind
from core.weights.documents.access import Confidence
from core.weights.documents.object_change import ObjectChange, encode_change
from core.weights.documents.pod_life import PodLife
from core.weights.documents.roll_calls import build_roll_call
from tests.unit.audit.access.attribution.cluster_history import CLUSTER, NOON, access, history, life

GONE = str(uuid.UUID(int=1 << 100))
THERE = str(uuid.UUID(int=2 << 100))
CALLED = NOON - 600


def called(*there: str, at: float = CALLED) -> list[ObjectChange]:
    """Return the parts of a roll call."""
    return build_roll_call(CLUSTER, there, int(at * 1000), "control was away")


def pods(**fields: Any) -> tuple[PodLife, PodLife]:
    """Return a Pod that is gone, whose address another has now that answers."""
    gone = life("gone", uid=GONE, **fields)
    return gone, life("there", uid=THERE, addresses=["10.244.0.9"])


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_who_does_not_answer_has_ended_by_then(late: bool) -> None:  # noqa: FBT001
    """Reads from its address are of nobody since; those of before are its own still."""
    call: list[PodLife | ObjectChange] = [*called(THERE)]
    documents = [*call, *pods()] if late else [*pods(), *call]
    made = history(*documents)
    ended = made.pods.get(GONE)
    assert ended is not None
    assert (ended.ended, ended.sure) == (CALLED, False)
    assert attribute(access(), made).attribution.confidence is Confidence.UNATTRIBUTED
    before = attribute(access(CALLED - 60), made).attribution
    assert (before.confidence, before.pods[0].uid) == (Confidence.EXACT, GONE)
    there = attribute(access(address="10.244.0.9"), made).attribution
    assert (there.confidence, there.pods[0].uid) == (Confidence.EXACT, THERE)


def test_a_pod_that_was_made_later_need_not_answer() -> None:
    """It was not there to be called."""
    made = history(*called(THERE), life("gone", uid=GONE, began=CALLED + 60))
    assert attribute(access(), made).attribution.confidence is Confidence.EXACT


def test_an_end_that_somebody_saw_counts_more() -> None:
    """Also where it is told afterwards."""
    seen = life("gone", uid=GONE, ended=CALLED - 300)
    call: list[PodLife | ObjectChange] = [*pods(), *called(THERE)]
    for documents in ([*call, seen], [seen, *call]):
        kept = history(*documents).pods.get(GONE)
        assert kept is not None
        assert (kept.ended, kept.sure) == (CALLED - 300, True)


def test_of_a_call_that_lacks_a_part_nothing_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its Pods would be taken for dead; the next one that is whole counts."""
    monkeypatch.setattr("core.weights.documents.roll_calls._OF_ONE_PART", 1)
    first, _ = called(THERE, str(uuid.UUID(int=3 << 100)))
    made = history(*pods(), first)
    assert attribute(access(), made).attribution.confidence is Confidence.EXACT
    for part in called(THERE, at=CALLED + 60):
        made.take(FrameKind.CHANGE, encode_change(part))
    assert attribute(access(), made).attribution.confidence is Confidence.UNATTRIBUTED


def test_a_restart_between_two_parts_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has come of a call is kept with all else; and the last call, for those who come late."""
    monkeypatch.setattr("core.weights.documents.roll_calls._OF_ONE_PART", 1)
    first, second = called(THERE, str(uuid.UUID(int=3 << 100)))
    made = Histories()
    made.restore(history(*pods(), first).saved())
    made.take(FrameKind.CHANGE, encode_change(second))
    assert attribute(access(), made).attribution.confidence is Confidence.UNATTRIBUTED
    again = Histories()
    again.restore(made.saved())
    assert again.saved() == made.saved()
