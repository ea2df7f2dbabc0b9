"""Gangs that kube-controller-manager makes: their Pods look alike to the policies."""

import pytest

from tests.api.gangs.conftest import TRAIN
from tests.harness.programs.client import Client, Json
from tests.harness.worlds.gangs import Recorder, classes, pod_name

MEMBERS = 64
_LABELS = {"app": "gang"}


def job(name: str) -> Json:
    """Return an Indexed Job of 64 Pods at once."""
    spec = {
        "completions": MEMBERS,
        "parallelism": MEMBERS,
        "completionMode": "Indexed",
        "template": _template(restartPolicy="Never"),
    }
    return _workload("batch/v1", "Job", name, spec)


def stateful_set(name: str) -> Json:
    """Return a StatefulSet of 64 Pods at once, each with a claim of its own."""
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    template = _template()
    mount = {"name": "data", "mountPath": "/data"}
    template["spec"]["containers"][0]["volumeMounts"].append(mount)
    spec = {
        "replicas": MEMBERS,
        "podManagementPolicy": "Parallel",
        "serviceName": name,
        "selector": {"matchLabels": _LABELS},
        "template": template,
        "volumeClaimTemplates": [claim],
    }
    return _workload("apps/v1", "StatefulSet", name, spec)


def _workload(api_version: str, kind: str, name: str, spec: Json) -> Json:
    metadata = {"name": name, "namespace": TRAIN}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def _template(**spec: str) -> Json:
    token = {"audience": "vault", "path": "token"}
    container = {
        "name": "trainer",
        "image": "registry.example/train:1",
        "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
        "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
        "volumeMounts": [{"name": "logs", "mountPath": "/logs"}],
    }
    volumes = [
        {"name": "logs", "hostPath": {"path": "/var/log/train"}},
        {"name": "vault", "projected": {"sources": [{"serviceAccountToken": token}]}},
    ]
    aliases = [{"ip": "10.0.0.9", "hostnames": ["store.example"]}]
    whole: Json = {"containers": [container], "volumes": volumes, "hostAliases": aliases, **spec}
    return {"metadata": {"labels": _LABELS}, "spec": whole}


@pytest.mark.parametrize(
    ("workload", "controller"),
    [(job("indexed"), "job-controller"), (stateful_set("sharded"), "statefulset-controller")],
    ids=["Job", "StatefulSet"],
)
async def test_one_projection_for_the_whole_gang(
    workload: Json, controller: str, admin: Client, seen: Recorder
) -> None:
    """All 64 Pods have the same one, both as the gate may change them and as it judges them."""
    prefix = f"{workload['metadata']['name']}-"
    await admin.create(workload)
    requests = await seen.wait_for(prefix, MEMBERS)
    made = [request["object"] for request in requests]
    assert len({pod_name(pod) for pod in made}) == MEMBERS
    users = {request["userInfo"]["username"] for request in requests}
    assert users == {f"system:serviceaccount:kube-system:{controller}"}
    assert list(classes(made).values()) == [MEMBERS]
    earlier = [one["object"] for one in seen.mutating if pod_name(one["object"]).startswith(prefix)]
    assert len(classes(earlier)) == 1


async def test_what_differs_between_members(admin: Client, seen: Recorder) -> None:
    """The Pods themselves differ where they must, so that equal projections mean something."""
    await admin.create(job("differing"))
    requests = await seen.wait_for("differing-", MEMBERS)
    made = [request["object"] for request in requests]
    index = "batch.kubernetes.io/job-completion-index"
    numbers = {pod["metadata"]["annotations"][index] for pod in made}
    assert numbers == {str(number) for number in range(MEMBERS)}
    hostnames = {pod["spec"]["hostname"] for pod in made}
    assert len(hostnames) == MEMBERS
    token_volumes = {pod["spec"]["volumes"][-1]["name"] for pod in made}
    assert len(token_volumes) == MEMBERS, "kube-api-access-<five letters of its own>"
