"""Pods, workloads, namespaces and NetworkPolicies of manifests, and what of them is not judged."""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from core.base import names
from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_error
from core.base.networks import Address
from core.egress.destinations import TransportProtocol
from core.kubernetes.object_meta import OwnerReference
from core.kubernetes.pod_templates import find_objects_at, find_templates_by_shape
from core.kubernetes.workload_kinds import PlaceContent, may_carry, workload_of
from egress.analysis.policy_rules import JudgedPolicy, compile_policy
from egress.model.network_policies import KIND
from kube.manifests.reader import Manifest

GROUP: Final = "networking.k8s.io"
_DEFAULT: Final = "default"
_Shape = TypeVar("_Shape")
_FINISHED: Final = frozenset({"Succeeded", "Failed"})
_NODE: Final = "Node"
"""Owns the Pods that a kubelet has of its own."""

_POLICIES: Final = frozenset(
    {
        "BaselineAdminNetworkPolicy",
        "AdminNetworkPolicy",
        "ClusterNetworkPolicy",
        "NetworkPolicy",
        "GlobalNetworkPolicy",
        "MultiNetworkPolicy",
        "CiliumNetworkPolicy",
        "CiliumClusterwideNetworkPolicy",
    }
)
_ALSO_CLOSE: Final = frozenset(
    {
        (names.GROUP, "EgressAllowlist"),
        ("security.istio.io", "AuthorizationPolicy"),
        ("k8s.ovn.org", "EgressFirewall"),
        ("k8s.ovn.org", "UserDefinedNetwork"),
        ("k8s.ovn.org", "ClusterUserDefinedNetwork"),
        ("kubevirt.io", "VirtualMachine"),
    }
)
"""Kinds that open or close something, or make Pods, and are none of Kubernetes'."""
_WAYS_IN: Final = frozenset({"Ingress", "Route", "Gateway", "HTTPRoute"})
"""What lets in those outside through Pods of a controller."""


class DeclaredPort(msgspec.Struct, frozen=True, order=True, gc=False):
    """A port that a container of a Pod declares by a name."""

    protocol: str
    name: str
    number: int


class NetworkPod(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A Pod, or the Pods of a workload's template, as policies see them."""

    namespace: str
    name: str
    kind: str
    """`Pod`, or the workload's."""
    owner: tuple[str, str] = ("", "")
    """Kind and name of what a Pod belongs to."""
    labels: Mapping[str, str] = {}
    host_network: bool = False
    addresses: tuple[Address, ...] = ()
    """Empty where they are not known."""
    ports: tuple[DeclaredPort, ...] = ()

    @property
    def shown(self) -> str:
        """`namespace/name[Kind]`."""
        return f"{self.namespace}/{self.name}[{self.kind}]"


@dataclass(frozen=True)
class PolicyCluster:
    """What can be judged, and what cannot."""

    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Labels, by name, of those that were seen."""
    pods: tuple[NetworkPod, ...] = ()
    policies: tuple[JudgedPolicy, ...] = ()
    not_judged: tuple[str, ...] = ()
    """What opens or closes something, and is of a kind that is not judged; for people."""
    broken: tuple[str, ...] = ()
    """What could not be read; for people."""
    ways_in: tuple[str, ...] = ()
    """Ingresses and their like."""


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    generate_name: str = ""
    namespace: str | None = None
    labels: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None


class _Named(msgspec.Struct, frozen=True):
    metadata: _Meta


class _Port(msgspec.Struct, frozen=True, rename="camel"):
    container_port: int
    name: str | None = None
    protocol: TransportProtocol | None = None


class _Container(msgspec.Struct, frozen=True, rename="camel"):
    ports: list[_Port] | None = None
    restart_policy: str | None = None


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    host_network: bool | None = None


class _Ip(msgspec.Struct, frozen=True):
    ip: str = ""


class _Status(msgspec.Struct, frozen=True, rename={"pod_ip": "podIP", "pod_ips": "podIPs"}):
    phase: str = ""
    pod_ip: str = ""
    pod_ips: list[_Ip] | None = None


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


def read_policy_cluster(manifests: Iterable[Manifest | InvalidObjectError]) -> PolicyCluster:
    """Return what manifests hold; what is broken takes nothing else with it."""
    found = _Reading()
    for each in manifests:
        if isinstance(each, InvalidObjectError):
            found.broken.append(str(each))
            continue
        try:
            found.take(each)
        except InvalidObjectError as error:
            found.broken.append(f"{each.source}: {error}")
    return PolicyCluster(
        found.namespaces,
        tuple(found.pods),
        tuple(found.policies),
        tuple(found.not_judged),
        tuple(found.broken),
        tuple(found.ways_in),
    )


class _Reading:
    """What was read so far."""

    def __init__(self) -> None:
        self.namespaces: dict[str, dict[str, str]] = {}
        self.pods: list[NetworkPod] = []
        self.policies: list[JudgedPolicy] = []
        self.not_judged: list[str] = []
        self.broken: list[str] = []
        self.ways_in: list[str] = []
        self._seen: dict[tuple[str, str, str, str], str] = {}

    def take(self, manifest: Manifest) -> None:
        key = manifest.group, manifest.kind
        if key == (GROUP, KIND):
            self._take_policy(manifest)
        elif manifest.kind in _POLICIES or key in _ALSO_CLOSE:
            meta = _meta_of(manifest)
            shown = f"{manifest.kind} {_placed(meta)} ({manifest.group})"
            self.not_judged.append(f"{manifest.source}: {shown}")
        elif manifest.kind in _WAYS_IN:
            self.ways_in.append(f"{manifest.kind} {_placed(_meta_of(manifest))}")
        elif key == ("", "Namespace"):
            meta = self._new(manifest, _meta_of(manifest), "")
            self.namespaces[meta.name] = dict(meta.labels or {})
        elif key == ("", "Pod"):
            self._take_pod(manifest)
        elif workload_of(*key) or may_carry(*key):
            self._take_workload(manifest)

    def _new(self, manifest: Manifest, meta: _Meta, namespace: str) -> _Meta:
        """Note an object.

        Raises:
            InvalidObjectError: it has no name, or is there twice.
        """
        name = meta.name or meta.generate_name
        if not name:
            raise InvalidObjectError(manifest.kind, "metadata.name", "is missing")
        key = (manifest.group, manifest.kind, namespace, name)
        before = self._seen.setdefault(key, manifest.source)
        if before != manifest.source:
            message = f"{name!r} is there twice, and the first counts: {before}"
            raise InvalidObjectError(manifest.kind, "metadata.name", message)
        return meta

    def _take_policy(self, manifest: Manifest) -> None:
        if manifest.api_version != f"{GROUP}/v1":
            raise InvalidObjectError(KIND, "apiVersion", f"must be {GROUP}/v1")
        meta = _meta_of(manifest)
        namespace = meta.namespace or _DEFAULT
        self._new(manifest, meta, namespace)
        self.policies.append(compile_policy(manifest.value, namespace, meta.name))

    def _take_pod(self, manifest: Manifest) -> None:
        pod = _convert(manifest.value, _Pod, "Pod")
        if pod.status.phase in _FINISHED:
            return
        namespace = pod.metadata.namespace or _DEFAULT
        self._new(manifest, pod.metadata, namespace)
        owner = next(
            (each for each in pod.metadata.owner_references or () if each.controller), None
        )
        owned = owner is not None and owner.kind != _NODE
        self.pods.append(
            NetworkPod(
                namespace=namespace,
                name=pod.metadata.name or pod.metadata.generate_name,
                kind="Pod",
                owner=(owner.kind, owner.name) if owner and owned else ("", ""),
                labels=pod.metadata.labels or {},
                host_network=bool(pod.spec.host_network),
                addresses=_addresses(pod.status),
                ports=_declared(pod.spec),
            )
        )

    def _take_workload(self, manifest: Manifest) -> None:
        templates = [*_templates(manifest)]
        if not templates:
            return
        meta = _meta_of(manifest)
        namespace = meta.namespace or _DEFAULT
        self._new(manifest, meta, namespace)
        for path, pod in templates:
            kind = manifest.kind if len(templates) == 1 else f"{manifest.kind} {path}"
            self.pods.append(
                NetworkPod(
                    namespace=namespace,
                    name=meta.name or meta.generate_name,
                    kind=kind,
                    labels=pod.metadata.labels or {},
                    host_network=bool(pod.spec.host_network),
                    ports=_declared(pod.spec),
                )
            )


def _templates(manifest: Manifest) -> Iterator[tuple[str, _Pod]]:
    known = workload_of(manifest.group, manifest.kind)
    places = known.places if known else ()
    if places and all(each.holds is PlaceContent.TEMPLATE for each in places):
        for place in places:
            for path, value in find_objects_at(manifest.kind, manifest.value, place.path):
                if value is not None:
                    yield path, _convert(value, _Pod, f"{manifest.kind}: {path}")
        return
    for found in find_templates_by_shape(manifest.value):
        yield found.path, _convert(found.pod, _Pod, f"{manifest.kind}: {found.path}")


def _meta_of(manifest: Manifest) -> _Meta:
    return _convert(manifest.value, _Named, manifest.kind).metadata


def _placed(meta: _Meta) -> str:
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


def _convert(value: Any, form: type[_Shape], what: str) -> _Shape:
    try:
        return msgspec.convert(value, form)
    except DECODE_ERRORS as error:
        raise decode_error(what, error) from error


def _addresses(status: _Status) -> tuple[Address, ...]:
    texts = [one.ip for one in status.pod_ips or ()] or [status.pod_ip]
    try:
        return tuple(ipaddress.ip_address(text) for text in texts if text)
    except ValueError as error:
        raise InvalidObjectError("Pod", "status.podIPs", str(error)) from None


def _declared(spec: _Spec) -> tuple[DeclaredPort, ...]:
    """Return the ports that have names; of init containers those count that go on running."""
    beside = [each for each in spec.init_containers or () if each.restart_policy == "Always"]
    found = {
        DeclaredPort(port.protocol or "TCP", port.name, port.container_port)
        for each in (*(spec.containers or ()), *beside)
        for port in each.ports or ()
        if port.name
    }
    return tuple(sorted(found))
