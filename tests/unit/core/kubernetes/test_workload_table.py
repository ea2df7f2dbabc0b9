"""The table of the kinds that carry Pods is complete, and names what is there."""

from typing import Any

import pytest
import yaml

from core.kubernetes.workload_kinds import OWNERS, WORKLOADS, WorkloadKind, workload_of
from core.kubernetes.workload_pods import templates_of
from tests.harness.evidence import ROOT

PROMISED = {
    "": "ReplicationController PodTemplate",
    "apps": "ReplicaSet Deployment StatefulSet DaemonSet",
    "batch": "Job CronJob",
    "kubeflow.org": "PyTorchJob TFJob MPIJob XGBoostJob PaddleJob JAXJob Notebook",
    "trainer.kubeflow.org": "TrainJob TrainingRuntime ClusterTrainingRuntime",
    "ray.io": "RayCluster RayJob RayCronJob RayService",
    "jobset.x-k8s.io": "JobSet",
    "leaderworkerset.x-k8s.io": "LeaderWorkerSet",
    "batch.volcano.sh": "Job",
    "workload.codeflare.dev": "AppWrapper",
    "flink.apache.org": "FlinkDeployment",
    "sparkoperator.k8s.io": "SparkApplication ScheduledSparkApplication",
    "argoproj.io": "Workflow WorkflowTemplate ClusterWorkflowTemplate CronWorkflow",
    "serving.knative.dev": "Service Configuration Revision",
    "serving.kserve.io": "InferenceService",
    "agents.x-k8s.io": "Sandbox",
    "extensions.agents.x-k8s.io": "SandboxTemplate",
}

RULES = [
    (item["kind"], rule, webhook)
    for item in yaml.safe_load_all((ROOT / "deploy" / "webhooks.yaml").read_text())
    for webhook in item["webhooks"]
    for rule in webhook["rules"]
    if webhook["name"] in {"workloads.sallyport.dev", "notes.sallyport.dev"}
]

PUBLIC = sorted((ROOT / "examples" / "public").glob("*/*.yaml"))


def test_every_kind_that_is_promised_is_in_it() -> None:
    """And nothing else: what is added is added to the docs too."""
    expected = {(group, kind) for group, kinds in PROMISED.items() for kind in kinds.split()}
    assert WORKLOADS.keys() == expected


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=lambda each: each.kind)
def test_the_docs_speak_of_each(workload: WorkloadKind) -> None:
    """By kind, with what is left to its Pods."""
    page = (ROOT / "docs" / "operate" / "workloads.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith(f"| {workload.kind} ")]
    assert any((workload.group or "core") in row for row in rows)
    usual = [user for user in workload.controllers if "kube-" not in user]
    assert all(any(f"`{user}`" in row for row in rows) for user in usual)


@pytest.mark.parametrize("configuration", ["Validating", "Mutating"])
@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=lambda each: each.kind)
def test_a_webhook_is_asked_about_each(workload: WorkloadKind, configuration: str) -> None:
    """In all versions, when created and changed; a PodTemplate alone has nobody to be noted for."""
    found = [
        rule
        for kind, rule, _ in RULES
        if kind.startswith(configuration)
        and rule["apiGroups"] == [workload.group]
        and workload.resource in rule["resources"]
    ]
    if configuration == "Mutating" and workload.kind == "PodTemplate":
        assert found == []
        return
    assert {version for rule in found for version in rule["apiVersions"]} == {*workload.versions}
    for rule in found:
        assert rule["operations"] == ["CREATE", "UPDATE"]
        assert rule["scope"] == ("Namespaced" if workload.namespaced else "Cluster")


def test_no_webhook_is_asked_about_scale() -> None:
    """It changes no Pod; status may carry a changed note; equivalent versions come converted."""
    assert RULES
    for _, rule, webhook in RULES:
        subresources = {name.partition("/")[2] for name in rule["resources"]}
        assert subresources <= {"", "status"}
        assert webhook["matchPolicy"] == "Equivalent"


def test_owners_are_kinds_of_the_table() -> None:
    """But for the leaders' Pods, which own the workers' StatefulSets."""
    owners = {kind for kinds in OWNERS.values() for kind in kinds}
    assert owners - WORKLOADS.keys() == {("", "Pod")}
    assert workload_of("apps", "Deployment") is WORKLOADS["apps", "Deployment"]
    assert workload_of("", "ConfigMap") is None


def published(path: Any) -> list[dict[str, Any]]:
    """Return the objects of a published file that are of kinds of the table."""
    items = [item for item in yaml.safe_load_all(path.read_text()) if item]
    return [item for item in items if workload_of(*_group_kind(item)) is not None]


def _group_kind(item: dict[str, Any]) -> tuple[str, str]:
    return item["apiVersion"].rpartition("/")[0], item["kind"]


@pytest.mark.parametrize("path", PUBLIC, ids=lambda each: each.parent.name + "/" + each.stem)
def test_templates_of_published_manifests_are_found(path: Any) -> None:
    """What projects publish has containers where the table says that templates lie."""
    for item in published(path):
        found = templates_of(*_group_kind(item), item)
        assert found
        assert all(each.says("spec.containers[0].name") or each.partial for each in found)


def test_published_manifests_are_of_many_kinds() -> None:
    """The test above is not vacuous."""
    kinds = {item["kind"] for path in PUBLIC for item in published(path)}
    assert kinds >= {"PyTorchJob", "MPIJob", "RayCluster", "JobSet", "LeaderWorkerSet", "Notebook"}
    assert kinds >= {"Deployment", "DaemonSet", "StatefulSet"}
