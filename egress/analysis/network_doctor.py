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
from egress.render.target import RenderTarget
from kube.egress.network_facts import NetworkFacts, NodeProgram

FORMAT: Final = 1

_LOCAL_DNS_LABEL: Final = "kubernetes.azure.com/localdns-state"
_DATAPLANE_LABEL: Final = "kubernetes.azure.com/ebpf-dataplane"
_LOCAL_DNS: Final = ("169.254.10.10/32", "169.254.10.11/32")
_ACNS: Final = "acns-security-agent"
_NODE_LOCAL: Final = "node-local-dns"
_NODE_LOCAL_ADDRESS: Final = "169.254.20.10"
_VERSION: Final = re.compile(r":v?(\d+)\.(\d+)")
_OTHERS: Final = {
    "azure-npm": "Azure Network Policy Manager",
    "calico-node": "Calico",
    "antrea-agent": "Antrea",
    "kube-router": "kube-router",
}
"""DaemonSets of engines that enforce NetworkPolicies."""
_NODE_BITS: Final = {4: 24, 6: 64}
_SHOWN: Final = 3


class NetworkFact(msgspec.Struct, frozen=True):
    """Something that was found."""

    what: str
    found: str
    how: str
    """By what it was told."""


class NetworkProblem(msgspec.Struct, frozen=True):
    """A setting that does not fit."""

    setting: str
    why: str
    grave: bool = True
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


def examine(facts: NetworkFacts, target: RenderTarget | None) -> NetworkReport:
    """Return what a cluster's network needs; `target` is what is set, if anything is."""
    found = _Network(facts)
    values = found.values()
    problems = [*found.problems(), *(_against(found, target) if target else ())]
    return NetworkReport(FORMAT, found.title, list(found.facts()), problems, values)


class _Network:
    """A network, told by what was seen of it."""

    def __init__(self, facts: NetworkFacts) -> None:
        self._facts = facts
        programs = facts.programs
        self.cilium = programs.get("cilium")
        self.other = next((programs[name] for name in _OTHERS if name in programs), None)
        self.is_managed = any(_DATAPLANE_LABEL in each.labels for each in facts.nodes)
        self.has_acns = _ACNS in programs
        self.local_dns = sum(each.labels.get(_LOCAL_DNS_LABEL) == "enabled" for each in facts.nodes)
        self.node_local = programs.get(_NODE_LOCAL)

    @property
    def engine(self) -> str:
        """The value of `egress.engine`; empty where nothing enforces."""
        if self.cilium is None:
            return "networkpolicy" if self.other else ""
        if not self.is_managed:
            return "cilium"
        return "cilium-aks" if self.has_acns and not self.local_dns else "cilium-aks-basic"

    @property
    def title(self) -> str:
        """The network as people call it."""
        if self.cilium is None:
            return _OTHERS[self.other.name] if self.other else ""
        if not self.is_managed:
            return "Cilium"
        return f"Azure CNI powered by Cilium, with{'' if self.has_acns else 'out'} ACNS"

    @property
    def version(self) -> str:
        """Cilium's; empty where its image does not say it."""
        images = self.cilium.images if self.cilium else ()
        found = (_VERSION.search(each) for each in images)
        return next((f"{each[1]}.{each[2]}" for each in found if each), "")

    @property
    def families(self) -> list[str]:
        """What is enforced."""
        if self.other is not None and self.other.name == "azure-npm":
            return ["IPv4"]
        config = self._facts.cilium
        off = {name for name in ("ipv4", "ipv6") if config.get(f"enable-{name}") == "false"}
        return [each for each in ("IPv4", "IPv6") if each.lower() not in off]

    def dns_addresses(self) -> list[str]:
        """Return what no selector of Pods finds of DNS."""
        found = list(_LOCAL_DNS) if self.local_dns else []
        if self.node_local is not None and self.node_local.host_network:
            found += _local_addresses(self.node_local)
        return found

    def values(self) -> dict[str, Any]:
        """Return values of the chart that fit."""
        facts = self._facts
        values: dict[str, Any] = {"engine": self.engine} if self.engine else {}
        if self.cilium is not None:
            values |= {"ciliumVersion": self.version} if self.version else {}
            values |= {"sctp": True} if facts.cilium.get("enable-sctp") == "true" else {}
        if self.families != ["IPv4", "IPv6"]:
            values["ipFamilies"] = self.families
        dns: dict[str, Any] = {}
        if facts.dns_selector and facts.dns_selector != {"k8s-app": "kube-dns"}:
            dns["labels"] = facts.dns_selector
        if self.node_local is not None and not self.node_local.host_network:
            dns["others"] = [
                {"namespace": self.node_local.namespace, "labels": {"k8s-app": _NODE_LOCAL}}
            ]
        if addresses := self.dns_addresses():
            dns["addresses"] = addresses
        values |= {"dns": dns} if dns else {}
        values["ranges"] = {
            "pods": _texts(self.pod_ranges()),
            "services": _texts(facts.service_ranges),
            "nodes": _texts(self.node_ranges()),
        }
        return values

    def pod_ranges(self) -> tuple[Network, ...]:
        """Return the networks of Pods, as far as objects tell."""
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
        for program in filter(None, (self.cilium, self.other)):
            image = next(iter(program.images), "no image")
            how = f"DaemonSet {program.namespace}/{program.name}, {image}"
            yield NetworkFact("policies are enforced by", self.title, how)
        if self.cilium is not None:
            how = f"node label {_DATAPLANE_LABEL}"
            yield NetworkFact("Cilium is Azure's", _yes(self.is_managed), how)
            how = f"DaemonSet kube-system/{_ACNS}"
            yield NetworkFact("ACNS security is on", _yes(self.has_acns), how)
        total = len(self._facts.nodes)
        how = f"node label {_LOCAL_DNS_LABEL}"
        yield NetworkFact("LocalDNS is on", f"{self.local_dns} of {total} nodes", how)
        if self.node_local is not None:
            where = "on the node" if self.node_local.host_network else "in Pods"
            how = f"DaemonSet {self.node_local.namespace}/{_NODE_LOCAL}"
            yield NetworkFact("NodeLocal DNSCache answers", where, how)

    def problems(self) -> Iterator[NetworkProblem]:
        """Yield what no setting mends, and what could not be told."""
        if not self.engine:
            why = (
                "nothing was seen that enforces policies: to enrol a namespace would close nothing"
            )
            yield NetworkProblem("egress.engine", why)
        if self.cilium is not None and not self.version:
            why = "Cilium's image names no version: set it by hand"
            yield NetworkProblem("egress.ciliumVersion", why, grave=False)
        if self.has_acns and self.local_dns:
            why = (
                "LocalDNS goes around Cilium's DNS proxy, so names go by the addresses learnt of "
                "them; turn LocalDNS off to have names and wildcards by ACNS"
            )
            yield NetworkProblem("egress.engine", why, grave=False)
        ranges = (("pods", self.pod_ranges()), ("services", self._facts.service_ranges))
        for name, found in ranges:
            if not found:
                why = "no object tells these networks: set them by hand"
                yield NetworkProblem(f"egress.ranges.{name}", why, grave=False)
        why = "made of the nodes' addresses: give the nodes' subnets, in which nodes come and go"
        yield NetworkProblem("egress.ranges.nodes", why, grave=False)


def _against(found: _Network, target: RenderTarget) -> Iterator[NetworkProblem]:
    """Yield which settings do not fit what was found."""
    engine = target.engine
    if found.engine and engine.kind != found.engine:
        why = f"{engine.kind} is set, and this network ({found.title}) needs {found.engine}"
        yield NetworkProblem("egress.engine", why)
    if found.cilium and found.version and found.version != ".".join(map(str, engine.version)):
        shown = ".".join(map(str, engine.version))
        why = f"{shown} is set, and {found.version} runs: what the versions have differs"
        yield NetworkProblem("egress.ciliumVersion", why, grave=False)
    if unknown := sorted(set(engine.ip_families) - set(found.families)):
        why = f"{', '.join(unknown)} is set, which {found.title} does not enforce"
        yield NetworkProblem("egress.ipFamilies", why)
    for text in found.dns_addresses():
        if not any_holds(target.dns.addresses, network_of(text)):
            why = f"{text} answers DNS on the nodes and is not there: Pods could resolve nothing"
            yield NetworkProblem("egress.dns.addresses", why)
    yield from _uncovered(found, target)


def _uncovered(found: _Network, target: RenderTarget) -> Iterator[NetworkProblem]:
    own = map(single_address_network, found.node_addresses())
    if outside := [one for one in own if not any_holds(target.nodes, one)]:
        shown = _some([str(each.network_address) for each in outside])
        why = f"nodes lie outside of it, at {shown}: their kubelets could be opened"
        yield NetworkProblem("egress.ranges.nodes", why)
    lost = [str(each) for each in found.pod_ranges() if not any_holds(target.pods, each)]
    if lost:
        why = f"Pods lie outside of it, in {_some(lost)}"
        yield NetworkProblem("egress.ranges.pods", why)


def _local_addresses(program: NodeProgram) -> list[str]:
    """Return the addresses that NodeLocal DNSCache answers on, by its `-localip`."""
    words = program.arguments
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


def _yes(is_so: bool) -> str:  # noqa: FBT001 (what is told)
    return "yes" if is_so else "no"
