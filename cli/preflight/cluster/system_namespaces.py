"""Namespaces that belong to the cluster itself, and what to do about each. Pure.

Names: Microsoft's documentation of AKS (Calico, Azure Policy, command invoke, Azure Arc, the Istio
add-on, application routing, backup), and the installation pages of each project.
"""

from collections.abc import Collection, Mapping
from typing import Final

from cli.preflight.cluster.model import PreflightNotes

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
"""Azure writes what runs in them, and puts back what others change."""

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

_SEE: Final = "chart.md"


def judge_namespaces(
    names: Collection[str], own: str, notes: PreflightNotes, *, is_on_azure: bool
) -> None:
    """Say which namespaces are to be left out, and which need a profile."""
    present = frozenset(names)
    network = sorted(NETWORK.keys() & present)
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
    if managed:
        notes.find(
            "namespaces",
            "warning",
            f"{_named(managed, MANAGED)}: Azure makes and repairs what runs there, privileges "
            "included",
            "leave them out: webhooks.excludedNamespaces of the values below; or take one out of "
            "the list and give its service accounts a profile",
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
    left_out = [*network, *managed]
    if left_out:
        notes.values["webhooks"] = {"excludedNamespaces": sorted(left_out)}


def _named(names: Collection[str], of: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({of[name]})" for name in names)
