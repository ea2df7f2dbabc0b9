"""Which connections of a world are tried: those at the edges of what its intents say."""

from collections.abc import Iterable, Iterator
from ipaddress import ip_network
from typing import Final, TypeVar

from tests.harness.oracles.policy_semantics import End, Pod
from tests.unit.egress.generated_worlds import ENROLLED, PROTOCOLS, RANGES, Json, World

PORTS_NAMED: Final = 9
PORTS_BESIDE: Final = 4
ADDRESSES: Final = 32

_ALWAYS_TRIED: Final = frozenset(
    {
        *("169.254.169.254", "168.63.129.16", "127.0.0.1", "8.8.8.8", "fe80::1", "2600::1"),
        *("64:ff9b::a9fe:a9fe", "64:ff9b::a09:1", "64:ff9b::808:808"),
    }
)

_T = TypeVar("_T")


def connections(world: World) -> Iterator[tuple[Pod, End, tuple[str, int]]]:
    """Yield connections from Pods that policies are about; to themselves they are always open."""
    ports, targets = _ports(world), list(_targets(world))
    for source in world.pods:
        if source.namespace in ENROLLED and not source.host_network:
            for target in targets:
                yield from ((source, target, on) for on in ports if target.pod != source)


def _all_entries(world: World) -> Iterator[Json]:
    for item in (*world.allowlists, *world.sets):
        yield from item["spec"]["to"]


def _targets(world: World) -> Iterator[End]:
    """Yield all Pods by all addresses; others at the edges of networks; what must stay closed."""
    owned = {address for pod in world.pods for address in pod.addresses}
    yield from (End(address, pod) for pod in world.pods for address in pod.addresses)
    networks = {*RANGES, *(each for tag in world.tags.values() for each in tag)}
    for entry in _all_entries(world):
        networks |= {*entry.get("except", ()), *entry.get("within", ())}
        if "cidr" in entry:
            networks.add(entry["cidr"])
    answers = {address for each in world.answers.values() for address in each}
    edges = {edge for text in networks for edge in _edges(text)} - answers - owned
    fixed = (_ALWAYS_TRIED | answers) - owned
    yield from (End(each) for each in [*sorted(fixed), *_some(world, edges, ADDRESSES)])


def _edges(text: str) -> Iterator[str]:
    """Yield the first and the last address of a network, and those before and after."""
    network = ip_network(text)
    first, last = int(network[0]), int(network[-1])
    for number in (first - 1, first, last, last + 1):
        if 0 <= number < 1 << network.max_prefixlen:
            yield str(type(network[0])(number))


def _ports(world: World) -> list[tuple[str, int]]:
    """Return ports that intents name, or that Pods behind Services listen on; and ports beside."""
    named: set[tuple[str, int]] = set()
    beside = {*((protocol, 1) for protocol in PROTOCOLS)}
    for entry in _all_entries(world):
        for port in entry.get("ports", ()):
            first, last = port["port"], port.get("endPort", port["port"])
            named |= {(port["protocol"], number) for number in (first, last)}
            beside |= {(port["protocol"], number) for number in (first - 1, last + 1)}
            beside.add((world.dice.choice(PROTOCOLS), first))
    for service in world.services:
        for pod in service.backends(world.pods):
            named |= {(each, service.target(pod, each, number)) for each, number in service.ports}
    return [*_some(world, named, PORTS_NAMED), *_some(world, beside - named, PORTS_BESIDE)]


def _some(world: World, found: Iterable[_T], most: int) -> list[_T]:
    ordered = sorted(found, key=str)
    return world.dice.sample(ordered, min(most, len(ordered)))
