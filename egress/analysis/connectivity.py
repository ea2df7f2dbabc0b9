"""Which connections NetworkPolicies leave open: between workloads, and to and from outside. Pure.

Where engines differ, both answers are given. Kubernetes leaves two things to them (documentation,
concepts/services-networking/network-policies): whether an `ipBlock` also holds Pods that have such
an address, and whether Pods on their node's network are held and selected as Pods. `connections` is
for engines that know Pods by identity, `by_address` for those that match packets by addresses.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from core.base import names
from core.base.networks import Span, merge_spans, span_of
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import Requirements, matches
from egress.analysis.policy_cluster import DeclaredPort, NetworkPod, PolicyCluster
from egress.analysis.policy_rules import (
    JudgedPolicy,
    PolicyRule,
    rules_of,
    selectors_of,
    space_selectors_of,
)
from egress.model.address_spans import EVERY_ADDRESS, after, join_spans, merge_layers, overlaps
from egress.model.port_sets import EVERY_PORT, NO_PORT, PortSet
from egress.model.reserved_ranges import PRIVATE

PRIVATE_SPANS: Final = tuple(map(span_of, PRIVATE))
"""Where Pods may have addresses that are not known."""


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
    number: int
    """Workloads that are judged alike have the same."""
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
    cluster: PolicyCluster, pod_ranges: Sequence[Span] = PRIVATE_SPANS
) -> Connectivity:
    """Return what policies leave open; Pods of unknown address may have one of `pod_ranges`."""
    judging = _Judging(cluster, merge_spans(pod_ranges))
    workloads = judging.group_pods()
    open_between = judging.judge_pairs()
    between = {
        (source.shown, target.shown): found
        for source in workloads
        for target in workloads
        if (source is not target or source.several)
        and (found := open_between(source.number, target.number))
    }
    outside = {
        direction: [*map(partial(judging.outside, direction), judging.numbers)]
        for direction in (_OUT, _IN)
    }
    return Connectivity(
        tuple(each.shown for each in workloads),
        between,
        {each.shown: outside[_OUT][each.number] for each in workloads},
        {each.shown: outside[_IN][each.number] for each in workloads},
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
        selectors = sorted({found for each in cluster.policies for found in selectors_of(each)})
        self._selectors = {selector: at for at, selector in enumerate(selectors)}
        self._edges = sorted(
            {edge for span in _spans_of(cluster.policies) for edge in (span[:2], after(span))}
        )
        self._by_namespace: dict[str, list[JudgedPolicy]] = defaultdict(list)
        for each in cluster.policies:
            self._by_namespace[each.namespace].append(each)
        self._seen: dict[PodSight, int] = {}
        self._pods: list[NetworkPod] = []
        """One of each number."""
        self._sights: list[PodSight] = []

    @property
    def numbers(self) -> range:
        """The numbers that workloads have."""
        return range(len(self._pods))

    def group_pods(self) -> tuple[Workload, ...]:
        """Return workloads, sorted: the Pods of one owner, unless policies tell them apart."""
        owners: dict[tuple[str, str, str], list[Workload]] = defaultdict(list)
        found: dict[str, Workload] = {}
        for pod in self._cluster.pods:
            each = Workload(pod.shown, self._number(pod), several=pod.kind != "Pod")
            if pod.owner[0]:
                owners[pod.namespace, *pod.owner].append(each)
            else:
                found[each.shown] = each
        for (namespace, kind, name), pods in owners.items():
            shown = f"{namespace}/{name}[{kind}]"
            alike = len({each.number for each in pods}) == 1
            if alike and (shown not in found or self._is_of(found[shown], pods[0])):
                found[shown] = Workload(shown, pods[0].number, several=True)
            else:
                found |= {each.shown: each for each in pods}
        return tuple(found[shown] for shown in sorted(found))

    def judge_pairs(self) -> Callable[[int, int], Openness]:
        """Return what tells what is open from Pods of one number to those of another."""
        reached = [
            (self._reach(_OUT, by), self._reach(_IN, by)) for by in (_BY_IDENTITY, _BY_ADDRESS)
        ]

        @cache
        def open_between(source: int, target: int) -> Openness:
            return Openness(
                *(_meet(out[source], into[target], (source, target)) for out, into in reached)
            )

        return open_between

    def outside(self, direction: str, number: int) -> OpenSpans:
        """Return what is open to, or from, addresses outside of the cluster."""
        found = [self._open_spans(number, direction, by) for by in (_BY_IDENTITY, _BY_ADDRESS)]
        return tuple(
            (span, Openness(*pair)) for span, pair in join_spans(*found, empty=NO_PORT) if any(pair)
        )

    def _number(self, pod: NetworkPod) -> int:
        selected_by = tuple(matches(each, pod.labels) for each in self._selectors)
        places = tuple(
            bisect_right(self._edges, (each.version, int(each))) for each in pod.addresses
        )
        sight = PodSight(pod.namespace, selected_by, pod.host_network, pod.ports, places)
        number = self._seen.setdefault(sight, len(self._pods))
        if number == len(self._pods):
            self._pods.append(pod)
            self._sights.append(sight)
        return number

    def _is_of(self, template: Workload, pod: Workload) -> bool:
        """Return whether a Pod is as the template says, but for its addresses."""
        return self._sights[template.number] == self._sights[pod.number].of_template

    def _held(self, policy: JudgedPolicy, by: str) -> list[int]:
        """Return the Pods that a policy is about."""
        at = self._selectors[policy.selects]
        return [
            number
            for number, sight in enumerate(self._sights)
            if sight.namespace == policy.namespace
            and sight.selected_by[at]
            and not (sight.host_network and by == _BY_ADDRESS)
        ]

    def _reach(self, direction: str, by: str) -> list[dict[int, PortSet] | None]:
        """Return for each Pod whom it is let connect to, or from; None where no policy holds it."""
        found: list[dict[int, PortSet] | None] = [None for _ in self.numbers]
        for policy in self._cluster.policies:
            rules = policy.egress if direction == _OUT else policy.ingress
            if rules is None:
                continue
            held = [(number, _begin(found, number)) for number in self._held(policy, by)]
            for rule in rules if held else ():
                peers = self._peers(rule, policy.namespace, by)
                for number, reached in held:
                    for peer in peers:
                        target = self._pods[peer if direction == _OUT else number]
                        ports = _ports(rule, target)
                        reached[peer] = reached.get(peer, NO_PORT).union(ports)
        return found

    def _peers(self, rule: PolicyRule, namespace: str, by: str) -> list[int]:
        """Return the Pods that a rule of a policy of a namespace is about."""
        if rule.everyone:
            return [*self.numbers]
        selected = [
            (self._selectors[each.pods], self._spaces(each.namespaces, namespace))
            for each in rule.selected
        ]
        return [
            number
            for number, sight in enumerate(self._sights)
            if (by == _BY_ADDRESS and self._may_hold(rule.spans, self._pods[number]))
            or (
                not (by == _BY_ADDRESS and sight.host_network)
                and any(sight.selected_by[at] and sight.namespace in of for at, of in selected)
            )
        ]

    def _spaces(self, selector: Requirements | None, own: str) -> frozenset[str]:
        """Return the namespaces of Pods that a selector matches."""
        if selector is None:
            return frozenset({own})
        return frozenset(
            name
            for name in {each.namespace for each in self._sights}
            if matches(
                selector,
                {**self._cluster.namespaces.get(name, {}), names.NAMESPACE_NAME_LABEL: name},
            )
        )

    def _may_hold(self, spans: Sequence[Span], pod: NetworkPod) -> bool:
        """Return whether an address of a Pod lies in spans, or may where none is known."""
        known = [Span(each.version, int(each), int(each)) for each in pod.addresses]
        return any(overlaps(spans, each) for each in known or self._pod_ranges)

    def _open_spans(self, number: int, direction: str, by: str) -> list[tuple[Span, PortSet]]:
        pod = self._pods[number]
        held = [
            rules
            for each in self._by_namespace[pod.namespace]
            if (rules := each.egress if direction == _OUT else each.ingress) is not None
            and self._sights[number].selected_by[self._selectors[each.selects]]
        ]
        if not held or (pod.host_network and by == _BY_ADDRESS):
            return [(span, EVERY_PORT) for span in EVERY_ADDRESS]
        target = pod if direction == _IN else None
        layers = [
            (span, _ports(rule, target))
            for rule in chain.from_iterable(held)
            for span in (EVERY_ADDRESS if rule.everyone else rule.spans)
        ]
        return [*merge_layers(layers)]


_OUT: Final = "Egress"
_IN: Final = "Ingress"
_BY_IDENTITY: Final = "identity"
_BY_ADDRESS: Final = "address"


def _begin(found: list[dict[int, PortSet] | None], number: int) -> dict[int, PortSet]:
    """Note that a policy holds a Pod, and return whom it reaches."""
    before = found[number]
    found[number] = reached = {} if before is None else before
    return reached


def _meet(
    out: dict[int, PortSet] | None, into: dict[int, PortSet] | None, pair: tuple[int, int]
) -> PortSet:
    """Return what is both let out and let in."""
    source, target = pair
    outwards = EVERY_PORT if out is None else out.get(target, NO_PORT)
    inwards = EVERY_PORT if into is None else into.get(source, NO_PORT)
    return outwards.intersection(inwards)


def _spans_of(policies: Iterable[JudgedPolicy]) -> Iterator[Span]:
    for each in policies:
        for rule in rules_of(each):
            yield from rule.spans


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
