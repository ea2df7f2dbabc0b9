"""The reviews that are sent: training Pods as kube-apiserver sends them."""

import json
import string
from typing import Any, Final, Literal

import msgspec

_RESTRICTED: Final = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "readOnlyRootFilesystem": True,
}

_NAMES: Final = ("trainer", "sidecar", "metrics", "logs")
_JOB_CONTROLLER: Final = {
    "username": "system:serviceaccount:kube-system:job-controller",
    "uid": "32fb5928-ff83-4e9a-9e7b-d98188703115",
    "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system"],
}
_PERSON: Final = {
    "username": "alice@example.com",
    "groups": ["researchers", "system:authenticated"],
    "extra": {"oid": ["0c7f6f0e-5a3c-4c0e-9c1d-6f6f2b1f0a11"]},
}

_TOKEN: Final = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}


class Pods(msgspec.Struct, frozen=True):
    """Which Pods are sent.

    `different`: no two have the same projection; every other one is refused, for a container
    that keeps its capabilities and adds NET_ADMIN. `gang`: all of one Job, all admitted.
    """

    mix: Literal["different", "gang"] = "different"
    distinct: int = 256
    containers: int = 5
    """One of them an init container, where there is more than one."""
    variables: int = 16
    """Environment variables of each container."""
    variable_bytes: int = 30
    """Length of each one's value: text that no rule reads."""

    @property
    def kilobytes(self) -> float:
        """Size of a Pod as JSON, without its managedFields."""
        pod = _pod(self, 0)
        del pod["metadata"]["managedFields"]
        return len(json.dumps(pod, separators=(",", ":"))) / 1000

    def is_compliant(self, number: int) -> bool:
        """Return whether the Pod of this number complies."""
        return self.mix == "gang" or number % 2 == 0

    def review(self, number: int) -> bytes:
        """Return the review of the Pod of this number."""
        if self.mix == "gang":
            return _review(_member(self, number), number, _JOB_CONTROLLER)
        pod = _pod(self, number)
        if not self.is_compliant(number):
            containers = pod["spec"]["containers"]
            context = {**_RESTRICTED, "capabilities": {"add": ["NET_ADMIN"]}}
            containers[min(1, len(containers) - 1)]["securityContext"] = context
        return _review(pod, number, _PERSON)


USUAL: Final = Pods()
"""Five containers, 11 KB, in a review of 19 KB."""

GANG: Final = Pods("gang")


def make_pod(number: int, namespace: str) -> dict[str, Any]:
    """Return a Pod as its author sends it: nothing that the API fills in."""
    pod = _pod(USUAL, number)
    metadata = {key: pod["metadata"][key] for key in ("name", "labels", "annotations")}
    spec = {**pod["spec"], "serviceAccountName": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "namespace": namespace},
        "spec": spec,
    }


def _review(pod: dict[str, Any], number: int, user: dict[str, Any]) -> bytes:
    review = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": f"00000000-0000-4000-8000-{number:012d}",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
            "requestResource": {"group": "", "version": "v1", "resource": "pods"},
            "name": pod["metadata"]["name"],
            "namespace": "train",
            "operation": "CREATE",
            "userInfo": user,
            "object": pod,
            "oldObject": None,
            "dryRun": False,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        },
    }
    return json.dumps(review, separators=(",", ":")).encode()


def _member(pods: Pods, number: int) -> dict[str, Any]:
    """Return a Pod of an Indexed Job: what differs is what differs between real ones.

    tests/api/gangs has recorded what kube-controller-manager makes; a rank in a variable is
    what the training operator adds (tests/gangs/pytorchjob).
    """
    pod = _pod(pods, 0)
    metadata, spec = pod["metadata"], pod["spec"]
    suffix = _letters(number)
    index = {"batch.kubernetes.io/job-completion-index": str(number)}
    metadata["name"] = f"pretrain-{number}-{suffix}"
    metadata["generateName"] = f"pretrain-{number}-"
    metadata["uid"] = f"10000000-0000-4000-8000-{number:012d}"
    metadata["labels"] |= index | {"batch.kubernetes.io/job-name": "pretrain"}
    metadata["annotations"] |= index
    metadata["ownerReferences"] = [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "pretrain",
            "uid": "20000000-0000-4000-8000-000000000001",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    spec["hostname"] = f"pretrain-{number}"
    token = f"kube-api-access-{suffix}"
    spec["volumes"][-1]["name"] = token
    for container in spec["initContainers"] + spec["containers"]:
        container["env"].append({"name": "RANK", "value": str(number)})
        container["volumeMounts"][-1]["name"] = token
    return pod


def _letters(number: int) -> str:
    """Return five letters for a number, as names end that the API makes."""
    letters = string.ascii_lowercase
    return "".join(letters[number // len(letters) ** place % len(letters)] for place in range(5))


def _pod(pods: Pods, number: int) -> dict[str, Any]:
    names = [*_NAMES, *(f"worker-{index}" for index in range(pods.containers))]
    init = [_init_container(pods, number)] if pods.containers > 1 else []
    containers = [_container(pods, name, number) for name in names[: pods.containers - len(init)]]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"pretrain-{number}",
            "namespace": "train",
            "uid": f"10000000-0000-4000-8000-{number:012d}",
            "creationTimestamp": "2026-11-21T09:00:00Z",
            "labels": {f"training.example/{key}": f"value-{key}" for key in "abcdefgh"},
            "annotations": {f"notes.example/{key}": "x" * 60 for key in "abcd"},
            "managedFields": _managed_fields(),
        },
        "spec": {
            "serviceAccountName": "trainer",
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 1000,
                "fsGroup": 1000,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "initContainers": init,
            "containers": containers,
            "volumes": [
                {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}},
                {"name": "data", "persistentVolumeClaim": {"claimName": "dataset"}},
                {"name": "config", "configMap": {"name": "training", "defaultMode": 420}},
                {"name": "token", "projected": {"sources": [_TOKEN]}},
            ],
            "nodeSelector": {"agentpool": "h100"},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "restartPolicy": "Never",
            "schedulerName": "default-scheduler",
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


def _init_container(pods: Pods, number: int) -> dict[str, Any]:
    container = _container(pods, "fetch", number)
    del container["readinessProbe"]  # An init container may not have one.
    return container


def _container(pods: Pods, name: str, number: int) -> dict[str, Any]:
    text = "v" * pods.variable_bytes
    return {
        "name": name,
        "image": f"registry.example/{name.partition('-')[0]}@sha256:{number:064x}",
        "command": ["python", "-m", f"training.{name}"],
        "args": [f"--option-{index}=value-{index}" for index in range(8)],
        "env": [{"name": f"SETTING_{index}", "value": text} for index in range(pods.variables)],
        "ports": [{"containerPort": 9000, "name": "metrics", "protocol": "TCP"}],
        "resources": {
            "limits": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "8"},
            "requests": {"cpu": "8", "memory": "64Gi"},
        },
        "volumeMounts": [
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 (a mount path)
            {"name": "data", "mountPath": "/data", "readOnly": True},
            {"name": "config", "mountPath": "/etc/training"},
            {"name": "token", "mountPath": "/var/run/secrets/token", "readOnly": True},
        ],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 9000}, "periodSeconds": 10},
        "securityContext": _RESTRICTED,
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }


def _managed_fields() -> list[dict[str, Any]]:
    def fields(depth: int, width: int) -> dict[str, Any]:
        if depth == 0:
            return {}
        return {f"f:field{index}": fields(depth - 1, width) for index in range(width)}

    return [
        {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-11-21T09:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": fields(3, 6),
        }
        for manager in ("kube-controller-manager", "training-operator")
    ]
