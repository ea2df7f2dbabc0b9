"""Pods on their node's network get around every policy of egress: each decision says so."""

from typing import Any

import pytest

from core.decision.decision import Action, Decision, Verdict
from core.decision.request import Kind, Phase
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.egress.labelled_pods import Json, held, judge
from tests.unit.admission.world import ALICE, Folder, pod, request

RULE = "egress/host-network"


@pytest.fixture
def cluster(folder: Folder) -> Watched:
    """A cluster with namespaces that are enrolled, and others that are not."""
    return held(folder)


async def _judged(
    cluster: Watched, engine: EmbeddedEngine, made: Json, *, running: bool = False, **more: Any
) -> Decision:
    phase = None if running else Phase.VALIDATING
    asked = request(made, ALICE, phase=phase, running=running, **more)
    return await judge(cluster, engine).validate(asked, budget=10.0)


def _said(decision: Decision) -> list[tuple[str, Action]]:
    return [(each.path, each.action) for each in decision.findings if each.rule == RULE]


@pytest.mark.parametrize("running", [False, True])
async def test_host_network_warns_in_an_enrolled_namespace(
    engine: EmbeddedEngine, cluster: Watched, *, running: bool
) -> None:
    """As a warning on the field, when it comes, and of what runs: so it stands in the reports."""
    made = pod(hostNetwork=True)
    decision = await _judged(cluster, engine, made, running=running)
    assert _said(decision) == [("spec.hostNetwork", Action.WARN)]


async def test_host_network_of_a_template_warns_its_author(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """Whoever submits a workload learns it then."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod(hostNetwork=True)["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    meta = {"name": "web", "namespace": pod()["metadata"]["namespace"]}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
    kind = Kind("Deployment", "v1", "apps")
    decision = await _judged(cluster, engine, made, kind=kind)
    assert [path for path, _ in _said(decision)] == ["spec.template.spec.hostNetwork"]


async def test_pods_off_the_host_network_get_no_egress_warning(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """Neither Pods on the cluster's network, nor those of namespaces that are not enrolled."""
    assert _said(await _judged(cluster, engine, pod(), running=True)) == []
    elsewhere = await _judged(cluster, engine, pod(hostNetwork=True), running=True, namespace="web")
    assert _said(elsewhere) == []


async def test_who_may_have_it_is_admitted_and_told(engine: EmbeddedEngine, folder: Folder) -> None:
    """Under a profile that covers it, and of what runs: the decision is one, and no failure."""
    folder.profile("all", 1, "**", catalogue=3).grant("Group:system:authenticated", "all")
    folder.grant("Group:system:serviceaccounts", "all")
    decision = await _judged(held(folder), engine, pod(hostNetwork=True), running=True)
    assert (decision.verdict, decision.allowed, decision.profile) == (Verdict.WARN, True, "all")
    assert decision.warnings[0].startswith("spec.hostNetwork: ")
