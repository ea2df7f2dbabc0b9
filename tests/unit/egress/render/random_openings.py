"""Openings by chance, as hypothesis makes them, and what one connection is by them."""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

from hypothesis import strategies as st

from core.base import names
from core.base.networks import Network, any_holds, collapse, single_address_network
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import Requirement
from egress.model.openings import (
    Addresses,
    Backend,
    Block,
    CompiledAllowlists,
    Name,
    Opening,
    Pods,
    Service,
)

SPACE: Final = "alpha"
ACCOUNT: Final = {"a": "s1", "a-0": "s1", "b": "s2"}
"""The service account that each allowlist is for."""

PORTS: Final = (
    PortRange("TCP", 443, 443),
    PortRange("TCP", 8000, 8010),
    PortRange("UDP", 53, 53),
    PortRange("SCTP", 36412, 36412),
)
REQUIREMENTS: Final = (
    (),
    (Requirement("app", "In", ("a", "b")),),
    (Requirement("app", "NotIn", ("a",)), Requirement("tier", "Exists")),
)

NAMESPACES: Final = (
    (),
    (Requirement(names.NAMESPACE_NAME_LABEL, "In", ("beta", "gamma")),),
    (Requirement(names.NAMESPACE_NAME_LABEL, "NotIn", ("beta",)),),
)

_FOUR: Final = st.builds(
    lambda high, prefix: IPv4Network((high << 8, prefix), strict=False),
    st.integers(0xC00000, 0xC00007),
    st.integers(20, 32),
)
_SIX: Final = st.builds(
    lambda low, prefix: IPv6Network((0x20010DB8 << 96 | low << 4, prefix), strict=False),
    st.integers(0, 63),
    st.integers(116, 128),
)
_RESERVED: Final = st.sampled_from(
    [ip_network(each) for each in ("169.254.169.254/32", "169.254.0.0/16", "168.63.129.16/32")]
)
NETWORKS: Final = st.one_of(_FOUR, _SIX, _RESERVED)
SINGLE: Final = st.lists(
    NETWORKS.map(lambda each: single_address_network(each[0])), max_size=4
).map(lambda found: tuple(collapse(found)))


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    """A network, perhaps less some that lie in it."""
    network = draw(NETWORKS)
    room = network.max_prefixlen - network.prefixlen
    if room < 2 or draw(st.booleans()):
        return Block(network)
    indexes = draw(st.lists(st.integers(0, 3), max_size=3))
    parts: list[Network] = [*network.subnets(prefixlen_diff=2)]
    return Block(network, collapse(parts[index] for index in indexes))


PEERS: Final = st.one_of(
    st.lists(blocks(), min_size=1, max_size=4).map(lambda found: Addresses(tuple(found))),
    st.builds(
        Name,
        st.sampled_from(
            [
                *("packages.example.org", "*.example.com", "*", "files.example.com"),
                *("a.*.example.com", "f*.example.com"),
            ]
        ),
        SINGLE,
        st.booleans(),
    ),
    st.builds(
        Service,
        st.just("beta"),
        st.just("api"),
        st.sampled_from(REQUIREMENTS),
        st.lists(
            st.builds(
                Backend, st.sampled_from(PORTS).map(lambda each: (each,)), SINGLE.filter(bool)
            ),
            max_size=3,
        ).map(tuple),
    ),
    st.builds(Pods, st.sampled_from(["alpha", "beta"]), st.sampled_from(REQUIREMENTS)),
    st.builds(Pods, st.just(""), st.sampled_from(REQUIREMENTS), st.sampled_from(NAMESPACES)),
)


@st.composite
def openings(draw: st.DrawFn) -> list[Opening]:
    """Openings of up to three allowlists of a namespace."""
    found = []
    for number in range(draw(st.integers(0, 6))):
        allowlist = draw(st.sampled_from(sorted(ACCOUNT)))
        selects = (Requirement(names.EGRESS_ACCOUNT_LABEL, "In", (ACCOUNT[allowlist],)),)
        ports = draw(st.lists(st.sampled_from(PORTS), min_size=1, max_size=3, unique=True))
        place = f"spec.to[{number}]"
        found.append(Opening(allowlist, place, selects, draw(PEERS), tuple(sorted(ports))))
    return found


def meaning(found: Iterable[Opening]) -> CompiledAllowlists:
    """Return what a namespace's openings are together."""
    return CompiledAllowlists(SPACE, tuple(found))


def opens_address(opening: Opening, address: Network, ports: PortRange) -> bool:
    """Return whether an opening names an address, for engines that know addresses alone."""
    match opening.peer:
        case Addresses(found):
            peers = [(opening.ports, each.network, each.excepts) for each in found]
        case Name(_, addresses):
            peers = [(opening.ports, each, ()) for each in addresses]
        case Service():
            peers = [
                (backend.ports, each, ())
                for backend in opening.peer.backends
                for each in backend.addresses
            ]
        case _:
            peers = []
    return any(
        any(each.holds(ports) for each in wanted)
        and any_holds((network,), address)
        and not any_holds(excepts, address)
        for wanted, network, excepts in peers
    )


def addresses_of(found: Iterable[Opening]) -> list[Network]:
    """Return addresses at the edges of all networks of openings, inside and outside."""
    networks: set[Network] = set()
    for opening in found:
        match opening.peer:
            case Addresses(of):
                for block in of:
                    networks |= {block.network, *block.excepts}
            case Name(_, addresses):
                networks |= set(addresses)
            case Service():
                networks |= {each for one in opening.peer.backends for each in one.addresses}
            case _:
                pass
    edges: set[Network] = set()
    for network in networks:
        for edge in (network[0], network[-1]):
            edges.add(single_address_network(edge))
            edges |= {single_address_network(edge + step) for step in (-1, 1)}
    return sorted(edges, key=lambda each: (each.version, int(each[0])))
