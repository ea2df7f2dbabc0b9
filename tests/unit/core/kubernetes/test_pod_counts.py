"""How many Pods an object makes of each of its templates."""

from typing import Any

import pytest

from core.kubernetes.pod_counts import count_pods, makes_pods_now
from core.kubernetes.workload_pods import templates_of

T: dict[str, Any] = {"metadata": {}, "spec": {"containers": [{"name": "a"}]}}
JOB = {"parallelism": 4, "completions": 100, "template": T}
RAY = {
    "headGroupSpec": {"template": T},
    "workerGroupSpecs": [
        {"replicas": 3, "numOfHosts": 2, "template": T},
        {"replicas": 0, "template": T},
    ],
}
GANG = {"size": 8, "workerTemplate": T}

CASES: dict[str, tuple[str, str, dict[str, Any], list[int]]] = {
    "Deployment": ("apps", "Deployment", {"replicas": 64, "template": T}, [64]),
    "without a number": ("apps", "Deployment", {"template": T}, [1]),
    "none": ("apps", "StatefulSet", {"replicas": 0, "template": T}, [0]),
    "DaemonSet": ("apps", "DaemonSet", {"template": T}, [1]),
    "Job": ("batch", "Job", JOB, [4]),
    "Job of few": ("batch", "Job", {**JOB, "completions": 2}, [2]),
    "Job of a queue": ("batch", "Job", {"parallelism": 4, "template": T}, [4]),
    "CronJob": ("batch", "CronJob", {"jobTemplate": {"spec": JOB}}, [4]),
    "JobSet": (
        "jobset.x-k8s.io",
        "JobSet",
        {"replicatedJobs": [{"replicas": 2, "template": {"spec": JOB}}]},
        [8],
    ),
    "PyTorchJob": (
        "kubeflow.org",
        "PyTorchJob",
        {
            "pytorchReplicaSpecs": {
                "Master": {"template": T},
                "Worker": {"replicas": 7, "template": T},
            }
        },
        [1, 7],
    ),
    "RayCluster": ("ray.io", "RayCluster", RAY, [1, 6, 0]),
    "RayJob": ("ray.io", "RayJob", {"rayClusterSpec": RAY}, [1, 6, 0]),
    "LeaderWorkerSet": (
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        {"replicas": 2, "leaderWorkerTemplate": {"leaderTemplate": T, **GANG}},
        [2, 14],
    ),
    "its leaders like its workers": (
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        {"replicas": 2, "leaderWorkerTemplate": GANG},
        [16],
    ),
    "Volcano": ("batch.volcano.sh", "Job", {"tasks": [{"replicas": 5, "template": T}]}, [5]),
    "AppWrapper": (
        "workload.codeflare.dev",
        "AppWrapper",
        {
            "components": [
                {"template": {"apiVersion": "batch/v1", "kind": "Job", "spec": JOB}},
                {
                    "template": {
                        "apiVersion": "apps/v1",
                        "kind": "Deployment",
                        "spec": {"replicas": 3, "template": T},
                    }
                },
            ]
        },
        [4, 3],
    ),
    "a limit of a workflow is no count": (
        "argoproj.io",
        "Workflow",
        {"parallelism": 9, "templates": [{"container": {"image": "a"}}]},
        [1],
    ),
    "a kind that nobody listed": ("example.com", "Gang", {"replicas": 9, "template": T}, [1]),
    "what is no number": ("apps", "Deployment", {"replicas": "9", "template": T}, [1]),
    "what is below zero": ("apps", "Deployment", {"replicas": -9, "template": T}, [0]),
    "true is no number": ("apps", "Deployment", {"replicas": True, "template": T}, [1]),
}


@pytest.mark.parametrize("case", CASES)
def test_counts(case: str) -> None:
    """For each of its templates, in their order."""
    group, kind, spec, counts = CASES[case]
    value = {"metadata": {}, "spec": spec}
    found = [count_pods(group, kind, value, t.path) for t in templates_of(group, kind, value)]
    assert found == counts


def test_spark_says_its_executors() -> None:
    """One driver, and so many instances."""
    spec = {"driver": {"cores": 1}, "executor": {"instances": 12}}
    value = {"metadata": {}, "spec": spec}
    kind = ("sparkoperator.k8s.io", "SparkApplication")
    found = {t.path: count_pods(*kind, value, t.path) for t in templates_of(*kind, value)}
    assert found == {"spec.driver": 1, "spec.executor": 12}


@pytest.mark.parametrize(
    ("group", "kind", "spec", "now"),
    [
        ("apps", "Deployment", {}, True),
        ("batch", "Job", {"suspend": False}, True),
        ("batch", "Job", {"suspend": True}, False),
        ("batch", "CronJob", {}, False),
        ("", "PodTemplate", None, False),
        ("argoproj.io", "WorkflowTemplate", {}, False),
        ("example.com", "Gang", {}, True),
    ],
)
def test_pod_count_leaves_out_suspended_and_scheduled_workloads(
    group: str, kind: str, spec: object, *, now: bool
) -> None:
    """Not what is suspended, what makes them at its own times, or what only others refer to."""
    assert makes_pods_now(group, kind, {"spec": spec}) is now
