"""Ways to more records of refusals than one's own share, by names that are made up."""

from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import pytest

from app.records.record_shares import make_share_of
from app.settings.listeners import ListenSection
from audit.ledger.records.refusal_budget import OTHERS, RefusalBudget, Share
from core.base.ids import uuid7
from core.decision.decision import Action, Decision, Finding, Verdict
from core.people.subject import Subject
from tests.unit.admission.world import Folder, pod, request
from tests.unit.app.records.test_flood_of_refusals import KnownAccounts

N: Final = 10
ACCOUNT: Final = "system:serviceaccount:train:default"


@pytest.fixture
def place(tmp_path: Path) -> KnownAccounts:
    """The namespace train, with the service accounts `default` and `trainer`."""
    folder = Folder(tmp_path)
    folder.namespace("train").cluster()
    return KnownAccounts(folder.path)


def refusal(rule: str = "r", verdict: Verdict = Verdict.DENY) -> Decision:
    """Return a refusal."""
    found = [Finding(rule, Action.DENY, "spec", "m", "r")]
    return Decision(id=uuid7(1), verdict=verdict, allowed=False, findings=found)


def share(
    place: KnownAccounts, username: str, namespace: str, *, authenticated: bool = False
) -> Share:
    """Return whose a refusal is."""
    asked: Any = request(pod(), Subject(username), namespace=namespace, authenticated=authenticated)
    return make_share_of(place, attrgetter("username"))(asked)


MADE_UP: Final = (
    "system:serviceaccount:train:nobody",
    "system:serviceaccount:train:default:more",
    "system:serviceaccount:train:Default",
    "system:serviceaccount:train:default ",
    "system:serviceaccount:train:default\u200b",
    "system:serviceaccount:elsewhere:default",
    "system:serviceaccount:train/default",
    "system:serviceaccount:",
    "System:ServiceAccount:train:default",
    "system:node:gpu-7",
    "system:kube-scheduler",
    "alice@example.com",
    "",
)


@pytest.mark.parametrize("username", MADE_UP)
def test_a_user_name_that_nobody_vouches_for(place: KnownAccounts, username: str) -> None:
    """Wants a share of its own for each made-up name: they are one share of the namespace."""
    assert share(place, username, "train") == Share("train", "")


SPACES: Final = ("Train", "train ", "train\u200b", "tra\u0456n", "train/", "..", "", "kube-system")


@pytest.mark.parametrize("namespace", SPACES)
def test_a_namespace_that_nobody_vouches_for(place: KnownAccounts, namespace: str) -> None:
    """Wants a share for each spelling of a namespace: all of them are one."""
    assert share(place, "alice@example.com", namespace) == OTHERS


def test_who_is_known_is_told_apart(place: KnownAccounts) -> None:
    """What is refused above is for the names, not for all."""
    assert share(place, ACCOUNT, "train") == Share("train", ACCOUNT)


@pytest.mark.parametrize(
    ("ca", "names", "known"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_a_client_ca_without_names_vouches_for_nobody(
    *, ca: bool, names: bool, known: bool
) -> None:
    """Wants to be told apart by any name, with a certificate that the CA gave for something else.

    kube-apiserver shows nodes one of the same CA: nodes/proxy leads here with it.
    """
    listen = ListenSection(client_ca="ca.crt" if ca else None, client_names=["a"] if names else [])
    assert listen.authenticates is known


KINDS: Final = {
    "another object each time": lambda number: (refusal(), f"sha256:{number:064x}"),
    "another rule each time": lambda number: (refusal(f"rule/{number}"), "same"),
    "denials and errors in turn": lambda number: (
        refusal(verdict=Verdict.DENY if number % 2 else Verdict.ERROR),
        f"{number}",
    ),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_refusals_that_all_differ(kind: Any) -> None:
    """Wants a record for each, since none is like another: they are twice the share at most."""
    budget = RefusalBudget(N, clock=lambda: 0.0)
    made = [kind(number) for number in range(5000)]
    kept = [budget.keeps(Share("train", "a"), refused, seen, 1) for refused, seen in made]
    assert sum(kept) == 2 * N
    assert budget.waiting <= 10
    assert budget.keeps(Share("other", "b"), refusal(), "seen", 1)
