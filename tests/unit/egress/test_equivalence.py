"""By an independent judge, generated NetworkPolicies open what the intents say, and no more.

The intents are read twice: by Sallyport, whose policies the judge applies, and naively, connection
by connection. `policy_semantics.py` is the judge, checked against upstream's own truth tables.

The naive reading shares no code with Sallyport, so that both can be compared.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, TypeVar

import pytest

from egress.render.target import Engine
from tests.harness.evidence import record
from tests.harness.oracles.cilium_semantics import Policies, Target
from tests.harness.oracles.policy_semantics import End, Pod, selector_matches
from tests.harness.sizes import PROOF, size
from tests.unit.egress.generated_worlds import ENROLLED, PROTOCOLS, RANGES, Json, World, made
from tests.unit.egress.told_worlds import cluster_of, labelled, policies_of, rendered

_ALWAYS: Final = (
    *("0.0.0.0/8", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "224.0.0.0/4"),
    *("240.0.0.0/4", "::/128", "::1/128", "fd00:ec2::/64", "fd20:ce::254/128", "fe80::/10"),
    "ff00::/8",
)
_WRITTEN: Final = tuple(ip_network(each) for each in (*_ALWAYS, *RANGES))
_NAT64: Final = tuple(
    ip_network(f"64:ff9b::{each.network_address}/{96 + each.prefixlen}")
    for each in _WRITTEN
    if each.version == 4
)
"""A translator leads from these to those of IPv4 (RFC 6052)."""
_RESERVED: Final = (*_WRITTEN, *_NAT64)


def allowed(
    world: World, source: Pod, target: End, on: tuple[str, int], *, by_labels: bool = False
) -> bool:
    """Return whether a Pod may make a connection: nothing of an enrolled namespace else may.

    With `by_labels` as on an engine to which Pods and nodes are no addresses.
    """
    if source.host_network or source.namespace not in ENROLLED or target.pod is source:
        return True
    if _is_dns(target) and on in {("TCP", 53), ("UDP", 53)}:
        return True
    return any(
        _means_source(world, each["spec"], source)
        and _in_time(world, each)
        and any(
            _means_target(world, entry, space, target, on)
            for entry, space in _entries(world, each)
            if not by_labels or _goes_by_labels(entry) or not _in_cluster(target)
        )
        for each in world.allowlists
        if each["metadata"]["namespace"] == source.namespace
    )


def _goes_by_labels(entry: Json) -> bool:
    return "pods" in entry or "service" in entry


def _in_cluster(target: End) -> bool:
    return target.pod is not None or any(_in(target.address, each) for each in RANGES)


def _is_dns(target: End) -> bool:
    return target.pod is not None and target.pod.namespace == "kube-system"


def _in_time(world: World, item: Json) -> bool:
    expires = item["spec"].get("expiresAt")
    over = expires is not None and dt.datetime.fromisoformat(expires).timestamp() <= world.now
    deleted = "deletionTimestamp" in item["metadata"]
    return not over and not deleted and item["metadata"]["uid"] not in world.unapproved


def _means_source(world: World, spec: Json, source: Pod) -> bool:
    workload = world.workloads[source]
    named = {"kind": workload[0], "name": workload[1]} if workload else None
    return (
        world.accounts[source] in spec["serviceAccounts"]
        and ("workloads" not in spec or named in spec["workloads"])
        and selector_matches(spec.get("podSelector", {}), source.labels)
    )


def _entries(world: World, allowlist: Json) -> Iterator[tuple[Json, str]]:
    """Yield its entries, and those of sets that all of its accounts may use; with the namespace."""
    namespace = allowlist["metadata"]["namespace"]
    for entry in allowlist["spec"]["to"]:
        if "destinations" not in entry:
            yield entry, namespace
            continue
        name = entry["destinations"]["name"]
        for each in world.sets:
            usable = all(
                (namespace, account, name) in world.usable
                for account in allowlist["spec"]["serviceAccounts"]
            )
            if each["metadata"]["name"] == name and usable and _in_time(world, each):
                yield from ((entry, namespace) for entry in each["spec"]["to"])


def _means_target(
    world: World, entry: Json, namespace: str, target: End, port: tuple[str, int]
) -> bool:
    if "service" in entry:
        return _is_backend(world, entry, namespace, target, port)
    if not any(_has_port(each, port) for each in entry["ports"]):
        return False
    if "pods" in entry:
        return _is_pod(world, entry["pods"], namespace, target)
    return _means_address(world, entry, target.address)


def _means_address(world: World, entry: Json, address: str) -> bool:
    if "cidr" in entry:
        return _opens(entry["cidr"], address) and not any(
            _in(address, each) for each in entry.get("except", ())
        )
    if "dnsName" in entry:
        if address not in world.answers.get(entry["dnsName"], ()):
            return False
        if "within" in entry:
            return any(_in(address, each) for each in entry["within"])
        return not _reserved(address) and not any(_in(address, each) for each in PRIVATE)
    networks = world.tags.get(entry["serviceTag"], ())
    return any(_in(address, each) for each in networks) and not _reserved(address)


def _has_port(written: Mapping[str, int | str], port: tuple[str, int]) -> bool:
    first, protocol = written["port"], written["protocol"]
    last = written.get("endPort", first)
    return protocol == port[0] and int(first) <= port[1] <= int(last)


def _is_pod(world: World, wanted: Json, namespace: str, target: End) -> bool:
    pod = target.pod
    if pod is None or pod.host_network or pod.namespace != wanted.get("namespace", namespace):
        return False
    accounts = wanted.get("serviceAccounts")
    # The gate says whose a Pod is in enrolled namespaces alone.
    named = accounts is None or (pod.namespace in ENROLLED and world.accounts[pod] in accounts)
    return named and selector_matches(wanted.get("podSelector", {}), pod.labels)


def _is_backend(
    world: World, entry: Json, namespace: str, target: End, port: tuple[str, int]
) -> bool:
    wanted = (entry["service"].get("namespace", namespace), entry["service"]["name"])
    for service in world.services:
        if (service.namespace, service.name) == wanted:
            for pod in service.backends(world.pods):
                for protocol, number in service.ports:
                    asked = {"protocol": protocol, "port": number} in entry["ports"]
                    to = (protocol, service.target(pod, protocol, number))
                    if asked and pod is target.pod and port == to:
                        return True
    return False


@lru_cache(maxsize=65_536)
def _opens(cidr: str, address: str) -> bool:
    """Return whether a network that is written out has an address; a reserved one must be named."""
    network = ip_network(cidr)
    return _in(address, cidr) and all(
        _within(network, each) for each in _RESERVED if ip_address(address) in each
    )


@lru_cache(maxsize=65_536)
def _reserved(address: str) -> bool:
    return any(ip_address(address) in each for each in _RESERVED)


@lru_cache(maxsize=65_536)
def _in(address: str, network: str) -> bool:
    return ip_address(address) in ip_network(network)


def _within(inner: IPv4Network | IPv6Network, outer: IPv4Network | IPv6Network) -> bool:
    return inner[0] in outer and inner[-1] in outer


PORTS_NAMED: Final = 9
PORTS_BESIDE: Final = 4
ADDRESSES: Final = 32

PRIVATE: Final = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
"""RFC 1918, RFC 6598 and RFC 4193: no answer of a name opens them unless `within` does."""

_ALWAYS_TRIED: Final = frozenset(
    {
        *("169.254.169.254", "168.63.129.16", "127.0.0.1", "8.8.8.8", "fe80::1", "2600::1"),
        *("64:ff9b::a9fe:a9fe", "64:ff9b::a09:1", "64:ff9b::808:808"),
    }
)

_T = TypeVar("_T")


def connections(world: World) -> Iterator[tuple[Pod, End, tuple[str, int]]]:
    """Yield connections from Pods that policies are about; to themselves they are always open."""
    ports, targets = _ports(world), list(_targets(world))
    for source in world.pods:
        if source.namespace in ENROLLED and not source.host_network:
            for target in targets:
                yield from ((source, target, on) for on in ports if target.pod != source)


def _all_entries(world: World) -> Iterator[Json]:
    for item in (*world.allowlists, *world.sets):
        yield from item["spec"]["to"]


def _targets(world: World) -> Iterator[End]:
    """Yield all Pods by all addresses; others at the edges of networks; what must stay closed."""
    owned = {address for pod in world.pods for address in pod.addresses}
    yield from (End(address, pod) for pod in world.pods for address in pod.addresses)
    networks = {*RANGES, *(each for tag in world.tags.values() for each in tag)}
    for entry in _all_entries(world):
        networks |= {*entry.get("except", ()), *entry.get("within", ())}
        if "cidr" in entry:
            networks.add(entry["cidr"])
    answers = {address for each in world.answers.values() for address in each}
    edges = {edge for text in networks for edge in _edges(text)} - answers - owned
    fixed = (_ALWAYS_TRIED | answers) - owned
    yield from (End(each) for each in [*sorted(fixed), *_some(world, edges, ADDRESSES)])


def _edges(text: str) -> Iterator[str]:
    """Yield the first and the last address of a network, and those before and after."""
    network = ip_network(text)
    first, last = int(network[0]), int(network[-1])
    for number in (first - 1, first, last, last + 1):
        if 0 <= number < 1 << network.max_prefixlen:
            yield str(type(network[0])(number))


def _ports(world: World) -> list[tuple[str, int]]:
    """Return ports that intents name, or that Pods behind Services listen on; and ports beside."""
    named: set[tuple[str, int]] = set()
    beside = {*((protocol, 1) for protocol in PROTOCOLS)}
    for entry in _all_entries(world):
        for port in entry.get("ports", ()):
            first, last = port["port"], port.get("endPort", port["port"])
            named |= {(port["protocol"], number) for number in (first, last)}
            beside |= {(port["protocol"], number) for number in (first - 1, last + 1)}
            beside.add((world.dice.choice(PROTOCOLS), first))
    for service in world.services:
        for pod in service.backends(world.pods):
            named |= {(each, service.target(pod, each, number)) for each, number in service.ports}
    return [*_some(world, named, PORTS_NAMED), *_some(world, beside - named, PORTS_BESIDE)]


def _some(world: World, found: Iterable[_T], most: int) -> list[_T]:
    ordered = sorted(found, key=str)
    return world.dice.sample(ordered, min(most, len(ordered)))


CLUSTERS = size(ci=100, proof=2000)


def _compared(seed: int) -> tuple[int, int]:
    """Compare both readings on one cluster; give how many connections were tried, and opened."""
    world = made(seed)
    cluster = cluster_of(policies_of(world))
    judged = {pod: labelled(world, pod) for pod in world.pods}
    tried = opened = 0
    for source, target, on in connections(world):
        start = End(source.addresses[0], judged[source])
        end = End(target.address, judged[target.pod]) if target.pod else target
        wanted = allowed(world, source, target, on)
        assert cluster.allows(start, end, *on) == wanted, (seed, source, target, on)
        tried, opened = tried + 1, opened + wanted
    return tried, opened


def _compared_by_labels(seed: int) -> tuple[int, int]:
    """Compare what Cilium's policies open; give how many connections were tried, and opened."""
    world = made(seed)
    found = rendered(world, Engine("cilium", (1, 20), sctp=True))
    policies = Policies(tuple(item for each in found for item in each.objects))
    refused = any("different ports" in each.message for one in found for each in one.problems)
    judged = {pod: labelled(world, pod) for pod in world.pods}
    selecting = {pod: policies.of(judged[pod]) for pod in world.pods}
    tried = opened = 0
    for source, end, on in connections(world):
        if _on_a_node(end):
            continue
        names = tuple(each for each in world.answers if end.address in world.answers[each])
        to = Target(end.address, judged[end.pod] if end.pod else None, names)
        wanted = allowed(world, source, end, on, by_labels=True)
        said = selecting[source].allows(judged[source], to, *on)
        assert wanted or not said or _answered(names, end), (seed, source, end, on)
        assert said or not wanted or refused, (seed, source, end, on)
        tried, opened = tried + 1, opened + wanted
    return tried, opened


def _on_a_node(end: End) -> bool:
    return (end.pod is not None and end.pod.host_network) or end.address.startswith("10.9.0.")


def _answered(names: tuple[str, ...], end: End) -> bool:
    """Return whether it is an answer in a range that the Pod's account may reach another way."""
    return bool(names) and end.pod is None and end.address in {"169.254.169.254", "10.8.0.4"}


@pytest.mark.proof
def test_cilium_opens_what_intents_say() -> None:
    """On every cluster Cilium's policies open the same, but what they refuse with the reason.

    To it neither Pods nor nodes are addresses; and where a name answers with an address that is
    reserved or private, it is denied, but to service accounts that another opening names it for.
    """
    results = [_compared_by_labels(seed) for seed in range(CLUSTERS)]
    tried, opened = (sum(each) for each in zip(*results, strict=True))
    assert tried / 200 < opened < tried / 2, "the clusters have too little, or too much, open"
    if PROOF:
        lines = [
            f"- the same {CLUSTERS} clusters, rendered for Cilium: {tried} connections, {opened} "
            "open; what a policy opens is named by an intent, and nothing is missing but what was "
            "refused with the reason",
        ]
        record("egress-equivalence-cilium", lines)


@pytest.mark.proof
def test_policies_open_what_intents_say() -> None:
    """On every generated cluster both readings agree on every connection that is tried."""
    results = [_compared(seed) for seed in range(CLUSTERS)]
    tried, opened = (sum(each) for each in zip(*results, strict=True))
    assert tried / 200 < opened < tried / 2, "the clusters have too little, or too much, open"
    if PROOF:
        lines = [
            f"- {CLUSTERS} generated clusters: allowlists, sets, rights, Services, names, tags",
            f"- {tried} connections judged (Pods and addresses, IPv4 and IPv6), {opened} open",
            "- by an evaluator of NetworkPolicy semantics that shares no code with Sallyport, and "
            "agrees with all 48 cases of Kubernetes' own tests: no difference",
        ]
        record("egress-equivalence", lines)
