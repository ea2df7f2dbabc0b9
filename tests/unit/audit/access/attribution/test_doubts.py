"""What is not sure is not said to be: one of several, a node, or nobody, and why."""

import ipaddress
from typing import Any

import pytest

from audit.access.attribution.rules import AttributionRules
from core.weights.documents.access import Caller, Confidence, SignedBy
from tests.unit.audit.access.attribution.cluster_history import (
    CLIENT,
    NOON,
    OBJECT,
    OTHER_CLIENT,
    access,
    asked,
    change,
    decision,
    gap,
    life,
)

NODE: dict[str, Any] = {"address": "10.224.0.4", "caller": Caller.NODE}


@pytest.mark.parametrize(
    ("signed_by", "word"),
    [
        (SignedBy.ACCOUNT_KEY, "account's key"),
        (SignedBy.SAS, "SAS"),
        (SignedBy.ANONYMOUS, "anonymous"),
        (SignedBy.KERBEROS, "Kerberos"),
        (SignedBy.UNKNOWN, "does not know"),
    ],
)
def test_no_one_to_attribute(signed_by: SignedBy, word: str) -> None:
    """Whoever holds a key is nobody, also where a Pod had the address."""
    found = asked(access(signed_by=signed_by), life())
    assert found.attribution.confidence is Confidence.UNATTRIBUTED
    assert not found.attribution.pods
    assert word in found.attribution.why


def test_two_of_an_identity_on_one_node() -> None:
    """Behind a node's address they cannot be told apart; each is named."""
    other = life("train-1", addresses=["10.244.0.6"])
    found = asked(access(**NODE), life(), other).attribution
    assert (found.confidence, found.among) == (Confidence.ONE_OF, 2)
    assert [each.pod for each in found.pods] == ["team/train-0", "team/train-1"]


def test_request_id_is_a_hint_and_no_proof() -> None:
    """The caller chooses it: it is told, and does not make sure."""
    other = life("train-1", addresses=["10.244.0.6"])
    one = access(client_request="x-uid-train-1", **NODE)
    found = asked(one, life(), other).attribution
    assert (found.confidence, found.among) == (Confidence.ONE_OF, 2)
    assert "its request id, which the caller chose, names team/train-1" in found.why


def test_only_the_first_are_named_and_all_are_counted() -> None:
    """A document stays small however many share a node."""
    gang = [life(f"train-{n:02}", addresses=[f"10.244.0.{n}"]) for n in range(1, 31)]
    found = asked(access(**NODE), *gang)
    assert (found.attribution.among, len(found.attribution.pods), len(found.lives)) == (30, 8, 30)


def test_token_used_from_an_address_of_no_pod_of_the_identity() -> None:
    """A stolen token is not blamed on the Pod that it was stolen from."""
    thief = life(
        "thief", service_account="web", client_ids=[OTHER_CLIENT], addresses=["10.244.0.9"]
    )
    found = asked(access(address="10.244.0.9"), life(), thief).attribution
    assert found.confidence is Confidence.UNATTRIBUTED
    assert not found.pods
    assert "none had the address 10.244.0.9: its token was used elsewhere" in found.why


def test_token_of_a_pod_that_has_ended() -> None:
    """Its address may be another's now: who uses it there later is not that Pod."""
    found = asked(access(), life(ended=NOON - 7200, began=NOON - 9000)).attribution
    assert found.confidence is Confidence.UNATTRIBUTED
    assert "no Pod lived then" in found.why
    assert "team/train-0 had that address and ended 2 h before" in found.why


def test_just_ended_is_never_exact() -> None:
    """Clocks differ by seconds: it can have been that Pod, or whoever came next."""
    found = asked(access(), life(ended=NOON - 4)).attribution
    assert (found.confidence, found.among) == (Confidence.ONE_OF, 1)
    assert "it had just ended" in found.why


def test_address_that_was_given_on_within_seconds() -> None:
    """Two Pods of the identity had it around that time: it is one of both."""
    before = life("train-0", ended=NOON - 3)
    after = life("train-1", began=NOON - 1)
    found = asked(access(), before, after).attribution
    assert (found.confidence, found.among) == (Confidence.ONE_OF, 2)


def test_address_reused_long_after() -> None:
    """The one that has it now is meant, and not the one that had it."""
    before = life("train-0", ended=NOON - 600)
    after = life("train-1", began=NOON - 500)
    found = asked(access(), before, after).attribution
    assert (found.confidence, found.pods[0].pod) == (Confidence.EXACT, "team/train-1")


def test_public_address() -> None:
    """What comes from outside is from no Pod, whatever it signed in as."""
    found = asked(access(address="203.0.113.9", caller=Caller.PUBLIC), life()).attribution
    assert found.confidence is Confidence.UNATTRIBUTED
    assert "one Pod lived then" in found.why


def test_no_address() -> None:
    """Without one, it was any of the identity's Pods; a single one is not made exact by it."""
    found = asked(access(address="", caller=Caller.NONE), life()).attribution
    assert (found.confidence, found.among) == (Confidence.ONE_OF, 1)
    assert "the record has no address" in found.why


def test_shared_address() -> None:
    """Behind a gateway may be anybody: any of the identity's Pods that lived then."""
    rules = AttributionRules(shared=(ipaddress.ip_network("10.9.0.0/29"),))
    ended = life("train-9", ended=NOON - 600)
    other = life("train-1", node_addresses=["10.224.0.5"])
    one = access(address="10.9.0.2", caller=Caller.NETWORK)
    found = asked(one, life(), other, ended, rules=rules).attribution
    assert (found.confidence, found.among) == (Confidence.ONE_OF, 2)
    assert "10.9.0.2 is shared" in found.why


def test_a_person() -> None:
    """No service account signs in so: it is said, and nobody is blamed."""
    found = asked(access(application="04b07795-8ddb-461a-bbee-02f9e1bf7b46"), life())
    assert found.attribution.confidence is Confidence.UNATTRIBUTED
    assert not found.accounts
    assert f"no service account signs in as oid:{OBJECT}" in found.attribution.why


def test_gap_in_the_record_of_pods() -> None:
    """Another may have come and gone meanwhile: one of, with the gap named."""
    found = asked(access(), life(), gap("pods", NOON - 60, NOON + 60)).attribution
    assert (found.confidence, found.among, found.gaps) == (Confidence.ONE_OF, 1, True)
    assert "the record of Pods has a gap from 2026-05-01T11:59:00Z" in found.why


def test_gap_at_another_time_changes_nothing() -> None:
    """Who was there after a gap is known again."""
    found = asked(access(), life(), gap("pods", NOON - 600, NOON - 60)).attribution
    assert (found.confidence, found.gaps) == (Confidence.EXACT, False)


def test_gap_in_the_record_of_identities_lasts_as_long_as_a_token() -> None:
    """Who had the identity for a moment has a token of it for a day."""
    early = gap("identities", NOON - 20 * 3600, NOON - 19 * 3600)
    assert asked(access(), life(), early).attribution.gaps
    older = gap("identities", NOON - 27 * 3600, NOON - 26 * 3600)
    assert not asked(access(), life(), older).attribution.gaps


def test_before_the_record_began() -> None:
    """Nothing is known of then: it is a gap, and not a stranger without one."""
    found = asked(access(NOON - 31 * 3600), life()).attribution
    assert (found.confidence, found.gaps) == (Confidence.UNATTRIBUTED, True)


def test_csi_driver_reads_with_the_nodes_identity() -> None:
    """From a node's address and as nobody's service account: those there that mount it."""
    kubelet: dict[str, Any] = {"application": OTHER_CLIENT, "principal": ""}
    mounts = life("m-0", client_ids=[], volumes=["weightsprod/llama"])
    hidden = life("m-1", client_ids=[], volumes=["weightsprod/"])
    others = life("m-2", client_ids=[], volumes=["weightsprod/qwen"])
    far = life("m-3", client_ids=[], volumes=["weightsprod/llama"], node_addresses=["10.224.0.9"])
    found = asked(access(**NODE, **kubelet), mounts, hidden, others, far).attribution
    assert (found.confidence, found.among) == (Confidence.NODE, 2)
    assert [each.pod for each in found.pods] == ["team/m-0", "team/m-1"]


def test_nodes_identity_where_nobody_mounts() -> None:
    """Something on the node asked its metadata service for a token: nobody is blamed."""
    rules = AttributionRules(node_identities=frozenset({OTHER_CLIENT}))
    found = asked(access(**NODE, application=OTHER_CLIENT), life(), rules=rules).attribution
    assert found.confidence is Confidence.UNATTRIBUTED
    assert "the nodes' own identity" in found.why


def test_pod_that_claims_the_nodes_identity() -> None:
    """It and those that mount cannot be told apart: a claim does not take the blame from others."""
    rules = AttributionRules(node_identities=frozenset({OTHER_CLIENT}))
    mounts = life("m-0", client_ids=[], volumes=["weightsprod/llama"])
    claims = life("claims", client_ids=[OTHER_CLIENT], service_account="web")
    one = access(**NODE, application=OTHER_CLIENT)
    found = asked(one, mounts, claims, rules=rules).attribution
    assert (found.confidence, found.among) == (Confidence.NODE, 2)


def test_delegated_sas_is_carried() -> None:
    """From the Pod's own address it is that Pod; from a shared one anything may have had it."""
    spec = {"identities": [{"clientId": CLIENT, "objectId": OBJECT, "rights": ["read"]}]}
    store = change("WeightStore", "llama", "there", spec=spec)
    sas: dict[str, Any] = {
        "signed_by": SignedBy.DELEGATION_SAS,
        "delegator": OBJECT,
        "principal": "",
        "application": "",
    }
    assert asked(access(**sas), life(), store).attribution.confidence is Confidence.EXACT
    shared = asked(access(**sas, **NODE), life(), store).attribution
    assert (shared.confidence, shared.among) == (Confidence.ONE_OF, 1)
    assert "a SAS can be carried" in shared.why


def test_identity_of_a_service_account_is_that_of_its_time() -> None:
    """Who named the client id until yesterday can have a token of it today, and not next week."""
    bare = life(client_ids=[], volumes=["other/x"])
    named = change("ServiceAccount", "trainer", "there", NOON - 7200, spec={"clientId": CLIENT})
    gone = change("ServiceAccount", "trainer", "changed", NOON - 3600, spec={})
    assert asked(access(), named, bare, gone).attribution.confidence is Confidence.EXACT
    week = asked(access(NOON + 7 * 86_400), named, bare, gone)
    assert week.attribution.confidence is Confidence.UNATTRIBUTED
    assert not week.accounts


def test_federated_credential_lets_a_service_account_sign_in() -> None:
    """Entra's own record names the service account: the annotation is only a default."""
    spec = {"clientId": CLIENT, "subject": "system:serviceaccount:team:trainer"}
    credential = change("FederatedCredential", "cred", "there", NOON - 7200, spec=spec)
    bare = life(client_ids=[], volumes=["other/x"])
    assert asked(access(), credential, bare).attribution.confidence is Confidence.EXACT


def test_decision_of_another_pod_is_not_taken() -> None:
    """Decisions go by the object's UID, and names may come again."""
    found = asked(access(), life(), decision("uid-of-the-one-before")).attribution
    assert found.pods[0].requester == ""
