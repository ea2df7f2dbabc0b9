"""What a cluster, or a folder of its objects, shows of its network: its engine, DNS and ranges.

Labels, names and options are those of AKS (Azure/AgentBaker, Azure/karpenter-provider-azure),
Cilium's chart, Calico (tigera/operator) and NodeLocal DNSCache (kubernetes/dns).
"""

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final

import msgspec

from core.base.errors import ClusterError
from core.base.json_errors import decode_json
from core.base.networks import Address, Network
from kube.client.objects import Objects, list_objects
from kube.manifests.reader import read_paths

_KINDS: Final[dict[str, tuple[str, bool]]] = {
    "Node": ("/api/v1/nodes", False),
    "DaemonSet": ("/apis/apps/v1/daemonsets", False),
    "Service": ("/api/v1/namespaces/kube-system/services", False),
    "ConfigMap": ("/api/v1/namespaces/kube-system/configmaps", False),
    "ServiceCIDR": ("/apis/networking.k8s.io/v1/servicecidrs", True),
    "NodeNetworkConfig": ("/apis/acn.azure.com/v1alpha/nodenetworkconfigs", True),
}
"""By kind its path, and whether a cluster may lack it."""

HOW_TO_LIST: Final = (
    "kubectl get nodes,daemonsets -A -o yaml",
    "kubectl get svc/kube-dns cm/cilium-config -n kube-system -o yaml",
    "kubectl get servicecidrs,nodenetworkconfigs -A -o yaml",
)
"""What writes these objects into files; a cluster may lack the last."""

_SYSTEM: Final = "kube-system"
_NAMESPACES: Final = frozenset({_SYSTEM, "calico-system", "cilium", "cilium-system", "kube-router"})
"""Where engines are installed by their own instructions."""


class NetworkNode(msgspec.Struct, frozen=True):
    """What is read of a node."""

    name: str
    labels: dict[str, str] = {}
    addresses: tuple[Address, ...] = ()
    pod_ranges: tuple[Network, ...] = ()


class DaemonSet(msgspec.Struct, frozen=True):
    """What runs on every node."""

    namespace: str
    name: str
    images: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    """Of its Pods."""
    host_network: bool = False


@dataclass
class NetworkFacts:
    """What was seen."""

    nodes: list[NetworkNode] = field(default_factory=list)
    daemon_sets: dict[str, DaemonSet] = field(default_factory=dict)
    """By name."""
    cilium: dict[str, str] = field(default_factory=dict)
    """Cilium's ConfigMap."""
    dns_selector: dict[str, str] = field(default_factory=dict)
    """Of the Service kube-dns."""
    service_ranges: list[Network] = field(default_factory=list)
    pod_ranges: list[Network] = field(default_factory=list)
    """Of Azure's own objects; the nodes' are with them."""
    unread: list[str] = field(default_factory=list)
    """Kinds that may not be listed."""

    def take(self, kind: str, raw: bytes | msgspec.Raw) -> None:
        """Take in an object, where it says something of the network.

        Raises:
            InvalidObjectError: it is broken.
        """
        take = _TAKERS.get(kind)
        if take is not None:
            take(self, raw)


class _Meta(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = "default"
    labels: dict[str, str] | None = None


class _NodeSpec(msgspec.Struct, frozen=True):
    pod_cidrs: list[str] | None = msgspec.field(default=None, name="podCIDRs")


class _NodeAddress(msgspec.Struct, frozen=True):
    type: str = ""
    address: str = ""


class _NodeStatus(msgspec.Struct, frozen=True):
    addresses: list[_NodeAddress] | None = None


class _Node(msgspec.Struct, frozen=True):
    metadata: _Meta
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()


class _Container(msgspec.Struct, frozen=True):
    image: str = ""
    args: list[str] | None = None
    command: list[str] | None = None


class _PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    host_network: bool | None = None
    containers: list[_Container] | None = None


class _Template(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _PodSpec = _PodSpec()


class _DaemonSetSpec(msgspec.Struct, frozen=True):
    template: _Template = _Template()


class _DaemonSetObject(msgspec.Struct, frozen=True):
    metadata: _Meta
    spec: _DaemonSetSpec = _DaemonSetSpec()


class _ServiceSpec(msgspec.Struct, frozen=True):
    selector: dict[str, str] | None = None


class _Service(msgspec.Struct, frozen=True):
    metadata: _Meta
    spec: _ServiceSpec = _ServiceSpec()


class _ConfigMap(msgspec.Struct, frozen=True):
    metadata: _Meta
    data: dict[str, str] | None = None


class _CidrSpec(msgspec.Struct, frozen=True):
    cidrs: list[str] | None = None


class _ServiceCidr(msgspec.Struct, frozen=True):
    spec: _CidrSpec = _CidrSpec()


class _NetworkContainer(msgspec.Struct, frozen=True, rename="camel"):
    subnet_address_space: str = ""


class _NetworkStatus(msgspec.Struct, frozen=True, rename="camel"):
    network_containers: list[_NetworkContainer] | None = None


class _NodeNetworkConfig(msgspec.Struct, frozen=True):
    status: _NetworkStatus = _NetworkStatus()


_NODE: Final = msgspec.json.Decoder(_Node)
_DAEMON_SET: Final = msgspec.json.Decoder(_DaemonSetObject)
_SERVICE: Final = msgspec.json.Decoder(_Service)
_CONFIG_MAP: Final = msgspec.json.Decoder(_ConfigMap)
_SERVICE_CIDR: Final = msgspec.json.Decoder(_ServiceCidr)
_NODE_NETWORK: Final = msgspec.json.Decoder(_NodeNetworkConfig)


def _take_node(facts: NetworkFacts, raw: bytes | msgspec.Raw) -> None:
    node = decode_json(_NODE, raw, "Node")
    inside = (each.address for each in node.status.addresses or () if each.type == "InternalIP")
    facts.nodes.append(
        NetworkNode(
            node.metadata.name,
            node.metadata.labels or {},
            tuple(_addresses(inside)),
            tuple(_networks(iter(node.spec.pod_cidrs or ()))),
        )
    )


def _take_daemon_set(facts: NetworkFacts, raw: bytes | msgspec.Raw) -> None:
    found = decode_json(_DAEMON_SET, raw, "DaemonSet")
    template, spec = found.spec.template, found.spec.template.spec
    if found.metadata.namespace not in _NAMESPACES:
        return  # Anybody may name a DaemonSet of their own as an engine's.
    containers = spec.containers or []
    facts.daemon_sets[found.metadata.name] = DaemonSet(
        found.metadata.namespace,
        found.metadata.name,
        tuple(each.image for each in containers),
        tuple(word for each in containers for word in (*(each.command or ()), *(each.args or ()))),
        template.metadata.labels or {},
        bool(spec.host_network),
    )


def _take_service(facts: NetworkFacts, raw: bytes | msgspec.Raw) -> None:
    found = decode_json(_SERVICE, raw, "Service")
    if (found.metadata.namespace, found.metadata.name) == (_SYSTEM, "kube-dns"):
        facts.dns_selector = found.spec.selector or {}


def _take_config(facts: NetworkFacts, raw: bytes | msgspec.Raw) -> None:
    found = decode_json(_CONFIG_MAP, raw, "ConfigMap")
    if (found.metadata.namespace, found.metadata.name) == (_SYSTEM, "cilium-config"):
        facts.cilium = found.data or {}


def _take_service_range(facts: NetworkFacts, raw: bytes | msgspec.Raw) -> None:
    found = decode_json(_SERVICE_CIDR, raw, "ServiceCIDR")
    facts.service_ranges += _networks(iter(found.spec.cidrs or ()))


def _take_node_network(facts: NetworkFacts, raw: bytes | msgspec.Raw) -> None:
    found = decode_json(_NODE_NETWORK, raw, "NodeNetworkConfig")
    spaces = (each.subnet_address_space for each in found.status.network_containers or ())
    facts.pod_ranges += _networks(filter(None, spaces))


_TAKERS: Final[dict[str, Callable[[NetworkFacts, bytes | msgspec.Raw], None]]] = {
    "Node": _take_node,
    "DaemonSet": _take_daemon_set,
    "Service": _take_service,
    "ConfigMap": _take_config,
    "ServiceCIDR": _take_service_range,
    "NodeNetworkConfig": _take_node_network,
}


def _addresses(texts: Iterator[str]) -> Iterator[Address]:
    for text in texts:
        try:
            yield ipaddress.ip_address(text)
        except ValueError:
            continue


def _networks(texts: Iterator[str]) -> Iterator[Network]:
    for text in texts:
        try:
            yield ipaddress.ip_network(text, strict=False)
        except ValueError:
            continue


def read_folder_facts(path: Path) -> NetworkFacts:
    """Look at a folder of YAML or JSON, or at one file.

    Raises:
        SettingsError: it does not exist or cannot be read.
        InvalidObjectError: it is no YAML, or an object of it is broken.
    """
    facts = NetworkFacts()
    for manifest in read_paths([path]):
        facts.take(manifest.kind, manifest.raw)
    return facts


async def read_network_facts(objects: Objects) -> NetworkFacts:
    """Look at a cluster.

    Raises:
        ClusterError: kube-apiserver does not answer, or does not let something be listed.
        InvalidObjectError: it gave an object that is broken.
    """
    facts = NetworkFacts()
    for kind, (path, is_optional) in _KINDS.items():
        try:
            async for raw in list_objects(objects, path):
                facts.take(kind, raw)
        except ClusterError as error:
            if not is_optional:
                raise ClusterError(f"every {kind} must be listed: {error}", error.status) from None
            if error.status == HTTPStatus.FORBIDDEN:
                facts.unread.append(kind)
            elif error.status != HTTPStatus.NOT_FOUND:
                raise
    return facts


def has_facts(facts: NetworkFacts) -> bool:
    """Return whether anything was seen by which a network can be told."""
    return bool(facts.nodes or facts.daemon_sets)
