"""For each kind and version of an operator: an object that its published schema takes."""

from typing import Final

from core.kubernetes.workload_kinds import WORKLOADS, GroupKind
from tests.api.workloads.conftest import TRAIN
from tests.harness.programs.client import Json
from tests.unit.core.kubernetes.workload_samples import merged, wrapped

_TRAINER: Final = {"template": {"spec": {"replicatedJobs": [{"name": "node"}]}}}
_RAY: Final = {
    "headGroupSpec": {"rayStartParams": {}},
    "workerGroupSpecs": [
        {
            "groupName": "workers",
            "replicas": 1,
            "minReplicas": 0,
            "maxReplicas": 1,
            "rayStartParams": {},
        }
    ],
}
_RAY_JOB: Final = {"entrypoint": "python train.py", "rayClusterSpec": _RAY}
_SPARK: Final = {
    "type": "Python",
    "mode": "cluster",
    "sparkVersion": "4.0.0",
    "mainApplicationFile": "local:///train.py",
    "driver": {},
    "executor": {},
}

REQUIRED: Final[dict[GroupKind, Json]] = {
    ("trainer.kubeflow.org", "TrainingRuntime"): _TRAINER,
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): _TRAINER,
    ("ray.io", "RayCluster"): _RAY,
    ("ray.io", "RayJob"): _RAY_JOB,
    ("ray.io", "RayCronJob"): {"schedule": "0 0 * * *", "jobTemplate": _RAY_JOB},
    ("ray.io", "RayService"): {"rayClusterConfig": _RAY},
    ("jobset.x-k8s.io", "JobSet"): {"replicatedJobs": [{"name": "workers"}]},
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): {"leaderWorkerTemplate": {"size": 2}},
    ("batch.volcano.sh", "Job"): {"tasks": [{"name": "workers", "replicas": 1}]},
    ("sparkoperator.k8s.io", "SparkApplication"): _SPARK,
    ("sparkoperator.k8s.io", "ScheduledSparkApplication"): {
        "schedule": "@daily",
        "template": _SPARK,
    },
    ("argoproj.io", "CronWorkflow"): {"schedules": ["0 0 * * *"]},
}
"""What a kind's `spec` must have besides its templates."""


def public_sample(kind: GroupKind, version: str, template: Json) -> Json:
    """Return an object of a kind whose every place holds a template."""
    made = merged(wrapped(kind, template), {"spec": REQUIRED.get(kind, {})})
    made["apiVersion"] = f"{kind[0]}/{version}"
    made["metadata"] |= {"name": "sample"}
    if WORKLOADS[kind].namespaced:
        made["metadata"]["namespace"] = TRAIN
    if kind[1] == "AppWrapper":
        made["spec"]["components"][0]["template"]["metadata"] = {"name": "within"}
    return made
