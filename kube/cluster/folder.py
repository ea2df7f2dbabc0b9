"""A folder of YAML in the place of a cluster: for laptops, pipelines and tests.

Read: ContainerProfile, PolicyException, BreakGlass, EgressAllowlist, EgressDestinations,
AccessGrant and their approvals, WeightStore, Namespace, PersistentVolume, RuntimeClass, Service,
ServiceAccount, Role, ClusterRole and their bindings, CustomResourceDefinition, Pods, the summary of
the sandbox's nodes, the Secrets of the risk snapshot, and workloads as the owners of others, as
`kubectl get -o yaml` or their authors write them.
Other kinds are left alone.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import structlog

from core.approvals.approvals import CLUSTER_KIND, parse_approval
from core.approvals.break_glass import parse_break_glass
from core.approvals.exceptions import parse_exception
from core.base import names
from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_error
from core.base.short_text_cache import cache_short_texts
from core.cluster import AccountSignIn
from core.decision.namespaces import Namespace
from core.decision.requester_notes import OwnerObject, kind_of_owner
from core.egress import allowlists
from core.egress.allowlists import (
    EgressAllowlist,
    EgressDestinations,
    parse_allowlist,
    parse_destinations,
)
from core.kubernetes import crds
from core.kubernetes.crds import CustomResourceDefinition, read_definition
from core.kubernetes.field_rows import NOTHING_KNOWN, KnownFields
from core.kubernetes.object_meta import OwnerReference
from core.kubernetes.persistent_volumes import PersistentVolume, parse_persistent_volume
from core.kubernetes.pod import Pod, decode_pod
from core.kubernetes.roles import RoleRule
from core.kubernetes.workload_kinds import workload_of
from core.people.subject import Subject
from core.profiles.container_profiles import (
    ContainerProfile,
    ProfileSet,
    Version,
    build_profile_set,
    parse_profile,
)
from core.risk.columns import SnapshotBase
from core.risk.snapshot import RiskSnapshot
from core.risk.snapshot_storage import (
    HEAD_NAME,
    SECRET_NAMES,
    SHARD_KEY,
    decode_head,
    decode_shard,
    shard_name,
    snapshot_of,
)
from core.sandbox.capacity import Capacity
from core.sandbox.decision import RuntimeClass
from core.weights import access_grants, stores
from core.weights.access_grants import parse_grant
from core.weights.stores import parse_store
from kube.approvals.watch import BreakGlasses, Exceptions
from kube.manifests.reader import Manifest, read_each, read_paths
from kube.rbac.authorizer import Rbac, RbacQuestion
from kube.rbac.objects import API_VERSION as RBAC_API_VERSION
from kube.rbac.objects import GROUP as RBAC_GROUP
from kube.rbac.objects import Binding, PolicyRule, Role, check_binding, check_role
from kube.resources import (
    exposed_services,
    known_fields,
    runtime_classes,
    sandbox_capacity,
    service_accounts,
)
from kube.resources.exposed_services import ExposedService, Services
from kube.resources.namespaces import parse_namespace
from kube.resources.owners import read_owned
from kube.resources.persistent_volumes import Volumes
from kube.resources.service_accounts import creation_time, sign_in_of
from kube.risk.store import SecretContent, parse_content
from kube.weights.watch import WeightGrants

NEWEST: Final = (1, 36)
"""The newest Kubernetes version whose relaxations Sallyport knows."""

_GUARDED: Final[Mapping[str, Callable[[bytes], Any]]] = {
    "PolicyException": parse_exception,
    "Approval": parse_approval,
    "BreakGlass": parse_break_glass,
    CLUSTER_KIND: partial(parse_approval, kind=CLUSTER_KIND),
    allowlists.KIND: parse_allowlist,
    allowlists.SET_KIND: parse_destinations,
    access_grants.KIND: parse_grant,
    stores.KIND: parse_store,
}
"""What needs approval, and what approves it."""

_RUNNING: Final = frozenset(
    {
        ("", "Pod"),
        ("", sandbox_capacity.KIND),
        ("", exposed_services.KIND),
        ("", service_accounts.KIND),
        ("", "Secret"),
        (runtime_classes.GROUP, runtime_classes.KIND),
    }
)
"""What runs, and what says with what, and who is at risk."""

_log = structlog.get_logger(__name__)
_Kind = TypeVar("_Kind", Role, Binding)

_Parsed = TypeVar("_Parsed")

_MOST_REMEMBERED: Final = 4096
"""Answers kept: a folder's rights never change."""
_LONGEST_REMEMBERED: Final = 8192
"""Characters of a question that is kept: 200 groups of Entra have 7,200."""


class FolderReader:
    """What has been read so far, and where, so that nothing is said twice."""

    def __init__(self) -> None:
        self.profiles: dict[str, ContainerProfile] = {}
        self.namespaces: dict[str, Namespace] = {}
        self.volumes: list[PersistentVolume] = []
        self.guarded: dict[str, list[Any]] = {kind: [] for kind in _GUARDED}
        self.roles: list[Role] = []
        self.bindings: list[Binding] = []
        self.owners: dict[tuple[str, str, str, str], OwnerObject] = {}
        self.pods: dict[tuple[str, str], bytes] = {}
        self.definitions: dict[tuple[str, str], CustomResourceDefinition] = {}
        self.runtime_classes: dict[str, RuntimeClass] = {}
        self.capacities: Mapping[str, Capacity] = {}
        self.fields = NOTHING_KNOWN
        self.exposing: list[ExposedService] = []
        self.service_accounts: dict[tuple[str, str], service_accounts.AccountRecord] = {}
        self.risk: dict[str, SecretContent] = {}
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
            role = read_role(manifest)
            self._note(manifest, role.metadata.namespace, role.metadata.name)
            self.roles.append(role)
        elif key in {(RBAC_GROUP, "RoleBinding"), (RBAC_GROUP, "ClusterRoleBinding")}:
            binding = _decode(manifest, Binding)
            check_binding(binding, manifest.source)
            self._note(manifest, binding.metadata.namespace, binding.metadata.name)
            self.bindings.append(binding)
        elif key in _RUNNING:
            self._take_running(manifest)
        elif workload_of(*key) is not None:
            namespace_name, owned = read_owned(manifest)
            self.owners[namespace_name, *key, owned.name] = owned
        elif key == (crds.GROUP, crds.KIND):
            self._define(manifest)

    def _take_config_map(self, name: str, manifest: Manifest) -> None:
        if name == sandbox_capacity.NAME:
            self.capacities = sandbox_capacity.parse_capacities(manifest.raw)
        elif name == known_fields.ADDED:
            added = _in_file(manifest, known_fields.parse_added)
            self.fields = msgspec.structs.replace(self.fields, added=added)
        elif name == known_fields.FILLED:
            filled = _in_file(manifest, known_fields.parse_filled)
            self.fields = msgspec.structs.replace(self.fields, filled=filled)

    def _take_running(self, manifest: Manifest) -> None:
        """Take in what runs, and with what: how it can be run, what sends to it, as whom."""
        metadata = manifest.value.get("metadata") or {}
        place = (str(metadata.get("namespace") or "default"), str(metadata.get("name")))
        if manifest.kind == runtime_classes.KIND:
            found = _in_file(manifest, runtime_classes.parse_runtime_class)
            self._note(manifest, "", found.name)
            self.runtime_classes[found.name] = found
        elif manifest.kind == sandbox_capacity.KIND:
            self._take_config_map(place[1], manifest)
        elif manifest.kind == exposed_services.KIND:
            exposing = _in_file(manifest, exposed_services.parse_exposing)
            self.exposing += [exposing] if exposing else []
        elif manifest.kind == "Pod":
            self.pods[place] = manifest.raw
        elif manifest.kind == "Secret":
            if place[1] in SECRET_NAMES:
                self.risk[place[1]] = parse_content(manifest.raw)
        else:
            made = bool(metadata.get("creationTimestamp"))
            parse = service_accounts.parse_account if made else service_accounts.parse_written
            self.service_accounts[place] = _in_file(manifest, parse)

    def _define(self, manifest: Manifest) -> None:
        """Take in what a definition says; without one that is broken a folder can be used."""
        try:
            definition = read_kind(manifest)
        except InvalidObjectError as error:
            _log.warning("CustomResourceDefinition left out", problem=str(error))
        else:
            self.definitions[definition.group, definition.kind] = definition

    def _note(self, manifest: Manifest, namespace: str, name: str) -> None:
        key = (manifest.kind, namespace, name)
        if key in self._seen:
            message = f"{manifest.kind} {name} stands in {self._seen[key]} too: keep one"
            raise InvalidObjectError(manifest.source, "metadata.name", message)
        self._seen[key] = manifest.source


def read_role(manifest: Manifest) -> Role:
    """Read a Role or a ClusterRole.

    Raises:
        InvalidObjectError: kube-apiserver would not take it; names file, document and field.
    """
    role = _decode(manifest, Role)
    check_role(role, manifest.source)
    return role


def read_kind(manifest: Manifest) -> CustomResourceDefinition:
    """Read a CustomResourceDefinition.

    Raises:
        InvalidObjectError: it has not the shape of one; names file and document.
    """
    try:
        return read_definition(manifest.value)
    except InvalidObjectError as error:
        raise InvalidObjectError(manifest.source, error.field, error.problem) from error


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
        raise decode_error(manifest.source, error) from error


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
        reading = FolderReader()
        for manifest in read_paths([path] if path else []):
            reading.take(manifest)
        profiles = {profile.name: profile for profile in shipped} | reading.profiles
        self._profiles = build_profile_set(profiles.values(), cluster_version)
        self._namespaces = {name: _named(each) for name, each in reading.namespaces.items()}
        self._volumes = Volumes(reading.volumes)
        self._runtime_classes = reading.runtime_classes
        self._capacities = reading.capacities
        self._fields = reading.fields
        self._service_accounts = reading.service_accounts
        self.exposing_services = Services(reading.exposing).exposing_services
        self._owners = reading.owners
        self._pods = reading.pods
        self._risk = _risk_in(reading.risk)
        guarded = reading.guarded
        self.exceptions = Exceptions(guarded["PolicyException"], guarded["Approval"])
        self.break_glasses = BreakGlasses(guarded["BreakGlass"], guarded[CLUSTER_KIND])
        self.intents = FolderIntents(guarded[allowlists.KIND], guarded[allowlists.SET_KIND])
        self.weights = WeightGrants(guarded[stores.KIND], guarded[access_grants.KIND])
        self.roles = tuple(reading.roles)
        """The roles of the folder, without those that every cluster has."""
        self.definitions: Mapping[tuple[str, str], CustomResourceDefinition] = reading.definitions
        """The definitions of custom kinds, by group and kind."""
        self._rbac = Rbac(reading.roles, reading.bindings)
        self._allows = cache_short_texts(_MOST_REMEMBERED, _LONGEST_REMEMBERED)(self._evaluate)
        for binding in self._rbac.dangling():
            _log.warning(
                "binding gives nothing: its role is not in the folder",
                binding=f"{binding.kind} {binding.metadata.name}",
                role=f"{binding.role_ref.kind} {binding.role_ref.name}",
            )

    def missing(self) -> list[str]:
        """Return an empty list: a folder that was read is complete."""
        return []

    def identity(self) -> str:
        """Return `local`: a folder is this machine's."""
        return "local"

    def access_reviews(self) -> Mapping[str, int]:
        """Return zeros: a folder is never asked over a network."""
        return {"hit": 0, "miss": 0, "error": 0}

    def profiles(self) -> ProfileSet:
        """Return the profiles in force."""
        return self._profiles

    async def namespace(self, name: str) -> Namespace:
        """Return a namespace, with the label that kube-apiserver sets on each."""
        return self._namespaces.get(name) or _named(Namespace(name))

    async def is_egress_closed(self, namespace: str) -> bool:
        """Return True: a folder has no controller that would close a namespace a moment later."""
        del namespace
        return True

    async def generated_policies(self, namespace: str) -> tuple[msgspec.Raw, ...]:
        """Return none, for the same reason."""
        del namespace
        return ()

    def volume(self, name: str) -> PersistentVolume | None:
        """Return a PersistentVolume of the folder."""
        return self._volumes.named(name)

    def node_volumes_of(self, claim: str) -> tuple[PersistentVolume, ...]:
        """Return the volumes on a node that a claim, `namespace/name`, has."""
        return self._volumes.node_volumes_of(claim)

    def blob_volumes_of(self, claim: str) -> tuple[PersistentVolume, ...]:
        """Return the volumes of blobs that a claim, `namespace/name`, has."""
        return self._volumes.blob_volumes_of(claim)

    def shares_volume(self, claim: str) -> bool:
        """Return whether a claim, `namespace/name`, has a file system that others mount, or may."""
        return self._volumes.shares(claim)

    def volumes_of_namespace(self, namespace: str) -> tuple[PersistentVolume, ...]:
        """Return the volumes that claims of a namespace have."""
        return self._volumes.volumes_of_namespace(namespace)

    def runtime_class(self, name: str) -> RuntimeClass | None:
        """Return a RuntimeClass of the folder."""
        return self._runtime_classes.get(name)

    def capacity(self, runtime_class: str) -> Capacity | None:
        """Return the summary of a RuntimeClass's nodes, however old: a folder is a moment's."""
        return self._capacities.get(runtime_class)

    def known_fields(self) -> KnownFields:
        """Return what ConfigMaps of the folder say of fields."""
        return self._fields

    def risk(self) -> RiskSnapshot | None:
        """Return the risk snapshot whose Secrets the folder holds; None where it holds none."""
        return self._risk

    def service_account_made(self, namespace: str, name: str) -> float:
        """Return when a ServiceAccount of the folder was made; 0.0 where the folder does not say.

        A folder is not complete: what it does not hold is not new.
        """
        return creation_time(self._service_accounts.get((namespace, name), 0.0))

    def service_account_sign_in(self, namespace: str, name: str) -> AccountSignIn:
        """Return whom a ServiceAccount of the folder signs in as."""
        return sign_in_of(self._service_accounts.get((namespace, name), 0.0))

    async def owner(
        self, namespace: str, reference: OwnerReference, *, fresh: bool = False
    ) -> OwnerObject | None:
        """Return an owner that the folder holds, with the UID of the reference."""
        del fresh
        key = (namespace, *kind_of_owner(reference), reference.name)
        found = self._owners.get(key)
        return found if found and found.uid == reference.uid else None

    async def pod(self, namespace: str, name: str) -> Pod | None:
        """Return a Pod of the folder.

        Raises:
            InvalidObjectError: it does not have a Pod's shape.
        """
        raw = self._pods.get((namespace, name))
        return decode_pod(raw) if raw is not None else None

    async def role(self, kind: str, namespace: str, name: str) -> tuple[RoleRule, ...] | None:
        """Return the rules of a Role or ClusterRole of the folder, or of one that clusters have."""
        rules = self._rbac.rules(namespace if kind == "Role" else "", name)
        return None if rules is None else tuple(map(role_rule, rules))

    async def allowed(
        self, subject: Subject, verb: str, resource: str, name: str, namespace: str
    ) -> bool:
        """Return whether the folder's RBAC lets `subject` do `verb` on a Sallyport resource."""
        return self.remembered_access(subject, verb, resource, name, namespace)

    def remembered_access(
        self, subject: Subject, verb: str, resource: str, name: str, namespace: str
    ) -> bool:
        """Return the answer of `allowed`: a folder needs no network, and never changes."""
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
        return self._rbac.allows(
            subject, RbacQuestion(verb, names.GROUP, resource, name, namespace)
        )


class FolderIntents:
    """EgressAllowlists and EgressDestinations of the folder, as they are when one is written."""

    def __init__(
        self,
        allowlists: Iterable[EgressAllowlist] = (),
        sets: Iterable[EgressDestinations] = (),
    ) -> None:
        self._allowlists = {(one.meta.namespace, one.meta.name): one for one in allowlists}
        self._sets = {one.meta.name: one for one in sets}

    async def in_namespace(self, namespace: str) -> tuple[EgressAllowlist, ...]:
        """Return the allowlists of a namespace, by name."""
        found = sorted(self._allowlists.items())
        return tuple(one for (place, _), one in found if place == namespace)

    async def allowlist(self, namespace: str, name: str) -> EgressAllowlist | None:
        """Return one allowlist."""
        return self._allowlists.get((namespace, name))

    async def destinations(self, name: str) -> EgressDestinations | None:
        """Return one set."""
        return self._sets.get(name)


def role_rule(rule: PolicyRule) -> RoleRule:
    """Return a rule of a file as one of a cluster."""
    return RoleRule(
        rule.verbs, rule.api_groups, rule.resources, rule.resource_names, rule.non_resource_urls
    )


def read_profiles(paths: Iterable[Path]) -> list[ContainerProfile]:
    """Read the ContainerProfiles of files and folders, such as the shipped ones.

    Raises:
        SettingsError, InvalidObjectError: as `FolderCluster`.
    """
    reading = FolderReader()
    for manifest in read_paths(paths):
        reading.take(manifest)
    return list(reading.profiles.values())


def read_rbac(path: Path) -> tuple[list[Role], list[Binding]]:
    """Read the roles and bindings of a folder.

    Raises:
        SettingsError, InvalidObjectError: as `FolderCluster`.
    """
    reading = FolderReader()
    for manifest in read_paths([path]):
        reading.take(manifest)
    return reading.roles, reading.bindings


def read_sound_rbac(path: Path) -> tuple[list[Role], list[Binding], list[str]]:
    """Read the roles and bindings of a folder, and what of them is broken, which ends nothing.

    Raises:
        SettingsError: as `FolderCluster`.
    """
    reading, broken = FolderReader(), []
    for each in read_each([path]):
        if isinstance(each, InvalidObjectError) or each.group != RBAC_GROUP:
            continue  # Whoever reads the rest of the folder tells what is no object.
        try:
            reading.take(each)
        except InvalidObjectError as error:
            broken.append(str(error))
    return reading.roles, reading.bindings, broken


def _named(namespace: Namespace) -> Namespace:
    """Return a namespace with the label that kube-apiserver sets on each."""
    labels = {**namespace.labels, names.NAMESPACE_NAME_LABEL: namespace.name}
    return msgspec.structs.replace(namespace, labels=labels)


def _risk_in(secrets: Mapping[str, SecretContent]) -> RiskSnapshot | None:
    """Return the risk snapshot of Secrets, by name; None where there is no head.

    Raises:
        InvalidObjectError: one is broken, or a shard is missing.
    """
    if HEAD_NAME not in secrets:
        return None
    stored = decode_head(secrets[HEAD_NAME])
    if not stored.generation:
        return snapshot_of(stored, SnapshotBase())
    names_of = [shard_name(stored.generation, number) for number in range(len(stored.shards))]
    contents = [secrets.get(name, {}).get(SHARD_KEY, b"") for name in names_of]
    shards = tuple(map(decode_shard, contents, stored.shards))
    return snapshot_of(stored, SnapshotBase(shards))
