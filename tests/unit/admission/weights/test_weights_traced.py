"""Pods that controllers make are their author's; risk, emergencies and openings count too."""

import copy
from typing import Any

import pytest

from admission.judge import Judge
from core.approvals.break_glass_egress import BreakGlassOpening
from core.base.names import API_VERSION
from core.base.networks import network_of
from core.decision.decision import Action, Decision, Verdict
from core.decision.request import Kind, Operation, Phase, Request
from core.egress.allowlists import parse_allowlist
from core.egress.enrolment import WHOLLY_CLOSED, Closure
from core.people.subject import Subject
from core.weights.access_paths import WeightStoreSet
from core.weights.egress_openings import WeightOpening, decode_openings, encode_openings
from core.weights.stores import parse_store
from egress.compiler.weight_openings import glass_to_weights, openings_to_weights
from egress.model.openings import Addresses, Block, CompiledAllowlists, Name, Opening
from kube.cluster.folder import FolderCluster
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.requester.test_owner_chain import owner
from tests.unit.admission.risk import cluster_at_risk
from tests.unit.admission.weights.weights_cluster import (
    CAROL,
    CLIENT,
    HOUR,
    NOW,
    REPLICAS,
    STORE,
    Object,
    account,
    approved,
    decide,
    grant,
    judge,
    rules,
    signing_in,
    world,
)
from tests.unit.admission.world import ALICE, BOB, Folder, pod, raw, request

GRANT = {"weights/grant"}
TEAM = grant("team", people=None, groups=["llama-team"])
DEPLOYMENT = Kind("Deployment", "v1", "apps")
NOTE = "sallyport.dev/grants"


def workload(annotations: dict[str, str] | None = None) -> Object:
    """Return a Deployment whose Pods reach weights."""
    made = signing_in()
    template = {"metadata": {"labels": made["metadata"]["labels"]}, "spec": made["spec"]}
    metadata = {"name": "llama", "namespace": "train", "annotations": annotations or {}}
    spec = {"replicas": 1, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def asked(made: Object, by: Subject, **more: Any) -> Request:
    """Return kube-apiserver's review of it."""
    return request(made, by, kind=DEPLOYMENT, name="llama", phase=Phase.VALIDATING, **more)


async def submitted(engine: EmbeddedEngine, folder: Folder, by: Subject) -> tuple[Object, Decision]:
    """Return a Deployment as both passes leave it, and the decision of the second."""
    found = judge(folder.cluster(), engine)
    recorded = (await found.mutate(asked(workload(), by), budget=10)).recorded
    made = workload(recorded)
    return made, await found.validate(asked(made, by), budget=10)


async def test_a_workload_is_noted_with_the_grants_of_its_author(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Of who is granted; who is not gets no note, and is refused once, for the grant."""
    world(folder, *approved(TEAM))
    made, decision = await submitted(engine, folder, CAROL)
    assert decision.verdict is Verdict.ALLOW, decision.message
    assert made["metadata"]["annotations"][NOTE].startswith("team@grant-team#")
    made, decision = await submitted(engine, folder, ALICE)
    assert NOTE not in made["metadata"]["annotations"]
    assert [each.rule for each in decision.findings] == ["weights/grant"]


@pytest.mark.parametrize("note", ["team@grant-team#000000000000", "other@u#1"])
async def test_nobody_else_writes_the_note(
    engine: EmbeddedEngine, folder: Folder, note: str
) -> None:
    """On a workload that is created, and on one that is changed otherwise."""
    world(folder, *approved(TEAM))
    made, _ = await submitted(engine, folder, CAROL)
    forged = copy.deepcopy(made)
    forged["metadata"]["annotations"][NOTE] = note
    found = judge(folder.cluster(), engine)
    for review in (
        asked(forged, CAROL),
        asked(forged, BOB, old=made, operation=Operation.UPDATE),
    ):
        decision = await found.validate(review, budget=10)
        assert [each.rule for each in decision.findings] == ["notes/grants"], decision.message


def of_controller(folder: Folder, notes: dict[str, str] | None) -> Request:
    """Return the review of a Pod that a ReplicaSet with these notes owns."""
    above = owner(folder, "apps/v1", "ReplicaSet", "r1", notes=notes)
    made = signing_in()
    made["metadata"]["ownerReferences"] = [above | {"controller": True}]
    return request(made, REPLICAS, phase=Phase.VALIDATING)


async def test_pods_of_a_controller_stand_on_the_note_of_their_root(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Under the group's grant as it was noted; no longer once it names others, or has ended."""
    world(folder, *approved(TEAM))
    made, _ = await submitted(engine, folder, CAROL)
    review = of_controller(folder, made["metadata"]["annotations"])
    cluster = folder.cluster()
    assert not rules(await decide(cluster, engine, review))
    assert rules(await decide(cluster, engine, review, NOW + HOUR)) == GRANT
    changed = Folder(folder.path.with_name("changed"))
    world(changed, *approved(grant("team", people=None, groups=["others"])))
    review = of_controller(changed, made["metadata"]["annotations"])
    assert rules(await decide(changed.cluster(), engine, review)) == GRANT


async def test_a_root_without_a_note_is_nobodys(engine: EmbeddedEngine, folder: Folder) -> None:
    """The service account alone opens no weights."""
    world(folder, *approved(TEAM))
    review = of_controller(folder, None)
    decision = await decide(folder.cluster(), engine, review)
    assert rules(decision) == GRANT
    assert "nobody noted who asked for it" in decision.message


async def test_a_root_of_somebody_named_needs_no_note(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A grant to a person names them by what is noted anyway."""
    world(folder, *approved(grant()))
    review = of_controller(folder, {"sallyport.dev/requester": ALICE.label})
    assert not rules(await decide(folder.cluster(), engine, review))
    review = of_controller(folder, {"sallyport.dev/requester": BOB.label})
    assert rules(await decide(folder.cluster(), engine, review)) == GRANT


def opened(cluster: FolderCluster, *openings: WeightOpening) -> FolderCluster:
    """Have control say what allowlists of train open."""
    known = {"train": openings}
    cluster.weights.openings = lambda namespace: known.get(namespace, ())  # type: ignore[method-assign]
    return cluster


async def test_an_opening_to_the_private_endpoint_is_a_way(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """For the accounts that it names: nobody knows with which key they would come."""
    one = WeightOpening("default", "llama", "10.1.0.5/32", "wide")
    cluster = opened(world(folder).cluster(), one)
    decision = await decide(cluster, engine, request(pod()))
    assert rules(decision) == GRANT
    assert "may connect to 10.1.0.5/32" in decision.message
    assert not rules(await decide(cluster, engine, request(pod(serviceAccountName="other"))))


async def test_an_opening_past_the_private_endpoint_is_refused_for_all(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Also with a grant."""
    one = WeightOpening("trainer", "llama", "Storage.WestEurope", "wide", public=True)
    cluster = opened(world(folder, *approved(grant())).cluster(), one)
    assert rules(await decide(cluster, engine, request(signing_in()))) == {"weights/public-route"}


def opening(peer: Any, index: int = 0) -> Opening:
    """Return an opening of the allowlist wide."""
    return Opening("wide", f"spec.to[{index}]", (), peer, ())


def test_openings_are_told_by_what_they_lead_to() -> None:
    """Networks that hold the endpoint, names of the account, tags of all accounts."""
    ports = [{"protocol": "TCP", "port": 443}]
    to = [{"cidr": "10.0.0.0/8", "ports": ports}, {"serviceTag": "Storage", "ports": ports}]
    spec = {"serviceAccounts": ["a"], "owner": "o", "reason": "r", "to": to}
    head = {"apiVersion": API_VERSION, "kind": "EgressAllowlist"}
    meta = {"name": "wide", "namespace": "train"}
    body = {**head, "metadata": meta, "spec": spec | {"expiresAt": "2031-01-01T00:00:00Z"}}
    allowlists = {"wide": parse_allowlist(raw(body))}
    stores = WeightStoreSet([parse_store(raw(STORE))])
    ten, at, away = map(network_of, ("10.0.0.0/8", "10.1.0.5/32", "20.60.1.1/32"))
    host = "llamaweights.blob.core.windows.net"
    for found, wanted in (
        (opening(Addresses((Block(ten),))), [("10.1.0.5/32", False)]),
        (opening(Addresses((Block(ten, (network_of("10.1.0.0/16"),)),))), []),
        (opening(Addresses((Block(away),))), []),
        (opening(Addresses((Block(away),)), 1), [("Storage", True)]),
        (
            opening(Name(host, (at,))),
            [("10.1.0.5/32", False), (host, False)],
        ),
        (opening(Name(host, (away,))), [(host, False), (host, True)]),
        (opening(Name("*.core.windows.net", ())), [("*.core.windows.net", False)]),
        (opening(Name("packages.example.org", (away,))), []),
    ):
        meaning = CompiledAllowlists("train", (found,))
        told = openings_to_weights(meaning, allowlists, {}, stores)
        assert [(each.to, each.public) for each in told] == wanted
        assert decode_openings(encode_openings(told), "it") == told


async def test_a_break_glass_for_egress_is_a_way_to_every_store(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Whatever the service account; with workloads, for Pods of these and those not traced yet."""
    told = glass_to_weights([BreakGlassOpening("fire", NOW + HOUR)], WHOLLY_CLOSED)
    assert decode_openings(encode_openings(told), "it") == told
    cluster = opened(world(folder).cluster(), *told)
    decision = await decide(cluster, engine, request(pod(serviceAccountName="other")))
    assert rules(decision) == GRANT
    assert "may connect everywhere by BreakGlass fire, and so to WeightStore" in decision.message

    told = glass_to_weights([BreakGlassOpening("fire", NOW + HOUR, ("Job.fetch",))], WHOLLY_CLOSED)
    cluster = opened(folder.cluster(), *told)
    for workload, wanted in (("Job.fetch", GRANT), ("Job.web", set())):
        made = pod()
        made["metadata"]["labels"] = {"egress.sallyport.dev/workload": workload}
        assert rules(await decide(cluster, engine, request(made))) == wanted
    assert rules(await decide(cluster, engine, request(pod()))) == GRANT
    for name, wanted in (("fetch", GRANT), ("web", set())):
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": "train"},
            "spec": {"template": {"spec": pod()["spec"]}},
        }
        asked = request(job, kind=Kind("Job", "v1", "batch"), name=name)
        assert rules(await decide(cluster, engine, asked)) == wanted


async def test_a_break_glass_asks_no_grant_of_what_an_audit_does_not_close(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Their Pods connect everywhere all the time, as those of a namespace that is left open."""
    audited = Closure(labels_pods=True, workloads=("Job.a",))
    told = glass_to_weights([BreakGlassOpening("fire", NOW + HOUR)], audited)
    cluster = opened(world(folder).cluster(), *told)
    for workload, wanted in (("Job.a", GRANT), ("Job.b", set())):
        made = pod()
        made["metadata"]["labels"] = {"egress.sallyport.dev/workload": workload}
        assert rules(await decide(cluster, engine, request(made))) == wanted


async def test_a_break_glass_leads_to_a_store_that_cannot_be_read(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Whoever it lets connect everywhere might reach that one: not to know is an error."""
    told = glass_to_weights([BreakGlassOpening("fire", NOW + HOUR)], WHOLLY_CLOSED)
    cluster = opened(world(folder).cluster(), *told)
    cluster.weights.stores = lambda: WeightStoreSet(broken=["new"])  # type: ignore[method-assign]
    decision = await judge(cluster, engine).validate(request(pod()), budget=10)
    assert decision.verdict is Verdict.ERROR
    assert "WeightStore new cannot be read" in decision.message


async def test_openings_that_are_not_known_are_an_error(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A Pod that might reach weights never starts for want of knowing."""
    cluster = Watched(world(folder, *approved(grant())).cluster())
    cluster.lost = "weights"
    found: Judge = judge(cluster, engine)
    decision = await found.validate(request(pod()), budget=10)
    assert decision.verdict is Verdict.ERROR


async def test_what_reaches_weights_is_judged_in_their_column_of_the_risk_table(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Beside that of what it starts; what reaches none is not."""
    known = cluster_at_risk.of_table("deny", operations=["read-weights"])
    cluster_at_risk.everyone(folder).documents += [STORE, account("trainer", CLIENT)]
    for made, wanted in ((signing_in(), [Action.DENY]), (pod(), [])):
        decision = await cluster_at_risk.decide(
            folder, engine, known, request(made, cluster_at_risk.CAROL)
        )
        told = [each.action for each in decision.findings if "row ours" in each.remedy]
        assert told == wanted
