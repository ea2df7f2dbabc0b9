"""Workloads, as their authors write them, and clusters in which they are."""

from pathlib import Path
from typing import Any

from tests.unit.cli.manifests import BAD, GOOD, cluster, pod, write

TEMPLATE = {"metadata": {}, "spec": BAD["spec"]}


def deployment(name: str = "server", namespace: str = "train", **spec: Any) -> dict[str, Any]:
    """Return a Deployment whose template shares the node's network."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": TEMPLATE, **spec},
    }


def profile(name: str, *privileges: str, **spec: Any) -> dict[str, Any]:
    """Return a ContainerProfile."""
    fields = {"rank": 500, "catalogue": 2, "privileges": list(privileges), **spec}
    return {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "ContainerProfile",
        "metadata": {"name": name},
        "spec": fields,
    }


def training_job(name: str = "pretrain") -> dict[str, Any]:
    """Return a PyTorchJob with two templates, of which one shares the node's network."""
    replicas = {"Master": {"template": {"spec": GOOD["spec"]}}, "Worker": {"template": TEMPLATE}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": "train"},
        "spec": {"pytorchReplicaSpecs": replicas},
    }


def workloads(folder: Path) -> Path:
    """Write a cluster in which a Deployment, a PyTorchJob and a Pod lie, and one Pod elsewhere."""
    cluster(folder)
    write(
        folder / "workloads.yaml",
        deployment(),
        training_job(),
        pod("quiet", namespace="train"),
        pod("elsewhere", namespace="serve", hostPID=True),
    )
    return folder
