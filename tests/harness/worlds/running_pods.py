"""Pods as they run in a cluster: varied, bound to nodes, with a status and managedFields."""

import random
import uuid
from collections.abc import Iterator
from typing import Any, Final

from tests.harness.worlds.pods import BARE, MUTATIONS, RESTRICTED, Pod

PODS_PER_NAMESPACE: Final = 250
ACCOUNTS: Final = ("default", "trainer")

_CREATED: Final = "2026-06-01T08:00:00Z"
_COMPLIES, _BARE, _CHANGED = range(3)


def namespace_name(index: int) -> str:
    """Return the name of a namespace; they sort as their numbers."""
    return f"team-{index:04d}"


def running_pods(count: int, per_namespace: int = PODS_PER_NAMESPACE) -> Iterator[Pod]:
    """Yield `count` Pods, `per_namespace` to each namespace, always the same ones.

    About 60 of 100 need no privilege; the others are changed in one or two of the fields that
    the Pod Security Standards name. Of 100, about 5 have finished and 1 is being deleted.
    """
    for number in range(count):
        yield running_pod(number, namespace_name(number // per_namespace))


def running_pod(number: int, namespace: str) -> Pod:
    """Return one Pod of 6 to 10 KB as JSON."""
    rng = random.Random(number)  # noqa: S311 -- must repeat, need not be secret
    kind = rng.choices((_COMPLIES, _BARE, _CHANGED), (60, 15, 25))[0]
    base = BARE if kind == _BARE else RESTRICTED
    pod = base.pod()
    if kind == _CHANGED:
        for mutation in rng.sample(MUTATIONS, rng.choice((1, 1, 2))):
            mutation.apply(base, pod)
    pod["metadata"] = _metadata(number, namespace, rng, pod["metadata"].get("annotations"))
    _place(pod["spec"], rng)
    pod["status"] = _status(pod["spec"], rng)
    if rng.random() < 0.01:
        pod["metadata"]["deletionTimestamp"] = "2026-06-02T08:00:00Z"
        pod["metadata"]["deletionGracePeriodSeconds"] = 30
    return pod


def _metadata(number: int, namespace: str, rng: random.Random, annotations: Any) -> Pod:
    job = f"pretrain-{number // 50}"
    metadata: Pod = {
        "name": f"{job}-{number % 50:02d}-{rng.getrandbits(20):05x}",
        "generateName": f"{job}-{number % 50:02d}-",
        "namespace": namespace,
        "uid": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        "creationTimestamp": _CREATED,
        "generation": 1,
        "labels": {
            "app.kubernetes.io/name": "pretrain",
            "batch.kubernetes.io/job-name": job,
            "batch.kubernetes.io/job-completion-index": str(number % 50),
            "batch.kubernetes.io/controller-uid": str(uuid.UUID(int=number, version=4)),
        },
        "annotations": {"batch.kubernetes.io/job-completion-index": str(number % 50)}
        | (annotations or {}),
        "managedFields": _managed_fields(),
    }
    if rng.random() < 0.8:
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": str(uuid.UUID(int=1))}
        metadata["ownerReferences"] = [owner | {"controller": True, "blockOwnerDeletion": True}]
    elif rng.random() < 0.5:
        metadata["annotations"]["sallyport.dev/profile"] = rng.choice(
            ("pss-restricted", "pss-baseline", "gone")
        )
    return metadata


def _place(spec: Pod, rng: random.Random) -> None:
    """Add what every Pod has once it is created and bound."""
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        container["env"] = [
            {"name": f"TORCH_SETTING_{number}", "value": f"{rng.getrandbits(64):016x}"}
            for number in range(24)
        ]
        container["resources"] = {"requests": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"}}
        container["resources"]["limits"] = {"nvidia.com/gpu": "1"}
        container["terminationMessagePath"] = "/dev/termination-log"
        container["terminationMessagePolicy"] = "File"
        container["imagePullPolicy"] = "IfNotPresent"
    spec |= {
        "serviceAccountName": rng.choice(ACCOUNTS),
        "nodeName": f"gpu-{rng.randrange(7500):04d}",
        "restartPolicy": "Never",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
        "enableServiceLinks": True,
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def _status(spec: Pod, rng: random.Random) -> Pod:
    phase = rng.choices(("Running", "Pending", "Succeeded", "Failed"), (92, 3, 4, 1))[0]
    return {
        "phase": phase,
        "hostIP": "10.1.2.3",
        "podIP": "10.2.3.4",
        "qosClass": "Burstable",
        "startTime": _CREATED,
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": _CREATED}
            for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": "registry.example.org/a:1",
                "imageID": f"registry.example.org/a@sha256:{rng.getrandbits(256):064x}",
                "containerID": f"containerd://{rng.getrandbits(256):064x}",
                "ready": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": _CREATED}},
            }
            for container in spec["containers"]
        ],
    }


def _managed_fields() -> list[Pod]:
    container: Pod = {
        f"f:{name}": {".": {}, "f:a": {}, "f:b": {}}
        for name in (
            "args", "command", "env", "image", "imagePullPolicy", "name", "resources", "ports",
            "securityContext", "terminationMessagePath", "terminationMessagePolicy", "volumeMounts",
        )
    }  # fmt: skip
    env: Pod = {f'k:{{"name":"TORCH_SETTING_{n}"}}': {".": {}, "f:value": {}} for n in range(24)}
    spec = {"f:containers": {'k:{"name":"main"}': container | {"f:env": env}}}
    status: Pod = {
        "f:conditions": {
            f'k:{{"type":"{kind}"}}': {"f:lastTransitionTime": {}, "f:status": {}, "f:type": {}}
            for kind in ("Initialized", "ContainersReady", "Ready", "PodReadyToStartContainers")
        },
        "f:containerStatuses": {}, "f:hostIP": {}, "f:phase": {}, "f:podIP": {},
    }  # fmt: skip
    return [
        _managed("kube-controller-manager", {"f:metadata": {"f:labels": {}}, "f:spec": spec}),
        _managed("kubelet", {"f:status": status}) | {"subresource": "status"},
    ]


def _managed(manager: str, fields: Pod) -> Pod:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": _CREATED,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
