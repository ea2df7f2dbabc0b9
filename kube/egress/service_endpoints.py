"""Services and EndpointSlices as the controller of egress reads them.

Watched are the Services as far as allowlists can mean them, and of each slice only that it changed:
its addresses are asked for when a Service is looked at, which few are.
"""

import ipaddress
from typing import Final

import msgspec

from core.base.errors import ClusterError, InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_json
from core.base.networks import Address
from core.egress.destinations import PortRange, TransportProtocol
from core.kubernetes.label_selectors import is_label_value
from kube.client.objects import Objects, list_objects

SLICES_PATH: Final = "/apis/discovery.k8s.io/v1/endpointslices"
API_SERVER: Final = ("default", "kubernetes")
"""Namespace and name of kube-apiserver's Service, and of the one slice that it keeps of itself
(pkg/controlplane/reconcilers)."""
SERVICE_LABEL: Final = "kubernetes.io/service-name"
"""On an EndpointSlice: its Service (k8s.io/api/discovery/v1, LabelServiceName)."""

_EXTERNAL: Final = "ExternalName"


class ServicePort(msgspec.Struct, frozen=True, gc=False):
    """A port of a Service."""

    name: str
    protocol: TransportProtocol
    port: int

    @property
    def range(self) -> PortRange:
        """As allowlists name it."""
        return PortRange(self.protocol, self.port, self.port)


class ServiceShape(msgspec.Struct, frozen=True):
    """What is kept of a Service."""

    namespace: str
    name: str
    selector: tuple[tuple[str, str], ...]
    external_name: str
    ports: tuple[ServicePort, ...]
    cluster_ips: tuple[Address, ...] = ()

    @property
    def is_api_server(self) -> bool:
        """Whether it is kube-apiserver's own, which that makes and keeps by itself."""
        return (self.namespace, self.name) == API_SERVER


class SliceMark(msgspec.Struct, frozen=True, gc=False):
    """That a slice of a Service is there, in a version."""

    namespace: str
    service: str
    version: str


class Endpoint(msgspec.Struct, frozen=True, gc=False):
    """An address of a slice, whether it is ready or not."""

    address: Address | str
    """A text where it is none: a DNS name."""
    ports: tuple[tuple[str, PortRange | None], ...]
    """By their names; None for a port that the slice leaves open."""
    slice: str = ""
    """The name of its EndpointSlice."""


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    namespace: str = "default"
    resource_version: str = ""
    labels: dict[str, str] | None = None


class _Port(msgspec.Struct):
    name: str | None = None
    protocol: str | None = None
    port: int | None = None


class _ServiceSpec(msgspec.Struct, rename="camel"):
    type: str = "ClusterIP"
    selector: dict[str, str] | None = None
    external_name: str = ""
    ports: list[_Port] | None = None
    cluster_ips: list[str] | None = msgspec.field(default=None, name="clusterIPs")


class _Service(msgspec.Struct):
    metadata: _Meta
    spec: _ServiceSpec


class _Endpoint(msgspec.Struct):
    addresses: list[str] | None = None


class _Slice(msgspec.Struct):
    metadata: _Meta
    endpoints: list[_Endpoint] | None = None
    ports: list[_Port] | None = None


class _Marked(msgspec.Struct):
    metadata: _Meta


_SERVICE: Final = msgspec.json.Decoder(_Service)
_SLICE: Final = msgspec.json.Decoder(_Slice)
_MARKED: Final = msgspec.json.Decoder(_Marked)


def read_service(raw: bytes | msgspec.Raw) -> ServiceShape:
    """Read a Service from its JSON.

    Raises:
        InvalidObjectError: it is none, which kube-apiserver never says.
    """
    read = decode_json(_SERVICE, raw, "Service")
    spec, meta = read.spec, read.metadata
    external = spec.external_name if spec.type == _EXTERNAL else ""
    selector = {} if external else spec.selector or {}
    ports = [
        ServicePort(each.name or "", _protocol(each.protocol), each.port)
        for each in spec.ports or ()
        if each.port
    ]
    addresses = map(_address, () if external else spec.cluster_ips or ())
    return ServiceShape(
        meta.namespace,
        meta.name,
        tuple(sorted(selector.items())),
        external,
        tuple(ports),
        tuple(each for each in addresses if not isinstance(each, str)),
    )


def read_mark(raw: bytes | msgspec.Raw) -> SliceMark | None:
    """Read of an EndpointSlice what is kept; None for one that belongs to no Service.

    Raises:
        InvalidObjectError: it is none, which kube-apiserver never says.
    """
    meta = decode_json(_MARKED, raw, "EndpointSlice").metadata
    service = (meta.labels or {}).get(SERVICE_LABEL, "")
    return SliceMark(meta.namespace, service, meta.resource_version) if service else None


async def endpoints_of(objects: Objects, namespace: str, service: str) -> list[Endpoint]:
    """Return the endpoints of a Service, by its slices.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    if not is_label_value(service):
        return []
    path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    parameters = {"labelSelector": f"{SERVICE_LABEL}={service}", "resourceVersion": "0"}
    found: list[Endpoint] = []
    async for raw in list_objects(objects, path, parameters=parameters):
        found += read_slice(raw)
    return found


def read_slice(raw: bytes | msgspec.Raw) -> list[Endpoint]:
    """Read the endpoints of an EndpointSlice.

    Raises:
        ClusterError: it is none, which kube-apiserver never says.
    """
    try:
        read = _SLICE.decode(raw)
    except DECODE_ERRORS as error:
        raise ClusterError(f"an item of a list of EndpointSlices is none: {error}") from None
    ports = tuple((each.name or "", _range(each)) for each in read.ports or ())
    return [
        Endpoint(_address(text), ports, read.metadata.name)
        for one in read.endpoints or ()
        for text in one.addresses or ()
    ]


def _range(port: _Port) -> PortRange | None:
    if not port.port:
        return None
    return PortRange(_protocol(port.protocol), port.port, port.port)


def _protocol(text: str | None) -> TransportProtocol:
    """Return a protocol; TCP without one (k8s.io/api/core/v1, ServicePort)."""
    match text or "TCP":
        case "TCP" | "UDP" | "SCTP" as known:
            return known
        case other:
            raise InvalidObjectError("Service", "spec.ports", f"{other!r} is no protocol")


def _address(text: str) -> Address | str:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return text
