"""A folder of YAML in the place of a cluster: for laptops, pipelines and tests.

Read: ContainerProfile, PolicyException, BreakGlass and their approvals, Namespace,
PersistentVolume, Role, ClusterRole and their bindings, Pods, and workloads as the owners of others,
as `kubectl get -o yaml` or their authors write them. Other kinds are left alone.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import structlog

from core import names
from core.approvals import CLUSTER_KIND, parse_approval
from core.break_glass import parse_break_glass
from core.decoding import unreadable
from core.errors import InvalidObjectError
from core.exceptions import parse_exception
from core.namespaces import Namespace
from core.notes import Owned, kind_of_owner
from core.pod import OwnerReference, Pod, decode_pod
from core.profiles import (
    ContainerProfile,
    ProfileSet,
    Version,
    build_profile_set,
    parse_profile,
)
from core.roles import RoleRule
from core.storage import PersistentVolume, parse_persistent_volume
from core.subject import Subject
from core.workloads import workload_of
from kube.break_glasses import BreakGlasses
from kube.exceptions import Exceptions
from kube.manifests import Manifest, read_paths
from kube.namespaces import parse_namespace
from kube.owners import read_owned
from kube.rbac import Question, Rbac
from kube.rbac_objects import API_VERSION as RBAC_API_VERSION
from kube.rbac_objects import GROUP as RBAC_GROUP
from kube.rbac_objects import Binding, PolicyRule, Role, check_binding, check_role
from kube.volumes import Volumes

_MOST_REMEMBERED: Final = 16_384
"""Answers kept: a folder's rights never change."""

NEWEST: Final = (1, 36)
"""The newest Kubernetes version whose relaxations Sallyport knows."""

_GUARDED: Final[Mapping[str, Callable[[bytes], Any]]] = {
    "PolicyException": parse_exception,
    "Approval": parse_approval,
    "BreakGlass": parse_break_glass,
    CLUSTER_KIND: partial(parse_approval, kind=CLUSTER_KIND),
}
"""What needs approval, and what approves it."""

_Kind = TypeVar("_Kind", Role, Binding)
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
        reading = _Reading()
        for manifest in read_paths([path] if path else []):
            reading.take(manifest)
        profiles = {profile.name: profile for profile in shipped} | reading.profiles
        self._profiles = build_profile_set(profiles.values(), cluster_version)
        self._namespaces = reading.namespaces
        self._volumes = Volumes(reading.volumes)
        self._owners = reading.owners
        self._pods = reading.pods
        guarded = reading.guarded
        self.exceptions = Exceptions(guarded["PolicyException"], guarded["Approval"])
        self.break_glasses = BreakGlasses(guarded["BreakGlass"], guarded[CLUSTER_KIND])
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
        found = self._namespaces.get(name) or Namespace(name)
        labels = {**found.labels, names.NAMESPACE_NAME_LABEL: name}
        return msgspec.structs.replace(found, labels=labels)

    def volume(self, name: str) -> PersistentVolume | None:
        """Give a PersistentVolume of the folder."""
        return self._volumes.named(name)

    def claimed(self, claim: str) -> tuple[PersistentVolume, ...]:
        """Give the volumes on a node that a claim, `namespace/name`, has."""
        return self._volumes.claimed(claim)

    async def owner(
        self, namespace: str, reference: OwnerReference, *, fresh: bool = False
    ) -> Owned | None:
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
        return None if rules is None else tuple(map(_role_rule, rules))

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


def _role_rule(rule: PolicyRule) -> RoleRule:
    return RoleRule(
        rule.verbs, rule.api_groups, rule.resources, rule.resource_names, rule.non_resource_urls
    )


def read_profiles(paths: Iterable[Path]) -> list[ContainerProfile]:
    """Read the ContainerProfiles of files and folders, such as the shipped ones.

    Raises:
        SettingsError, InvalidObjectError: as `FolderCluster`.
    """
    reading = _Reading()
    for manifest in read_paths(paths):
        reading.take(manifest)
    return list(reading.profiles.values())


def read_rbac(path: Path) -> tuple[list[Role], list[Binding]]:
    """Read the roles and bindings of a folder.

    Raises:
        SettingsError, InvalidObjectError: as `FolderCluster`.
    """
    reading = _Reading()
    for manifest in read_paths([path]):
        reading.take(manifest)
    return reading.roles, reading.bindings


class _Reading:
    """What has been read so far, and where, so that nothing is said twice."""

    def __init__(self) -> None:
        self.profiles: dict[str, ContainerProfile] = {}
        self.namespaces: dict[str, Namespace] = {}
        self.volumes: list[PersistentVolume] = []
        self.guarded: dict[str, list[Any]] = {kind: [] for kind in _GUARDED}
        self.roles: list[Role] = []
        self.bindings: list[Binding] = []
        self.owners: dict[tuple[str, str, str, str], Owned] = {}
        self.pods: dict[tuple[str, str], bytes] = {}
        self._seen: dict[tuple[str, str, str], str] = {}

    def take(self, manifest: Manifest) -> None:
        """Take in one object, if it is of a kind that is read."""
        key = (manifest.group, manifest.kind)
        if key == (names.GROUP, "ContainerProfile"):
            profile = _in_file(manifest, parse_profile)
            self._note(manifest, "", profile.name)
            self.profiles[profile.name] = profile
        elif manifest.group == names.GROUP and manifest.kind in _GUARDED:
            guarded = _in_file(manifest, _GUARDED[manifest.kind])
            self._note(manifest, guarded.meta.namespace, guarded.meta.name)
            self.guarded[manifest.kind].append(guarded)
        elif key == ("", "Namespace"):
            namespace = _in_file(manifest, parse_namespace)
            self._note(manifest, "", namespace.name)
            self.namespaces[namespace.name] = namespace
        elif key == ("", "PersistentVolume"):
            volume = _in_file(manifest, parse_persistent_volume)
            self._note(manifest, "", volume.name)
            self.volumes.append(volume)
        elif key in {(RBAC_GROUP, "Role"), (RBAC_GROUP, "ClusterRole")}:
            role = _decode(manifest, Role)
            check_role(role, manifest.source)
            self._note(manifest, role.metadata.namespace, role.metadata.name)
            self.roles.append(role)
        elif key in {(RBAC_GROUP, "RoleBinding"), (RBAC_GROUP, "ClusterRoleBinding")}:
            binding = _decode(manifest, Binding)
            check_binding(binding, manifest.source)
            self._note(manifest, binding.metadata.namespace, binding.metadata.name)
            self.bindings.append(binding)
        elif key == ("", "Pod"):
            metadata = manifest.value.get("metadata") or {}
            place = (str(metadata.get("namespace") or "default"), str(metadata.get("name")))
            self.pods[place] = manifest.raw
        elif workload_of(*key) is not None:
            namespace_name, owned = read_owned(manifest)
            self.owners[namespace_name, *key, owned.name] = owned

    def _note(self, manifest: Manifest, namespace: str, name: str) -> None:
        key = (manifest.kind, namespace, name)
        if key in self._seen:
            message = f"{manifest.kind} {name} stands in {self._seen[key]} too: keep one"
            raise InvalidObjectError(manifest.source, "metadata.name", message)
        self._seen[key] = manifest.source


_Parsed = TypeVar("_Parsed")


def _in_file(manifest: Manifest, parse: Callable[[bytes], _Parsed]) -> _Parsed:
    """Parse, naming the file where the parser named the object alone."""
    try:
        return parse(manifest.raw)
    except InvalidObjectError as error:
        what = f"{manifest.source}: {error.what}"
        raise InvalidObjectError(what, error.field, error.problem) from error


def _decode(manifest: Manifest, kind: type[_Kind]) -> _Kind:
    if manifest.api_version != RBAC_API_VERSION:
        message = f"{manifest.api_version!r} must be {RBAC_API_VERSION}"
        raise InvalidObjectError(manifest.source, "apiVersion", message)
    try:
        return msgspec.convert(manifest.value, kind)
    except msgspec.ValidationError as error:
        raise unreadable(manifest.source, error) from error
