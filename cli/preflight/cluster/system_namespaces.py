"""Namespaces that belong to the cluster itself, and what to do about each. Pure.

Names: Microsoft's documentation of AKS (Calico, Azure Policy, command invoke, Azure Arc, the Istio
add-on, application routing, backup), and the installation pages of each project.

A name proves nothing: whoever may create namespaces chooses it, and the labels too. Only what is
seen to run as the nodes' network is proposed to be left out.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from cli.preflight.cluster.model import PreflightNotes
from cli.preflight.cluster.pods import PodCounts
from kube.egress.network_facts import DaemonSet

ALWAYS_LEFT_OUT: Final = frozenset({"kube-system", "kube-node-lease"})
"""The chart leaves these out, and its own."""

NETWORK: Final[Mapping[str, str]] = {
    "calico-system": "Calico",
    "calico-apiserver": "Calico",
    "tigera-operator": "Calico's operator",
    "cilium": "Cilium",
    "cilium-system": "Cilium",
    "kube-flannel": "flannel",
    "kube-router": "kube-router",
}
"""Without their Pods no node's network comes up, and so no gate."""

MANAGED: Final[Mapping[str, str]] = {
    "aks-command": "`az aks command invoke`",
    "aks-istio-egress": "the Istio add-on of AKS",
    "aks-istio-ingress": "the Istio add-on of AKS",
    "aks-istio-system": "the Istio add-on of AKS",
    "app-routing-system": "application routing of AKS",
    "azure-arc": "Azure Arc",
    "azure-extensions": "extensions of Azure",
    "azure-extensions-usage-system": "extensions of Azure",
    "dataprotection-microsoft": "Azure Backup",
    "gatekeeper-system": "Azure Policy, or Gatekeeper",
}
"""Azure writes what runs in them, and puts back what others change, where Azure made them."""

OTHERS: Final[Mapping[str, str]] = {
    "argocd": "Argo CD",
    "cert-manager": "cert-manager",
    "flux-system": "Flux",
    "gpu-operator": "the NVIDIA GPU operator",
    "istio-system": "Istio",
    "kyverno": "Kyverno",
    "monitoring": "monitoring",
}
"""They belong to the platform, and a profile is better than nobody who is asked."""

_SEE: Final = "preflight.md#namespaces-of-the-cluster-itself"
_LEAVES_OUT: Final = (
    "add it to webhooks.excludedNamespaces, and nobody who creates Pods in it is asked any more"
)


def engine_namespace(engines: Sequence[DaemonSet], pods: PodCounts) -> str:
    """Return where the engine of network policies runs on the nodes' network; empty: nowhere.

    Of two engines one may be anybody's, so neither counts.
    """
    if len(engines) != 1 or not engines[0].host_network:
        return ""
    (engine,) = engines
    running = pods.on_nodes.get(engine.namespace, ())
    is_there = any(engine.labels.items() <= labels.items() for labels in running)
    return engine.namespace if is_there else ""


def judge_namespaces(
    names: Collection[str], own: str, engine: str, notes: PreflightNotes, *, is_on_azure: bool
) -> None:
    """Say which namespaces are to be left out, and which need a profile.

    `engine` is where the engine of network policies was seen to run.
    """
    present = frozenset(names)
    network = sorted(NETWORK.keys() & present & {engine})
    alike = sorted(NETWORK.keys() & present - {engine})
    managed = sorted(MANAGED.keys() & present) if is_on_azure else []
    others = sorted((OTHERS.keys() | MANAGED.keys()) & present - set(managed))
    if network:
        notes.find(
            "namespaces",
            "blocks",
            f"{_named(network, NETWORK)}: without their Pods no node's network comes up, and while "
            "no gate runs they would be refused",
            "leave them out: webhooks.excludedNamespaces of the values below",
            "failures.md#the-cluster-was-stopped-and-starts-again",
        )
    if alike:
        notes.find(
            "namespaces",
            "warning",
            f"{_named(alike, NETWORK)}: so called, but no engine of network policies was seen to "
            "run there on the nodes' network",
            "look at what runs in each, and who may create Pods there; where nodes have no network "
            f"without it, {_LEAVES_OUT}",
            _SEE,
        )
    if managed:
        notes.find(
            "namespaces",
            "warning",
            f"{_named(managed, MANAGED)}: where Azure made it, Azure also repairs what runs there, "
            "privileges included; a name and labels do not show who made it",
            "look at what runs in each, and who may create Pods there; give its service accounts a "
            f"profile, or where it is Azure's, {_LEAVES_OUT}",
            _SEE,
        )
    if others:
        notes.find(
            "namespaces",
            "note",
            f"{_named(others, {**MANAGED, **OTHERS})} are judged as any other",
            "give their service accounts a profile before these namespaces enforce: "
            "sallyport profile suggest",
            "profiles.md",
        )
    if own in present:
        what = f"the namespace {own} is there already"
        fix = "nobody but its operators may create Pods in it, and nothing else may run there"
        notes.find("namespaces", "note", what, fix, "rights.md#sallyports-own-namespace")
    if network:
        notes.values["webhooks"] = {"excludedNamespaces": network}


def _named(names: Collection[str], of: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({of[name]})" for name in names)
