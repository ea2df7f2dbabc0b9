"""What openings are rendered for: the engine, and what must be known of the cluster. Pure."""

from typing import Final, Literal

import msgspec

from core.base.networks import Network
from core.kubernetes.label_selectors import Requirement
from egress.model.openings import Pods, Problem
from egress.render.generated_objects import Json

KUBE_DNS: Final = Pods("kube-system", (Requirement("k8s-app", "In", ("kube-dns",)),))
"""CoreDNS, as kubeadm, AKS and most others label it."""

EngineKind = Literal["networkpolicy", "cilium", "cilium-aks"]


class Engine(msgspec.Struct, frozen=True):
    """What enforces policies."""

    kind: EngineKind = "networkpolicy"
    """`cilium-aks` is Azure CNI powered by Cilium, with Advanced Container Networking Services."""
    version: tuple[int, int] = (1, 17)
    """Cilium's: from 1.17 it has ranges of ports, from 1.19 wildcards for several labels."""
    sctp: bool = False
    """Whether Cilium has been told to know SCTP (`sctp.enabled`); else it refuses such a policy."""


class Dns(msgspec.Struct, frozen=True):
    """The cluster's DNS: what every Pod of an enrolled namespace may ask."""

    pods: tuple[Pods, ...] = (KUBE_DNS,)
    addresses: tuple[Network, ...] = ()
    """Of NodeLocal DNSCache, which no selector matches, such as 169.254.20.10/32 and the DNS
    Service's own. Not for Cilium, where a local redirect policy sends to Pods that `pods` names."""
    port: int = 53
    domain: str = "cluster.local"
    """The cluster's own zone."""
    search: tuple[str, ...] = ()
    """What else is in the search list of Pods, from their nodes; for engines that filter names."""


class RenderTarget(msgspec.Struct, frozen=True):
    """What openings are rendered for."""

    engine: Engine = Engine()
    dns: Dns = Dns()
    reserved: tuple[Network, ...] = ()
    """What only an opening of its own opens (`egress.model.facts.CompilerFacts.reserved`)."""
    ranges: tuple[Network, ...] = ()
    """The cluster's own ranges: of Pods, Services and nodes."""


class RenderedNamespace(msgspec.Struct, frozen=True):
    """What a namespace gets, and what of its openings the engine does not have."""

    objects: tuple[Json, ...]
    """Whole but for what kube-apiserver adds, in the order of their names."""
    problems: tuple[Problem, ...] = ()
