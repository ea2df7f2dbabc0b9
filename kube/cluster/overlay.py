"""A cluster as it will be once files are applied to it: with the roles that they hold."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import msgspec

from core.base.errors import InvalidObjectError
from core.cluster import (
    AccountSignIn,
    BreakGlassSource,
    Cluster,
    ExceptionSource,
    IntentSource,
    WeightSource,
)
from core.decision.namespaces import Namespace
from core.decision.requester_notes import OwnerObject
from core.kubernetes.field_rows import KnownFields
from core.kubernetes.object_meta import OwnerReference
from core.kubernetes.persistent_volumes import PersistentVolume
from core.kubernetes.pod import Pod
from core.kubernetes.roles import RoleRule
from core.people.subject import Subject
from core.profiles.container_profiles import ProfileSet
from core.risk.snapshot import RiskSnapshot
from core.sandbox.capacity import Capacity
from core.sandbox.decision import RuntimeClass
from kube.cluster.folder import read_role, role_rule
from kube.manifests.reader import Manifest
from kube.rbac.authorizer import Rbac
from kube.rbac.objects import GROUP, Role

ROLES: Final = frozenset({(GROUP, "Role"), (GROUP, "ClusterRole")})

_Key = tuple[str, str]
"""Namespace, empty for a ClusterRole; name."""


class FileRoles:
    """The roles of files, as they will be in the cluster that the files are applied to."""

    def __init__(
        self, manifests: Iterable[Manifest], namespace: str, known: Iterable[Role] = ()
    ) -> None:
        """Take the roles among manifests; `namespace` is that of a Role that names none.

        `known` are roles of the cluster, where these are all at hand: an aggregationRule of a
        file may select them. A role that stands in the files more than once gives all that any of
        them gives, since nobody knows which is applied.
        """
        self._broken: dict[_Key, InvalidObjectError] = {}
        found: dict[_Key, Role] = {}
        for manifest in manifests:
            if (manifest.group, manifest.kind) in ROLES:
                self._take(_placed(manifest, namespace), found)
        others = (each for each in known if _key(each) not in found)
        self._rbac = Rbac([*others, *found.values()], ())
        self._found = found

    def _take(self, manifest: Manifest, found: dict[_Key, Role]) -> None:
        try:
            role = read_role(manifest)
        except InvalidObjectError as error:
            metadata = manifest.value.get("metadata")
            metadata = metadata if isinstance(metadata, dict) else {}
            place = metadata.get("namespace") if manifest.kind == "Role" else ""
            self._broken[str(place or ""), str(metadata.get("name"))] = error
            return
        if (before := found.get(_key(role))) is not None:
            rules = [*(before.rules or ()), *(role.rules or ())]
            aggregation = role.aggregation_rule or before.aggregation_rule
            role = msgspec.structs.replace(role, rules=rules, aggregation_rule=aggregation)
        found[_key(role)] = role

    def rules(self, kind: str, namespace: str, name: str) -> tuple[RoleRule, ...] | None:
        """Return the rules of a role; None where the files do not hold it.

        Raises:
            InvalidObjectError: they hold it, but kube-apiserver would not take it.
        """
        key = (namespace if kind == "Role" else "", name)
        if (error := self._broken.get(key)) is not None:
            raise InvalidObjectError(f"{kind} {name}", "", f"cannot be read: {error}") from error
        if key not in self._found:
            return None
        return tuple(map(role_rule, self._rbac.rules(*key) or ()))

    def collects(self, kind: str, name: str) -> bool:
        """Return whether it is a ClusterRole of the files that takes over the rules of others."""
        role = self._found.get(("", name)) if kind == "ClusterRole" else None
        return role is not None and role.aggregation_rule is not None


def _is_shipped(name: str) -> bool:
    """Return whether Kubernetes gives a ClusterRole of this name its rules back.

    By aggregation at once, else as soon as a kube-apiserver starts (k8s.io/kubernetes
    plugin/pkg/auth/authorizer/rbac/bootstrappolicy, policy.go).
    """
    return name in {"cluster-admin", "admin", "edit", "view"} or name.startswith("system:")


def _key(role: Role) -> _Key:
    return role.metadata.namespace, role.metadata.name


def _placed(manifest: Manifest, namespace: str) -> Manifest:
    """Put a Role that names no namespace where whoever applies the files would."""
    metadata = manifest.value.get("metadata")
    if manifest.kind != "Role" or not isinstance(metadata, dict) or metadata.get("namespace"):
        return manifest
    return replace(
        manifest, value={**manifest.value, "metadata": {**metadata, "namespace": namespace}}
    )


class OverlayCluster:
    """`core.cluster.Cluster` that asks another one for everything but the roles of files."""

    def __init__(self, cluster: Cluster, roles: FileRoles) -> None:
        """Take the cluster, and what is to be applied to it."""
        self._cluster = cluster
        self._roles = roles

    async def role(self, kind: str, namespace: str, name: str) -> tuple[RoleRule, ...] | None:
        """Return the rules of a role of the files, else of the cluster.

        Of a ClusterRole that takes over others' rules: those that it takes from the files, and
        those that it has in the cluster. So of one that Kubernetes ships, whose rules come back.

        Raises:
            InvalidObjectError: kube-apiserver would not take the files' role.
            RoleUnknownError: the cluster did not say.
        """
        rules = self._roles.rules(kind, namespace, name)
        comes_back = kind == "ClusterRole" and _is_shipped(name)
        if rules is not None and not (comes_back or self._roles.collects(kind, name)):
            return rules
        there = await self._cluster.role(kind, namespace, name)
        return there if rules is None else (*rules, *(there or ()))

    @property
    def exceptions(self) -> ExceptionSource:
        """The cluster's."""
        return self._cluster.exceptions

    @property
    def break_glasses(self) -> BreakGlassSource:
        """The cluster's."""
        return self._cluster.break_glasses

    @property
    def intents(self) -> IntentSource:
        """The cluster's."""
        return self._cluster.intents

    @property
    def weights(self) -> WeightSource:
        """The cluster's."""
        return self._cluster.weights

    def missing(self) -> list[str]:
        """Name what the cluster has not loaded."""
        return self._cluster.missing()

    def identity(self) -> str:
        """Return the cluster's."""
        return self._cluster.identity()

    def access_reviews(self) -> Mapping[str, int]:
        """Count the cluster's."""
        return self._cluster.access_reviews()

    def profiles(self) -> ProfileSet:
        """Return the cluster's."""
        return self._cluster.profiles()

    async def namespace(self, name: str) -> Namespace:
        """Return the cluster's."""
        return await self._cluster.namespace(name)

    async def is_egress_closed(self, namespace: str) -> bool:
        """Return whether it is closed in the cluster."""
        return await self._cluster.is_egress_closed(namespace)

    async def generated_policies(self, namespace: str) -> tuple[msgspec.Raw, ...]:
        """Return the cluster's."""
        return await self._cluster.generated_policies(namespace)

    def volume(self, name: str) -> PersistentVolume | None:
        """Return the cluster's."""
        return self._cluster.volume(name)

    def node_volumes_of(self, claim: str) -> tuple[PersistentVolume, ...]:
        """Return the cluster's."""
        return self._cluster.node_volumes_of(claim)

    def blob_volumes_of(self, claim: str) -> tuple[PersistentVolume, ...]:
        """Return the cluster's."""
        return self._cluster.blob_volumes_of(claim)

    def shares_volume(self, claim: str) -> bool:
        """Return what the cluster says."""
        return self._cluster.shares_volume(claim)

    def volumes_of_namespace(self, namespace: str) -> tuple[PersistentVolume, ...]:
        """Return the cluster's."""
        return self._cluster.volumes_of_namespace(namespace)

    def runtime_class(self, name: str) -> RuntimeClass | None:
        """Return the cluster's."""
        return self._cluster.runtime_class(name)

    def known_fields(self) -> KnownFields:
        """Return the cluster's."""
        return self._cluster.known_fields()

    def capacity(self, runtime_class: str) -> Capacity | None:
        """Return the cluster's."""
        return self._cluster.capacity(runtime_class)

    def exposing_services(self, namespace: str, labels: Mapping[str, str]) -> tuple[str, ...]:
        """Return the cluster's."""
        return self._cluster.exposing_services(namespace, labels)

    def service_account_made(self, namespace: str, name: str) -> float | None:
        """Return the cluster's."""
        return self._cluster.service_account_made(namespace, name)

    def risk(self) -> RiskSnapshot | None:
        """Return the cluster's."""
        return self._cluster.risk()

    def service_account_sign_in(self, namespace: str, name: str) -> AccountSignIn | None:
        """Return the cluster's."""
        return self._cluster.service_account_sign_in(namespace, name)

    async def owner(
        self, namespace: str, reference: OwnerReference, *, fresh: bool = False
    ) -> OwnerObject | None:
        """Return the cluster's."""
        return await self._cluster.owner(namespace, reference, fresh=fresh)

    async def pod(self, namespace: str, name: str) -> Pod | None:
        """Return the cluster's."""
        return await self._cluster.pod(namespace, name)

    def remembered_access(
        self, subject: Subject, verb: str, resource: str, name: str, namespace: str
    ) -> bool | None:
        """Return the cluster's remembered answer; None where it must be asked."""
        return self._cluster.remembered_access(subject, verb, resource, name, namespace)

    async def allowed(
        self, subject: Subject, verb: str, resource: str, name: str, namespace: str
    ) -> bool:
        """Return the cluster's answer."""
        return await self._cluster.allowed(subject, verb, resource, name, namespace)
