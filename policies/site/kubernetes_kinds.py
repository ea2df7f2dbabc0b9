"""The kinds of Kubernetes itself, and which of their fields are lists.

A Constraint may name a kind without its group; a rule of a site names both. Source: Kubernetes
1.34, `api/openapi-spec/swagger.json`.
"""

from collections.abc import Iterable
from typing import Final

_NAMESPACED: Final = {
    "": "ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate "
    "ReplicationController ResourceQuota Secret Service ServiceAccount",
    "apps": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "autoscaling": "HorizontalPodAutoscaler",
    "batch": "CronJob Job",
    "coordination.k8s.io": "Lease",
    "discovery.k8s.io": "EndpointSlice",
    "networking.k8s.io": "Ingress NetworkPolicy",
    "policy": "PodDisruptionBudget",
    "rbac.authorization.k8s.io": "Role RoleBinding",
    "resource.k8s.io": "ResourceClaim ResourceClaimTemplate",
}
_CLUSTER: Final = {
    "": "Namespace Node PersistentVolume",
    "admissionregistration.k8s.io": "MutatingWebhookConfiguration ValidatingAdmissionPolicy "
    "ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "apiregistration.k8s.io": "APIService",
    "certificates.k8s.io": "CertificateSigningRequest",
    "networking.k8s.io": "IngressClass",
    "node.k8s.io": "RuntimeClass",
    "policy": "PodSecurityPolicy",
    "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
    "resource.k8s.io": "DeviceClass",
    "scheduling.k8s.io": "PriorityClass",
    "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment",
}
_RENAMED: Final = {"extensions": "networking.k8s.io"}
"""Groups that kinds have moved from."""

LISTS: Final = frozenset(
    [
        "add",
        "containers",
        "drop",
        "env",
        "envFrom",
        "ephemeralContainers",
        "finalizers",
        "hostAliases",
        "imagePullSecrets",
        "initContainers",
        "ownerReferences",
        "paths",
        "ports",
        "rules",
        "subjects",
        "sysctls",
        "tls",
        "tolerations",
        "topologySpreadConstraints",
        "verbs",
        "volumeClaimTemplates",
        "volumeDevices",
        "volumeMounts",
        "volumes",
        "webhooks",
    ]
)
"""Fields of those kinds that are lists wherever they lie."""


def _names(table: dict[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset((group, kind) for group, kinds in table.items() for kind in kinds.split())


_IN_NAMESPACES: Final = _names(_NAMESPACED)
_KNOWN: Final = _IN_NAMESPACES | _names(_CLUSTER)


def groups_of(kind: str) -> list[str]:
    """Return the groups in which Kubernetes has a kind."""
    return sorted(group for group, known in _KNOWN if known == kind)


def rule_kind(group: str, kind: str) -> str:
    """Return a kind as rules name it."""
    group = _RENAMED.get(group, group) if (_RENAMED.get(group), kind) in _KNOWN else group
    return f"{group}/{kind}" if group else kind


def are_built_in(kinds: Iterable[str]) -> bool:
    """Return whether Kubernetes itself has all of them."""
    return all(_split(kind) in _KNOWN for kind in kinds)


def are_namespaced(kinds: Iterable[str]) -> bool:
    """Return whether all are known to lie in namespaces."""
    return all(_split(kind) in _IN_NAMESPACES for kind in kinds)


def cluster_scoped(kinds: Iterable[str]) -> list[str]:
    """Return the kinds that are known to lie in none."""
    return [kind for kind in kinds if _split(kind) in _KNOWN - _IN_NAMESPACES]


def _split(kind: str) -> tuple[str, str]:
    group, _, name = kind.rpartition("/")
    return group, name
