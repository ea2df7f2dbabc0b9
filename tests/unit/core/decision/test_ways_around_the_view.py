"""Ways to read of others by `sallyport explain`: the review is one's own, and made up."""

import json
from typing import Any, Final

import msgspec
import pytest

from core.decision.decision import Action, Finding, Need, Verdict
from core.decision.document import (
    AccessAnswer,
    CountedSignal,
    DecisionDocument,
    Isolated,
    TracedRoot,
    TriedProfile,
)
from core.decision.requester_view import is_requester, view_for_requester
from core.people.subject import Subject
from core.sandbox.decision import ModeSource
from tests.unit.audit.ledger.store.documents import document

EVE: Final = Subject("eve@example.com")
OTHERS: Final = "secret-of-another"
OTHER: Final = Subject("alice@example.com")


def asked(**changes: Any) -> DecisionDocument:
    """Return the refusal of a review that EVE sent herself, about something of another's."""
    made: DecisionDocument = document(verdict=Verdict.DENY, operation=changes.pop("operation", ""))
    plain = msgspec.structs.replace(
        made, requester=EVE.label, findings=[], needs=[], tried=[], access_reviews=[], subjects=[]
    )
    return msgspec.structs.replace(plain, **changes)


SIGNAL: Final = CountedSignal("sandbox/code/remote", 40, "spec.containers[0]", OTHERS)
RULE: Final = "privileges/rights/use"

WAYS: Final[dict[str, dict[str, Any]]] = {
    "what the Pod runs that it would enter": {
        "operation": "CONNECT",
        "isolation": Isolated("required", ModeSource(kind="namespace", name="t"), signals=[SIGNAL]),
        "sandbox": OTHERS,
    },
    "the profile noted on the workload behind a made-up owner": {
        "root": TracedRoot("Deployment", "web", "u-1", OTHER.label, OTHERS),
    },
    "the name of the workload behind a made-up owner": {
        "root": TracedRoot("Deployment", OTHERS, "u-1", OTHER.label),
    },
    "which profile on that workload asks for a sandbox": {
        "isolation": Isolated("required", ModeSource(kind="noted-profile", name=OTHERS)),
    },
    "what the role holds that a binding names": {
        "findings": [Finding(RULE, Action.DENY, "roleRef", OTHERS, OTHERS, OTHERS)],
        "needs": [Need(RULE, OTHERS, "roleRef", "")],
        "tried": [TriedProfile(profile="wide", lacks=[OTHERS])],
    },
    "what a claim is bound to": {
        "needs": [Need("privileges/volume/type", OTHERS, "spec.volumes[0].persistentVolumeClaim")],
    },
    "which profile another may use": {
        "tried": [TriedProfile(profile="wide", usable=True)],
        "subjects": [EVE.label, OTHERS],
        "access_reviews": [AccessAnswer(OTHERS, OTHERS, "train", allowed=True)],
    },
    "whose exception or grant it is": {
        "exceptions": [OTHERS],
        "break_glass": [OTHERS],
        "weight_stores": [OTHERS],
        "grants": [OTHERS],
    },
    "why the cluster could not be asked": {"error_kind": "cluster", "reason": OTHERS},
}


@pytest.mark.parametrize("changes", WAYS.values(), ids=WAYS)
def test_nothing_of_others_is_read_back(changes: dict[str, Any]) -> None:
    """Wants what an object of another holds, which the review names and the gate looked up."""
    made = asked(**changes)
    assert not made.caller_known
    view = view_for_requester(made, EVE, names=False)
    shown = msgspec.structs.replace(view, subjects=[])
    assert OTHERS not in json.dumps(msgspec.to_builtins(shown))
    assert all(each.usable is None for each in view.tried)


def test_one_s_own_is_read() -> None:
    """What is left out above is for whose it is: of an own workload all is told."""
    root = TracedRoot("Deployment", "web", "u-1", EVE.label, "mine")
    by = ModeSource(kind="profile", name="mine")
    own = asked(root=root, isolation=Isolated("required", by, signals=[SIGNAL]), sandbox="gvisor")
    view = view_for_requester(own, EVE, names=False)
    assert (view.root, view.sandbox) == (root, "gvisor")
    assert view.isolation is not None
    assert (view.isolation.mode_by, view.isolation.signals) == (by, [SIGNAL])


NAMES: Final = (
    OTHER.label,
    OTHER.label.upper(),
    f"{OTHER.label} ",
    "ALICE@example.com",
    "alice@example.com ",
    "alice@example.com\u200b",
    "",
)


@pytest.mark.parametrize("username", NAMES)
@pytest.mark.parametrize("names", [False, True])
def test_a_name_that_looks_like_anothers(username: str, *, names: bool) -> None:
    """Wants to be taken for the requester, by a user name that is her pseudonym, or nearly hers."""
    recorded = OTHER.username if names else OTHER.label
    made = asked(requester=recorded)
    assert not is_requester(made, Subject(username), names=names)
