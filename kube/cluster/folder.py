"""A folder of YAML in the place of a cluster: for laptops, pipelines and tests.

Read: ContainerProfile, PolicyException, BreakGlass, EgressAllowlist, EgressDestinations,
AccessGrant and their approvals, WeightStore, Namespace, PersistentVolume, RuntimeClass, Service,
ServiceAccount, Role, ClusterRole and their bindings, CustomResourceDefinition, Pods, the summary of
the sandbox's nodes, the Secrets of the risk snapshot, and workloads as the owners of others, as
`kubectl get -o yaml` or their authors write them.
Other kinds are left alone.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec
import structlog

from core.approvals.approvals import CLUSTER_KIND
from core.base import names
from core.cluster import SignIn
from core.decision.namespaces import Namespace
from core.egress import allowlists
from core.kubernetes.crds import CustomResourceDefinition
from core.kubernetes.persistent_volumes import PersistentVolume
from core.kubernetes.pod import OwnerReference, Pod, decode_pod
from core.kubernetes.requester_notes import OwnerObject, kind_of_owner
from core.kubernetes.roles import RoleRule
from core.people.subject import Subject
from core.profiles.container_profiles import (
    ContainerProfile,
    ProfileSet,
    Version,
    build_profile_set,
)
from core.risk.snapshot import RiskSnapshot
from core.sandbox.capacity import Capacity
from core.sandbox.decision import RuntimeClass
from core.weights import access_grants, stores
from kube.approvals.break_glasses import BreakGlasses
from kube.approvals.watch import Exceptions
from kube.cluster.folder_reading import FolderReading
from kube.egress.allowlists import Intents
from kube.manifests.reader import read_paths
from kube.rbac.authorizer import Question, Rbac
from kube.rbac.objects import Binding, PolicyRule, Role
from kube.resources.exposed_services import Services
from kube.resources.persistent_volumes import Volumes
from kube.resources.service_accounts import made_of, sign_in_of
from kube.risk.risk_secrets import snapshot_in
from kube.weights.watch import WeightGrants

_MOST_REMEMBERED: Final = 16_384
"""Answers kept: a folder's rights never change."""

NEWEST: Final = (1, 36)
"""The newest Kubernetes version whose relaxations Sallyport knows."""

_log = structlog.get_logger(__name__)


class FolderCluster:
    """`core.cluster.Cluster` answered from files, read once when it is made.

    A namespace that the folder does not hold is one without marks: a manifest can be reviewed
    for a namespace that nobody has written down. Profiles in `shipped` are in force unless
    the folder has one of the same name.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        shipped: Iterable[ContainerProfile] = (),
        cluster_version: Version = NEWEST,
    ) -> None:
        """Read the folder (or one file); None is an empty cluster with the shipped profiles.

        Raises:
            SettingsError: the folder does not exist or cannot be read.
            InvalidObjectError: an object is broken; the message names file, document, field.
        """
        reading = FolderReading()
        for manifest in read_paths([path] if path else []):
            reading.take(manifest)
        profiles = {profile.name: profile for profile in shipped} | reading.profiles
        self._profiles = build_profile_set(profiles.values(), cluster_version)
        self._namespaces = {name: _named(each) for name, each in reading.namespaces.items()}
        self._volumes = Volumes(reading.volumes)
        self._runtime_classes = reading.runtime_classes
        self._capacities = reading.capacities
        self._service_accounts = reading.service_accounts
        self.exposing = Services(reading.exposing).exposing
        self._owners = reading.owners
        self._pods = reading.pods
        self._risk = snapshot_in(reading.risk)
        guarded = reading.guarded
        self.exceptions = Exceptions(guarded["PolicyException"], guarded["Approval"])
        self.break_glasses = BreakGlasses(guarded["BreakGlass"], guarded[CLUSTER_KIND])
        self.intents = Intents(guarded[allowlists.KIND], guarded[allowlists.SET_KIND])
        self.weights = WeightGrants(guarded[stores.KIND], guarded[access_grants.KIND])
        self.roles = tuple(reading.roles)
        """The roles of the folder, without those that every cluster has."""
        self.definitions: Mapping[tuple[str, str], CustomResourceDefinition] = reading.definitions
        """The definitions of custom kinds, by group and kind."""
        self._rbac = Rbac(reading.roles, reading.bindings)
        self._allows = lru_cache(_MOST_REMEMBERED)(self._evaluate)
        for binding in self._rbac.dangling():
            _log.warning(
                "binding gives nothing: its role is not in the folder",
                binding=f"{binding.kind} {binding.metadata.name}",
                role=f"{binding.role_ref.kind} {binding.role_ref.name}",
            )

    def missing(self) -> list[str]:
        """Give an empty list: a folder that was read is complete."""
        return []

    def identity(self) -> str:
        """Give `local`: a folder is this machine's."""
        return "local"

    def access_reviews(self) -> Mapping[str, int]:
        """Give zeros: a folder is never asked over a network."""
        return {"hit": 0, "miss": 0, "error": 0}

    def profiles(self) -> ProfileSet:
        """Give the profiles in force."""
        return self._profiles

    async def namespace(self, name: str) -> Namespace:
        """Give a namespace, with the label that kube-apiserver sets on each."""
        return self._namespaces.get(name) or _named(Namespace(name))

    async def closed(self, namespace: str) -> bool:
        """Give True: a folder has no controller that would close a namespace a moment later."""
        del namespace
        return True

    async def generated(self, namespace: str) -> tuple[msgspec.Raw, ...]:
        """Give none, for the same reason."""
        del namespace
        return ()

    def volume(self, name: str) -> PersistentVolume | None:
        """Give a PersistentVolume of the folder."""
        return self._volumes.named(name)

    def claimed(self, claim: str) -> tuple[PersistentVolume, ...]:
        """Give the volumes on a node that a claim, `namespace/name`, has."""
        return self._volumes.claimed(claim)

    def showing(self, claim: str) -> tuple[PersistentVolume, ...]:
        """Give the volumes of blobs that a claim, `namespace/name`, has."""
        return self._volumes.showing(claim)

    def kept_in(self, namespace: str) -> tuple[PersistentVolume, ...]:
        """Give the volumes that claims of a namespace have."""
        return self._volumes.kept_in(namespace)

    def runtime_class(self, name: str) -> RuntimeClass | None:
        """Give a RuntimeClass of the folder."""
        return self._runtime_classes.get(name)

    def capacity(self, runtime_class: str) -> Capacity | None:
        """Give the summary of a RuntimeClass's nodes, however old: a folder is a moment's."""
        return self._capacities.get(runtime_class)

    def risk(self) -> RiskSnapshot | None:
        """Give the risk snapshot whose Secrets the folder holds; None where it holds none."""
        return self._risk

    def service_account_made(self, namespace: str, name: str) -> float:
        """Give when a ServiceAccount of the folder was made; 0.0 where the folder does not say.

        A folder is not complete: what it does not hold is not new.
        """
        return made_of(self._service_accounts.get((namespace, name), 0.0))

    def service_account_sign_in(self, namespace: str, name: str) -> SignIn:
        """Give whom a ServiceAccount of the folder signs in as."""
        return sign_in_of(self._service_accounts.get((namespace, name), 0.0))

    async def owner(
        self, namespace: str, reference: OwnerReference, *, fresh: bool = False
    ) -> OwnerObject | None:
        """Give an owner that the folder holds, with the UID of the reference."""
        del fresh
        key = (namespace, *kind_of_owner(reference), reference.name)
        found = self._owners.get(key)
        return found if found and found.uid == reference.uid else None

    async def pod(self, namespace: str, name: str) -> Pod | None:
        """Give a Pod of the folder.

        Raises:
            InvalidObjectError: it does not have a Pod's shape.
        """
        raw = self._pods.get((namespace, name))
        return decode_pod(raw) if raw is not None else None

    async def role(self, kind: str, namespace: str, name: str) -> tuple[RoleRule, ...] | None:
        """Give the rules of a Role or ClusterRole of the folder, or of one that clusters have."""
        rules = self._rbac.rules(namespace if kind == "Role" else "", name)
        return None if rules is None else tuple(map(role_rule, rules))

    async def allowed(
        self, subject: Subject, verb: str, resource: str, name: str, namespace: str
    ) -> bool:
        """Say whether the folder's RBAC lets `subject` do `verb` on a Sallyport resource."""
        return self.known(subject, verb, resource, name, namespace)

    def known(self, subject: Subject, verb: str, resource: str, name: str, namespace: str) -> bool:
        """Say the same: a folder is never asked over a network, and never changes."""
        return self._allows(
            subject.username, tuple(subject.groups), verb, resource, name, namespace
        )

    def _evaluate(  # noqa: PLR0913, PLR0917  All that a rule looks at.
        self,
        username: str,
        groups: tuple[str, ...],
        verb: str,
        resource: str,
        name: str,
        namespace: str,
    ) -> bool:
        subject = Subject(username, groups=list(groups))
        return self._rbac.allows(subject, Question(verb, names.GROUP, resource, name, namespace))


def role_rule(rule: PolicyRule) -> RoleRule:
    """Give a rule of a file as one of a cluster."""
    return RoleRule(
        rule.verbs, rule.api_groups, rule.resources, rule.resource_names, rule.non_resource_urls
    )


def read_profiles(paths: Iterable[Path]) -> list[ContainerProfile]:
    """Read the ContainerProfiles of files and folders, such as the shipped ones.

    Raises:
        SettingsError, InvalidObjectError: as `FolderCluster`.
    """
    reading = FolderReading()
    for manifest in read_paths(paths):
        reading.take(manifest)
    return list(reading.profiles.values())


def read_rbac(path: Path) -> tuple[list[Role], list[Binding]]:
    """Read the roles and bindings of a folder.

    Raises:
        SettingsError, InvalidObjectError: as `FolderCluster`.
    """
    reading = FolderReading()
    for manifest in read_paths([path]):
        reading.take(manifest)
    return reading.roles, reading.bindings


def _named(namespace: Namespace) -> Namespace:
    """Give a namespace with the label that kube-apiserver sets on each."""
    labels = {**namespace.labels, names.NAMESPACE_NAME_LABEL: namespace.name}
    return msgspec.structs.replace(namespace, labels=labels)
