"""An update sets the class only where that does no harm: in what its author changed, if it can."""

import copy
from typing import Any

import pytest

from core.decision.request import Kind
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.requester.test_noted_workloads import JOB
from tests.unit.admission.sandbox.sandbox_cluster import (
    judge,
    mutated,
    namespace,
    profiled,
    runtime_class,
    workload,
)
from tests.unit.admission.world import Folder, request, update

CLUSTER = Kind("RayCluster", "v1", "ray.io")
SERVICE = Kind("Service", "v1", "serving.knative.dev")
JOB_SET = Kind("JobSet", "v1alpha2", "jobset.x-k8s.io")


def ray(**workers: Any) -> dict[str, Any]:
    """Return a cluster of a head and workers."""
    head, worker = workload()["spec"]["template"], workload(**workers)["spec"]["template"]
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "llama", "namespace": "train"},
        "spec": {
            "headGroupSpec": {"template": head},
            "workerGroupSpecs": [{"groupName": "w", "template": worker}],
        },
    }


def job_set(**spec: Any) -> dict[str, Any]:
    """Return a set of one Job."""
    template = {"spec": {"template": workload(**spec)["spec"]["template"]}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "llama", "namespace": "train"},
        "spec": {"replicatedJobs": [{"name": "w", "template": template}]},
    }


async def test_of_several_templates_only_the_changed_one_is_set(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The other one's Pods are not made anew for it, wherever it moves to."""
    runtime_class(profiled(namespace(folder, "required"), "wide", None))
    by = judge(folder.cluster(), engine)
    old, new = ray(), ray(priorityClassName="high")
    found = [each["path"] for each in (await mutated(by, request(old, kind=CLUSTER))).filled]
    head = "/spec/headGroupSpec/template/spec/runtimeClassName"
    worker = "/spec/workerGroupSpecs/{}/template/spec/runtimeClassName"
    assert sorted(found) == [head, worker.format(0)]
    decision = await mutated(by, update(new, old, kind=CLUSTER))
    assert [each["path"] for each in decision.filled] == [worker.format(0)]
    moved = copy.deepcopy(old)
    groups = moved["spec"]["workerGroupSpecs"]
    groups.insert(0, new["spec"]["workerGroupSpecs"][0])
    decision = await mutated(by, update(moved, old, kind=CLUSTER))
    assert [each["path"] for each in decision.filled] == [worker.format(0)]


@pytest.mark.parametrize("kind", [JOB, JOB_SET])
async def test_what_cannot_change_any_more_is_not_set(
    engine: EmbeddedEngine, folder: Folder, kind: Kind
) -> None:
    """Of a suspended Job only where it runs may change: a queue that lets it go would fail."""
    runtime_class(profiled(namespace(folder, "required"), "wide", None))
    by = judge(folder.cluster(), engine)

    def made(**spec: Any) -> dict[str, Any]:
        return job_set(**spec) if kind is JOB_SET else workload(JOB, **spec)

    assert len((await mutated(by, request(made(), kind=kind))).filled) == 1
    placed = made(nodeSelector={"pool": "a"})
    assert (await mutated(by, update(placed, made(), kind=kind))).filled == []


async def test_where_the_field_is_refused_it_is_not_set(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Knative's own webhook would refuse the Service; its Pods get the class."""
    runtime_class(profiled(namespace(folder, "required"), "wide", None))
    by = judge(folder.cluster(), engine)
    service = workload(SERVICE)
    assert (await mutated(by, request(service, kind=SERVICE))).filled == []
