"""What is remembered of Pods is bounded, comes back after a restart, and says what it lost."""

import math

from hypothesis import given
from hypothesis import strategies as st

from audit.access.attribution.candidates import attribute
from audit.access.attribution.histories import Histories
from audit.access.attribution.lives import Life, life_of, unix_seconds
from audit.access.attribution.pods import Pods
from core.weights.documents.access import Confidence
from tests.unit.audit.access.attribution.cluster_history import (
    CLIENT,
    NOON,
    access,
    change,
    decision,
    gap,
    history,
    life,
    text,
)


def one(number: int, *, ended: float = math.inf) -> Life:
    """Return a numbered Pod's life."""
    return life_of(life(f"p-{number}", ended=None if ended == math.inf else ended))


def test_those_that_ended_first_make_room() -> None:
    """Beyond the most, what ended longest ago goes, and answers of then are uncertain."""
    pods = Pods(most=3)
    for number in range(5):
        pods.add(one(number, ended=NOON + number))
    assert sorted(each.uid for each in pods) == ["uid-p-2", "uid-p-3", "uid-p-4"]
    assert pods.lost == NOON + 1


def test_too_many_alive_makes_everything_uncertain() -> None:
    """Where no Pod has ended, a living one must go: nothing is exact any more."""
    made = Histories(most_pods=1)
    made.gaps.begin(0)
    made.pods.add(one(0))
    made.pods.add(one(1))
    found = attribute(access(), made)
    assert (found.attribution.confidence, found.attribution.gaps) == (Confidence.ONE_OF, True)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.booleans()), max_size=40))
def test_indexes_agree_with_what_is_kept(steps: list[tuple[int, int, bool]]) -> None:
    """However Pods come, change, end and are forgotten, no index keeps one that is gone."""
    pods = Pods(most=3)
    for number, hour, forgets in steps:
        if forgets:
            pods.forget(NOON + hour * 3600)
        else:
            pods.add(one(number, ended=NOON + hour * 3600 if hour else math.inf))
    kept = {each.uid for each in pods}
    assert len(kept) <= 3
    assert {each.uid for each in pods.of("team/trainer")} == kept
    assert {each.uid for each in pods.at("team/trainer", "10.224.0.4")} == kept
    assert pods.is_node("10.224.0.4") == bool(kept)
    assert list(pods.claiming(CLIENT)) == (["team/trainer"] if kept else [])


def test_pods_without_identity_or_mounts_are_not_kept() -> None:
    """Pods that sign in as nobody and mount nothing cannot reach weights as themselves."""
    made = history(life(client_ids=[]))
    assert len(made.pods) == 0
    named = change("ServiceAccount", "trainer", "there", spec={"clientId": CLIENT})
    assert len(history(named, life(client_ids=[])).pods) == 1


def test_restart_knows_the_same() -> None:
    """What is saved and taken back attributes alike."""
    made = history(
        life(),
        life("train-1", addresses=["10.244.0.6"], ended=NOON + 5),
        decision("uid-train-0"),
        change("ServiceAccount", "trainer", "there", spec={"clientId": CLIENT}),
        gap("pods", NOON + 100, NOON + 200),
    )
    again = Histories()
    again.restore(made.saved())
    for at in (NOON, NOON + 150):
        for address in ("10.244.0.5", "10.244.0.6", "10.224.0.4"):
            asked = access(at, address=address)
            assert attribute(asked, made) == attribute(asked, again)
    assert again.saved() == made.saved()


def test_forgetting_is_remembered() -> None:
    """Whoever asks for a time before must read the ledger once more."""
    made = history(life(ended=NOON), decision("uid-train-0"))
    made.forget(NOON + 1)
    assert made.forgotten_s == NOON + 1
    assert len(made.pods) == 0
    assert not made.admissions.of("uid-train-0")


def test_times() -> None:
    """Times are read as they are written, to the millisecond."""
    assert unix_seconds(text(NOON + 0.25)) == NOON + 0.25
    assert unix_seconds("2026-05-01T12:00:00Z") == NOON
