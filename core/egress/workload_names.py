"""Names of workloads, how they follow from one another, and which Pods work together. Pure."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

_SAFE: Final = "[bcdfghjklmnpqrstvwxz2456789]"
"""What Kubernetes makes random suffixes and hashes of (k8s.io/apimachinery/pkg/util/rand)."""

_REPLICA_SET: Final = re.compile(rf"(?P<name>.+)-{_SAFE}{{6,10}}")
_CRON_JOB: Final = re.compile(r"(?P<name>.+)-[0-9]{7,10}")
"""A CronJob's Job ends in its time, in minutes (k8s.io/kubernetes pkg/controller/cronjob)."""
_POD: Final = re.compile(rf"(?P<name>.+)-{_SAFE}{{5}}")
_INDEX: Final = re.compile(r"(?P<name>.+)-[0-9]{1,6}")

GANG_LABELS: Final = (
    "jobset.sigs.k8s.io/jobset-name",
    "leaderworkerset.sigs.k8s.io/name",
    "training.kubeflow.org/job-name",
    "ray.io/cluster",
    "volcano.sh/job-name",
    "sparkoperator.k8s.io/app-name",
    "batch.kubernetes.io/job-name",
    "job-name",
)
"""Labels by which controllers mark the Pods that they make for one run, the widest first: of JobSet
(kubernetes-sigs/jobset api), LeaderWorkerSet (kubernetes-sigs/lws api), Kubeflow's training and MPI
operators (pkg/apis/kubeflow.org/v1), KubeRay, Volcano, Spark's operator, and of Jobs
(https://kubernetes.io/docs/reference/labels-annotations-taints/)."""

_RUNS: Final = frozenset(
    {"JobSet", "RayCluster", "SparkApplication", "Workflow", "PipelineRun", "TaskRun", "AppWrapper"}
)
"""Kinds, besides those that end in `Job`, of which each run is an object of its own."""


class WorkloadName(msgspec.Struct, frozen=True, order=True, gc=False):
    """A workload of a namespace."""

    kind: str
    name: str

    def __str__(self) -> str:
        """Write it as people do: `Job fetch`."""
        return f"{self.kind} {self.name}"

    @property
    def lasts(self) -> bool:
        """Whether its name stays the same from run to run: an allowlist can name it."""
        if self.kind == "CronJob":
            return True
        return bool(self.kind) and not (self.kind.endswith("Job") or self.kind in _RUNS)


def gang_of(labels: Mapping[str, str]) -> str:
    """Return what Pods of one run share: `LABEL=VALUE`; empty where no label says so."""
    return next((f"{key}={labels[key]}" for key in GANG_LABELS if labels.get(key)), "")


def deployment_of(replica_set: str) -> str:
    """Return the name of the Deployment that a ReplicaSet's name is made of; empty for none."""
    return _name(_REPLICA_SET, replica_set)


def cron_job_of(job: str) -> str:
    """Return the name of the CronJob that a Job's name is made of; empty for none."""
    return _name(_CRON_JOB, job)


def makers_of(pod: str) -> list[WorkloadName]:
    """Return which workloads may have made a Pod, by its name alone; the likeliest first.

    Kubernetes names Pods by their controller and a random suffix, Pods of StatefulSets by a number,
    those of indexed Jobs by both.
    """
    found: list[WorkloadName] = []
    stem = _name(_POD, pod)
    if deployment := _name(_REPLICA_SET, stem):
        found.append(WorkloadName("Deployment", deployment))
    if stem:
        found += (WorkloadName(kind, stem) for kind in ("Job", "DaemonSet", "ReplicaSet"))
    if indexed := _name(_INDEX, stem):
        found.append(WorkloadName("Job", indexed))
    if numbered := _name(_INDEX, pod):
        found.append(WorkloadName("StatefulSet", numbered))
    return found


def _name(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.fullmatch(text)
    return found["name"] if found else ""
