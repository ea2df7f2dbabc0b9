"""What egress depends on, as one look at a cluster or a folder of YAML finds it.

Of a cluster only the Pods and Services of the namespaces that matter are read: those asked for, and
those that their allowlists name. `kube.egress.watch` follows the same for the controller.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import msgspec

from core.approvals.approvals import CLUSTER_KIND, Approval, parse_approval
from core.approvals.approvals import KIND as APPROVAL
from core.approvals.break_glass import KIND as BREAK_GLASS
from core.approvals.break_glass import BreakGlass, parse_break_glass
from core.base import names
from core.base.errors import ClusterError, InvalidObjectError
from core.base.json_errors import decode_json
from core.decision.namespaces import Namespace
from core.egress.allowlists import (
    KIND,
    SET_KIND,
    EgressAllowlist,
    EgressDestinations,
    parse_allowlist,
    parse_destinations,
)
from core.egress.destinations import Destination
from core.kubernetes.label_selectors import matches, requirements_of
from core.kubernetes.object_meta import NameMeta
from kube.approvals.watch import APPROVALS_PATH, BREAK_GLASSES_PATH, CLUSTER_APPROVALS_PATH
from kube.client.objects import Objects, list_objects
from kube.egress.allowlists import SETS_PATH
from kube.egress.pods import EgressPod, read_egress_pod
from kube.egress.service_endpoints import (
    SERVICE_LABEL,
    Endpoint,
    ServiceShape,
    read_service,
    read_slice,
)
from kube.egress.watch import ALLOWLISTS_PATH
from kube.manifests.reader import read_each
from kube.resources.namespaces import parse_namespace
from kube.resources.paths import NAMESPACES_PATH

NAMES_PREFIX: Final = "sallyport-egress-names-"
"""ConfigMaps that begin so, in Sallyport's namespace, hold what was learnt of DNS names."""

_DEFAULT: Final = "default"

_HEAD: Final = msgspec.json.Decoder(dict[str, Any])

_GROUPS: Final = frozenset({"", names.GROUP, "discovery.k8s.io"})

_WHOLE: Final = (
    ("Namespace", NAMESPACES_PATH, False),
    (KIND, ALLOWLISTS_PATH, True),
    (SET_KIND, SETS_PATH, True),
    (APPROVAL, APPROVALS_PATH, True),
    (CLUSTER_KIND, CLUSTER_APPROVALS_PATH, True),
    (BREAK_GLASS, BREAK_GLASSES_PATH, True),
)
"""Kinds that are read whole, with their paths; whether a cluster may lack them."""

_OF_NAMESPACES: Final = (
    ("Pod", "/api/v1", "pods"),
    ("Service", "/api/v1", "services"),
    ("EndpointSlice", "/apis/discovery.k8s.io/v1", "endpointslices"),
)

_FEW: Final = 50
"""For more namespaces than that it is quicker to list them all."""


@dataclass(frozen=True)
class EgressSnapshot:
    """What was seen."""

    namespaces: Mapping[str, Namespace] = field(default_factory=dict)
    pods: tuple[EgressPod, ...] = ()
    allowlists: Mapping[str, EgressAllowlist] = field(default_factory=dict)
    """By `namespace/name`."""
    sets: Mapping[str, EgressDestinations] = field(default_factory=dict)
    services: Mapping[tuple[str, str], ServiceShape] = field(default_factory=dict)
    endpoints: Mapping[tuple[str, str], tuple[Endpoint, ...]] = field(default_factory=dict)
    """Of each Service, by its EndpointSlices."""
    approvals: tuple[Approval, ...] = ()
    learnt: Mapping[str, bytes] = field(default_factory=dict)
    """What was learnt of DNS names, by ConfigMap."""
    broken: tuple[str, ...] = ()
    """What could not be read, and is left out; for people."""
    break_glasses: tuple[BreakGlass, ...] = ()


class _ConfigMap(msgspec.Struct, frozen=True, rename="camel"):
    metadata: NameMeta
    data: dict[str, str] | None = None
    binary_data: dict[str, bytes] | None = None


_CONFIG_MAP: Final = msgspec.json.Decoder(_ConfigMap)


class SnapshotBuilder:
    """What has been seen so far; broken objects are told, and take nothing else with them."""

    def __init__(self) -> None:
        self._namespaces: dict[str, Namespace] = {}
        self._pods: list[EgressPod] = []
        self._allowlists: dict[str, EgressAllowlist] = {}
        self._sets: dict[str, EgressDestinations] = {}
        self._services: dict[tuple[str, str], ServiceShape] = {}
        self._endpoints: dict[tuple[str, str], tuple[Endpoint, ...]] = {}
        self._approvals: list[Approval] = []
        self._learnt: dict[str, bytes] = {}
        self._broken: list[str] = []
        self._break_glasses: list[BreakGlass] = []

    @property
    def seen(self) -> EgressSnapshot:
        """All of it."""
        return EgressSnapshot(
            self._namespaces,
            tuple(self._pods),
            self._allowlists,
            self._sets,
            self._services,
            self._endpoints,
            tuple(self._approvals),
            self._learnt,
            tuple(self._broken),
            tuple(self._break_glasses),
        )

    def take(self, kind: str, raw: bytes | msgspec.Raw, where: str = "") -> None:
        """Take in an object, if it is of a kind that counts; `where` is for messages."""
        try:
            self._take(kind, raw)
        except (InvalidObjectError, ClusterError) as error:
            self._broken.append(f"{where}: {error}" if where else str(error))

    def tell_broken(self, problem: str) -> None:
        """Note what is no object at all."""
        self._broken.append(problem)

    def _take(self, kind: str, raw: bytes | msgspec.Raw) -> None:
        match kind:
            case "Namespace":
                namespace = parse_namespace(raw)
                self._namespaces[namespace.name] = namespace
            case "Pod":
                pod = read_egress_pod(raw)
                self._pods += [pod] if pod else []
            case "Service":
                service = read_service(raw)
                self._services[service.namespace, service.name] = service
            case "EndpointSlice":
                self._take_slice(raw)
            case "ConfigMap":
                self._learnt.update(_learnt_in(raw))
            case _:
                self._take_intent(kind, raw)

    def _take_intent(self, kind: str, raw: bytes | msgspec.Raw) -> None:
        if kind == KIND:
            allowlist = allowlist_of(raw)
            self._allowlists[allowlist.key] = allowlist
        elif kind == SET_KIND:
            found = destinations_of(raw)
            self._sets[found.meta.name] = found
        elif kind in {APPROVAL, CLUSTER_KIND}:
            self._approvals.append(parse_approval(raw, kind=kind))
        elif kind == BREAK_GLASS:
            self._break_glasses.append(parse_break_glass(raw))

    def _take_slice(self, raw: bytes | msgspec.Raw) -> None:
        metadata = _HEAD.decode(raw).get("metadata") or {}
        service = (metadata.get("labels") or {}).get(SERVICE_LABEL, "")
        if service:
            key = (str(metadata.get("namespace") or _DEFAULT), str(service))
            self._endpoints[key] = (*self._endpoints.get(key, ()), *read_slice(raw))


def allowlist_of(raw: bytes | msgspec.Raw) -> EgressAllowlist:
    """Read an allowlist; one that was never stored gets a UID that no stored one has.

    Raises:
        InvalidObjectError: it is broken.
    """
    found = parse_allowlist(raw, _DEFAULT)
    meta = msgspec.structs.replace(found.meta, uid=found.meta.uid or f"file:{found.key}")
    return msgspec.structs.replace(found, meta=meta)


def destinations_of(raw: bytes | msgspec.Raw) -> EgressDestinations:
    """Read a set as `allowlist_of` does.

    Raises:
        InvalidObjectError: it is broken.
    """
    found = parse_destinations(raw)
    meta = msgspec.structs.replace(found.meta, uid=found.meta.uid or f"file:{found.meta.name}")
    return msgspec.structs.replace(found, meta=meta)


def _learnt_in(raw: bytes | msgspec.Raw) -> dict[str, bytes]:
    found = decode_json(_CONFIG_MAP, raw, "ConfigMap")
    name = found.metadata.name
    if not name.startswith(NAMES_PREFIX):
        return {}
    parts = {key: value.encode() for key, value in (found.data or {}).items()}
    return {f"{name}/{key}": value for key, value in (parts | (found.binary_data or {})).items()}


def read_folder(path: Path | None) -> EgressSnapshot:
    """Look at a folder of YAML, or at one file; None holds nothing.

    Raises:
        SettingsError: it does not exist or cannot be read.
    """
    looking = SnapshotBuilder()
    for manifest in read_each([path] if path else []):
        if isinstance(manifest, InvalidObjectError):
            looking.tell_broken(str(manifest))
        elif manifest.group in _GROUPS:
            looking.take(manifest.kind, manifest.raw, manifest.source)
    return looking.seen


async def read_cluster(
    objects: Objects,
    system_namespace: str,
    within: Collection[str] | None,
    others: Sequence[EgressAllowlist] = (),
) -> EgressSnapshot:
    """Look at a cluster; of `within`, namespaces, None means all.

    `system_namespace` is where Sallyport is installed, and has what was learnt of DNS names. Where
    `others` name namespaces, these are looked at too.

    Raises:
        ClusterError: kube-apiserver does not answer, or lets us list not all of it.
    """
    looking = SnapshotBuilder()
    for kind, path, optional in _WHOLE:
        await _list(objects, looking, kind, path, optional=optional)
    path = f"/api/v1/namespaces/{system_namespace}/configmaps"
    await _list(objects, looking, "ConfigMap", path)
    for place in _places(looking.seen, within, others):
        for kind, root, plural in _OF_NAMESPACES:
            middle = f"/namespaces/{place}" if place else ""
            await _list(objects, looking, kind, f"{root}{middle}/{plural}")
    return looking.seen


def _places(
    seen: EgressSnapshot, within: Collection[str] | None, others: Sequence[EgressAllowlist]
) -> list[str]:
    """Return the namespaces to read Pods of; an empty name stands for all."""
    if within is None:
        return [""]
    chosen = [one for one in seen.allowlists.values() if one.meta.namespace in within]
    there = seen.namespaces.values()
    found = {*within, *find_namespaces((*chosen, *others), seen.sets.values(), there)}
    return sorted(found) if len(found) <= _FEW else [""]


async def _list(
    objects: Objects, looking: SnapshotBuilder, kind: str, path: str, *, optional: bool = False
) -> None:
    try:
        async for raw in list_objects(objects, path):
            looking.take(kind, raw)
    except ClusterError as error:
        if kind == BREAK_GLASS and error.status == HTTPStatus.FORBIDDEN:
            looking.tell_broken(f"whether a {kind} opens egress is not known: {error}")
        elif not (optional and error.status == HTTPStatus.NOT_FOUND):
            message = f"every {kind} at {path} must be listed: {error}"
            raise ClusterError(message, error.status) from None


def find_namespaces(
    allowlists: Iterable[EgressAllowlist],
    sets: Iterable[EgressDestinations],
    there: Collection[Namespace] = (),
) -> frozenset[str]:
    """Return the namespaces whose Pods or Services these name, their own included.

    `there` are those of the cluster, among which some are named by their labels.
    """
    found: set[str] = set()
    for allowlist in allowlists:
        found |= {allowlist.meta.namespace, *_named(allowlist.spec.to, there)}
    for one in sets:
        found |= {*_named(one.spec.to, there)}
    return frozenset(found)


def _named(entries: Sequence[Destination], there: Collection[Namespace]) -> Iterator[str]:
    for entry in entries:
        inside = entry.service or entry.pods
        if inside and inside.namespace:
            yield inside.namespace
        if entry.pods is not None and entry.pods.namespace_selector is not None:
            wanted = requirements_of(entry.pods.namespace_selector, field="", what="")
            yield from (each.name for each in there if matches(wanted, each.labels))
