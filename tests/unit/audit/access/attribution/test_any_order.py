"""What is known does not depend on the order in which documents came, nor on their coming again."""

import itertools
import json
from typing import Any

import pytest

from audit.access.attribution.histories import Histories
from audit.access.attribution.risk_history import RiskHistory
from audit.ledger.records.frames import FrameKind
from core.base.ids import stable_id
from core.weights.documents.pod_life import LifeEvent, encode_life
from tests.unit.audit.access.attribution.cluster_history import (
    ALICE,
    CLIENT,
    NOON,
    OTHER_CLIENT,
    access,
    asked,
    change,
    decision,
    gap,
    history,
    life,
)

HOUR = 3600


def account(event: str, at: float, client: str) -> Any:
    """Return a change of the service account `trainer`."""
    spec = {"clientId": client} if client else {}
    return change("ServiceAccount", "trainer", event, at, namespace="team", spec=spec)


CHANGES = (
    account("there", NOON - 60 * HOUR, CLIENT),
    account("changed", NOON - 40 * HOUR, OTHER_CLIENT),
    account("changed", NOON, ""),
)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_identity_history_answers_up_to_each_change(order: tuple[int, ...]) -> None:
    """Before it was first seen, and up to each change."""
    made = history(*[CHANGES[place] for place in order], *[CHANGES[place] for place in order])
    could = made.identities.could
    spans = [(-900, -800), (-61, -59), (-40, -39), (-39, -38), (-1, 0), (1, 2)]
    at = [(NOON + begin * HOUR, NOON + end * HOUR) for begin, end in spans]
    assert [could("team/trainer", CLIENT, *span) for span in at] == [1, 1, 1, 0, 0, 0]
    assert [could("team/trainer", OTHER_CLIENT, *span) for span in at] == [0, 0, 1, 1, 1, 0]
    assert not made.identities.names_anybody("team/trainer")
    again = Histories()
    again.restore(made.saved())
    assert again.saved() == made.saved()


DOCUMENTS = (
    life("train-0", client_ids=[], event=LifeEvent.ADDRESSED),
    account("changed", NOON - 7200, CLIENT),
    decision("uid-train-0"),
    gap("pods", NOON - 9 * HOUR, NOON - 8 * HOUR),
)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_a_pod_whose_identity_is_told_later(order: tuple[int, ...]) -> None:
    """It is found by what its service account names, and with its decision, whatever came first."""
    found = asked(access(), *[DOCUMENTS[place] for place in order]).attribution
    wanted = asked(access(), *DOCUMENTS).attribution
    assert [pod.requester for pod in found.pods] == [ALICE]
    assert found == wanted


def test_the_record_began_with_the_first_pod_not_with_the_first_told() -> None:
    """A Pod of the day before, told later, tells that there was a record on that day."""
    old = life("train-9", began=NOON - 60 * HOUR, addresses=["10.244.0.9"])
    new = life("train-0", began=NOON - HOUR)
    early = access(NOON - 20 * HOUR, address="10.244.0.9")
    for order in ((old, new), (new, old)):
        assert not asked(early, *order).attribution.gaps


def test_a_beginning_that_comes_after_the_end_was_forgotten() -> None:
    """It does not make the Pod live again."""
    made = history(life(ended=NOON - 1800))
    made.forget(NOON)
    kept = Histories()
    kept.restore(made.saved())
    for each in (made, kept):
        each.take(FrameKind.POD_LIFE, encode_life(life()))
        assert not list(each.pods)


def _told(at: float, standing: str) -> bytes:
    return json.dumps(
        {"id": stable_id(int(at * 1000), standing), "subject": "oid:a", "standing": standing}
    ).encode()


TOLD = (_told(NOON, "at-risk"), _told(NOON + HOUR, "clean"), _told(NOON + 3 * HOUR, "at-risk"))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_identity_is_at_risk_until_the_report_of_its_end(order: tuple[int, ...]) -> None:
    """From each telling to when it was told to be over.

    What ends one may come too late to part two that have become one: rather too long then.
    """
    made = RiskHistory()
    for place in order:
        made.take(FrameKind.LOOK_BACK, TOLD[place])
    kept = RiskHistory()
    kept.restore(made.saved())
    between = "at-risk" if order[-1] == 1 and order[0] != 1 else ""
    at = [NOON - 1, NOON + 1, NOON + 2 * HOUR, NOON + 4 * HOUR]
    assert [kept.at("oid:a", each) for each in at] == ["", "at-risk", between, "at-risk"]
