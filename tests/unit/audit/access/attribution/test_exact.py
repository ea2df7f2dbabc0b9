"""An access is exact where its identity and its address say one and the same Pod."""

from audit.access.attribution.rules import AttributionRules
from core.weights.documents.access import Caller, Confidence
from tests.unit.audit.access.attribution.cluster_history import (
    ALICE,
    CLIENT,
    NOON,
    OBJECT,
    access,
    asked,
    change,
    decision,
    life,
)


def test_own_address_of_the_only_pod() -> None:
    """With a flat CNI the address is the Pod's, and the decision tells of the human."""
    found = asked(access(), life(), decision("uid-train-0")).attribution
    assert found.confidence is Confidence.EXACT
    assert (found.among, found.gaps) == (1, False)
    (pod,) = found.pods
    assert (pod.pod, pod.uid, pod.service_account) == (
        "team/train-0",
        "uid-train-0",
        "team/trainer",
    )
    assert (pod.requester, pod.profile, pod.sandbox) == (ALICE, "restricted", "gvisor")
    assert found.why == (
        f"client:{CLIENT} is team/trainer, of which only team/train-0 had the address 10.244.0.5"
    )


def test_nodes_address_with_one_pod_of_the_identity_there() -> None:
    """With an overlay the address is the node's: exact where one Pod there signs in so."""
    other = life("other", service_account="web", client_ids=[], addresses=["10.244.0.6"])
    elsewhere = life(
        "train-1", addresses=["10.244.1.5"], node="node-2", node_addresses=["10.224.0.5"]
    )
    found = asked(access(address="10.224.0.4", caller=Caller.NODE), life(), other, elsewhere)
    assert found.attribution.confidence is Confidence.EXACT
    assert found.attribution.pods[0].pod == "team/train-0"
    assert "whose address its Pods share" in found.attribution.why


def test_one_of_a_gang_by_its_own_address() -> None:
    """Thousands may share an identity: the address tells which it was."""
    gang = [life(f"train-{n}", addresses=[f"10.244.0.{n}"]) for n in range(1, 40)]
    found = asked(access(address="10.244.0.7"), *gang).attribution
    assert (found.confidence, found.pods[0].pod) == (Confidence.EXACT, "team/train-7")


def test_decision_may_come_before_the_pod_or_after() -> None:
    """The order of documents changes nothing."""
    first = asked(access(), decision("uid-train-0"), life()).attribution
    assert first == asked(access(), life(), decision("uid-train-0")).attribution
    assert first.pods[0].requester == ALICE


def test_without_a_decision_it_says_so() -> None:
    """The Pod is known, and who answers for it is not: a reviewer reads it."""
    found = asked(access(), life()).attribution
    assert found.confidence is Confidence.EXACT
    assert found.pods[0].requester == ""
    assert found.why.endswith("the ledger has no decision that admitted it")


def test_a_decision_that_refused_is_nobodys() -> None:
    """Only what was admitted answers for a Pod."""
    refused = decision("uid-train-0", allowed=False)
    dry = decision(
        "uid-train-0",
        request={
            "uid": "r",
            "operation": "CREATE",
            "kind": "Pod",
            "version": "v1",
            "objectUid": "uid-train-0",
            "dryRun": True,
        },
    )
    assert asked(access(), life(), refused, dry).attribution.pods[0].requester == ""


def test_before_its_end_and_after_it_began() -> None:
    """A Pod that has ended since was there then."""
    ended = life(ended=NOON + 60)
    assert asked(access(), ended).attribution.confidence is Confidence.EXACT
    assert asked(access(NOON - 3601), ended).attribution.confidence is Confidence.EXACT
    assert asked(access(NOON - 3700), ended).attribution.confidence is Confidence.UNATTRIBUTED


def test_last_document_says_all_whichever_comes_first() -> None:
    """An end that is told before the beginning still ends it, and keeps the address."""
    short = life(ended=NOON - 600, addresses=[])
    for documents in ((short, life()), (life(), short)):
        found = asked(access(NOON - 1200), *documents).attribution
        assert found.confidence is Confidence.EXACT
        assert asked(access(), *documents).attribution.confidence is Confidence.UNATTRIBUTED


def test_pods_leave_as_themselves_where_an_operator_says_so() -> None:
    """With a flat CNI a node's address is that of Pods of its own network only."""
    rules = AttributionRules(leaves_as="pod")
    one = access(address="10.224.0.4", caller=Caller.NODE)
    assert asked(one, life(), rules=rules).attribution.confidence is Confidence.UNATTRIBUTED
    hosted = life(host_network=True, addresses=["10.224.0.4"])
    assert asked(one, hosted, rules=rules).attribution.confidence is Confidence.EXACT


def test_object_id_alone_is_known_by_the_store_that_names_both() -> None:
    """A WeightStore pairs client ids with object ids: some records have only the latter."""
    spec = {"identities": [{"clientId": CLIENT, "objectId": OBJECT, "rights": ["read"]}]}
    store = change("WeightStore", "llama", "there", spec=spec)
    one = access(application="")
    assert asked(one, life(), store).attribution.confidence is Confidence.EXACT
    assert asked(one, life()).attribution.confidence is Confidence.UNATTRIBUTED
