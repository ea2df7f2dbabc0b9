"""The Pods of each of Kubernetes' workloads name the human who asked for them."""

import pytest

from tests.api.people.requester_notes.conftest import (
    ANN,
    BEN,
    NAMESPACE,
    REVISION,
    Installation,
    of_pod,
    revision,
    workload,
)
from tests.harness.programs.client import Client, Json

NODE: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "noting-1"}}


@pytest.mark.parametrize(
    "kind",
    [
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "ReplicaSet",
        "ReplicationController",
        "Job",
        "CronJob",
    ],
)
async def test_the_pods_decision_names_who_submitted_the_workload(
    installation: Installation, admin: Client, ann: Client, kind: str
) -> None:
    """With the controllers of a real kube-controller-manager; a CronJob's Pod over its Job."""
    if kind == "DaemonSet":
        await admin.apply([NODE])
        # A kubelet would take the taint away that kube-apiserver gives a new node.
        await admin.patch(NODE, {"spec": {"taints": None}})
    name = f"traced-{kind.lower()}"
    made = await ann.create(workload(kind, name))
    notes = made["metadata"]["annotations"]
    assert notes["sallyport.dev/requester"] == ANN
    assert notes["sallyport.dev/profile"] == "pss-baseline"
    try:
        decision = await installation.decision(of_pod(name), 90.0)
    finally:
        await admin.delete(made)
    assert decision["verdict"] == "allow", decision
    assert decision["requesterKind"] == "controller"
    assert decision["traced"] == "noted"
    assert decision["root"] == {
        "kind": kind,
        "name": name,
        "uid": made["metadata"]["uid"],
        "requester": ANN,
        "profile": "pss-baseline",
    }


async def test_who_changes_the_template_is_named_by_the_new_pods(
    installation: Installation, admin: Client, ann: Client, ben: Client
) -> None:
    """And scaling by somebody else, or by a controller, changes nothing of it."""
    made = await ann.create(workload("Deployment", "changed"))
    first = await installation.decision(of_pod("changed-"))
    assert first["root"]["requester"] == ANN
    scaled = await ben.patch(made, {"spec": {"replicas": 2}})
    assert scaled["metadata"]["annotations"]["sallyport.dev/requester"] == ANN
    containers = [{"name": "main", "image": "registry.example/train:2"}]
    changed = await ben.patch(made, {"spec": {"template": {"spec": {"containers": containers}}}})
    assert changed["metadata"]["annotations"]["sallyport.dev/requester"] == BEN
    latest = await installation.decision(
        lambda d: of_pod("changed-")(d) and d["root"]["requester"] == BEN
    )
    assert latest["root"]["uid"] == made["metadata"]["uid"]
    await admin.delete(made)


async def test_notes_roll_nothing_out(admin: Client, ann: Client) -> None:
    """They lie on the metadata of the root: no template, and no generation, changes with them."""
    made = await ann.create(workload("Deployment", "still", replicas=0))
    assert "annotations" not in made["spec"]["template"]["metadata"]
    assert made["metadata"]["generation"] == 1
    labelled = await ann.patch(made, {"metadata": {"labels": {"team": "llm"}}})
    assert labelled["metadata"]["generation"] == 1
    await revision(admin, "still", 1)
    replaced = workload("Deployment", "still", replicas=0)
    # To take that annotation away would be a new generation.
    replaced["metadata"]["annotations"] = {REVISION: "1"}
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/still"
    status, after = await ann.request("PUT", path, replaced)
    assert (status, after["metadata"]["generation"]) == (200, 1)
    assert after["metadata"]["annotations"]["sallyport.dev/requester"] == ANN
    await admin.delete(made)


async def test_a_started_job_can_be_updated(
    installation: Installation, admin: Client, ann: Client, ben: Client
) -> None:
    """Suspended, given more workers, and labelled, by somebody else too."""
    made = await ann.create(workload("Job", "started"))
    await installation.decision(of_pod("started-"))
    for spec in ({"suspend": True}, {"suspend": False}, {"parallelism": 2}):
        after = await ben.patch(made, {"spec": spec})
        assert after["metadata"]["annotations"]["sallyport.dev/requester"] == ANN
    await ben.patch(made, {"metadata": {"labels": {"team": "llm"}}})
    await admin.delete(made)
