"""What openings are rendered for: the engine, and what must be known of the cluster. Pure."""

from typing import Final, Literal

import msgspec

from core.base.networks import Network, any_holds, network_of
from core.kubernetes.label_selectors import Requirement
from egress.model.openings import Opening, Pods, Problem
from egress.render.generated_objects import Json

KUBE_DNS: Final = Pods("kube-system", (Requirement("k8s-app", "In", ("kube-dns",)),))
"""CoreDNS, as kubeadm, AKS and most others label it."""

EngineKind = Literal["networkpolicy", "cilium", "cilium-aks", "cilium-aks-basic"]

IpFamily = Literal["IPv4", "IPv6"]

BOTH_FAMILIES: Final[tuple[IpFamily, ...]] = ("IPv4", "IPv6")


def family_of(network: Network) -> IpFamily:
    """Return the family of a network, as the setting says it."""
    return BOTH_FAMILIES[network.version == 6]  # noqa: PLR2004 (IPv6)


_LINK_LOCAL: Final = (network_of("169.254.0.0/16"), network_of("fe80::/10"))


class Engine(msgspec.Struct, frozen=True):
    """What enforces policies."""

    kind: EngineKind = "networkpolicy"
    """`cilium-aks` is Azure CNI powered by Cilium, with Advanced Container Networking Services;
    without them (`cilium-aks-basic`) policies that look at DNS block what they are about."""
    version: tuple[int, int] = (1, 17)
    """Cilium's: from 1.17 it has ranges of ports, from 1.19 wildcards for several labels."""
    sctp: bool = False
    """Whether Cilium has been told to know SCTP (`sctp.enabled`); else it refuses such a policy."""
    ip_families: tuple[IpFamily, ...] = BOTH_FAMILIES
    """What it enforces: Azure NPM leaves a policy as it was before where it has an IPv6 address."""

    @property
    def is_cilium(self) -> bool:
        """Whether it knows Pods by identity, so that no network holds any."""
        return self.kind != "networkpolicy"

    @property
    def learns_names(self) -> bool:
        """Whether it looks at what DNS answers; the others go by addresses that were learnt."""
        return self.kind in {"cilium", "cilium-aks"}


class Dns(msgspec.Struct, frozen=True):
    """The cluster's DNS: what every Pod of an enrolled namespace may ask."""

    pods: tuple[Pods, ...] = (KUBE_DNS,)
    addresses: tuple[Network, ...] = ()
    """Of NodeLocal DNSCache and AKS LocalDNS, which no selector matches: 169.254.20.10/32,
    169.254.10.0/24, and the DNS Service's own."""
    port: int = 53
    domain: str = "cluster.local"
    """The cluster's own zone."""
    search: tuple[str, ...] = ()
    """What else is in the search list of Pods, from their nodes; for engines that filter names. A
    label may be `*`: AKS appends `LABEL.LABEL.internal.cloudapp.net`, another in each network."""

    @property
    def is_on_node(self) -> bool:
        """Whether some of it answers on each node itself, by a link-local address."""
        return any(any_holds(_LINK_LOCAL, each) for each in self.addresses)


class RenderTarget(msgspec.Struct, frozen=True):
    """What openings are rendered for."""

    engine: Engine = Engine()
    dns: Dns = Dns()
    reserved: tuple[Network, ...] = ()
    """What only an opening of its own opens (`egress.model.facts.CompilerFacts.reserved`)."""
    ranges: tuple[Network, ...] = ()
    """The cluster's own ranges: of Pods, Services and nodes."""
    pods: tuple[Network, ...] = ()
    """Those of Pods."""
    nodes: tuple[Network, ...] = ()
    """Those of nodes: in their subnets others may live too, such as private endpoints."""

    @property
    def backend_ranges(self) -> tuple[Network, ...] | None:
        """Where the addresses of Services' Pods must lie.

        None where the engine knows them by identity, and no network of Pods is named.
        """
        return self.pods or (None if self.engine.is_cilium else ())


class RenderedNamespace(msgspec.Struct, frozen=True):
    """What a namespace gets, and what of its openings the engine does not have."""

    objects: tuple[Json, ...]
    """Whole but for what kube-apiserver adds, in the order of their names."""
    problems: tuple[Problem, ...] = ()
    openings: tuple[Opening, ...] = ()
    """What of the openings the objects say: without what the engine does not have."""
    open: tuple[Opening, ...] = ()
    """Of those, the ones by which something is open now: they wait for no Pod and no address."""
    spared: tuple[Opening, ...] = ()
    """What guards are cut around: openings that name some of what guards deny."""
