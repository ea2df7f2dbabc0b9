"""The reviews that are sent: a five-container training Pod as kube-apiserver sends it."""

import json
from typing import Any

_RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "readOnlyRootFilesystem": True,
}


def make_review(number: int, *, compliant: bool) -> bytes:
    """Give one review of about 20 KB: a Pod of about 10 KB and its managedFields.

    No two numbers give the same Pod, nor the same projection. A Pod that does not comply lets
    one container keep its capabilities and another add NET_ADMIN.
    """
    pod = _pod(number)
    if not compliant:
        pod["spec"]["containers"][1]["securityContext"] = {
            **_RESTRICTED,
            "capabilities": {"add": ["NET_ADMIN"]},
        }
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
            "userInfo": {
                "username": "alice@example.com",
                "groups": ["researchers", "system:authenticated"],
                "extra": {"oid": ["0c7f6f0e-5a3c-4c0e-9c1d-6f6f2b1f0a11"]},
            },
            "object": pod,
            "oldObject": None,
            "dryRun": False,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        },
    }
    return json.dumps(review, separators=(",", ":")).encode()


def _pod(number: int) -> dict[str, Any]:
    containers = [_container(name, number) for name in ("trainer", "sidecar", "metrics", "logs")]
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
            "initContainers": [_container("fetch", number)],
            "containers": containers,
            "volumes": [
                {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}},
                {"name": "data", "persistentVolumeClaim": {"claimName": "dataset"}},
                {"name": "config", "configMap": {"name": "training", "defaultMode": 420}},
                {"name": "token", "projected": {"sources": [{"serviceAccountToken": {}}]}},
            ],
            "nodeSelector": {"agentpool": "h100"},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "restartPolicy": "Never",
            "schedulerName": "default-scheduler",
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


def _container(name: str, number: int) -> dict[str, Any]:
    return {
        "name": name,
        "image": f"registry.example/{name}@sha256:{number:064x}",
        "command": ["python", "-m", f"training.{name}"],
        "args": [f"--option-{index}=value-{index}" for index in range(8)],
        "env": [{"name": f"SETTING_{index}", "value": "v" * 30} for index in range(16)],
        "ports": [{"containerPort": 9000, "name": "metrics", "protocol": "TCP"}],
        "resources": {
            "limits": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "8"},
            "requests": {"cpu": "8", "memory": "64Gi"},
        },
        "volumeMounts": [
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 (a mount path)
            {"name": "data", "mountPath": "/data", "readOnly": True},
            {"name": "config", "mountPath": "/etc/training"},
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
