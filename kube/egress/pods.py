"""Pods as the commands of egress look at them: who they are, and where."""

import ipaddress
from typing import Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_error
from core.base.networks import Address

_FINISHED: Final = frozenset({"Succeeded", "Failed"})
_DEFAULT: Final = "default"


class EgressPod(msgspec.Struct, frozen=True, gc=False):
    """What is read of a Pod that neither succeeded nor failed."""

    namespace: str
    name: str
    labels: dict[str, str] = {}
    service_account: str = _DEFAULT
    node: str = ""
    host_network: bool = False
    """Its addresses are its node's, and no policy holds it."""
    addresses: tuple[Address, ...] = ()
    containers: tuple[str, ...] = ()
    ports: tuple["DeclaredPort", ...] = ()
    """What it says it listens on."""
    node_address: Address | None = None

    @property
    def listens(self) -> tuple[int, ...]:
        """TCP ports that it says it listens on."""
        return tuple(each.number for each in self.ports if each.protocol == "TCP")

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


class DeclaredPort(msgspec.Struct, frozen=True, gc=False):
    """A port of a container."""

    protocol: str
    number: int
    name: str = ""


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    namespace: str = _DEFAULT
    labels: dict[str, str] | None = None


class _Port(msgspec.Struct, frozen=True, rename="camel"):
    container_port: int = 0
    protocol: str = "TCP"
    name: str = ""


class _Container(msgspec.Struct, frozen=True):
    name: str = ""
    ports: list[_Port] | None = None


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    service_account_name: str | None = None
    service_account: str | None = None
    host_network: bool | None = None
    node_name: str | None = None
    containers: list[_Container] | None = None


class _Ip(msgspec.Struct, frozen=True):
    ip: str = ""


class _Status(
    msgspec.Struct,
    frozen=True,
    rename={"pod_ip": "podIP", "pod_ips": "podIPs", "host_ip": "hostIP"},
):
    phase: str = ""
    pod_ip: str = ""
    host_ip: str = ""
    pod_ips: list[_Ip] | None = None


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()


_POD: Final = msgspec.json.Decoder(_Pod)


def read_egress_pod(raw: bytes | msgspec.Raw) -> EgressPod | None:
    """Read a Pod; None for one that has succeeded or failed.

    Raises:
        InvalidObjectError: it is no Pod.
    """
    try:
        pod = _POD.decode(raw)
        texts = [one.ip for one in pod.status.pod_ips or ()] or [pod.status.pod_ip]
        addresses = tuple(ipaddress.ip_address(text) for text in texts if text)
    except DECODE_ERRORS as error:
        raise decode_error("Pod", error) from error
    except ValueError:
        raise InvalidObjectError("Pod", "status.podIPs", "has no address") from None
    return None if pod.status.phase in _FINISHED else _seen(pod, addresses)


def _seen(pod: _Pod, addresses: tuple[Address, ...]) -> EgressPod:
    spec, meta = pod.spec, pod.metadata
    return EgressPod(
        meta.namespace,
        meta.name,
        meta.labels or {},
        spec.service_account_name or spec.service_account or _DEFAULT,
        spec.node_name or "",
        bool(spec.host_network),
        addresses,
        tuple(each.name for each in spec.containers or ()),
        tuple(
            DeclaredPort(port.protocol, port.container_port, port.name)
            for each in spec.containers or ()
            for port in each.ports or ()
            if port.container_port
        ),
        ipaddress.ip_address(pod.status.host_ip) if pod.status.host_ip else None,
    )
