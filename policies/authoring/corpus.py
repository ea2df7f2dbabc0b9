"""Pods by which the costs of rules are measured, beside the cases of their authors."""

from collections.abc import Iterator
from typing import Any, Final

from kube.manifests.reader import Manifest
from policies.authoring.benchmark import SIZES
from policies.authoring.cases import Case, Said
from policies.site.choices import Choices

_LABELS: Final = {"app.kubernetes.io/name": "pretrain", "example.com/team": "research"}


def _container(number: int) -> dict[str, Any]:
    """Give a container of a training Pod; each differs in its name and port alone."""
    return {
        "name": f"trainer-{number}",
        "image": f"registry.example/train@sha256:{'0' * 64}",
        "env": [
            {"name": "RANK", "value": str(number)},
            {"name": "NCCL_DEBUG", "value": "WARN"},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
        ],
        "ports": [{"name": f"p{number}", "containerPort": 20_000 + number}],
        "resources": {
            "limits": {"nvidia.com/gpu": "8", "memory": "900Gi"},
            "requests": {"cpu": "90", "memory": "900Gi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    }


def training_pod(containers: int) -> dict[str, Any]:
    """Give a Pod that trains a model, with so many containers."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pretrain-0", "labels": _LABELS, "annotations": {"note": "bench"}},
        "spec": {
            "securityContext": {"runAsNonRoot": True, "runAsUser": 1000},
            "serviceAccountName": "trainer",
            "containers": [_container(number) for number in range(containers)],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "volumes": [{"name": "scratch", "emptyDir": {}}],
        },
    }


def _plain_pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.example/app:1.0"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


_PODS: Final = (
    training_pod(2),
    _plain_pod("plain"),
    _plain_pod("node-agent", hostNetwork=True, hostPID=True),
    _plain_pod("sidecars", initContainers=[{"name": "init", "image": "registry.example/init:1"}]),
)


def ordinary_cases(choices: Choices) -> Iterator[Case]:
    """Give Pods as a cluster sees them."""
    for pod in _PODS:
        yield _case(f"an example: {pod['metadata']['name']}", pod, choices)


def sized_cases(choices: Choices) -> dict[str, tuple[int, Case]]:
    """Give training Pods of 1, 10 and 100 containers, by the file that they are asked about."""
    made = ((size, _case(f"{size} containers", training_pod(size), choices)) for size in SIZES)
    return {case.file: (size, case) for size, case in made}


def _case(name: str, value: dict[str, Any], choices: Choices) -> Case:
    said = Said(name=name, why="It is measured.", object=value, expect="allow")
    return Case(name, said, Manifest(name, name, value), None, choices, {})
