"""Observed flows matched with a cluster: whose they are, and where they went. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from core.base import names
from core.base.networks import Address, Network
from core.egress.destinations import PortRange
from core.egress.pod_labels import label_value
from core.kubernetes.label_selectors import matches
from egress.analysis.cluster_egress import ClusterEgress
from egress.analysis.connection import (
    ConnectionEnd,
    ConnectionTarget,
    is_dns,
    pods_entry,
    reached_ends,
)
from egress.flows.records import DnsAnswer, Flow, FlowRecord, SkippedRecord, UnreadableRecord
from egress.service_tags import ServiceTags
from kube.egress.pods import EgressPod

_MOST_TAGS = 3


class FlowSource(msgspec.Struct, frozen=True, order=True):
    """Who made connections."""

    namespace: str
    account: str


@dataclass(frozen=True)
class ObservedFlows:
    """Flows with what is known of their ends."""

    flows: tuple[Flow, ...]
    world: ClusterEgress
    unread: tuple[tuple[str, UnreadableRecord], ...] = ()
    """With their files."""
    passed: Mapping[str, int] = field(default_factory=dict)
    """How many records were passed over, by reason."""
    unknown: int = 0
    """Flows of which nobody knows the service account."""

    def by_source(self) -> list[tuple[FlowSource, list[Flow]]]:
        """Return the flows of each service account."""
        found: dict[FlowSource, list[Flow]] = defaultdict(list)
        for flow in self.flows:
            found[FlowSource(flow.namespace, flow.account)].append(flow)
        return sorted(found.items())

    def why_not(self, source: FlowSource, flow: Flow, name: str) -> str:
        """Say why a flow needs no entry, or must not have one by itself; empty for neither."""
        world = self.world
        aim = _aim(flow, name, world)
        if is_dns(aim, world) or _is_dns_service(flow, world):
            return "is the cluster's DNS, which is always open"
        if world.enrolled(source.namespace) and _is_open(source, aim, world):
            return "is open already"
        return self._closed(flow, name)

    def pods_entry(self, flow: Flow) -> dict[str, Any]:
        """Return the `pods` that a flow to a Pod needs."""
        pod = self.world.pod(flow.to_namespace, flow.to_pod)
        if pod is None:
            pod = EgressPod(flow.to_namespace, flow.to_pod, {}, flow.to_account or "default")
        return pods_entry(pod, self.world)

    def _closed(self, flow: Flow, name: str) -> str:
        meant = "name it as a cidr if it is meant"
        if flow.to_reserved:
            return f"is of the cluster itself ({flow.to_reserved}): {meant}"
        if flow.to_namespace:
            return ""
        if flow.address is None:
            return "" if name else "has neither name nor address"
        hit = (each for each in self.world.known.reserved if flow.address in each)
        return next((f"is in the reserved range {each}: {meant}" for each in hit), "")

    def tags_of(self, network: Network) -> list[str]:
        """Return the smallest service tags that have a network."""
        bits, shift = int(network.network_address), network.max_prefixlen
        found = {
            entry
            for length in range(network.prefixlen + 1)
            for entry in self._tags.get((network.version, length, bits >> (shift - length)), ())
        }
        return [tag for _, tag in sorted(found)[:_MOST_TAGS]]

    @cached_property
    def _tags(self) -> Mapping[tuple[int, int, int], Sequence[tuple[int, str]]]:
        """Sizes and names of tags, by a network of theirs: its version, length and first bits."""
        found: dict[tuple[int, int, int], list[tuple[int, str]]] = defaultdict(list)
        tags = self.world.site.tags
        for each in tags.tags.values() if isinstance(tags, ServiceTags) else ():
            networks = tags.networks(each.name)
            if isinstance(networks, str):
                continue
            size = sum(one.num_addresses for one in networks)
            for one in networks:
                first = int(one.network_address) >> (one.max_prefixlen - one.prefixlen)
                found[one.version, one.prefixlen, first].append((size, each.name))
        return found


def observe(records: Iterable[tuple[str, FlowRecord]], world: ClusterEgress) -> ObservedFlows:
    """Put records, with the files that they are of, together with a cluster."""
    flows: list[Flow] = []
    answers: dict[tuple[str, str, Address], set[str]] = defaultdict(set)
    unread: list[tuple[str, UnreadableRecord]] = []
    passed: Counter[str] = Counter()
    for file, record in records:
        match record:
            case Flow():
                flows.append(record)
            case DnsAnswer():
                for address in record.addresses:
                    answers[record.namespace, record.pod, address].add(record.name)
            case UnreadableRecord():
                unread.append((file, record))
            case SkippedRecord(why):
                passed[why] += 1
    ends = _FlowEnds(world)
    whole = [ends.fill(_named(flow, answers)) for flow in flows]
    known = tuple(flow for flow in whole if flow.namespace and flow.account)
    return ObservedFlows(known, world, tuple(unread), dict(passed), len(whole) - len(known))


def _plain(address: Address | None) -> Address | None:
    """Return the IPv4 address of one that is mapped: so sockets for both families show it."""
    return getattr(address, "ipv4_mapped", None) or address


def _named(flow: Flow, answers: Mapping[tuple[str, str, Address], set[str]]) -> Flow:
    if flow.names or flow.address is None:
        return flow
    found = answers.get((flow.namespace, flow.pod, flow.address), ())
    return msgspec.structs.replace(flow, names=tuple(sorted(found))) if found else flow


class _FlowEnds:
    """The Pods of a cluster, by name and by address, and the Services that send to them."""

    def __init__(self, world: ClusterEgress) -> None:
        pods = [each for each in world.snapshot.pods if not each.host_network]
        self._named = {(each.namespace, each.name): each for each in pods}
        self._at = {address: each for each in pods for address in each.addresses}
        self._behind: dict[tuple[Address, PortRange], tuple[str, str, int]] = {}
        for (namespace, name), service in sorted(world.services.items()):
            for port, backends in service.ports.items():
                for backend in backends:
                    for ports in backend.ports:
                        for address in (one for each in backend.addresses for one in each):
                            self._behind.setdefault((address, ports), (namespace, name, port.first))

    def fill(self, flow: Flow) -> Flow:
        """Return a flow with what the cluster says of its ends."""
        flow = msgspec.structs.replace(flow, address=_plain(flow.address))
        source = self._named.get((flow.namespace, flow.pod)) or (
            self._at.get(flow.source) if flow.source is not None else None
        )
        if source is not None:
            flow = msgspec.structs.replace(
                flow,
                namespace=source.namespace,
                pod=source.name,
                account=flow.account or source.service_account,
            )
        return flow if flow.to_service or flow.address is None else self._to(flow, flow.address)

    def _to(self, flow: Flow, address: Address) -> Flow:
        port = PortRange(flow.protocol, flow.port, flow.port)
        if behind := self._behind.get((address, port)):
            namespace, name, number = behind
            return msgspec.structs.replace(
                flow, to_namespace=namespace, to_service=name, port=number
            )
        to = self._named.get((flow.to_namespace, flow.to_pod))
        if to is None and not flow.to_namespace:
            to = self._at.get(address)
        if to is None:
            return flow
        account = flow.to_account or to.service_account
        return msgspec.structs.replace(
            flow, to_namespace=to.namespace, to_pod=to.name, to_account=account
        )


def _aim(flow: Flow, name: str, world: ClusterEgress) -> ConnectionTarget:
    port = PortRange(flow.protocol, flow.port, flow.port)
    service = (flow.to_namespace, flow.to_service) if flow.to_service else None
    pod = world.pod(flow.to_namespace, flow.to_pod)
    ends = (ConnectionEnd(flow.address, port, pod),) if flow.address is not None else ()
    return ConnectionTarget(name, port, name=name, service=service, pod=pod, ends=ends)


def _is_open(source: FlowSource, aim: ConnectionTarget, world: ClusterEgress) -> bool:
    labels = {names.EGRESS_ACCOUNT_LABEL: label_value(source.account)}
    mine = (each for each in world.openings(source.namespace) if matches(each.selects, labels))
    return any(reached_ends(aim, each, world) for each in mine)


def _is_dns_service(flow: Flow, world: ClusterEgress) -> bool:
    dns = world.site.target.dns
    return flow.port == dns.port and any(
        flow.to_namespace == each.namespace and flow.to_service in {"kube-dns", "coredns"}
        for each in dns.pods
    )
