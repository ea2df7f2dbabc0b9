"""A sandbox that is demanded for a risk: set, held to, or refused where nothing can run in one."""

from core.decision.decision import Action, Verdict
from core.decision.request import Kind
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.objects.test_entering_pods import connect, shell
from tests.unit.admission.requester.test_noted_workloads import asked, notes
from tests.unit.admission.risk.cluster_at_risk import (
    CAROL,
    DAVE,
    decide,
    everyone,
    made_for,
    mutated,
    of_table,
    said,
    snapshot,
)
from tests.unit.admission.sandbox.sandbox_cluster import SET, pod, workload
from tests.unit.admission.world import Folder, request

MEDIUM = snapshot(CAROL)
NEEDS_THE_NODE = {"hostNetwork": True}


async def test_a_sandbox_is_set_and_demanded(engine: EmbeddedEngine, folder: Folder) -> None:
    """Where neither profile nor namespace nor author asks for one; the final state must have it."""
    asks = request(pod(), CAROL)
    first = await mutated(everyone(folder), engine, MEDIUM, asks)
    assert [patch for patch in first.filled if patch["path"].endswith("runtimeClassName")] == SET
    assert first.sandbox is not None
    assert first.sandbox.reason == "identity"
    bare = await decide(folder, engine, MEDIUM, asks)
    assert (bare.verdict, bare.allowed) == (Verdict.DENY, False)
    assert ("identity/risk", Action.DENY, "spec.runtimeClassName") in said(bare)
    assert "Your account is at risk (level medium" in bare.message
    assert "PolicyException" not in bare.message
    isolated = await decide(folder, engine, MEDIUM, request(pod(runtimeClassName="gvisor"), CAROL))
    assert (isolated.verdict, isolated.allowed) == (Verdict.WARN, True)
    assert "it must run in a sandbox" in isolated.warnings[0]


async def test_pod_of_nobody_at_risk_gets_no_sandbox(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The same Pod of somebody else, or with nobody at risk, is left as it was written."""
    for known, who in ((MEDIUM, DAVE), (snapshot(), CAROL)):
        decision = await mutated(everyone(folder), engine, known, request(pod(), who))
        assert decision.filled == []


async def test_what_its_sandbox_cannot_run_is_refused_with_the_reason(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The feature is found although nobody but the risk asks for a sandbox."""
    asks = request(pod(**NEEDS_THE_NODE), CAROL)
    decision = await decide(everyone(folder), engine, MEDIUM, asks)
    found = [each for each in decision.findings if each.path == "spec.hostNetwork"]
    assert [(each.rule, each.action) for each in found] == [("identity/risk", Action.DENY)]
    assert "cannot run under the RuntimeClass gvisor" in found[0].message


async def test_templates_and_their_pods_get_the_sandbox(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The author's template, and each Pod that a controller makes of one of an author at risk."""
    made = workload(annotations=notes(CAROL.label, "all"))
    first = await mutated(everyone(folder), engine, MEDIUM, asked(made, CAROL))
    assert [patch["path"] for patch in first.filled] == ["/spec/template/spec/runtimeClassName"]
    assert (await decide(folder, engine, MEDIUM, asked(made, CAROL))).allowed
    of_controller = made_for(folder, CAROL)
    second = await mutated(folder, engine, MEDIUM, of_controller)
    assert second.filled == SET
    refused = await decide(folder, engine, MEDIUM, of_controller)
    assert "The account that submitted Deployment llama is at risk" in refused.message


async def test_only_what_runs_in_a_sandbox_is_entered(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Where the site lets people at medium risk enter what is contained."""
    known = of_table("sandbox", operations=["exec"])
    outside = await decide(everyone(folder), engine, known, shell(CAROL))
    path = "spec.runtimeClassName of Pod llama-0"
    assert ("identity/risk", Action.DENY, path) in said(outside)
    folder.documents[-1]["spec"]["runtimeClassName"] = "gvisor"
    inside = await decide(folder, engine, known, shell(CAROL))
    assert (inside.verdict, inside.allowed) == (Verdict.WARN, True)
    port = connect("PodPortForwardOptions", {"ports": [8888]}, CAROL, subresource="portforward")
    assert (await decide(folder, engine, known, port)).allowed


async def test_what_makes_no_pods_cannot_be_isolated(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """One that needs a privilege is refused, one that needs none is only warned of."""
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {"hostPath": {"path": "/data"}},
    }
    asks = request(volume, CAROL, kind=Kind("PersistentVolume", "v1"), namespace="", name="v")
    decision = await decide(everyone(folder), engine, MEDIUM, asks)
    assert said(decision) == [("identity/risk", Action.DENY, "")]
    assert "cannot run in a sandbox" in decision.message
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "v"}}
    kind = Kind("ResourceClaim", "v1", "resource.k8s.io")
    decision = await decide(folder, engine, MEDIUM, request(claim, CAROL, kind=kind, name="v"))
    assert (decision.verdict, said(decision)) == (
        Verdict.WARN,
        [("identity/risk", Action.WARN, "")],
    )


async def test_whoever_entered_service_proxies_is_refused_a_sandbox(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """No Pod is known that could be seen to run in one."""
    known = of_table("sandbox", operations=["exec"])
    options = {"path": "web:80"}
    asks = connect("ServiceProxyOptions", options, CAROL, subresource="proxy", name="web")
    decision = await decide(everyone(folder), engine, known, asks)
    assert ("identity/risk", Action.DENY, "") in said(decision)
