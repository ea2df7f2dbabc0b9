"""Reads what `hubble observe -o json` and Hubble's exporter write: a flow a line. Pure.

Source: github.com/cilium/cilium api/v1/flow/flow.proto; its fields as protobuf's JSON names them.
In policy audit mode (https://docs.cilium.io/en/stable/security/policy-creation/) the events of
verdicts say AUDIT of what would be dropped. ACNS writes the same on nodes, aggregated
(/var/log/acns/hubble/events.log).
"""

import datetime as dt
import ipaddress
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from core.base.json_errors import DECODE_ERRORS
from core.base.networks import Address
from core.egress.workload_names import WorkloadName, gang_of
from egress.flows.pieces import TOO_LONG, bounded, lines_of
from egress.flows.records import (
    LOST,
    DnsAnswer,
    Flow,
    FlowRecord,
    SkippedRecord,
    UnreadableRecord,
    Verdict,
    is_port,
)

_ACCOUNT: Final = "k8s:io.cilium.k8s.policy.serviceaccount="
_RESERVED: Final = "reserved:"
_KUBERNETES: Final = "k8s:"
_MOST_NAMES: Final = 16
_OUTSIDE: Final = frozenset({"world", "world-ipv4", "world-ipv6", "unmanaged", "unknown"})

_VERDICTS: Final[dict[str, Verdict]] = {
    "FORWARDED": "forwarded",
    "REDIRECTED": "forwarded",
    "TRACED": "forwarded",
    "TRANSLATED": "forwarded",
    "AUDIT": "audited",
    "DROPPED": "dropped",
}


class _Workload(msgspec.Struct, frozen=True):
    name: str = ""
    kind: str = ""


class _Endpoint(msgspec.Struct, frozen=True):
    namespace: str = ""
    pod_name: str = ""
    labels: list[str] = []
    workloads: list[_Workload] | None = None

    @property
    def workload(self) -> WorkloadName | None:
        found = (each for each in self.workloads or () if each.kind and each.name)
        return next((WorkloadName(bounded(one.kind), bounded(one.name)) for one in found), None)

    @property
    def gang(self) -> str:
        """What Pods of its run share, by the labels of Kubernetes that Cilium knows."""
        of_pod = (each.removeprefix(_KUBERNETES).partition("=") for each in self.labels)
        return gang_of({bounded(key): bounded(value) for key, _, value in of_pod})


class _Ports(msgspec.Struct, frozen=True):
    destination_port: int = 0


class _Layer4(msgspec.Struct, frozen=True):
    TCP: _Ports | None = None
    UDP: _Ports | None = None
    SCTP: _Ports | None = None


class _Ip(msgspec.Struct, frozen=True):
    source: str = ""
    destination: str = ""


class _Service(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Dns(msgspec.Struct, frozen=True):
    query: str = ""
    ips: list[str] = []


class _Layer7(msgspec.Struct, frozen=True):
    dns: _Dns | None = None


class HubbleFlow(msgspec.Struct, frozen=True, kw_only=True):
    """A flow, as far as it is read."""

    time: dt.datetime | None = None
    verdict: str = ""
    ip: _Ip = msgspec.field(default=_Ip(), name="IP")
    l4: _Layer4 = _Layer4()
    source: _Endpoint = _Endpoint()
    destination: _Endpoint = _Endpoint()
    destination_names: list[str] = []
    destination_service: _Service | None = None
    traffic_direction: str = ""
    is_reply: bool | None = None
    l7: _Layer7 | None = None


class _Line(msgspec.Struct, frozen=True):
    flow: HubbleFlow | None = None
    lost_events: Any = None
    node_status: Any = None


_LINE: Final = msgspec.json.Decoder(_Line)
_BARE: Final = msgspec.json.Decoder(HubbleFlow)


def read_hubble(pieces: Iterable[str]) -> Iterator[FlowRecord]:
    """Read lines of JSON; with the envelope `{"flow": …}`, or without it as older ones write."""
    for number, line in lines_of(pieces):
        if line is None:
            yield UnreadableRecord(number, TOO_LONG)
        elif line.strip():
            yield _read(number, line)


def _read(number: int, line: str) -> FlowRecord:
    try:
        found = _LINE.decode(line)
        if found.lost_events is not None:
            return SkippedRecord(LOST)
        if found.node_status is not None:
            return SkippedRecord("tells of a node, and no flow")
        return flow_of(found.flow or _BARE.decode(line), number)
    except DECODE_ERRORS as error:
        return UnreadableRecord(number, str(error))
    except ValueError as error:
        return UnreadableRecord(number, f"has no address: {error}")


def flow_of(flow: HubbleFlow, number: int) -> FlowRecord:
    """Return what a flow says; `number` is its place, for what cannot be read.

    Raises:
        ValueError: an address is none.
    """
    if (other := _no_connection(flow)) is not None:
        return other
    named = (("TCP", flow.l4.TCP), ("UDP", flow.l4.UDP), ("SCTP", flow.l4.SCTP))
    protocol, ports = next(((name, one) for name, one in named if one), ("", None))
    if ports is None:
        return SkippedRecord("neither TCP, UDP nor SCTP")
    if not is_port(ports.destination_port):
        return UnreadableRecord(
            number, f"flow.l4.{protocol}.destination_port: {ports.destination_port}"
        )
    service = flow.destination_service or _Service()
    time = flow.time.timestamp() if flow.time else None
    return Flow(
        namespace=bounded(flow.source.namespace),
        account=_label(flow.source, _ACCOUNT),
        pod=bounded(flow.source.pod_name),
        workload=flow.source.workload,
        gang=flow.source.gang,
        names=tuple(sorted({_plain(name) for name in flow.destination_names[:_MOST_NAMES]})),
        address=_address(flow.ip.destination),
        to_namespace=bounded(flow.destination.namespace or service.namespace),
        to_pod=bounded(flow.destination.pod_name),
        to_account=_label(flow.destination, _ACCOUNT),
        to_workload=flow.destination.workload,
        to_gang=flow.destination.gang,
        to_service=bounded(service.name),
        to_reserved=_reserved(flow.destination),
        protocol=protocol,  # type: ignore[arg-type]  # One of three.
        port=ports.destination_port,
        verdict=_VERDICTS.get(flow.verdict, "unknown"),
        first=time,
        last=time,
    )


def _no_connection(flow: HubbleFlow) -> DnsAnswer | SkippedRecord | None:
    if flow.l7 is not None and flow.l7.dns is not None and flow.l7.dns.ips:
        # An answer is seen on its way back: to the Pod that asked.
        asked = flow.destination if flow.is_reply else flow.source
        found = tuple(map(ipaddress.ip_address, flow.l7.dns.ips))
        return DnsAnswer(
            bounded(asked.namespace),
            bounded(asked.pod_name),
            _plain(flow.l7.dns.query),
            found,
            None if asked.pod_name else asked.workload,
        )
    if flow.is_reply or flow.traffic_direction == "INGRESS":
        return SkippedRecord("an answer, or seen where it arrives")
    if flow.l7 is not None:
        return SkippedRecord("what was said in a connection, not the connection")
    return None if flow.source.namespace else SkippedRecord("not of a Pod")


def _label(endpoint: _Endpoint, prefix: str) -> str:
    found = (each.removeprefix(prefix) for each in endpoint.labels if each.startswith(prefix))
    return bounded(next(found, ""))


def _reserved(endpoint: _Endpoint) -> str:
    found = _label(endpoint, _RESERVED)
    return "" if found in _OUTSIDE else found


def _plain(name: str) -> str:
    return bounded(name.rstrip(".").lower())


def _address(text: str) -> Address | None:
    return ipaddress.ip_address(text) if text else None
