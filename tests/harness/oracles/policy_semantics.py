"""An evaluator of NetworkPolicy semantics, written from the specification alone.

It judges what Sallyport generates, so it shares no code with it. The specification is the comments
of networking.k8s.io/v1 (k8s.io/api, networking/v1/types.go) and of meta/v1's LabelSelector, with
https://kubernetes.io/docs/concepts/services-networking/network-policies/ for what they leave open.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final

Json = Mapping[str, Any]

NAME_LABEL: Final = "kubernetes.io/metadata.name"


@dataclass(frozen=True)
class NamedPort:
    """A port that a container of a Pod declares."""

    name: str
    protocol: str
    number: int


@dataclass(frozen=True)
class Pod:
    """A Pod, as far as policies see it; with `host_network` the addresses are its node's."""

    namespace: str
    name: str
    labels: Mapping[str, str] = field(hash=False, default_factory=dict)
    addresses: tuple[str, ...] = ()
    host_network: bool = False
    ports: tuple[NamedPort, ...] = ()


@dataclass(frozen=True)
class End:
    """One end of a connection: a Pod by one of its addresses, or who else has that address."""

    address: str
    pod: Pod | None = None


@dataclass(frozen=True)
class Cluster:
    """What decides: the labels of all namespaces, and the policies as kube-apiserver has them."""

    namespaces: Mapping[str, Mapping[str, str]]
    policies: tuple[Json, ...] = ()

    def allows(self, source: End, target: End, protocol: str, port: int) -> bool:
        """Return whether a connection may be made: it must be let out, and let in.

        A Pod cannot be kept from itself.
        """
        if source.pod is not None and source.pod is target.pod:
            return True
        return self.lets_out(source, target, protocol, port) and self.lets_in(
            source, target, protocol, port
        )

    def lets_out(self, source: End, target: End, protocol: str, port: int) -> bool:
        """Return whether egress is allowed: by no policy's selection, or by some rule."""
        return self._lets("Egress", source, target, target, (protocol, port))

    def lets_in(self, source: End, target: End, protocol: str, port: int) -> bool:
        """Return whether ingress is allowed."""
        return self._lets("Ingress", target, source, target, (protocol, port))

    def _lets(
        self, direction: str, subject: End, peer: End, target: End, port: tuple[str, int]
    ) -> bool:
        if subject.pod is None:
            return True
        selecting = [
            policy
            for policy in self.policies
            if direction in types_of(policy["spec"]) and _selects(policy, subject.pod)
        ]
        rules, peers = ("egress", "to") if direction == "Egress" else ("ingress", "from")
        return not selecting or any(
            self._matches_peers(rule.get(peers), policy["metadata"]["namespace"], peer)
            and _matches_ports(rule.get("ports"), target.pod, *port)
            for policy in selecting
            for rule in policy["spec"].get(rules) or ()
        )

    def _matches_peers(self, peers: list[Json] | None, namespace: str, end: End) -> bool:
        """Match one of the peers; an absent or empty list matches all."""
        return not peers or any(self._matches_peer(peer, namespace, end) for peer in peers)

    def _matches_peer(self, peer: Json, namespace: str, end: End) -> bool:
        if "ipBlock" in peer:
            return _in_block(peer["ipBlock"], end.address)
        # Those on their node's network count as the node, which no selector matches.
        if end.pod is None or end.pod.host_network:
            return False
        if "namespaceSelector" in peer:
            labels = {**self.namespaces[end.pod.namespace], NAME_LABEL: end.pod.namespace}
            if not selector_matches(peer["namespaceSelector"], labels):
                return False
        elif end.pod.namespace != namespace:
            return False
        return selector_matches(peer.get("podSelector", {}), end.pod.labels)


def types_of(spec: Json) -> list[str]:
    """Return the directions that a policy is about, with the default where it does not say."""
    if spec.get("policyTypes"):
        return list(spec["policyTypes"])
    return ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def selector_matches(selector: Json, labels: Mapping[str, str]) -> bool:
    """Match a LabelSelector: all of it must hold; an empty one matches everything."""
    wanted: Iterable[tuple[str, str]] = (selector.get("matchLabels") or {}).items()
    return all(key in labels and labels[key] == value for key, value in wanted) and all(
        _expression_matches(each, labels) for each in selector.get("matchExpressions") or ()
    )


def _expression_matches(expression: Json, labels: Mapping[str, str]) -> bool:
    key, operator = expression["key"], expression["operator"]
    present = key in labels
    if operator == "Exists":
        return present
    if operator == "DoesNotExist":
        return not present
    among = present and labels[key] in expression["values"]
    if operator == "In":
        return among
    if operator == "NotIn":
        return not among
    raise ValueError(f"operator {operator!r} is none of LabelSelector's")


def _selects(policy: Json, pod: Pod) -> bool:
    """Return whether a policy is about a Pod; none is about those on their node's network."""
    return (
        not pod.host_network
        and policy["metadata"]["namespace"] == pod.namespace
        and selector_matches(policy["spec"].get("podSelector") or {}, pod.labels)
    )


def _matches_ports(ports: list[Json] | None, target: Pod | None, protocol: str, port: int) -> bool:
    """Match one of the ports; an absent or empty list matches all."""
    return not ports or any(_matches_port(each, target, protocol, port) for each in ports)


def _matches_port(wanted: Json, target: Pod | None, protocol: str, port: int) -> bool:
    if (wanted.get("protocol") or "TCP") != protocol:
        return False
    first = wanted.get("port")
    if first is None:
        return True
    if isinstance(first, str):
        return target is not None and NamedPort(first, protocol, port) in target.ports
    last: int = wanted["endPort"] if wanted.get("endPort") is not None else first
    return bool(first <= port <= last)


def _in_block(block: Json, address: str) -> bool:
    return _holds(block["cidr"], address) and not any(
        _holds(each, address) for each in block.get("except") or ()
    )


def _holds(network: str, address: str) -> bool:
    return _address(address) in _network(network)


@lru_cache(maxsize=65_536)
def _network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text)


@lru_cache(maxsize=65_536)
def _address(text: str) -> IPv4Address | IPv6Address:
    return ip_address(text)
