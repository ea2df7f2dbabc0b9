"""Policies of others open nothing that is closed, and those that Sallyport makes are its own."""

from typing import Any

import pytest

from admission.gather import Gatherer
from admission.judge import Judge
from core.decision.decision import Decision, Verdict
from core.decision.namespaces import Modes
from core.decision.request import Kind, Operation, Phase
from core.people.subject import Subject
from egress.limits.settings import IntentSettings
from identity.subjects import parse_controllers
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import ADMIN, ALICE, BOB, ID, Folder, request

Json = dict[str, Any]

CONTROL = Subject("system:serviceaccount:sallyport-system:sallyport-control", groups=[])
COLLECTOR = Subject("system:serviceaccount:kube-system:generic-garbage-collector", groups=[])
NAMESPACES = Subject("system:serviceaccount:kube-system:namespace-controller", groups=[])

NETWORK = Kind("NetworkPolicy", "v1", "networking.k8s.io")
CILIUM = Kind("CiliumNetworkPolicy", "v2", "cilium.io")
CLUSTERWIDE = Kind("CiliumClusterwideNetworkPolicy", "v2", "cilium.io")
CLUSTER = Kind("ClusterNetworkPolicy", "v1alpha2", "policy.networking.k8s.io")
CALICO = Kind("NetworkPolicy", "v3", "projectcalico.org")
GLOBAL = Kind("GlobalNetworkPolicy", "v1", "crd.projectcalico.org")

ACCOUNT = "egress.sallyport.dev/service-account"
MINE = {"podSelector": {"matchLabels": {ACCOUNT: "trainer"}}}
HTTPS = {"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}], "ports": [{"port": 443}]}
MORE = {"to": [{"ipBlock": {"cidr": "198.51.100.0/24"}}], "ports": [{"port": 443}]}
OURS = {"labels": {"app.kubernetes.io/managed-by": "sallyport"}}


def policy(*egress: Json, name: str = "own", meta: Json | None = None, **spec: Any) -> Json:
    """Return a policy of the trainers, of whatever kind."""
    said = {**MINE, **({"egress": list(egress)} if egress else {}), **spec}
    return {"metadata": {"name": name, "namespace": "train", **(meta or {})}, "spec": said}


@pytest.fixture
def cluster(folder: Folder) -> Watched:
    """`train` is enrolled, and an allowlist opens 192.0.2.0/24 there; `web` is not enrolled."""
    for name, word in (("train", "deny"), ("web", "open")):
        folder.namespace(name)
        folder.documents[-1]["metadata"]["labels"]["sallyport.dev/egress"] = word
    folder.grant(f"User:{ALICE.username}", "train", verb="exempt", resource="namespaces")
    folder.grant(f"User:{ADMIN.username}", verb="exempt", resource="namespaces")
    made = policy(HTTPS, name="sallyport-allow-x-0", meta=OURS)
    return Watched(folder.cluster(), policies=(made, {"spec": {"egress": "broken"}}))


async def judged(  # noqa: PLR0913  Each is what a test varies.
    cluster: Watched,
    engine: EmbeddedEngine,
    new: Json | None,
    subject: Subject = BOB,
    *,
    old: Json | None = None,
    compares: bool = True,
    kind: Kind = NETWORK,
    **more: Any,
) -> Decision:
    """Judge a policy that is written, or deleted where there is no new one."""
    operation = Operation.DELETE if new is None else Operation.CREATE
    if new is not None and old is not None:
        operation = Operation.UPDATE
    fields: dict[str, Any] = {"namespace": "train", "name": "own", "phase": Phase.VALIDATING}
    asked = request(new, subject, old=old, operation=operation, kind=kind, **(fields | more))
    settings = IntentSettings(compares=compares, control=CONTROL.username)
    gatherer = Gatherer(cluster, engine, parse_controllers(()), intent_settings=settings)
    return await Judge(gatherer, Modes(), lambda: ID).validate(asked, budget=10.0)


def told(decision: Decision) -> list[tuple[str, str]]:
    """Return rule and path of each finding."""
    return [(each.rule, each.path) for each in decision.findings]


@pytest.mark.parametrize(
    "new",
    [
        policy(),
        policy(egress=[]),
        policy(ingress=[{}], policyTypes=["Ingress"]),
        policy(HTTPS),
        policy({"to": [{"ipBlock": {"cidr": "192.0.2.128/25"}}], "ports": [{"port": 443}]}),
    ],
)
async def test_what_opens_nothing_is_free(
    engine: EmbeddedEngine, cluster: Watched, new: Json
) -> None:
    """Ingress, what closes, and what is open already; whoever writes it."""
    assert (await judged(cluster, engine, new)).verdict is Verdict.ALLOW


async def test_what_opens_more_is_refused_and_named(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """The whole message: what would be opened, where, and what to do instead."""
    decision = await judged(cluster, engine, policy(HTTPS, MORE))
    assert (decision.verdict, decision.allowed) == (Verdict.DENY, False)
    assert decision.message == (
        "NetworkPolicy train/own: It opens egress that no EgressAllowlist does.\n\n"
        "1. spec.egress[1]: opens 198.51.100.0/24 on TCP 443\n"
        "   Fix: Write an EgressAllowlist for it, and leave this rule out: policies only add.\n"
        "   (rule egress/opens)\n\n"
        "What a rule opens is compared with what is open to all Pods that its policy selects: one "
        f"that selects them by {ACCOUNT} is compared with that account's.\n"
        f"Decision {ID}"
    )


async def test_other_pods_of_the_namespace_are_not_let_out(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """What is open to the trainers is not open to all; who may exempt is no exception."""
    for subject in (BOB, ALICE, ADMIN):
        decision = await judged(cluster, engine, policy(HTTPS, podSelector={}), subject)
        assert told(decision) == [("egress/opens", "spec.egress[0]")]


async def test_where_a_namespace_is_not_enrolled_policies_are_free(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """There is nothing to hold, and nothing is listed."""
    cluster.lost = "policies"
    for kind in (NETWORK, CILIUM, CALICO):
        decision = await judged(cluster, engine, policy(MORE), kind=kind, namespace="web")
        assert decision.verdict is Verdict.ALLOW


async def test_an_update_that_changes_nothing_of_egress_passes(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """Also of a policy that opens what it should not, and is older than the enrolment."""
    old = policy(MORE)
    changed = policy(MORE, ingress=[{}], meta={"labels": {"a": "b"}})
    assert (await judged(cluster, engine, changed, old=old)).verdict is Verdict.ALLOW
    for new in (policy(MORE, podSelector={}), policy(HTTPS, MORE)):
        assert (await judged(cluster, engine, new, old=old)).verdict is Verdict.DENY
    less = await judged(cluster, engine, policy(HTTPS), old=policy(HTTPS, MORE))
    assert less.verdict is Verdict.ALLOW


async def test_policies_that_cannot_be_listed_are_an_error(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """Nobody is let out because nobody answered; what opens nothing needs no answer."""
    cluster.lost = "policies"
    decision = await judged(cluster, engine, policy(HTTPS))
    assert (decision.verdict, decision.allowed) == (Verdict.ERROR, False)
    assert (await judged(cluster, engine, policy(ingress=[{}]))).verdict is Verdict.ALLOW


async def test_where_the_engine_has_others_no_network_policy_opens_anything(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """CiliumNetworkPolicies say what is open there, which are not read."""
    decision = await judged(cluster, engine, policy(HTTPS), compares=False)
    assert told(decision) == [("egress/uncompared", "spec.egress[0]")]


@pytest.mark.parametrize(
    "meta", [{"name": "sallyport-x"}, {"generateName": "sallyport-", "name": ""}, OURS]
)
@pytest.mark.parametrize("kind", [NETWORK, CILIUM])
async def test_generated_policies_are_controls_alone(
    engine: EmbeddedEngine, cluster: Watched, meta: Json, kind: Kind
) -> None:
    """By name or by label; even who may exempt the namespace writes none, and deletes none."""
    made = policy(HTTPS, meta=meta)
    for subject in (BOB, ADMIN, COLLECTOR):
        for new, old in ((made, None), (policy(MORE, meta=meta), made)):
            decision = await judged(cluster, engine, new, subject, old=old, kind=kind)
            assert told(decision) == [("egress/generated", "metadata")]
    for subject in (BOB, ADMIN):
        decision = await judged(cluster, engine, None, subject, old=made, kind=kind)
        assert told(decision) == [("egress/generated", "")]
        assert decision.allowed is False
    for subject in (CONTROL, COLLECTOR, NAMESPACES):
        decision = await judged(cluster, engine, None, subject, old=made, kind=kind)
        assert decision.verdict is Verdict.ALLOW
    assert (await judged(cluster, engine, made, CONTROL, kind=kind)).verdict is Verdict.ALLOW


async def test_policies_of_single_closed_workloads_are_controls_alone(
    engine: EmbeddedEngine, cluster: Watched, folder: Folder
) -> None:
    """Who took away what closes one workload would open it; others' policies are not compared."""
    folder.namespace("part", **{"egress-workloads": "Job/fetch"})
    folder.documents[-1]["metadata"]["labels"]["sallyport.dev/egress"] = "audit"
    found = Watched(folder.cluster())
    made = policy(name="sallyport-default-deny", meta=OURS | {"namespace": "part"})
    other = policy(MORE, name="sallyport-default-deny", meta={"namespace": "part"})
    for new in (other, None):
        decision = await judged(found, engine, new, BOB, old=made, namespace="part")
        assert decision.allowed is False
        assert told(decision)[0][0] == "egress/generated"
    own = policy(MORE, meta={"namespace": "part"})
    assert (await judged(found, engine, own, BOB, namespace="part")).verdict is Verdict.ALLOW


async def test_a_generated_policy_stays_generated(engine: EmbeddedEngine, cluster: Watched) -> None:
    """Its mark is not taken away, nor an owner added whose end would take it along."""
    made = policy(HTTPS, name="sallyport-allow-x-0", meta=OURS)
    for meta in (
        {},
        OURS | {"ownerReferences": [{"uid": "u"}]},
        OURS | {"finalizers": ["x"]},
        OURS | {"annotations": {"sallyport.dev/allowlist": "y"}},
    ):
        new = policy(HTTPS, name="sallyport-allow-x-0", meta=meta)
        assert told(await judged(cluster, engine, new, old=made)) == [
            ("egress/generated", "metadata")
        ]
    same = policy(HTTPS, name="sallyport-allow-x-0", meta=OURS | {"resourceVersion": "2"})
    assert (await judged(cluster, engine, same, old=made)).verdict is Verdict.ALLOW


async def test_none_is_prepared_where_nothing_is_enrolled(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """It would count as Sallyport's once the namespace is; what is left there may be removed."""
    made = policy(MORE, meta=OURS)
    plain = policy(MORE)
    for new, old in ((made, None), (made, plain)):
        decision = await judged(cluster, engine, new, old=old, namespace="web")
        assert told(decision) == [("egress/generated", "metadata")]
    for new_or_none in (None, plain):
        decision = await judged(cluster, engine, new_or_none, old=made, namespace="web")
        assert decision.verdict is Verdict.ALLOW


@pytest.mark.parametrize("kind", [CILIUM, CALICO])
async def test_kinds_that_are_not_compared_take_the_verb_exempt(
    engine: EmbeddedEngine, cluster: Watched, kind: Kind
) -> None:
    """In the namespace; and only where they open something."""
    opening = policy({"action": "Allow", "toEntities": ["world"]})
    assert told(await judged(cluster, engine, opening, kind=kind)) == [
        ("egress/uncompared", "spec.egress")
    ]
    assert (await judged(cluster, engine, opening, ALICE, kind=kind)).verdict is Verdict.ALLOW
    for free in (policy(ingress=[{}]), policy({"action": "Deny"}), policy(egress=None)):
        assert (await judged(cluster, engine, free, kind=kind)).verdict is Verdict.ALLOW
    same = await judged(cluster, engine, opening | {"status": {"x": 1}}, old=opening, kind=kind)
    assert same.verdict is Verdict.ALLOW


@pytest.mark.parametrize("kind", [CLUSTERWIDE, CLUSTER, GLOBAL])
async def test_what_is_for_all_namespaces_takes_the_verb_for_all(
    engine: EmbeddedEngine, cluster: Watched, kind: Kind
) -> None:
    """Whoever may exempt one namespace may not let out all."""
    opening = policy({"action": "Accept", "to": []})
    for subject, verdict in ((BOB, "deny"), (ALICE, "deny"), (ADMIN, "allow")):
        decision = await judged(cluster, engine, opening, subject, kind=kind, namespace="")
        assert decision.verdict.value == verdict
    cluster.fails = frozenset("*")
    decision = await judged(cluster, engine, opening, ADMIN, kind=kind, namespace="")
    assert (decision.verdict, decision.allowed) == (Verdict.ERROR, False)


async def test_ciliums_lists_and_odd_shapes_count_as_opening(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """`specs` beside `spec`, and whatever has another shape than is known."""
    bare = {"metadata": {"name": "own"}}
    for opening in (
        bare | {"specs": [{"ingress": [{}]}, {"egress": [{"toEntities": ["all"]}]}]},
        bare | {"specs": {"egress": []}, "spec": "x"},
        bare | {"spec": {"egress": {"toEntities": ["all"]}}},
    ):
        assert (await judged(cluster, engine, opening, kind=CILIUM)).verdict is Verdict.DENY
    free: Json
    for free in (bare, bare | {"specs": [{"egress": [{}]}]}, bare | {"spec": {"egressDeny": [{}]}}):
        assert (await judged(cluster, engine, free, kind=CILIUM)).verdict is Verdict.ALLOW


async def test_a_policy_that_is_none_is_an_error(engine: EmbeddedEngine, cluster: Watched) -> None:
    """It names the field."""
    decision = await judged(cluster, engine, {"metadata": "x"})
    assert (decision.verdict, decision.field) == (Verdict.ERROR, "metadata")
    broken = policy({"to": [{"ipBlock": {"cidr": "192.0.2.1/24"}}]})
    decision = await judged(cluster, engine, broken)
    assert decision.field == "spec.egress[0].to[0].ipBlock.cidr"
    assert decision.allowed is False
