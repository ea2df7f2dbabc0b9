"""Observed flows matched with a cluster: whose they are, and where they went. Pure."""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import msgspec

from core.base import names
from core.base.networks import Address, Network
from core.egress.destinations import PortRange
from core.egress.dns_names import matches_name
from core.egress.pod_labels import NO_WORKLOAD, egress_labels
from core.egress.workload_names import WorkloadName, gang_of
from core.kubernetes.label_selectors import matches
from core.kubernetes.names import LABEL, is_subdomain
from egress.analysis.cluster_egress import ClusterEgress
from egress.analysis.connection import (
    ConnectionEnd,
    ConnectionTarget,
    is_dns,
    learns_names,
    listens_on,
    means_pod,
    pods_entry,
    reached_ends,
)
from egress.analysis.workload_index import NO_WORKLOADS, WorkloadIndex
from egress.flows.collection import FlowCollection
from egress.flows.records import LOST, Flow, FlowRecord, UnreadableRecord
from egress.model.openings import Name, Opening, Pods, opens_nothing
from egress.service_tags import ServiceTags
from kube.egress.pods import EgressPod
from kube.egress.workloads import SeenPod, WorkloadSnapshot

_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_MOST_TAGS: Final = 3
_MOST_UNKNOWN: Final = 1000
"""Sources of unknown service accounts that are told apart."""


_DNS_NAMES: Final = frozenset({"kube-dns", "coredns"})
_NAMELESS: Final = "has neither name nor address, which aggregated logs leave out: use Hubble's"
_NODES: Final = frozenset({"host", "remote-node"})
"""What Cilium calls nodes (https://docs.cilium.io/en/stable/security/policy/language/)."""


_SourceKey = tuple[str, bool, tuple[tuple[str, str], ...]]


class FlowSource(msgspec.Struct, frozen=True, order=True):
    """Who made connections."""

    namespace: str
    account: str
    kind: str = ""
    workload: str = ""
    """The workload, where its name stays the same from run to run; else all runs count as one."""

    @property
    def name(self) -> WorkloadName | None:
        """The workload, where there is one."""
        return WorkloadName(self.kind, self.workload) if self.kind else None


def source_of(flow: Flow) -> FlowSource:
    """Return who made a flow."""
    found = flow.workload
    if found is None or not found.lasts:
        return FlowSource(flow.namespace, flow.account)
    return FlowSource(flow.namespace, flow.account, found.kind, found.name)


@dataclass(frozen=True)
class ObservedFlows:
    """Flows with what is known of their ends."""

    flows: tuple[Flow, ...]
    world: ClusterEgress
    index: WorkloadIndex = field(default_factory=WorkloadIndex)
    nobodys: tuple[Flow, ...] = ()
    """Flows of which nobody knows the service account."""
    unread: tuple[tuple[str, UnreadableRecord], ...] = ()
    """The first of them, with their files."""
    unread_count: int = 0
    passed: Mapping[str, int] = field(default_factory=dict)
    """How many records were passed over, by reason."""
    left_out: int = 0
    """Flows that were beyond what is kept of one source, or of all."""
    left_out_of: tuple[str, ...] = ()
    """Some of their sources."""
    lost: bool = False
    """Whether the log says that it lacks something."""
    _chosen: dict[_SourceKey, list[Opening]] = field(default_factory=dict, compare=False)

    @property
    def unknown(self) -> int:
        """How many flows are of no known service account."""
        return sum(max(each.count, 1) for each in self.nobodys)

    @property
    def unknown_sources(self) -> list[tuple[str, int]]:
        """Whose they are, as far as that is known, with their number; the most come first."""
        found: Counter[str] = Counter()
        for each in self.nobodys:
            who = _described_source(each)
            found[who if len(found) < _MOST_UNKNOWN else "others"] += max(each.count, 1)
        return sorted(found.items(), key=lambda one: (-one[1], one[0]))

    def within(self, namespace: str) -> "ObservedFlows":
        """Return the flows of one namespace, and those that may be of it."""
        return ObservedFlows(
            tuple(flow for flow in self.flows if flow.namespace == namespace),
            self.world,
            self.index,
            tuple(flow for flow in self.nobodys if flow.namespace in {"", namespace}),
            self.unread,
            self.unread_count,
            self.passed,
            self.left_out,
            self.left_out_of,
            self.lost,
        )

    def by_source(self) -> list[tuple[FlowSource, list[Flow]]]:
        """Return the flows of each service account and workload."""
        found: dict[FlowSource, list[Flow]] = defaultdict(list)
        for flow in self.flows:
            found[source_of(flow)].append(flow)
        return sorted(found.items())

    def why_not(self, flow: Flow, name: str) -> str:
        """Say why a flow needs no entry, or must not have one by itself; empty for neither."""
        if self.is_dns(flow):
            return "is the cluster's DNS, which is always open"
        if self.opening_of(flow, (name,) if name else ()) is not None:
            enrolled = self.world.enrolled(flow.namespace)
            return "is open already" if enrolled else "is in an allowlist already"
        return self.reserved_reason(flow, name)

    def is_dns(self, flow: Flow) -> bool:
        """Return whether a flow is one to the cluster's DNS, which is always open."""
        aim = self._aim(flow, "", self._to_pod(flow))
        return is_dns(aim, self.world) or _is_dns_service(flow, self.world)

    def opening_of(self, flow: Flow, named: Sequence[str]) -> Opening | None:
        """Return an opening that lets a flow through once its namespace is enrolled.

        `named` are the names of its destination that count; the workload's Pods have the labels
        that the gate gives them.
        """
        return self._opening_in(flow, named, self.closed)

    def nearly_opens(self, flow: Flow, named: Sequence[str]) -> Opening | None:
        """Return an opening that is to let a flow through, and does not now.

        It has expired, waits for an approval or a right, or has not learnt the name's address.
        """
        found = self._opening_in(flow, named, self._ideal)
        if found is not None or not named:
            return found
        mine = self._mine(flow, self._ideal)
        return next((each for each in mine if _names_it(each, flow, named)), None)

    def would_be_let_through(self, flow: Flow, allowlist: str) -> bool:
        """Return whether an allowlist of the flow's namespace would open it, had it not ended."""
        mine = [each for each in self._mine(flow, self._ideal) if each.allowlist == allowlist]
        if self._first(mine, flow, flow.names, self._ideal) is not None:
            return True
        return any(_names_it(each, flow, flow.names) for each in mine)

    @cached_property
    def _ideal(self) -> ClusterEgress:
        return self.closed.with_nothing_over()

    def _opening_in(self, flow: Flow, named: Sequence[str], world: ClusterEgress) -> Opening | None:
        return self._first(self._mine(flow, world), flow, named, world)

    def _first(
        self, mine: Sequence[Opening], flow: Flow, named: Sequence[str], world: ClusterEgress
    ) -> Opening | None:
        """Return the first opening that lets a flow through."""
        if not mine:
            return None
        pod = self._to_pod(flow)
        aims = [self._aim(flow, each, pod) for each in named or ("",)]
        for opening in mine:
            if (
                _reaches_pod(opening, flow, pod, world)
                or self._opens_name(opening, flow, named)
                or any(_lets_through(aim, opening, world) for aim in aims)
            ):
                return opening
        return None

    def _aim(self, flow: Flow, name: str, pod: EgressPod | None) -> ConnectionTarget:
        """Return what a flow aimed at: a Service, a Pod, or an address by one of its names."""
        port = PortRange(flow.protocol, flow.port, flow.port)
        if flow.to_service:
            service = (flow.to_namespace, flow.to_service)
            ends = tuple(self._behind(service, port, flow.address))
            return ConnectionTarget(name, port, service=service, ends=ends)
        on_node = flow.to_reserved in _NODES
        addresses = (flow.address,) if flow.address is not None else pod.addresses if pod else ()
        reached = (ConnectionEnd(each, port, pod, on_node) for each in addresses)
        return ConnectionTarget(name, port, name=name, pod=pod, ends=tuple(reached))

    def _behind(
        self, service: tuple[str, str], port: PortRange, address: Address | None
    ) -> list[ConnectionEnd]:
        """Return where a Service sends a connection: to an address that is behind it, or to any."""
        known = self.world.services.get(service)
        backends = known.ports.get(port, ()) if known else ()
        ends = [
            ConnectionEnd(one, ports, self._pods_at.get(one))
            for backend in backends
            for ports in backend.ports
            for network in backend.addresses
            for one in network
        ]
        return [each for each in ends if each.address == address] or ends

    @cached_property
    def _pods_at(self) -> Mapping[Address, EgressPod]:
        pods = (each for each in self.world.snapshot.pods if not each.host_network)
        return {address: each for each in pods for address in each.addresses}

    def _opens_name(self, opening: Opening, flow: Flow, named: Sequence[str]) -> bool:
        """Return whether an opening to a name lets a flow through, of which no address is known."""
        empty = opens_nothing(opening, learns_names=learns_names(self.world))
        return flow.address is None and not empty and _names_it(opening, flow, named)

    def _mine(self, flow: Flow, world: ClusterEgress) -> list[Opening]:
        """Return the openings that are for the Pod of a flow."""
        labels = self._labels(flow)
        key = (flow.namespace, world is self.closed, tuple(sorted(labels.items())))
        if key not in self._chosen:
            found = world.openings(flow.namespace)
            self._chosen[key] = [each for each in found if matches(each.selects, labels)]
        return self._chosen[key]

    def _labels(self, flow: Flow) -> dict[str, str]:
        """Return the labels of the Pod that made a flow, as the gate makes them."""
        pod = self.world.pod(flow.namespace, flow.pod) or self.index.pod(flow.namespace, flow.pod)
        return {**_gate_labels(flow.account, flow.workload), **(pod.labels if pod else {})}

    def _to_pod(self, flow: Flow) -> EgressPod | None:
        """Return the Pod at the end of a flow, as far as it is known.

        Its labels of the gate's are there, or will be: in the flow's own namespace.
        """
        if not flow.to_namespace or flow.to_service or flow.to_reserved:
            return None
        there = flow.to_namespace
        due = flow.to_account and (there == flow.namespace or self.world.closure(there).labels_pods)
        labels = _gate_labels(flow.to_account, flow.to_workload) if due else {}
        pod = self.world.pod(there, flow.to_pod)
        if pod is not None:
            return msgspec.structs.replace(pod, labels={**labels, **pod.labels})
        seen = self.index.pod(there, flow.to_pod)
        labels |= seen.labels if seen else {}
        addresses = (flow.address,) if flow.address is not None else ()
        return EgressPod(there, flow.to_pod, labels, flow.to_account, addresses=addresses)

    @cached_property
    def closed(self) -> ClusterEgress:
        """The cluster as if every namespace was enrolled."""
        return self.world.with_all_enrolled()

    def pods_entry(self, flow: Flow) -> dict[str, Any]:
        """Return the `pods` that a flow to a Pod needs.

        In the flow's own namespace, which is enrolled once the allowlist counts, Pods have the
        gate's labels, by which service accounts are matched.
        """
        if flow.to_namespace == flow.namespace and flow.to_account:
            return {"namespace": flow.to_namespace, "serviceAccounts": [flow.to_account]}
        pod = self.world.pod(flow.to_namespace, flow.to_pod)
        if pod is None:
            seen = self.index.pod(flow.to_namespace, flow.to_pod)
            labels = seen.labels if seen else {}
            account = flow.to_account or (seen.service_account if seen else "")
            if not account:
                return {"namespace": flow.to_namespace}
            pod = EgressPod(flow.to_namespace, flow.to_pod, labels, account)
        return pods_entry(pod, self.world)

    def reserved_reason(self, flow: Flow, name: str = "") -> str:
        """Say why a flow's destination must not be suggested by itself; empty where it may."""
        meant = "name it as a cidr if it is meant"
        if flow.to_reserved:
            return f"is of the cluster itself ({flow.to_reserved}): {meant}"
        if flow.to_namespace:
            return ""
        if flow.address is None:
            return "" if name or flow.names else _NAMELESS
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


def observe(
    records: Iterable[tuple[str, FlowRecord]],
    world: ClusterEgress,
    workloads: WorkloadSnapshot = NO_WORKLOADS,
) -> ObservedFlows:
    """Put records, with the files that they are of, together with a cluster."""
    index = WorkloadIndex(workloads)
    collection = FlowCollection(_FlowEnds(world, index).fill)
    for file, record in records:
        collection.add(file, record)
    whole = collection.flows()
    return ObservedFlows(
        tuple(flow for flow in whole if flow.namespace and flow.account),
        world,
        index,
        tuple(flow for flow in whole if not (flow.namespace and flow.account)),
        tuple(collection.unread),
        collection.unread_count,
        dict(collection.passed),
        collection.left_out,
        tuple(sorted(collection.left_out_of)),
        LOST in collection.passed,
    )


def _gate_labels(account: str, workload: WorkloadName | None) -> dict[str, str]:
    return egress_labels(account, (workload.kind, workload.name) if workload else None)


def _plain(address: Address | None) -> Address | None:
    """Return the IPv4 address of one that is mapped: so sockets for both families show it."""
    return getattr(address, "ipv4_mapped", None) or address


def _sound(flow: Flow) -> Flow:
    """Return a flow without what can be no name of Kubernetes: a log may hold anything."""
    accounts = {"account": flow.account, "pod": flow.pod}
    there = {"to_account": flow.to_account, "to_pod": flow.to_pod}
    wrong = {
        key: "" for key, name in {**accounts, **there}.items() if name and not is_subdomain(name)
    }
    spaces = {"namespace": flow.namespace, "to_namespace": flow.to_namespace}
    wrong |= {key: "" for key, name in spaces.items() if name and not LABEL.fullmatch(name)}
    if flow.to_service and not LABEL.fullmatch(flow.to_service):
        wrong["to_service"] = ""
    return msgspec.structs.replace(
        flow,
        address=_plain(flow.address),
        workload=_sound_workload(flow.workload),
        to_workload=_sound_workload(flow.to_workload),
        **wrong,
    )


def _sound_workload(found: WorkloadName | None) -> WorkloadName | None:
    if found is None:
        return None
    return found if _KIND.fullmatch(found.kind) and is_subdomain(found.name) else None


def _described_source(flow: Flow) -> str:
    pod = flow.pod or (f"{flow.stem}-*" if flow.stem else "")
    of = flow.workload or (f"Pod {pod}" if pod else "")
    if flow.namespace:
        return f"namespace {flow.namespace}{f', {of}' if of else ''}"
    return f"address {flow.source}" if flow.source is not None else "no source"


class _FlowEnds:
    """The Pods of a cluster, by name and by address, and the Services that send to them."""

    def __init__(self, world: ClusterEgress, index: WorkloadIndex) -> None:
        pods = [each for each in world.snapshot.pods if not each.host_network]
        self._index = index
        self._named = {(each.namespace, each.name): each for each in pods}
        self._at = {address: each for each in pods for address in each.addresses}
        self._ends: dict[str, list[float]] = defaultdict(list)
        for each in sorted(world.snapshot.allowlists.values(), key=lambda one: one.expires):
            self._ends[each.meta.namespace].append(each.expires)
        self._behind: dict[tuple[Address, PortRange], tuple[str, str, int]] = {}
        self._cluster_ips = {
            address: key
            for key, each in world.snapshot.services.items()
            for address in each.cluster_ips
        }
        for (namespace, name), service in sorted(world.services.items()):
            for port, backends in service.ports.items():
                for backend in backends:
                    for ports in backend.ports:
                        for address in (one for each in backend.addresses for one in each):
                            self._behind.setdefault((address, ports), (namespace, name, port.first))

    def fill(self, flow: Flow) -> Flow:
        """Return a flow with what the cluster says of its ends."""
        flow = self._from(_sound(flow))
        seen = flow.first if flow.last is None else flow.last
        if flow.verdict == "dropped" and seen is not None and flow.namespace in self._ends:
            ended = bisect_right(self._ends[flow.namespace], seen)
            flow = msgspec.structs.replace(flow, ended=ended)
        return flow if flow.to_service else self._to(flow)

    def _from(self, flow: Flow) -> Flow:
        pod = self._pod(flow.namespace, flow.pod) if flow.pod else None
        if pod is None and not flow.namespace:
            pod = self._pod_at(_plain(flow.source), flow)
        namespace = pod.namespace if pod else flow.namespace
        name = pod.name if pod else flow.pod
        told = flow.workload or self._index.of_stem(namespace, flow.stem)
        workload = self._workload(namespace, name, told, pod)
        account = flow.account or (pod.service_account if pod else "")
        if not account and workload is not None:
            account = self._index.account(namespace, told or workload)
        gang = flow.gang or (gang_of(pod.labels) if pod else "")
        return msgspec.structs.replace(
            flow, namespace=namespace, pod=name, account=account, workload=workload, gang=gang
        )

    def _to(self, flow: Flow) -> Flow:
        port = PortRange(flow.protocol, flow.port, flow.port)
        address = flow.address
        if address is not None and (behind := self._behind.get((address, port))):
            namespace, name, number = behind
            return msgspec.structs.replace(
                flow, to_namespace=namespace, to_service=name, port=number
            )
        if address is not None and (service := self._cluster_ips.get(address)):
            return msgspec.structs.replace(flow, to_namespace=service[0], to_service=service[1])
        pod = self._pod(flow.to_namespace, flow.to_pod) if flow.to_pod else None
        if pod is None and not flow.to_namespace:
            pod = self._pod_at(address, flow)
        namespace = pod.namespace if pod else flow.to_namespace
        if not namespace:
            return flow
        name = pod.name if pod else flow.to_pod
        told = flow.to_workload or self._index.of_stem(namespace, flow.to_stem)
        workload = self._workload(namespace, name, told, pod)
        account = flow.to_account or (pod.service_account if pod else "")
        if not account and workload is not None:
            account = self._index.account(namespace, told or workload)
        return msgspec.structs.replace(
            flow,
            to_namespace=namespace,
            to_pod=name,
            to_account=account,
            to_workload=workload,
            to_gang=flow.to_gang or (gang_of(pod.labels) if pod else ""),
        )

    def _pod(self, namespace: str, name: str) -> EgressPod | SeenPod | None:
        return self._index.pod(namespace, name) or self._named.get((namespace, name))

    def _pod_at(self, address: Address | None, flow: Flow) -> EgressPod | SeenPod | None:
        if address is None:
            return None
        if self._index.has_address(address):
            return self._index.pod_at(address, flow.first, flow.last)
        return self._at.get(address)

    def _workload(
        self,
        namespace: str,
        pod: str,
        told: WorkloadName | None,
        seen: EgressPod | SeenPod | None,
    ) -> WorkloadName | None:
        """Return the outermost workload: by the gate's label, the owner, the log, or its name."""
        if seen is not None and (labelled := _labelled(seen)) is not None:
            return labelled
        found = seen.owner if isinstance(seen, SeenPod) else None
        found = found or told or self._index.maker(namespace, pod)
        return self._index.root(namespace, found) if found else None


def _labelled(pod: EgressPod | SeenPod) -> WorkloadName | None:
    """Return the workload that the gate traced a Pod to, as its label says."""
    kind, dot, name = pod.labels.get(names.EGRESS_WORKLOAD_LABEL, NO_WORKLOAD).partition(".")
    return WorkloadName(kind, name) if dot and "--x" not in name else None


def _lets_through(aim: ConnectionTarget, opening: Opening, world: ClusterEgress) -> bool:
    """Return whether an opening lets a connection through, to a Service whichever Pod it gets."""
    found = reached_ends(aim, opening, world)
    whole = aim.service is None or found.issuperset(range(len(aim.ends)))
    return bool(found) and whole


def _names_it(opening: Opening, flow: Flow, named: Iterable[str]) -> bool:
    """Return whether an opening is to one of some names, on the port of a flow."""
    port = PortRange(flow.protocol, flow.port, flow.port)
    peer = opening.peer
    return (
        isinstance(peer, Name)
        and any(each.holds(port) for each in opening.ports)
        and any(matches_name(peer.pattern, each) for each in named)
    )


def _reaches_pod(opening: Opening, flow: Flow, pod: EgressPod | None, world: ClusterEgress) -> bool:
    """Return whether an opening to Pods lets a flow through, of which no address is known."""
    peer = opening.peer
    port = PortRange(flow.protocol, flow.port, flow.port)
    return (
        isinstance(peer, Pods)
        and pod is not None
        and means_pod(peer, pod, world)
        and listens_on(pod, port, opening.ports)
    )


def _is_dns_service(flow: Flow, world: ClusterEgress) -> bool:
    dns = world.site.target.dns
    return flow.port == dns.port and any(
        flow.to_namespace == each.namespace
        and (flow.to_service or (flow.to_workload.name if flow.to_workload else "")) in _DNS_NAMES
        for each in dns.pods
    )
