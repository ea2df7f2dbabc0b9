"""What `connlist` says agrees with Kubernetes' own tests, and with an independent evaluator."""

import ipaddress
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from egress.analysis.connectivity import (
    CLOSED,
    Connectivity,
    Openness,
    OpenSpans,
    judge_connectivity,
)
from egress.analysis.policy_cluster import read_policy_cluster
from egress.model.port_sets import PortSet
from tests.harness.oracles.policy_semantics import Cluster, End, NamedPort, Pod
from tests.unit.egress import upstream
from tests.unit.egress.analysis.network_objects import (
    Json,
    manifests,
    named_ports,
    namespace,
    network_policy,
    pod,
)
from tests.unit.egress.compiler.foreign_objects import ACCOUNT
from tests.unit.egress.random_policies import policies
from tests.unit.egress.upstream import Case, Step

UPSTREAM = (*upstream.INGRESS_CASES, *upstream.EGRESS_CASES, *upstream.PROTOCOL_CASES)
Reading = Callable[[Openness], PortSet]
"""One of the two ways of knowing Pods."""

_PROTOCOLS = ("TCP", "UDP", "SCTP")


def _has(ports: PortSet, protocol: str, port: int) -> bool:
    at = _PROTOCOLS.index(protocol)
    return any(each.version == at and each.first <= port <= each.last for each in ports.spans)


def _means(pattern: str, place: str) -> bool:
    return pattern in {"*", place, place.partition("/")[0]}


def _upstream_pod(place: str, step: Step) -> Json:
    ports = [
        (f"serve-{port}-{protocol.lower()}", protocol, port)
        for port, protocol in product((80, 81), _PROTOCOLS)
    ]
    labels = {"pod": place.partition("/")[2], **step.pod_labels.get(place, {})}
    return pod(place, labels, upstream.ADDRESSES[place], containers=named_ports(*ports))


@pytest.mark.parametrize("case", UPSTREAM, ids=lambda case: case.title)
def test_upstream_truth_table(case: Case) -> None:
    """Each Pod reaches those of the truth tables of test/e2e/network/netpol, and no others."""
    for step in case.steps:
        spaces = [namespace(each, **step.namespace_labels.get(each, {})) for each in "xyz"]
        found = judge_connectivity(
            read_policy_cluster(
                manifests(
                    [
                        *spaces,
                        *(_upstream_pod(each, step) for each in case.pods),
                        *(_named(each, at) for at, each in enumerate(step.policies)),
                    ]
                )
            )
        )
        for source, target in product(case.pods, repeat=2):
            if source == target:
                continue
            expected = True
            for each in step.expected:
                if _means(each.source, source) and _means(each.target, target):
                    expected = each.connected
            ports = found.between.get((f"{source}[Pod]", f"{target}[Pod]"), CLOSED).by_address
            assert _has(ports, step.protocol, step.port) == expected, (source, target, step)


def _named(policy: Json, at: int) -> Json:
    return network_policy(f"{policy['metadata']['namespace']}/policy-{at}") | {
        "spec": policy["spec"]
    }


_LABELS: tuple[dict[str, str], ...] = ({}, {"app": "a"}, {"app": "b", ACCOUNT: "x"})
_NAMED: tuple[tuple[tuple[str, str, int], ...], ...] = (
    (),
    (("web", "TCP", 2),),
    (("web", "TCP", 3), ("web", "UDP", 3)),
)
_SPACES = {"ml": {}, "data": {"team": "x"}, "web": {"team": "y", "app": "a"}}
_PLACES = [
    (f"{space}/p{at}", labels, named, at == 1)
    for space in _SPACES
    for at, (labels, named) in enumerate(zip(_LABELS, _NAMED, strict=True))
]
_INSIDE = tuple(f"10.0.0.{at}" for at in range(len(_PLACES)))
"""Addresses that blocks hold."""
_BESIDE = tuple(f"192.0.2.{at + 1}" for at in range(len(_PLACES)))
_OUTSIDE = ("10.0.0.3", "10.0.0.13", "10.0.0.15", "203.0.113.9", "fd00::1", "fd00::5", "2001:db8::")
_PORTS = (1, 2, 3, 5)


def _cluster(addresses: tuple[str, ...], *, hosts: bool, made: list[Json]) -> Connectivity:
    spaces = [namespace(name, **labels) for name, labels in _SPACES.items()]
    pods = [
        pod(place, labels, address, hostNetwork=host and hosts, containers=named_ports(*named))
        for (place, labels, named, host), address in zip(_PLACES, addresses, strict=True)
    ]
    cluster = read_policy_cluster(manifests([*spaces, *pods, *made]))
    assert not cluster.broken
    return judge_connectivity(cluster)


def _oracle_ends(addresses: tuple[str, ...], *, hosts: bool) -> dict[str, End]:
    found = {}
    for (place, labels, named, host), address in zip(_PLACES, addresses, strict=True):
        space, _, name = place.partition("/")
        ports = tuple(NamedPort(*each) for each in named)
        one = Pod(space, name, labels, (address,), host_network=host and hosts, ports=ports)
        found[f"{place}[Pod]"] = End(address, one)
    return found


def _open_at(spans: OpenSpans, address: str, of: Reading) -> PortSet:
    number = ipaddress.ip_address(address)
    for span, found in spans:
        if span.version == number.version and span.first <= int(number) <= span.last:
            return of(found)
    return CLOSED.by_address


def _check(found: Connectivity, oracle: Cluster, ends: dict[str, End], of: Reading) -> None:
    """Hold all answers about one way of knowing Pods against the evaluator's."""
    for (source, one), (target, two) in product(ends.items(), repeat=2):
        if source == target:
            continue
        ports = of(found.between.get((source, target), CLOSED))
        for protocol, port in product(("TCP", "UDP"), _PORTS):
            expected = oracle.allows(one, two, protocol, port)
            assert _has(ports, protocol, port) == expected, (source, target, protocol, port)
    for (shown, end), address in product(ends.items(), _OUTSIDE):
        for protocol, port in product(("TCP", "UDP"), _PORTS):
            out = _has(_open_at(found.outwards[shown], address, of), protocol, port)
            assert out == oracle.lets_out(end, End(address), protocol, port), (shown, address)
            into = _has(_open_at(found.inwards[shown], address, of), protocol, port)
            assert into == oracle.lets_in(End(address), end, protocol, port), (shown, address)


def _made(drawn: list[Json]) -> tuple[list[Json], Cluster]:
    oracle: tuple[Any, ...] = tuple(drawn)
    return [_named(each, at) for at, each in enumerate(drawn)], Cluster(_SPACES, oracle)


@settings(max_examples=150, deadline=None)
@given(st.lists(policies(), max_size=4))
def test_where_packets_are_matched_by_address_all_is_as_the_evaluator_says(
    drawn: list[Json],
) -> None:
    """Blocks hold Pods that have such an address, and Pods on their node's network are nodes."""
    made, oracle = _made(drawn)
    found = _cluster(_INSIDE, hosts=True, made=made)
    _check(found, oracle, _oracle_ends(_INSIDE, hosts=True), lambda each: each.by_address)


@settings(max_examples=150, deadline=None)
@given(st.lists(policies(), max_size=4))
def test_where_pods_are_known_by_identity_all_is_as_if_no_block_held_them(
    drawn: list[Json],
) -> None:
    """For the evaluator Pods have addresses in no block, and none is on its node's network."""
    for each in drawn:
        rules = (*each["spec"].get("egress", ()), *each["spec"].get("ingress", ()))
        blocks = [peer for rule in rules for peer in (*rule.get("to", ()), *rule.get("from", ()))]
        for peer in blocks:
            if peer.get("ipBlock", {}).get("cidr") == "0.0.0.0/0":
                peer["ipBlock"]["except"] = ["192.0.2.0/24"]
    made, oracle = _made(drawn)
    found = _cluster(_INSIDE, hosts=True, made=made)
    _check(found, oracle, _oracle_ends(_BESIDE, hosts=False), lambda each: each.by_identity)
