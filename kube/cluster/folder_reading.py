"""Reading the objects of a folder that stands in for a cluster (`kube.cluster.folder`)."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
import structlog

from core.approvals.approvals import CLUSTER_KIND, parse_approval
from core.approvals.break_glass import parse_break_glass
from core.approvals.exceptions import parse_exception
from core.base import names
from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_error
from core.decision.namespaces import Namespace
from core.egress import allowlists
from core.egress.allowlists import parse_allowlist, parse_destinations
from core.kubernetes import crds
from core.kubernetes.crds import CustomResourceDefinition, read_definition
from core.kubernetes.persistent_volumes import PersistentVolume, parse_persistent_volume
from core.kubernetes.requester_notes import OwnerObject
from core.kubernetes.workload_kinds import workload_of
from core.profiles.container_profiles import ContainerProfile, parse_profile
from core.risk.snapshot_storage import SECRET_NAMES
from core.sandbox.capacity import Capacity
from core.sandbox.decision import RuntimeClass
from core.weights import access_grants, stores
from core.weights.access_grants import parse_grant
from core.weights.stores import parse_store
from kube.manifests.reader import Manifest
from kube.rbac.objects import API_VERSION as RBAC_API_VERSION
from kube.rbac.objects import GROUP as RBAC_GROUP
from kube.rbac.objects import Binding, Role, check_binding, check_role
from kube.resources import exposed_services, runtime_classes, sandbox_capacity, service_accounts
from kube.resources.exposed_services import Exposing
from kube.resources.namespaces import parse_namespace
from kube.resources.owners import read_owned
from kube.risk.risk_secrets import SecretContent, parse_content

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


class FolderReading:
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
        self.exposing: list[Exposing] = []
        self.service_accounts: dict[tuple[str, str], service_accounts.Kept] = {}
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

    def _take_running(self, manifest: Manifest) -> None:
        """Take in what runs, and with what: how it can be run, what sends to it, as whom."""
        metadata = manifest.value.get("metadata") or {}
        place = (str(metadata.get("namespace") or "default"), str(metadata.get("name")))
        if manifest.kind == runtime_classes.KIND:
            found = _in_file(manifest, runtime_classes.parse_runtime_class)
            self._note(manifest, "", found.name)
            self.runtime_classes[found.name] = found
        elif manifest.kind == sandbox_capacity.KIND:
            if place[1] == sandbox_capacity.NAME:
                self.capacities = sandbox_capacity.parse_capacities(manifest.raw)
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
        raise decode_error(manifest.source, error) from error
