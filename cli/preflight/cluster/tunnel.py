"""From where kube-apiserver calls webhooks, as far as it can be seen from inside. Pure.

https://learn.microsoft.com/azure/aks/core-aks-concepts: on AKS through Pods `konnectivity-agent`,
or with API Server VNet Integration from a subnet.
"""

from collections.abc import Mapping
from typing import Any, Final

from cli.preflight.cluster.model import PreflightNotes
from cli.preflight.cluster.pods import TUNNEL_LABEL, TUNNEL_NAMESPACE, TunnelAgents

_PEER: Final[Mapping[str, Any]] = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": TUNNEL_NAMESPACE}},
    "podSelector": {"matchLabels": dict([TUNNEL_LABEL])},
}
_SEE: Final = "chart.md#where-kube-apiserver-calls-from"


def judge_sources(agents: TunnelAgents | None, notes: PreflightNotes, *, is_on_azure: bool) -> None:
    """Say what to name in `networkPolicies.webhooksFrom`; `agents` is None where nobody knows.

    A peer is proposed only where it lets kube-apiserver in: a selector of Pods finds no agent that
    has its node's address, and with a wrong peer no Pod could be created in the cluster.
    """
    if not is_on_azure:
        _warn(
            notes,
            "from where kube-apiserver calls webhooks cannot be seen from inside",
            "name its addresses in networkPolicies.webhooksFrom",
        )
    elif agents is None or not (agents.with_own_address or agents.with_address_of_node):
        _warn(
            notes,
            "no Pod konnectivity-agent was seen, through which kube-apiserver of AKS calls: it may "
            "call from a subnet of yours (API Server VNet Integration)",
            "take examples/values/aks-vnet-integration.yaml with its subnet",
        )
    elif agents.with_address_of_node:
        _warn(
            notes,
            "Pods konnectivity-agent, through which kube-apiserver of AKS calls, have addresses of "
            "nodes: no selector of Pods finds them",
            "take examples/values/aks-cilium.yaml on Cilium, else aks.yaml with the subnet of the "
            "nodes",
        )
    else:
        notes.values["networkPolicies"] = {"webhooksFrom": [dict(_PEER)]}
        notes.find(
            "network",
            "note",
            "kube-apiserver of AKS calls through Pods konnectivity-agent; with API Server VNet "
            "Integration it calls from a subnet of yours, also where such Pods remain",
            "with VNet Integration take examples/values/aks-vnet-integration.yaml, on Cilium "
            "aks-cilium.yaml, in the place of the value below",
            _SEE,
        )


def _warn(notes: PreflightNotes, what: str, fix: str) -> None:
    notes.find("network", "warning", what, f"{fix}: the chart refuses to install without", _SEE)
