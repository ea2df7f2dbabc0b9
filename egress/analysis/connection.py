"""A connection that somebody asks about, and which openings let it through. Pure."""

import ipaddress
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from core.base.errors import SettingsError
from core.base.networks import Address, Network, any_holds, single_address_network
from core.egress.destinations import MAX_PORT, PortRange, Protocol
from core.egress.dns_names import matches_name
from core.kubernetes.label_selectors import matches
from egress.analysis.cluster_egress import ClusterEgress
from egress.model.openings import Addresses, Backend, Block, Name, Opening, Pods, Service
from egress.model.reserved_ranges import PRIVATE_OR_TRANSLATED
from kube.egress.pods import EgressPod

_TARGET: Final = re.compile(
    r"(?:\[(?P<six>[^\]]+)\]|(?P<host>[^\[\]:]+)):(?P<port>\d+)(?:/(?P<protocol>\w+))?"
)
_PROTOCOLS: Final[dict[str, Protocol]] = {"tcp": "TCP", "udp": "UDP", "sctp": "SCTP"}
_DOMAIN: Final = "cluster.local"
_APP_LABELS: Final = ("app.kubernetes.io/name", "app.kubernetes.io/component", "app", "k8s-app")
"""Labels that usually say which application a Pod is of."""


class ConnectionEnd(msgspec.Struct, frozen=True):
    """Where packets of the connection would arrive."""

    address: Address
    port: PortRange
    pod: EgressPod | None = None
    """Whose address it is, where it is a Pod's own."""
    on_node: bool = False
    """Whether it is a node's, by a Pod on that node's network."""


class ConnectionTarget(msgspec.Struct, frozen=True):
    """What a connection aims at. At most one of `name`, `service` and `pod` is set."""

    host: str
    """As it was asked for."""
    port: PortRange
    name: str = ""
    service: tuple[str, str] | None = None
    pod: EgressPod | None = None
    ends: tuple[ConnectionEnd, ...] = ()
    """Empty where nobody knows any."""


def parse_target(text: str, world: ClusterEgress) -> ConnectionTarget:
    """Read `HOST:PORT[/PROTOCOL]`.

    HOST is a DNS name, an address (IPv6 in brackets), `pod/NAMESPACE/NAME`,
    `service/NAMESPACE/NAME` or a Service's name as Pods write it (`catalogue.data`).

    Raises:
        SettingsError: it is none of these, or there is no such Pod or Service.
    """
    found = _TARGET.fullmatch(text)
    if found is None:
        message = (
            "must be HOST:PORT or HOST:PORT/PROTOCOL, "
            "such as packages.example.org:443 or [2001:db8::7]:53/udp"
        )
        raise SettingsError(f"{text}: {message}")
    protocol = _PROTOCOLS.get((found["protocol"] or "tcp").lower())
    if protocol is None:
        raise SettingsError(f"{text}: the protocol must be tcp, udp or sctp")
    number = int(found["port"])
    if not 1 <= number <= MAX_PORT:
        raise SettingsError(f"{text}: the port must be between 1 and {MAX_PORT}")
    port = PortRange(protocol, number, number)
    host = found["six"] or found["host"]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if address is not None:
        behind = _service_at(address, world)
        if behind is not None:
            return _at_service(host, port, behind, world)
        return _at_address(host, port, address, world)
    if host.startswith("pod/"):
        return _at_pod(host, port, world)
    if (service := _service_of(host, world)) is not None:
        return _at_service(host, port, service, world)
    return _at_name(host.rstrip(".").lower(), port, world)


def _at_address(
    host: str, port: PortRange, address: Address, world: ClusterEgress
) -> ConnectionTarget:
    pods = world.snapshot.pods
    on_node = any(each.host_network and address in each.addresses for each in pods)
    end = ConnectionEnd(address, port, _owner(address, pods), on_node)
    return ConnectionTarget(host, port, ends=(end,))


def _service_at(address: Address, world: ClusterEgress) -> tuple[str, str] | None:
    """Return the Service of a cluster address: what policies see is whom it sends to."""
    return next(
        (key for key, each in world.snapshot.services.items() if address in each.cluster_ips), None
    )


def _at_pod(host: str, port: PortRange, world: ClusterEgress) -> ConnectionTarget:
    _, _, key = host.partition("/")
    pod = next((each for each in world.snapshot.pods if each.key == key), None)
    if pod is None:
        raise SettingsError(f"{host}: there is no such Pod; write pod/NAMESPACE/NAME")
    held = None if pod.host_network else pod
    ends = (
        ConnectionEnd(address, port, held, on_node=pod.host_network) for address in pod.addresses
    )
    return ConnectionTarget(host, port, pod=pod, ends=tuple(ends))


def _service_of(host: str, world: ClusterEgress) -> tuple[str, str] | None:
    if host.startswith("service/"):
        namespace, _, name = host.removeprefix("service/").partition("/")
        if (namespace, name) not in world.services:
            raise SettingsError(f"{host}: there is no such Service; write service/NAMESPACE/NAME")
        return namespace, name
    parts = host.removesuffix(".").removesuffix(f".{_DOMAIN}").removesuffix(".svc").split(".")
    if len(parts) != 2:  # noqa: PLR2004 (name and namespace)
        return None
    key = (parts[1], parts[0])
    return key if key in world.services else None


def _at_service(
    host: str, port: PortRange, service: tuple[str, str], world: ClusterEgress
) -> ConnectionTarget:
    known = world.services[service]
    if known.external_name:
        return _at_name(known.external_name, port, world)
    backends = known.ports.get(port, ())
    if known.portless:
        backends = (Backend((port,), known.portless),)
    ends = tuple(
        ConnectionEnd(address, ports, _owner(address, world.snapshot.pods))
        for backend in backends
        for ports in backend.ports
        for network in backend.addresses
        for address in network
    )
    return ConnectionTarget(host, port, service=service, ends=ends)


def _at_name(name: str, port: PortRange, world: ClusterEgress) -> ConnectionTarget:
    learnt = world.learnt.get(name)
    ends = (ConnectionEnd(seen.address, port) for seen in (learnt.seen if learnt else ()))
    return ConnectionTarget(name, port, name=name, ends=tuple(ends))


def _owner(address: Address, pods: Iterable[EgressPod]) -> EgressPod | None:
    return next(
        (each for each in pods if address in each.addresses and not each.host_network), None
    )


def reached_ends(
    aim: ConnectionTarget, opening: Opening, world: ClusterEgress, *, any_port: bool = False
) -> frozenset[int]:
    """Return which ends of a connection an opening lets packets through to, by their places.

    -1 stands for the name or Service itself, where the engine goes by names, or no end is known.
    """
    peer = opening.peer
    direct = False
    if isinstance(peer, Name) and aim.name:
        direct = matches_name(peer.pattern, aim.name) and not peer.pinned and learns_names(world)
    elif isinstance(peer, Service):
        direct = aim.service == (peer.namespace, peer.name) and bool(peer.backends)
    if direct and (any_port or _holds(opening.ports, aim.port)):
        places = enumerate(aim.ends)
        there = {place for place, end in places if not _is_denied(end, opening, world)}
        return frozenset({-1, *there} if there or not aim.ends else ())
    return frozenset(
        place
        for place, end in enumerate(aim.ends)
        if _goes_to(end, opening, world, any_port=any_port)
    )


def _is_denied(end: ConnectionEnd, opening: Opening, world: ClusterEgress) -> bool:
    """Return whether a name led to an address that nobody's answer opens."""
    if not isinstance(opening.peer, Name):
        return False
    network = single_address_network(end.address)
    return any_holds((*world.known.reserved, *PRIVATE_OR_TRANSLATED), network)


def _goes_to(end: ConnectionEnd, opening: Opening, world: ClusterEgress, *, any_port: bool) -> bool:
    in_ports = any_port or _holds(opening.ports, end.port)
    match opening.peer:
        case Addresses(blocks):
            matched = _by_network(end, world)
            return in_ports and matched and any(_in_block(end.address, each) for each in blocks)
        case Name(_, addresses):
            matched = _by_network(end, world)
            return in_ports and matched and any(end.address in each for each in addresses)
        case Pods() as pods:
            pod = end.pod
            if pod is None or not means_pod(pods, pod, world):
                return False
            return any_port or listens_on(pod, end.port, opening.ports)
        case Service(backends=backends):
            return any(
                (any_port or _holds(backend.ports, end.port))
                and any(end.address in each for each in backend.addresses)
                for backend in backends
            )


def means_pod(pods: Pods, pod: EgressPod, world: ClusterEgress) -> bool:
    """Return whether a Pod is one of these."""
    namespace = world.snapshot.namespaces.get(pod.namespace)
    labels = namespace.labels if namespace else {}
    return pods.has_namespace(pod.namespace, labels) and matches(pods.requirements, pod.labels)


def listens_on(pod: EgressPod, port: PortRange, ports: Iterable[PortRange]) -> bool:
    """Return whether a port of a Pod is among others, by its number or by a name of the Pod's."""
    declared = [
        each.name
        for each in pod.ports
        if (each.protocol, each.number) == (port.protocol, port.first)
    ]
    return any(
        each.holds(port) or (each.protocol == port.protocol and each.name in declared)
        for each in ports
        if each.name or each.holds(port)
    )


def _by_network(end: ConnectionEnd, world: ClusterEgress) -> bool:
    """Return whether networks match an end: on Cilium they match neither Pods nor nodes."""
    return not world.site.target.engine.is_cilium or not (end.pod or end.on_node)


def learns_names(world: ClusterEgress) -> bool:
    """Return whether the engine goes by names, and not by addresses that were learnt of them."""
    return world.site.target.engine.learns_names


def _holds(ports: Iterable[PortRange], port: PortRange) -> bool:
    return any(each.holds(port) for each in ports)


def _in_block(address: Address, block: Block) -> bool:
    return address in block.network and not any(address in hole for hole in block.excepts)


def excepted_networks(aim: ConnectionTarget, opening: Opening) -> tuple[Network, ...]:
    """Return the networks that an opening excludes and that hold an end of the connection."""
    if not isinstance(opening.peer, Addresses):
        return ()
    return tuple(
        hole
        for end in aim.ends
        for block in opening.peer.blocks
        for hole in block.excepts
        if end.address in hole
    )


def is_reserved(address: Address, world: ClusterEgress) -> bool:
    """Return whether no broader network opens an address."""
    return any_holds(world.known.reserved, single_address_network(address))


def is_dns(aim: ConnectionTarget, world: ClusterEgress) -> bool:
    """Return whether a connection is one to the cluster's DNS, which is always open."""
    dns = world.site.target.dns
    if aim.port.first != dns.port or aim.port.protocol == "SCTP" or not aim.ends:
        return False
    return all(
        any(end.address in each for each in dns.addresses)
        or any(
            end.pod is not None
            and end.pod.namespace == each.namespace
            and matches(each.requirements, end.pod.labels)
            for each in dns.pods
        )
        for end in aim.ends
    )


def pods_entry(pod: EgressPod, world: ClusterEgress) -> dict[str, Any]:
    """Return the narrowest `pods` that means Pods such as this one.

    Service accounts count by labels of the gate's, so in enrolled namespaces alone.
    """
    if world.closure(pod.namespace).labels_pods:
        return {"namespace": pod.namespace, "serviceAccounts": [pod.service_account]}
    chosen = {key: pod.labels[key] for key in _APP_LABELS if key in pod.labels}
    narrowed = {"podSelector": {"matchLabels": chosen}} if chosen else {}
    return {"namespace": pod.namespace, **narrowed}
