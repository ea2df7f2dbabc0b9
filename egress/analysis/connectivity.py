"""Which connections NetworkPolicies leave open: between workloads, and to and from outside. Pure.

Where engines differ, both answers are given. Kubernetes leaves two things to them (documentation,
concepts/services-networking/network-policies): whether an `ipBlock` also holds Pods that have such
an address, and whether Pods on their node's network are held and selected as Pods. `connections` is
for engines that know Pods by identity, `by_address` for those that match packets by addresses.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from ipaddress import IPv4Address, IPv6Address
from itertools import chain, pairwise
from typing import Final, NamedTuple, TypeVar

import msgspec

from core.base import names
from core.base.networks import Span, merge_spans, network_of, span_of
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import matches
from egress.analysis.policy_cluster import DeclaredPort, NetworkPod, PolicyCluster
from egress.analysis.policy_rules import (
    EVERY_ADDRESS,
    JudgedPolicy,
    PolicyRule,
    rules_of,
    selectors_of,
    space_selectors_of,
)
from egress.model.port_sets import EVERY_PORT, NO_PORT, PortSet

PRIVATE: Final = tuple(
    span_of(network_of(each))
    for each in (
        "10.0.0.0/8",
        "100.64.0.0/10",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "fc00::/7",
    )
)
"""Where Pods may have addresses that are not known (RFC 1918, 6598, 4193)."""

_FOUR: Final = 4


class Openness(msgspec.Struct, frozen=True, gc=False):
    """What is open between two ends, by what engines know Pods by."""

    by_identity: PortSet
    by_address: PortSet

    def __bool__(self) -> bool:
        """Return whether anything is open, on some engine."""
        return bool(self.by_identity or self.by_address)


CLOSED: Final = Openness(NO_PORT, NO_PORT)

OpenSpans = tuple[tuple[Span, Openness], ...]
"""Addresses to which, or from which, something is open; sorted, neighbours differ."""


class PodSight(NamedTuple):
    """All that policies can see of a Pod: those that are equal are judged alike."""

    namespace: str
    selected_by: tuple[bool, ...]
    """Whether each selector of a policy matches its labels."""
    host_network: bool
    ports: tuple[DeclaredPort, ...]
    places: tuple[int, ...]
    """Between which ends of blocks its addresses lie; empty where none is known."""

    @property
    def of_template(self) -> "PodSight":
        """What is seen where its addresses are not known."""
        return self._replace(places=())


@dataclass(frozen=True)
class Workload:
    """Pods that policies cannot tell from one another, of one owner."""

    shown: str
    """`namespace/name[Kind]`."""
    pod: NetworkPod
    """One of them."""
    sight: "PodSight"
    several: bool
    """Whether there may be more than one Pod of it."""


@dataclass(frozen=True)
class Connectivity:
    """All that is open in a cluster."""

    workloads: tuple[str, ...]
    between: Mapping[tuple[str, str], Openness]
    """By source and destination; what is closed on all engines is left out."""
    outwards: Mapping[str, OpenSpans]
    """From each workload to addresses outside of the cluster."""
    inwards: Mapping[str, OpenSpans]


def judge_connectivity(
    cluster: PolicyCluster, pod_ranges: Sequence[Span] = PRIVATE
) -> Connectivity:
    """Return what policies leave open; Pods of unknown address may have one of `pod_ranges`."""
    judging = _Judging(cluster, merge_spans(pod_ranges))
    workloads = judging.group_pods()
    between = {
        (source.shown, target.shown): found
        for source in workloads
        for target in workloads
        if (source is not target or source.several) and (found := judging.between(source, target))
    }
    return Connectivity(
        tuple(each.shown for each in workloads),
        between,
        {each.shown: judging.outside(each, _OUT) for each in workloads},
        {each.shown: judging.outside(each, _IN) for each in workloads},
    )


def find_unknown_namespaces(cluster: PolicyCluster) -> tuple[str, ...]:
    """Return namespaces whose labels matter and are not known, since no Namespace is there."""
    by_label = any(
        wanted.key != names.NAMESPACE_NAME_LABEL
        for each in cluster.policies
        for selector in space_selectors_of(each)
        for wanted in selector
    )
    used = {each.namespace for each in cluster.pods} if by_label else set()
    return tuple(sorted(used - cluster.namespaces.keys()))


class _Judging:
    """Answers about one cluster; Pods that no policy can tell apart are judged once."""

    def __init__(self, cluster: PolicyCluster, pod_ranges: Sequence[Span]) -> None:
        self._cluster = cluster
        self._pod_ranges = pod_ranges
        self._selectors = sorted(
            {found for each in cluster.policies for found in selectors_of(each)}
        )
        self._edges = sorted(
            {edge for span in _spans_of(cluster.policies) for edge in (span[:2], _after(span))}
        )
        self._policies: dict[str, list[JudgedPolicy]] = defaultdict(list)
        for each in cluster.policies:
            self._policies[each.namespace].append(each)
        self._between: dict[tuple[PodSight, PodSight], Openness] = {}
        self._outside: dict[tuple[PodSight, str], OpenSpans] = {}

    def group_pods(self) -> tuple[Workload, ...]:
        """Return workloads, sorted: the Pods of one owner, unless policies tell them apart."""
        owners: dict[tuple[str, str, str], list[Workload]] = defaultdict(list)
        found: dict[str, Workload] = {}
        for pod in self._cluster.pods:
            each = Workload(pod.shown, pod, self._sight(pod), several=pod.kind != "Pod")
            if pod.owner[0]:
                owners[pod.namespace, *pod.owner].append(each)
            else:
                found[each.shown] = each
        for (namespace, kind, name), pods in owners.items():
            shown = f"{namespace}/{name}[{kind}]"
            sight = pods[0].sight
            alike = len({each.sight for each in pods}) == 1
            if alike and (shown not in found or found[shown].sight == sight.of_template):
                found[shown] = Workload(shown, pods[0].pod, sight, several=True)
            else:
                found |= {each.shown: each for each in pods}
        return tuple(found[shown] for shown in sorted(found))

    def between(self, source: Workload, target: Workload) -> Openness:
        """Return what is open from Pods of one to Pods of another: let out, and let in."""
        key = source.sight, target.sight
        if key not in self._between:
            pods = source.pod, target.pod
            found = [
                self._lets(_OUT, *pods, by).intersection(self._lets(_IN, *pods, by))
                for by in (_BY_IDENTITY, _BY_ADDRESS)
            ]
            self._between[key] = Openness(*found)
        return self._between[key]

    def outside(self, workload: Workload, direction: str) -> OpenSpans:
        """Return what is open to, or from, addresses outside of the cluster."""
        key = workload.sight, direction
        if key not in self._outside:
            found = [
                self._open_spans(workload.pod, direction, by) for by in (_BY_IDENTITY, _BY_ADDRESS)
            ]
            self._outside[key] = tuple(
                (span, Openness(*pair))
                for span, pair in join_spans(*found, empty=NO_PORT)
                if any(pair)
            )
        return self._outside[key]

    def _sight(self, pod: NetworkPod) -> PodSight:
        selected_by = tuple(matches(each, pod.labels) for each in self._selectors)
        places = tuple(
            bisect_right(self._edges, (each.version, int(each))) for each in pod.addresses
        )
        return PodSight(pod.namespace, selected_by, pod.host_network, pod.ports, places)

    def _rules(self, direction: str, pod: NetworkPod, by: str) -> list[PolicyRule] | None:
        """Return the rules for a Pod; None where no policy holds it."""
        if pod.host_network and by == _BY_ADDRESS:
            return None
        found = [
            rules
            for each in self._policies[pod.namespace]
            if (rules := each.egress if direction == _OUT else each.ingress) is not None
            and matches(each.selects, pod.labels)
        ]
        return [*chain.from_iterable(found)] if found else None

    def _lets(self, direction: str, source: NetworkPod, target: NetworkPod, by: str) -> PortSet:
        held, peer = (source, target) if direction == _OUT else (target, source)
        rules = self._rules(direction, held, by)
        if rules is None:
            return EVERY_PORT
        found = NO_PORT
        for rule in rules:
            if found != EVERY_PORT and self._is_peer(rule, held.namespace, peer, by):
                found = found.union(_ports(rule, target))
        return found

    def _is_peer(self, rule: PolicyRule, namespace: str, peer: NetworkPod, by: str) -> bool:
        if rule.everyone:
            return True
        if by == _BY_ADDRESS:
            if self._may_hold(rule.spans, peer):
                return True
            if peer.host_network:
                return False
        space = {
            **self._cluster.namespaces.get(peer.namespace, {}),
            names.NAMESPACE_NAME_LABEL: peer.namespace,
        }
        return any(
            matches(each.pods, peer.labels)
            and (
                peer.namespace == namespace
                if each.namespaces is None
                else matches(each.namespaces, space)
            )
            for each in rule.selected
        )

    def _may_hold(self, spans: Sequence[Span], pod: NetworkPod) -> bool:
        """Return whether an address of a Pod lies in spans, or may where none is known."""
        known = [Span(each.version, int(each), int(each)) for each in pod.addresses]
        return any(
            one.version == two.version and one.first <= two.last and two.first <= one.last
            for one in spans
            for two in known or self._pod_ranges
        )

    def _open_spans(self, pod: NetworkPod, direction: str, by: str) -> list[tuple[Span, PortSet]]:
        rules = self._rules(direction, pod, by)
        if rules is None:
            return [(span, EVERY_PORT) for span in EVERY_ADDRESS]
        target = pod if direction == _IN else None
        layers = [
            (span, _ports(rule, target))
            for rule in rules
            for span in (EVERY_ADDRESS if rule.everyone else rule.spans)
        ]
        return [*_flatten(layers)]


_OUT: Final = "Egress"
_IN: Final = "Ingress"
_BY_IDENTITY: Final = "identity"
_BY_ADDRESS: Final = "address"


def _spans_of(policies: Iterable[JudgedPolicy]) -> Iterator[Span]:
    for each in policies:
        for rule in rules_of(each):
            yield from rule.spans


def _after(span: Span) -> tuple[int, int]:
    return span.version, span.last + 1


def _ports(rule: PolicyRule, target: NetworkPod | None) -> PortSet:
    """Return the ports of a rule; a name means what the target declares under it."""
    if not rule.ports:
        return EVERY_PORT
    found = []
    for each in rule.ports:
        if isinstance(each, PortRange):
            found.append(each)
        elif target is not None:
            found += [
                PortRange(each.protocol, port.number, port.number)
                for port in target.ports
                if (port.protocol, port.name) == (each.protocol, each.name)
            ]
    return PortSet.of(found)


def _flatten(layers: Sequence[tuple[Span, PortSet]]) -> Iterator[tuple[Span, PortSet]]:
    """Yield spans, sorted, with the union of the ports of all layers that hold them."""
    begins: dict[tuple[int, int], list[PortSet]] = defaultdict(list)
    ends: dict[tuple[int, int], list[PortSet]] = defaultdict(list)
    for span, ports in layers:
        begins[span[:2]].append(ports)
        ends[_after(span)].append(ports)
    edges = sorted(begins.keys() | ends.keys())
    active: Counter[PortSet] = Counter()
    before: tuple[Span, PortSet] | None = None
    for edge, following in pairwise(edges):
        active.subtract(ends.get(edge, ()))
        active.update(begins.get(edge, ()))
        ports = reduce(PortSet.union, (each for each, count in active.items() if count), NO_PORT)
        if not ports:
            continue
        span = Span(edge[0], edge[1], following[1] - 1)
        if before and before[1] == ports and _after(before[0]) == edge:
            before = Span(edge[0], before[0].first, span.last), ports
            continue
        if before:
            yield before
        before = span, ports
    if before:
        yield before


_Value = TypeVar("_Value")


def join_spans(
    one: Sequence[tuple[Span, _Value]], other: Sequence[tuple[Span, _Value]], *, empty: _Value
) -> Iterator[tuple[Span, tuple[_Value, _Value]]]:
    """Yield spans, sorted, on which both have one value each, and neighbours differ.

    Where one of them says nothing, its value is `empty`. Both are sorted, without overlaps.
    """
    edges = sorted({edge for span, _ in (*one, *other) for edge in (span[:2], _after(span))})
    values = [_at_edges(edges, each, empty) for each in (one, other)]
    before: tuple[Span, tuple[_Value, _Value]] | None = None
    for place, (edge, following) in enumerate(pairwise(edges)):
        if edge[0] != following[0]:
            continue
        pair = values[0][place], values[1][place]
        if before and before[1] == pair and _after(before[0]) == edge:
            before = Span(edge[0], before[0].first, following[1] - 1), pair
            continue
        if before:
            yield before
        before = Span(edge[0], edge[1], following[1] - 1), pair
    if before:
        yield before


def _at_edges(
    edges: Sequence[tuple[int, int]], spans: Sequence[tuple[Span, _Value]], empty: _Value
) -> list[_Value]:
    """Return the value that begins at each edge."""
    begins = {span[:2]: value for span, value in spans}
    ends = {_after(span) for span, _ in spans}
    found, value = [], empty
    for edge in edges:
        if edge in begins:
            value = begins[edge]
        elif edge in ends:
            value = empty
        found.append(value)
    return found


def show_span(span: Span) -> str:
    """Write addresses outside of the cluster: `10.0.0.0-10.255.255.255[External]`."""
    make = IPv4Address if span.version == _FOUR else IPv6Address
    return f"{make(span.first)}-{make(span.last)}[External]"
