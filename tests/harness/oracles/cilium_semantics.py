"""An evaluator of the part of CiliumNetworkPolicy's egress that Sallyport generates.

Written from Cilium's documentation (security/policy) and the comments of its API types, v1.20, and
sharing no code with Sallyport. It knows default deny by selection, deny before allow, `toCIDRSet`,
`toEndpoints`, `toEntities`, `toFQDNs`, `icmps` and rules of DNS; anything else is an error.
Cilium's own policy library judges the same: tests/unit/egress/render/test_cilium_library.py.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final

from tests.harness.oracles.policy_semantics import NAME_LABEL, Pod, selector_matches

Json = Mapping[str, Any]

_KNOWN: Final = {"toCIDRSet", "toEndpoints", "toEntities", "toFQDNs", "toPorts", "icmps"}
_CHARACTER: Final = "[-a-zA-Z0-9_]"
_NAMESPACE: Final = "k8s:io.kubernetes.pod.namespace"
_NAMESPACE_LABELS: Final = "k8s:io.cilium.k8s.namespace.labels."
_FAMILIES: Final = {"ICMP": "IPv4", "ICMPv6": "IPv6"}


@dataclass(frozen=True)
class Target:
    """Where a Pod connects to: another Pod; or an address, with names it was the answer for."""

    address: str
    pod: Pod | None = None
    names: tuple[str, ...] = ()
    entity: str = ""
    """`host` or `remote-node` where it is a node's, `kube-apiserver` where it is its."""

    @property
    def is_node(self) -> bool:
        """Whether it is a node's address, which lies in no network."""
        return self.entity in {"host", "remote-node"}


CORE_DNS: Final = Target(
    "10.244.0.10", Pod("kube-system", "coredns", {"k8s-app": "kube-dns"}, ("10.244.0.10",))
)
DNS_PORT: Final = 53


@dataclass(frozen=True)
class Policies:
    """What decides: all CiliumNetworkPolicies, and whether `**.` is known (from 1.19)."""

    policies: tuple[Json, ...]
    many_labels: bool = True

    def of(self, source: Pod) -> "Policies":
        """Return those that are about a Pod."""
        identity = _identity(source)
        return replace(
            self,
            policies=tuple(
                policy
                for policy in self.policies
                if policy["metadata"]["namespace"] == source.namespace
                and selector_matches(policy["spec"]["endpointSelector"], identity)
            ),
        )

    def allows(self, source: Pod, target: Target, protocol: str, port: int) -> bool:
        """Return whether a connection is let out."""
        selecting = [policy["spec"] for policy in self.of(source).policies]
        return not selecting or (
            self._any(selecting, "egress", source, target, (protocol, port))
            and not self._any(selecting, "egressDeny", source, target, (protocol, port))
        )

    def _any(
        self, specs: list[Json], of: str, source: Pod, target: Target, on: tuple[str, int]
    ) -> bool:
        return any(
            self._matches(rule, source, target, *on) for spec in specs for rule in spec.get(of, ())
        )

    def answers(self, source: Pod, name: str, by: Target = CORE_DNS) -> bool:
        """Return whether a Pod may ask a server for a name; a rule that says no names has all."""
        return any(
            "rules" not in ports or any(self._names(each, name) for each in ports["rules"]["dns"])
            for policy in self.of(source).policies
            for rule in policy["spec"].get("egress", ())
            if self._matches(rule, source, by, "UDP", DNS_PORT)
            for ports in rule.get("toPorts", ())
            if any(_matches_port(each, "UDP", DNS_PORT) for each in ports["ports"])
        )

    def _matches(self, rule: Json, source: Pod, target: Target, protocol: str, port: int) -> bool:
        if unknown := rule.keys() - _KNOWN:
            raise ValueError(f"the evaluator does not know {unknown}")
        if len(rule.keys() - {"toPorts", "icmps"}) != 1 and rule:
            raise ValueError("a rule has one kind of peers")
        if {"toPorts", "icmps"} <= rule.keys():
            raise ValueError("a rule has no ports beside types of ICMP")
        if not _on(rule, target, protocol, port):
            return False
        return (
            any(_in_set(each, target) for each in rule.get("toCIDRSet", ()))
            or any(_is_endpoint(each, source, target) for each in rule.get("toEndpoints", ()))
            or target.entity in rule.get("toEntities", ())
            or self._is_answer(rule, target)
        )

    def _is_answer(self, rule: Json, target: Target) -> bool:
        outside = target.pod is None and not target.is_node
        return outside and any(
            self._names(each, name) for each in rule.get("toFQDNs", ()) for name in target.names
        )

    def _names(self, wanted: Json, name: str) -> bool:
        if "matchName" in wanted:
            return bool(wanted["matchName"] == name)
        pattern = wanted["matchPattern"]
        if pattern == "*":
            return True
        if self.many_labels and pattern.startswith("**."):
            head, pattern = rf"{_CHARACTER}+(\.{_CHARACTER}+)*\.", pattern[3:]
        else:
            head = ""
        body = re.sub(r"\\\*(\\\*)*", f"{_CHARACTER}*", re.escape(pattern))
        return re.fullmatch(head + body, name) is not None


def _identity(pod: Pod) -> dict[str, str]:
    """Return the labels of a Pod's identity, with their source."""
    return {f"k8s:{key}": value for key, value in pod.labels.items()} | {
        _NAMESPACE: pod.namespace,
        f"{_NAMESPACE_LABELS}{NAME_LABEL}": pod.namespace,
    }


def _on(rule: Json, target: Target, protocol: str, port: int) -> bool:
    """Match ports and types of ICMP; a rule without either has all of them."""
    if "icmps" in rule:
        types = [each for one in rule["icmps"] for each in one["fields"]]
        family = _FAMILIES.get(protocol)
        return any(each["family"] == family and each["type"] == port for each in types)
    ports = [each for one in rule.get("toPorts", ()) for each in one["ports"]]
    declared = target.pod.ports if target.pod else ()
    named = {each.name for each in declared if (each.protocol, each.number) == (protocol, port)}
    return "toPorts" not in rule or any(
        _matches_port(each, protocol, port)
        or (each["protocol"] == protocol and each["port"] in named)
        for each in ports
    )


def _matches_port(wanted: Json, protocol: str, port: int) -> bool:
    """Match a number, of which 0 is every port."""
    if not wanted["port"].isdecimal() or wanted["protocol"] != protocol:
        return False
    first = int(wanted["port"])
    last: int = wanted.get("endPort", first)
    return first == 0 or first <= port <= last


def _in_set(wanted: Json, target: Target) -> bool:
    """Match a network; neither Pods nor nodes lie in any, which the caller leaves out."""
    return (
        target.pod is None
        and not target.is_node
        and _holds(wanted["cidr"], target.address)
        and not any(_holds(each, target.address) for each in wanted.get("except", ()))
    )


def _holds(network: str, address: str) -> bool:
    return _address(address) in _network(network)


@lru_cache(maxsize=65_536)
def _network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text)


@lru_cache(maxsize=65_536)
def _address(text: str) -> IPv4Address | IPv6Address:
    return ip_address(text)


def _is_endpoint(selector: Json, source: Pod, target: Target) -> bool:
    if target.pod is None or target.pod.host_network:
        return False
    keys = [*selector.get("matchLabels", {})]
    keys += [each["key"] for each in selector.get("matchExpressions", ())]
    named = any(each == _NAMESPACE or each.startswith(_NAMESPACE_LABELS) for each in keys)
    inside = named or target.pod.namespace == source.namespace
    return inside and selector_matches(selector, _identity(target.pod))
