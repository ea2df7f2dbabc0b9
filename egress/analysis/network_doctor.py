"""Tells which network a cluster has, which settings it needs, and which given ones fail. Pure."""

import re
from collections.abc import Iterable, Iterator
from ipaddress import ip_address, ip_interface
from typing import Any, Final

import msgspec

from core.base.networks import (
    Address,
    Network,
    any_holds,
    collapse,
    network_of,
    single_address_network,
)
from core.kubernetes.label_selectors import matches
from egress.render.target import Dns, RenderTarget
from kube.egress.network_facts import DaemonSet, NetworkFacts

FORMAT: Final = 1

AKS_LABEL: Final = "kubernetes.azure.com/cluster"
LOCAL_DNS_LABEL: Final = "kubernetes.azure.com/localdns-state"
DATAPLANE_LABEL: Final = "kubernetes.azure.com/ebpf-dataplane"
LOCAL_DNS: Final = ("169.254.10.10/32", "169.254.10.11/32")
"""On each node where LocalDNS is on: for names of the cluster, and for all others."""

_ACNS: Final = "acns-security-agent"
_NODE_LOCAL: Final = "node-local-dns"
_NODE_LOCAL_ADDRESS: Final = "169.254.20.10"
_NPM: Final = "azure-npm"
_VERSION: Final = re.compile(r":v?(\d+)\.(\d+)")
_POLICY_ENGINES: Final = {
    _NPM: "Azure Network Policy Manager",
    "calico-node": "Calico",
    "antrea-agent": "Antrea",
    "kube-router": "kube-router",
}
"""DaemonSets of engines that enforce NetworkPolicies, and what people call them."""
_NODE_BITS: Final = {4: 24, 6: 64}
_SHOWN: Final = 3


class NetworkFact(msgspec.Struct, frozen=True):
    """Something that was found."""

    what: str
    found: str
    how: str
    """The object that shows it."""


class NetworkProblem(msgspec.Struct, frozen=True):
    """A value of the chart that does not fit, or that somebody must look at."""

    setting: str
    why: str
    is_error: bool = True
    """Whether it cannot work so; else it is a note."""


class NetworkReport(msgspec.Struct, frozen=True):
    """What `sallyport egress doctor -o json` prints."""

    format: int
    network: str
    """As people call it; empty where nothing was seen that enforces policies."""
    facts: list[NetworkFact]
    problems: list[NetworkProblem]
    values: dict[str, Any]
    """Values of the chart that fit, below `egress`."""


def examine(
    facts: NetworkFacts, target: RenderTarget | None = None, problem: str = ""
) -> NetworkReport:
    """Return what a cluster's network needs.

    `target` is what is set, None where nothing is to be compared; `problem` says why what is set
    is none.
    """
    found = ClusterNetwork(facts)
    problems = [NetworkProblem("egress", problem)] if problem else []
    problems += found.problems(is_compared=target is not None)
    problems += find_mismatches(found, target) if target else ()
    return NetworkReport(FORMAT, found.title, list(found.facts()), problems, found.values())


class ClusterNetwork:
    """A network, told by what was seen of it."""

    def __init__(self, facts: NetworkFacts) -> None:
        self._facts = facts
        sets = facts.daemon_sets
        self.cilium = sets.get("cilium")
        self.policy_engine = next((sets[name] for name in _POLICY_ENGINES if name in sets), None)
        self.is_azures = any(DATAPLANE_LABEL in each.labels for each in facts.nodes)
        self.has_acns = _ACNS in sets
        self.local_dns = sum(each.labels.get(LOCAL_DNS_LABEL) == "enabled" for each in facts.nodes)
        self.node_local = sets.get(_NODE_LOCAL)

    @property
    def engines(self) -> list[DaemonSet]:
        """All that enforces policies here; more than one where somebody else's has such a name."""
        sets = self._facts.daemon_sets
        return [sets[name] for name in ("cilium", *_POLICY_ENGINES) if name in sets]

    @property
    def engine(self) -> str:
        """The value of `egress.engine`; empty where nothing was seen that enforces."""
        if self.cilium is None:
            return "networkpolicy" if self.policy_engine else ""
        if not self.is_azures:
            return "cilium"
        on_node = Dns(addresses=tuple(map(network_of, self.dns_addresses()))).is_on_node
        return "cilium-aks" if self.has_acns and not on_node else "cilium-aks-basic"

    @property
    def title(self) -> str:
        """The network as people call it."""
        if self.cilium is None:
            return _POLICY_ENGINES[self.policy_engine.name] if self.policy_engine else ""
        if not self.is_azures:
            return "Cilium"
        return f"Azure CNI powered by Cilium, with{'' if self.has_acns else 'out'} ACNS security"

    @property
    def version(self) -> str:
        """Cilium's; empty where its image does not say it."""
        images = self.cilium.images if self.cilium else ()
        found = (_VERSION.search(each) for each in images)
        return next((f"{each[1]}.{each[2]}" for each in found if each), "")

    @property
    def is_npm(self) -> bool:
        """Whether Azure's Network Policy Manager enforces, which knows no IPv6."""
        return self.policy_engine is not None and self.policy_engine.name == _NPM

    def dns_addresses(self) -> list[str]:
        """Return what no selector of Pods finds of DNS."""
        found = list(LOCAL_DNS) if self.local_dns else []
        if self.node_local is not None and self.node_local.host_network:
            found += _local_addresses(self.node_local)
        return found

    def dns_pods(self) -> list[tuple[str, dict[str, str]]]:
        """Return the namespaces and labels of Pods that answer DNS."""
        found = [("kube-system", self._facts.dns_selector)] if self._facts.dns_selector else []
        cache = self.node_local
        if cache is not None and not cache.host_network:
            found.append((cache.namespace, cache.labels))
        return found

    def values(self) -> dict[str, Any]:
        """Return values of the chart that fit."""
        facts = self._facts
        values: dict[str, Any] = {"engine": self.engine} if self.engine else {}
        if self.cilium is not None:
            values |= {"ciliumVersion": self.version} if self.version else {}
            values |= {"sctp": True} if facts.cilium.get("enable-sctp") == "true" else {}
        if self.is_npm:
            values["ipFamilies"] = ["IPv4"]
        if dns := self._dns_values():
            values["dns"] = dns
        values["ranges"] = {
            "pods": _texts(self.pod_ranges()),
            "services": _texts(facts.service_ranges),
            "nodes": _texts(self.node_ranges()),
        }
        return values

    def _dns_values(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for namespace, labels in self.dns_pods():
            if namespace == "kube-system" and labels == self._facts.dns_selector:
                values |= {} if labels == {"k8s-app": "kube-dns"} else {"labels": labels}
            else:
                values["others"] = [{"namespace": namespace, "labels": labels}]
        if addresses := self.dns_addresses():
            values["addresses"] = addresses
        return values

    def pod_ranges(self) -> tuple[Network, ...]:
        """Return the networks of Pods, as far as objects tell."""
        own = self._facts.cilium.get("cluster-pool-ipv4-cidr", "").split()
        own += self._facts.cilium.get("cluster-pool-ipv6-cidr", "").split()
        if own and self._facts.cilium.get("ipam", "cluster-pool") == "cluster-pool":
            return collapse(map(network_of, own))
        of_nodes = (one for each in self._facts.nodes for one in each.pod_ranges)
        return collapse(self._facts.pod_ranges or of_nodes)

    def node_ranges(self) -> tuple[Network, ...]:
        """Return networks that hold all nodes: /24 and /64, for no object names their subnets."""
        return collapse(
            ip_interface(f"{each}/{_NODE_BITS[each.version]}").network
            for each in self.node_addresses()
        )

    def node_addresses(self) -> list[Address]:
        """Return the addresses of all nodes."""
        return [one for each in self._facts.nodes for one in each.addresses]

    def facts(self) -> Iterator[NetworkFact]:
        """Yield what was found, and by what."""
        for each in filter(None, (self.cilium, self.policy_engine)):
            image = next(iter(each.images), "no image")
            how = f"DaemonSet {each.namespace}/{each.name}, {image}"
            yield NetworkFact("policies are enforced by", self.title, how)
        if self.cilium is not None:
            how = f"node label {DATAPLANE_LABEL}"
            yield NetworkFact("Cilium is Azure's", _yes(is_so=self.is_azures), how)
            how = f"DaemonSet kube-system/{_ACNS}"
            yield NetworkFact("ACNS security (FQDN) is on", _yes(is_so=self.has_acns), how)
        count = f"{self.local_dns} of {len(self._facts.nodes)} nodes"
        yield NetworkFact("LocalDNS is on", count, f"node label {LOCAL_DNS_LABEL}")
        if self.node_local is not None:
            where = "on the node" if self.node_local.host_network else "in Pods"
            how = f"DaemonSet {self.node_local.namespace}/{_NODE_LOCAL}"
            yield NetworkFact("NodeLocal DNSCache answers", where, how)

    def problems(self, *, is_compared: bool) -> Iterator[NetworkProblem]:
        """Yield what no setting mends, and what could not be told.

        Where settings are compared with the network, what to set is no news.
        """
        if not self.engine:
            names = ", ".join(("cilium", *_POLICY_ENGINES))
            why = f"no DaemonSet of {names} is there: unless another engine enforces, nothing does"
            is_aks = any(AKS_LABEL in each.labels for each in self._facts.nodes)
            yield NetworkProblem("egress.engine", why, is_error=is_aks)
        if self.cilium is not None and not self.version:
            why = "Cilium's image names no version: set it by hand"
            yield NetworkProblem("egress.ciliumVersion", why, is_error=False)
        if self.has_acns and self.engine == "cilium-aks-basic":
            why = (
                "what answers DNS on the nodes goes around Cilium's DNS proxy, so names go by the "
                "addresses learnt of them; without it ACNS opens names and wildcards"
            )
            yield NetworkProblem("egress.engine", why, is_error=False)
        yield from self._cilium_problems()
        for kind in self._facts.unread:
            why = f"{kind} may not be listed (403): these networks may be more than is told"
            yield NetworkProblem("egress.ranges", why, is_error=False)
        if any(each.labels.get("type") == "virtual-kubelet" for each in self._facts.nodes):
            why = "virtual nodes are there: their kubelet needs the verb address to start Pods"
            yield NetworkProblem("pod-address-guard.sallyport.dev", why, is_error=False)
        if not is_compared:
            yield from self._to_look_at()

    def _cilium_problems(self) -> Iterator[NetworkProblem]:
        config = self._facts.cilium
        if config.get("enable-policy") == "never" or config.get("policy-audit-mode") == "true":
            why = "Cilium enforces no policy (enable-policy, policy-audit-mode of cilium-config)"
            yield NetworkProblem("egress.engine", why)
        if "nodes" in config.get("policy-cidr-match-mode", ""):
            why = "Cilium matches nodes by CIDR (policy-cidr-match-mode): an entry may open nodes"
            yield NetworkProblem("egress.ranges.nodes", why, is_error=False)

    def _to_look_at(self) -> Iterator[NetworkProblem]:
        ranges = (("pods", self.pod_ranges()), ("services", self._facts.service_ranges))
        for name, found in ranges:
            if not found:
                why = "no object tells these networks: set them by hand"
                yield NetworkProblem(f"egress.ranges.{name}", why, is_error=False)
        of_nodes = any(each.pod_ranges for each in self._facts.nodes)
        if of_nodes and not self._facts.pod_ranges and "ipam" not in self._facts.cilium:
            why = "made of the nodes' podCIDRs: give the whole network, new nodes get other parts"
            yield NetworkProblem("egress.ranges.pods", why, is_error=False)
        why = "made of the nodes' addresses: give the nodes' subnets, in which nodes come and go"
        yield NetworkProblem("egress.ranges.nodes", why, is_error=False)


def find_mismatches(found: ClusterNetwork, target: RenderTarget) -> Iterator[NetworkProblem]:
    """Yield which settings do not fit what was found."""
    engine = target.engine
    if found.engine and engine.kind != found.engine:
        why = f"{engine.kind} is set, and this network ({found.title}) needs {found.engine}"
        yield NetworkProblem("egress.engine", why)
    version = ".".join(map(str, engine.version))
    if found.cilium and found.version and found.version != version:
        why = f"{version} is set, and {found.version} runs: what the versions have differs"
        yield NetworkProblem("egress.ciliumVersion", why, is_error=False)
    if found.is_npm and "IPv6" in engine.ip_families:
        why = "IPv6 is set, and Azure NPM leaves a policy with an IPv6 address as it was before"
        yield NetworkProblem("egress.ipFamilies", why)
    for text in found.dns_addresses():
        if not any_holds(target.dns.addresses, network_of(text)):
            why = f"{text} answers DNS on the nodes and is not there: Pods could resolve nothing"
            yield NetworkProblem("egress.dns.addresses", why)
    yield from _missing_dns_pods(found, target)
    yield from _uncovered(found, target)


def _missing_dns_pods(found: ClusterNetwork, target: RenderTarget) -> Iterator[NetworkProblem]:
    for namespace, labels in found.dns_pods():
        known = (
            each.namespace == namespace and matches(each.requirements, labels)
            for each in target.dns.pods
        )
        if not any(known):
            shown = ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))
            why = f"Pods of {namespace} with {shown} answer DNS, and no rule opens them"
            yield NetworkProblem("egress.dns", why)


def _uncovered(found: ClusterNetwork, target: RenderTarget) -> Iterator[NetworkProblem]:
    own = map(single_address_network, found.node_addresses())
    if outside := [one for one in own if not any_holds(target.nodes, one)]:
        shown = _some([str(each.network_address) for each in outside])
        why = f"nodes lie outside of it, at {shown}: their kubelets could be opened"
        yield NetworkProblem("egress.ranges.nodes", why)
    if lost := [str(each) for each in found.pod_ranges() if not any_holds(target.pods, each)]:
        why = f"Pods lie outside of it, in {_some(lost)}: behind Services they count for nothing"
        yield NetworkProblem("egress.ranges.pods", why)


def _local_addresses(cache: DaemonSet) -> list[str]:
    """Return the addresses that NodeLocal DNSCache answers on, by its `-localip`."""
    words = cache.arguments
    given = next(
        (words[at + 1] for at, word in enumerate(words[:-1]) if word.lstrip("-") == "localip"),
        _NODE_LOCAL_ADDRESS,
    )
    addresses = (ip_address(each.strip()) for each in given.split(",") if each.strip())
    return [str(single_address_network(each)) for each in addresses]


def _texts(networks: Iterable[Network]) -> list[str]:
    return [str(each) for each in collapse(networks)]


def _some(texts: list[str]) -> str:
    more = len(texts) - _SHOWN
    return ", ".join(texts[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _yes(*, is_so: bool) -> str:
    return "yes" if is_so else "no"
