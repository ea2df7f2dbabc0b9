"""Small clusters for tests of the commands of egress."""

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Final

from core.base import names
from core.base.networks import collapse, network_of, single_address_network
from core.decision.namespaces import Namespace
from core.egress.allowlists import EgressAllowlist, EgressDestinations
from core.egress.destinations import PortRange
from core.egress.pod_labels import egress_labels
from core.kubernetes.label_selectors import Requirement
from egress.analysis.cluster_egress import ClusterEgress, EgressRights, EgressSettings
from egress.dns.learnt_names import LearntName, SeenAddress
from egress.dns.store import encode_names
from egress.model.facts import KnownService
from egress.model.openings import Backend
from egress.render.target import Engine, EngineKind, RenderTarget
from kube.egress.pods import EgressPod
from kube.egress.service_endpoints import ServiceShape
from kube.egress.snapshot import EgressSnapshot
from tests.unit.egress.allowlist_objects import NOW

TCP_443: Final = PortRange("TCP", 443, 443)


def pod(
    name: str, account: str = "trainer", namespace: str = "research", **more: object
) -> EgressPod:
    """Make a Pod as the gate labels it, but for what `more` says."""
    fields: dict[str, object] = {
        "labels": egress_labels(account, ("Job", name)),
        "addresses": (ip_address("10.244.1.10"),),
        "containers": ("main",),
        **more,
    }
    return EgressPod(namespace, name, service_account=account, **fields)  # type: ignore[arg-type]


def world(  # noqa: PLR0913 (what a cluster is made of)
    *allowlists: EgressAllowlist,
    pods: Iterable[EgressPod] = (),
    sets: Iterable[EgressDestinations] = (),
    usable: Iterable[tuple[str, str, str]] = (),
    learnt: Mapping[str, Iterable[str]] | None = None,
    enrolled: Iterable[str] = ("research",),
    services: Mapping[tuple[str, str], KnownService] | None = None,
    shapes: Mapping[tuple[str, str], ServiceShape] | None = None,
    engine: EngineKind = "networkpolicy",
    now: float = NOW,
    ranges: Iterable[str] = (),
) -> ClusterEgress:
    """Make a cluster with these allowlists, in which only some namespaces are enrolled."""
    label = {names.EGRESS_LABEL: "deny"}
    namespaces = {each: Namespace(each, label) for each in enrolled}
    for one in pods:
        namespaces.setdefault(one.namespace, Namespace(one.namespace))
    seen = {
        name: LearntName(tuple(SeenAddress(ip_address(text), now) for text in texts))
        for name, texts in (learnt or {}).items()
    }
    snapshot = EgressSnapshot(
        namespaces,
        tuple(pods),
        {each.key: each for each in allowlists},
        {each.meta.name: each for each in sets},
        services=shapes or {},
        learnt={"0": encode_names(seen)[0]},
    )
    networks = collapse(map(network_of, ranges))
    site = EgressSettings(
        now, target=RenderTarget(Engine(engine), ranges=networks), ranges=networks
    )
    return ClusterEgress(snapshot, site, EgressRights(frozenset(usable)), services or {})


def service(address: str, port: int, number: int, **selector: str) -> KnownService:
    """Make a Service with one Pod: its port, and the Pod's."""
    chosen = tuple(Requirement(key, "In", (value,)) for key, value in selector.items())
    backend = Backend(
        (PortRange("TCP", number, number),), (single_address_network(ip_address(address)),)
    )
    return KnownService(chosen, ports={PortRange("TCP", port, port): (backend,)})
