"""The live Pods behind a Service. Pure.

Whoever writes EndpointSlices could put any address behind a Service that others have approved: so
an address counts only where a live Pod of the Service's namespace has it, and it is one that Pods
can have: never a reserved one, and where the engine goes by addresses, one of the cluster's
networks of Pods. Who may write a Pod's status gives it any; so without these networks none counts.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from core.base.networks import Address, Network, any_holds, collapse, single_address_network
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import Requirement, sort_requirements
from egress.model.facts import KnownService
from egress.model.openings import Backend
from egress.model.reserved_ranges import ALWAYS_RESERVED
from kube.egress.service_endpoints import Endpoint, ServicePort, ServiceShape
from kube.resources.live_pods import LivePod

_SHOWN: Final = 8


def known_service(
    shape: ServiceShape,
    endpoints: Sequence[Endpoint],
    pods: Iterable[LivePod],
    pod_ranges: Sequence[Network] | None,
) -> KnownService:
    """Return the facts of a Service; `pods` are the live ones that it may send to.

    `pod_ranges` are the cluster's networks of Pods; None where the engine goes by identity, so that
    no address opens anything.

    Endpoints that are not ready count too: their Pods are the Service's, and would be cut off for
    the first moments after they are.
    """
    if shape.external_name:
        return KnownService(external_name=shape.external_name)
    if shape.is_api_server:
        return _api_server(shape, endpoints)
    selector = sort_requirements(Requirement(key, "In", (value,)) for key, value in shape.selector)
    every = {address: pod.host_network for pod in pods for address in pod.addresses}
    whose = {each: host for each, host in every.items() if _can_be_told(each, pod_ranges)}
    ports = {port.range: _backends(port, endpoints, whose) for port in shape.ports}
    strange = dict.fromkeys(every.keys() - whose.keys(), _why_strange(pod_ranges))
    dropped = _dropped(shape, endpoints, whose, strange)
    portless = None if shape.ports else _portless(endpoints, whose)
    return KnownService(
        selector,
        ports=ports,
        port_names=_port_names(shape),
        portless=portless,
        dropped=dropped,
    )


def _port_names(shape: ServiceShape) -> Mapping[tuple[str, str], PortRange]:
    return {(each.protocol, each.name): each.range for each in shape.ports if each.name}


def _portless(endpoints: Iterable[Endpoint], whose: Mapping[Address, bool]) -> tuple[Network, ...]:
    """Return the Pods behind a Service without ports, whatever they listen on."""
    told = (each.address for each in endpoints if not isinstance(each.address, str))
    return collapse(single_address_network(each) for each in told if not whose.get(each, True))


def _can_be_told(address: Address, pod_ranges: Sequence[Network] | None) -> bool:
    """Return whether an address is not reserved, and of a network of Pods, where that counts."""
    network = single_address_network(address)
    if any_holds(ALWAYS_RESERVED, network):
        return False
    return pod_ranges is None or any_holds(pod_ranges, network)


def _why_strange(pod_ranges: Sequence[Network] | None) -> str:
    if pod_ranges is not None and not pod_ranges:
        return "nobody knows whether a Pod can have it: set egress.ranges.pods"
    return "no Pod can have it (egress.ranges.pods)"


def _api_server(shape: ServiceShape, endpoints: Sequence[Endpoint]) -> KnownService:
    """Return the facts of kube-apiserver's Service, by the slice that it keeps of itself.

    Whoever writes that slice has it overwritten within seconds (`--endpoint-reconciler-type`); any
    other one of the Service is somebody else's.
    """
    own = [each for each in endpoints if each.slice == shape.name]
    told = [each.address for each in own if not isinstance(each.address, str)]
    whose = {each: False for each in told if _can_be_told(each, None)}
    others = sorted({each.slice for each in endpoints} - {shape.name})
    dropped = [f"EndpointSlice {each} is none of kube-apiserver's" for each in others]
    dropped += [
        f"{each} is reserved: kube-apiserver is not there" for each in told if each not in whose
    ]
    ports = {port.range: _backends(port, own, whose) for port in shape.ports}
    return KnownService(
        ports=ports, port_names=_port_names(shape), dropped=tuple(dropped), is_api_server=True
    )


def _backends(
    port: ServicePort, endpoints: Iterable[Endpoint], whose: Mapping[Address, bool]
) -> tuple[Backend, ...]:
    found: dict[PortRange, set[Network]] = defaultdict(set)
    for endpoint in endpoints:
        address = endpoint.address
        if isinstance(address, str) or whose.get(address, True):
            continue
        for name, target in endpoint.ports:
            if name == port.name and target is not None and target.protocol == port.protocol:
                found[target].add(single_address_network(address))
    backends = (Backend((target,), collapse(networks)) for target, networks in found.items())
    return tuple(sorted(backends, key=lambda each: each.ports))


def _dropped(
    shape: ServiceShape,
    endpoints: Iterable[Endpoint],
    whose: Mapping[Address, bool],
    strange: Mapping[Address, str],
) -> tuple[str, ...]:
    pods = "that it selects" if shape.selector else f"of namespace {shape.namespace}"
    said = set()
    for endpoint in endpoints:
        address = endpoint.address
        if isinstance(address, str):
            said.add(f"{address} is no address")
        elif address in strange:
            said.add(f"{address} is told by a Pod, and {strange[address]}")
        elif address not in whose:
            said.add(f"{address} belongs to no live Pod {pods}: name it as a cidr")
        elif whose[address]:
            said.add(f"{address} is a node's, of a Pod with hostNetwork: name it as a cidr")
        if any(target is None for _, target in endpoint.ports):
            said.add("an EndpointSlice of it leaves the port open")
    shown = sorted(said)
    more = (f"and {len(shown) - _SHOWN} more",) if len(shown) > _SHOWN else ()
    return (*shown[:_SHOWN], *more)
