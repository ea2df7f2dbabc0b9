"""Which grant covered an access when it was made; else the reason of the one that came nearest."""

from typing import Any

import pytest

from audit.access.attribution.candidates import attribute
from audit.access.attribution.grant_history import GrantHistory
from audit.access.attribution.grants import GrantCoverage, find_covering_grant
from core.weights.documents.access import Access, Act, Caller, SignedBy
from core.weights.documents.object_change import ObjectChange
from core.weights.documents.pod_life import PodLife
from tests.unit.audit.access.attribution.cluster_history import (
    ALICE,
    NOON,
    OBJECT,
    access,
    change,
    decision,
    history,
    life,
)

SPEC: dict[str, Any] = {
    "store": "llama",
    "rights": ["read"],
    "reason": "evaluation",
    "expiresAt": "2026-05-02T12:00:00Z",
    "serviceAccounts": ["trainer"],
    "people": [ALICE],
}
BOTH = ["oid:b", "oid:c"]
ID = "team/eval@uid-eval"


def given(
    *, at: float = NOON - 7200, approvers: list[str] = BOTH, **spec: Any
) -> list[ObjectChange]:
    """Return the record of a grant that was made and approved."""
    whole = {**SPEC, **spec}
    there = change("AccessGrant", "eval", "there", at, spec=whole, digest="sha256:1")
    approved = change(
        "AccessGrant", "eval", "approved", at + 1, digest="sha256:1", approvers=approvers
    )
    return [there, approved]


def answer(
    one: Access,
    changes: list[ObjectChange],
    *documents: PodLife | bytes,
    admitted: bytes | None = None,
) -> GrantCoverage:
    """Say which grant covered an access."""
    lives = documents or (life(), admitted or decision("uid-train-0"))
    known = history(*lives)
    grants = GrantHistory()
    for each in changes:
        grants.take(each)
    return find_covering_grant(one, attribute(one, known), known, grants)


def test_live_and_approved_by_two() -> None:
    """Namespace, service account, human, place, right and time all agree."""
    assert answer(access(), given()) == (ID, "")


def test_order_of_documents_changes_nothing() -> None:
    """The record may come in any order."""
    assert answer(access(), given()[::-1]) == (ID, "")


def test_no_weights_need_no_grant() -> None:
    """Of a place that is no WeightStore's, nothing is said."""
    assert answer(access(store=""), []) == ("", "")


@pytest.mark.parametrize(
    ("spec", "one", "word"),
    [
        ({"store": "qwen"}, access(), "there is no AccessGrant of llama"),
        ({"container": "qwen"}, access(), "is not about that blob"),
        ({"container": "llama", "prefixes": ["run-8/"]}, access(), "is not about that blob"),
        ({}, access(act=Act.DELETE, operation="DeleteBlob"), "does not give the right to delete"),
        ({}, access(act=Act.COPY, operation="CopyBlob"), "does not give the right to write"),
        ({}, access(act=Act.POLICY, operation="SetContainerACL"), "the right to write"),
        ({"serviceAccounts": ["web"]}, access(), "does not name the service account trainer"),
        ({"people": ["oid:0d000000-0000-4000-8000-00000000000b"]}, access(), f"not name {ALICE}"),
        ({"notBefore": "2026-05-01T13:00:00Z"}, access(), "begins only at 2026-05-01T13:00:00Z"),
        ({"expiresAt": "2026-05-01T11:59:59Z"}, access(), "had expired at 2026-05-01T11:59:59Z"),
    ],
)
def test_ungranted_access_names_what_of_the_grant_differs(
    spec: dict[str, Any], one: Access, word: str
) -> None:
    """Each thing that a grant says must hold; the reason names the grant and what does not."""
    found = answer(one, given(**spec))
    assert not found.grant
    assert word in found.ungranted


@pytest.mark.parametrize("approvers", [[], ["oid:b"], ["oid:b", "oid:b"]])
def test_fewer_than_two_people(approvers: list[str]) -> None:
    """One person who approves twice is one."""
    found = answer(access(), given(approvers=approvers))
    assert found == ("", "AccessGrant team/eval was not approved by two people")


def test_approved_after_the_access() -> None:
    """An approval does not reach back."""
    assert not answer(access(NOON), given(at=NOON + 60)).grant
    assert answer(access(NOON + 120), given(at=NOON + 60)).grant


def test_ended_deleted_or_changed_before_the_access() -> None:
    """A Pod that still runs reads without a grant from then on; what was before stays covered."""
    for event in ("ended", "deleted"):
        end = change("AccessGrant", "eval", event, NOON)
        assert answer(access(NOON - 1), [*given(), end]).grant
        assert not answer(access(NOON + 1), [*given(), end]).grant
    wider = {**SPEC, "rights": ["read", "write"]}
    edit = change("AccessGrant", "eval", "changed", NOON, spec=wider, digest="sha256:2")
    assert answer(access(NOON - 1), [*given(), edit]).grant
    assert not answer(access(NOON + 1), [*given(), edit]).grant


def test_change_that_leaves_the_digest_leaves_the_approval() -> None:
    """What was approved is what it still is."""
    same = change("AccessGrant", "eval", "changed", NOON, spec=SPEC, digest="sha256:1")
    assert answer(access(NOON + 1), [*given(), same]).grant == ID


def test_last_month_is_judged_by_last_month() -> None:
    """What was granted then counts for then, though it has expired long since."""
    later = change("AccessGrant", "eval", "ended", NOON + 86_400)
    assert answer(access(NOON), [*given(), later]).grant == ID


def test_group_that_let_the_pod_in() -> None:
    """Nobody knows later who was in a group: the decision says which grant it found."""
    by_group = given(people=None, groups=["researchers"])
    del by_group[0].spec["people"]
    assert "does not name" in answer(access(), by_group).ungranted
    admitted = decision("uid-train-0", grants=[ID])
    assert answer(access(), by_group, admitted=admitted).grant == ID


def test_each_that_it_can_have_been_must_be_covered() -> None:
    """Nobody is excused by the grant of another on the same node."""
    other = life("web-0", service_account="web", addresses=["10.244.0.6"])
    one = access(address="10.224.0.4", caller=Caller.NODE)
    documents = (life(), other, decision("uid-train-0"), decision("uid-web-0"))
    found = answer(one, given(), *documents)
    assert found.ungranted.startswith("of those that it can have been, some had no grant")
    both = given(serviceAccounts=["trainer", "web"])
    assert answer(one, both, *documents).grant == ID


def test_person_who_reads_without_a_pod() -> None:
    """A grant that names a person covers what they read themselves."""
    person: dict[str, Any] = {"application": "04b07795-8ddb-461a-bbee-02f9e1bf7b46"}
    assert answer(access(**person), given(people=[f"oid:{OBJECT}"])).grant == ID
    assert f"does not name oid:{OBJECT}" in answer(access(**person), given()).ungranted


def test_workload_from_no_pod() -> None:
    """A token that is used elsewhere is under no grant, whatever its Pods are given."""
    found = answer(access(address="203.0.113.9", caller=Caller.PUBLIC), given())
    assert found == ("", "it comes from no Pod of team/trainer")


def test_key() -> None:
    """No grant is given to whoever holds a key."""
    found = answer(access(signed_by=SignedBy.ACCOUNT_KEY, principal="", application=""), given())
    assert "signed with the account's key" in found.ungranted


def test_unreadable_grant_grants_nothing_and_is_told() -> None:
    """What cannot be read is not taken for less than it says."""
    grants = GrantHistory()
    for each in given(rights=["everything"]):
        grants.take(each)
    assert not any(term.approved for term in grants.about("llama"))
    assert "spec.rights" in grants.unreadable["uid-eval"]


def test_saved_and_taken_back() -> None:
    """A restart knows what was known."""
    grants, again = GrantHistory(), GrantHistory()
    for each in given():
        grants.take(each)
    again.restore(grants.saved())
    assert again.about("llama") == grants.about("llama")
    again.forget(NOON + 3 * 86_400)
    assert not again.about("llama")
