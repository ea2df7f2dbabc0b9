"""Which recorded decisions are acts of somebody."""

from typing import Any

import msgspec
import pytest

from audit.behaviour.acts import ActKind, decided_act_of
from core.people.subject import Subject
from core.risk.model import identity_key
from tests.unit.audit.behaviour.acts_of_people import AFTER, WHO, document


def of(**changes: Any) -> Any:
    """Return the act of a document."""
    decided = decided_act_of(msgspec.json.encode(document(AFTER, **changes)))
    return decided and decided.act


def test_an_act_is_who_when_where_and_what() -> None:
    """The time is that of the decision's id; whose key is that by which gates know them."""
    found = of()
    assert (found.cluster, found.at, found.who) == ("prod-1", AFTER, identity_key(WHO))
    assert (found.namespace, found.profile, found.refused) == ("team-a", "restricted", "")
    assert found.doing is ActKind.CREATE
    assert not found.is_machine


@pytest.mark.parametrize(
    ("request_", "doing"),
    [
        ({"operation": "CONNECT", "kind": "Pod", "subresource": "exec"}, ActKind.ENTER),
        (
            {"operation": "UPDATE", "kind": "Pod", "subresource": "ephemeralcontainers"},
            ActKind.ENTER,
        ),
        ({"operation": "UPDATE"}, ActKind.OTHER),
        ({"operation": "CREATE", "kind": "TokenRequest", "subresource": "token"}, ActKind.OTHER),
    ],
)
def test_entering_and_creating_are_told_apart(request_: dict[str, str], doing: ActKind) -> None:
    """Ephemeral containers enter a Pod; a token is no workload."""
    assert of(request=request_).doing is doing


@pytest.mark.parametrize(
    "changes",
    [
        {"requesterKind": "controller", "requester": "system:serviceaccount:kube-system:job"},
        {"requesterKind": "node", "requester": "system:node:n1"},
        {"requesterKind": "component", "requester": "system:kube-scheduler"},
        {"requesterKind": "anonymous", "requester": "system:anonymous"},
        {"requesterKind": ""},
        {"source": "mutate"},
        {"source": "sweep"},
        {"request": {"dryRun": True}},
        {"traced": "noted", "root": {"kind": "Job", "name": "j", "uid": "1"}},
        {"verdict": "error", "allowed": False, "errorKind": "timeout"},
    ],
)
def test_what_nobody_submitted_is_no_act(changes: dict[str, Any]) -> None:
    """A gang's Pods, the cluster's own parts, tries and errors teach nothing of a person."""
    assert of(**changes) is None


@pytest.mark.parametrize("kind", ["service-account", "pipeline"])
def test_pipelines_and_applications_act_too(kind: str) -> None:
    """As machines: what is usual for them is not what is usual for people."""
    assert of(requesterKind=kind, requester="system:serviceaccount:ci:runner").is_machine


def test_a_denial_names_what_was_refused() -> None:
    """The same thing refused for the same reason has the same text."""
    denied = {"verdict": "deny", "allowed": False}
    first = of(**denied, findings=[{"rule": "a/b"}, {"rule": "c/d"}])
    assert first.refused == "team-a/Job//a/b"
    assert of(**denied, findings=[{"rule": "a/b"}]).refused == first.refused
    assert of(**denied, findings=[{"rule": "c/d"}]).refused != first.refused
    assert of(**denied).refused
    assert not of(verdict="deny", findings=[{"rule": "a/b"}]).refused  # In warn mode it was let in.


def test_a_recorded_name_is_known_by_the_label_of_it() -> None:
    """Where the operator keeps names, gates still ask by `Subject.label`."""
    name = "jane@example.com"
    assert of(requester=name).who == identity_key(Subject(name).label)


@pytest.mark.parametrize(
    "content", [b"{}", b"\xff", b"[" * 100_000, b'{"id": "x"}'], ids=["empty", "text", "deep", "id"]
)
def test_what_cannot_be_read_is_no_act(content: bytes) -> None:
    """Documents of later releases, and broken ones, are passed over."""
    assert decided_act_of(content) is None


def test_an_id_without_a_number_is_no_act() -> None:
    """Its frame went to the quarantine."""
    assert decided_act_of(msgspec.json.encode(document(AFTER) | {"id": "z" * 36})) is None


def test_a_denial_of_the_mutating_pass_is_an_act() -> None:
    """What the back-stop would hold is refused there already; nothing else follows."""
    denied = of(source="mutate", verdict="deny", allowed=False, findings=[{"rule": "a/b"}])
    assert denied.refused == "team-a/Job//a/b"
