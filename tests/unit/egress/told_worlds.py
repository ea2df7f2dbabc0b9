"""What Sallyport is told of a world that was made by chance, and what it makes of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from core.base.networks import Network, any_holds, collapse, network_of
from core.egress.allowlists import EgressAllowlist, parse_allowlist, parse_destinations
from core.egress.destinations import PortRange
from core.egress.pod_labels import egress_labels
from core.kubernetes.label_selectors import Requirement
from egress.compiler.allowlists import compile_allowlists
from egress.model.facts import CompilerFacts, KnownService, ResolvedName
from egress.model.openings import Backend, CompiledAllowlists
from egress.model.reserved_ranges import PRIVATE
from egress.render.engines import render
from egress.render.target import Engine, RenderedNamespace, RenderTarget
from tests.harness.oracles.policy_semantics import Cluster, Pod
from tests.unit.egress.generated_worlds import ENROLLED, RANGES, SPACES, Service, World

Json = dict[str, Any]

CLUSTER_RANGES = tuple(map(network_of, RANGES))


@dataclass(frozen=True)
class _Answers:
    world: World
    reserved: tuple[Network, ...]

    def resolved(self, name: str, within: Sequence[Network]) -> ResolvedName:
        answers = [network_of(each) for each in self.world.answers.get(name, ())]
        if within:
            return ResolvedName(collapse(each for each in answers if any_holds(within, each)))
        return ResolvedName(
            collapse(each for each in answers if not any_holds((*self.reserved, *PRIVATE), each))
        )


@dataclass(frozen=True)
class _Tags:
    world: World

    def networks(self, tag: str) -> tuple[Network, ...] | str:
        if tag not in self.world.tags:
            return f"{tag} is not known"
        return collapse(map(network_of, self.world.tags[tag]))

    def shared_by(self, network: Network) -> str:
        """Say that nobody shares it."""
        del network
        return ""

    def warning(self, tag: str) -> str:
        del tag
        return ""


def known(world: World) -> CompilerFacts:
    """Return what Sallyport knows of a world."""
    reserved = CompilerFacts(world.now, ranges=CLUSTER_RANGES).reserved
    sets = [parse_destinations(msgspec.json.encode(each)) for each in world.sets]
    return CompilerFacts(
        world.now,
        sets={each.meta.name: each for each in sets},
        usable=world.usable,
        unapproved=dict.fromkeys(world.unapproved, "not approved"),
        services={
            (each.namespace, each.name): _known_service(each, world) for each in world.services
        },
        names=_Answers(world, reserved),
        tags=_Tags(world),
        ranges=CLUSTER_RANGES,
    )


def _known_service(service: Service, world: World) -> KnownService:
    selector = tuple(Requirement(key, "In", (value,)) for key, value in service.selector.items())
    ports: dict[PortRange, tuple[Backend, ...]] = {}
    for protocol, port in service.ports:
        behind: dict[int, list[Network]] = {}
        for pod in service.backends(world.pods):
            addresses = map(network_of, pod.addresses)
            behind.setdefault(service.target(pod, protocol, port), []).extend(addresses)
        ports[_range(protocol, port)] = tuple(
            Backend((_range(protocol, number),), collapse(addresses))
            for number, addresses in behind.items()
        )
    return KnownService(selector, ports=ports)


def _range(protocol: str, port: int) -> PortRange:
    return msgspec.convert({"protocol": protocol, "first": port, "last": port}, PortRange)


def allowlists_of(world: World) -> list[EgressAllowlist]:
    """Return the allowlists of a world, read."""
    return [parse_allowlist(msgspec.json.encode(each)) for each in world.allowlists]


def meanings(world: World) -> Iterator[CompiledAllowlists]:
    """Yield what the allowlists of each enrolled namespace mean."""
    allowlists = allowlists_of(world)
    snapshot = known(world)
    for space in ENROLLED:
        of_space = (each for each in allowlists if each.meta.namespace == space)
        yield compile_allowlists(space, of_space, snapshot)


def labelled(world: World, pod: Pod) -> Pod:
    """Return a Pod as the gate labels it, which it does in enrolled namespaces."""
    if pod.namespace not in ENROLLED:
        return pod
    labels = {**pod.labels, **egress_labels(world.accounts[pod], world.workloads[pod])}
    return Pod(pod.namespace, pod.name, labels, pod.addresses, pod.host_network, pod.ports)


def rendered(world: World, engine: Engine) -> list[RenderedNamespace]:
    """Return what the enrolled namespaces of a world get."""
    target = RenderTarget(engine, ranges=CLUSTER_RANGES, reserved=known(world).reserved)
    return [render(each, target) for each in meanings(world)]


def policies_of(world: World) -> tuple[Json, ...]:
    """Return the NetworkPolicies that a world gets."""
    return tuple(item for each in rendered(world, Engine()) for item in each.objects)


def cluster_of(policies: Sequence[Json]) -> Cluster:
    """Return the cluster that the judge decides for."""
    return Cluster({space: {} for space in (*SPACES, "kube-system")}, tuple(policies))
