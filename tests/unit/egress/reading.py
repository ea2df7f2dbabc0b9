"""What intents mean, read naively: for one connection, entry by entry, out of their JSON.

It shares no code with Sallyport, so that both can be compared.
"""

import datetime as dt
from collections.abc import Iterator, Mapping
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

from tests.harness.oracles.policy_semantics import End, Pod, selector_matches
from tests.unit.egress.generated_worlds import ENROLLED, RANGES, Json, World

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
        return not _reserved(address)
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
