"""Manifests and judged clusters, as tests of connectivity write them."""

from collections.abc import Iterable
from typing import Any

from egress.analysis.connectivity import Connectivity, judge_connectivity
from egress.analysis.policy_cluster import PolicyCluster, read_policy_cluster
from kube.manifests.reader import Manifest

Json = dict[str, Any]


def namespace(name: str, **labels: str) -> Json:
    """Return a Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def pod(place: str, labels: Json | None = None, *addresses: str, **spec: Any) -> Json:
    """Return a Pod; `place` as `namespace/name`."""
    space, _, name = place.partition("/")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": space, "name": name, "labels": labels or {}},
        "spec": {"containers": [{"name": "main"}], **spec},
        "status": {"podIPs": [{"ip": each} for each in addresses]},
    }


def named_ports(*ports: tuple[str, str, int]) -> list[Json]:
    """Return containers that declare ports: name, protocol, number."""
    declared = [
        {"name": name, "protocol": protocol, "containerPort": number}
        for name, protocol, number in ports
    ]
    return [{"name": "main", "ports": declared}]


def workload(kind: str, place: str, labels: Json, **spec: Any) -> Json:
    """Return a workload of the group apps with a Pod template."""
    space, _, name = place.partition("/")
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "m"}], **spec}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"namespace": space, "name": name},
        "spec": {"template": template},
    }


def network_policy(place: str, selects: Json | None = None, **spec: Any) -> Json:
    """Return a NetworkPolicy."""
    space, _, name = place.partition("/")
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"namespace": space, "name": name},
        "spec": {"podSelector": selects or {}, **spec},
    }


def manifests(values: Iterable[Json]) -> list[Manifest]:
    """Return objects as a file of them gives."""
    return [Manifest("all.yaml", f"all.yaml#{at}", each) for at, each in enumerate(values, 1)]


def judged(*values: Json) -> tuple[PolicyCluster, Connectivity]:
    """Return what manifests hold, and what is open there."""
    cluster = read_policy_cluster(manifests(values))
    return cluster, judge_connectivity(cluster)
