"""Cutting into policies and putting networks together change nothing of what is open."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.networks import (
    Network,
    any_holds,
    collapse,
    holds,
    network_of,
    single_address_network,
)
from egress.model.openings import Block
from egress.render.partition import PolicyItem, Ports, block_items, item_of, pack, rules
from tests.unit.egress.render.random_openings import NETWORKS, PORTS, blocks

_PORTS = st.lists(st.sampled_from(PORTS), min_size=1, max_size=2, unique=True).map(tuple)
_BLOCKS = st.lists(st.tuples(_PORTS, blocks()), max_size=12)
_ITEMS = st.lists(
    st.builds(
        item_of,
        st.sampled_from(["to", "toFQDNs"]),
        _PORTS,
        st.text("ab", max_size=40).map(lambda text: {"name": text}),
    ),
    max_size=30,
)


@given(_ITEMS, st.integers(1, 5), st.integers(400, 3000))
def test_policies_have_each_peer_once(items: list[PolicyItem], peers: int, size: int) -> None:
    """Together they have every peer on its ports, but for those that no policy has room for."""
    policies, too_large = pack(items, 100, max_bytes=size, max_peers=peers)
    together = [item for policy in policies.values() for item in policy]
    assert len(together) == len(set(together))
    assert {*together, *too_large} == set(items)
    assert not {*together} & {*too_large}
    said = [
        (field, ports, msgspec.json.encode(peer))
        for policy in policies.values()
        for field, ports, found in rules(policy)
        for peer in found
    ]
    assert said == [(item.field, item.ports, item.peer) for item in together]


@given(_ITEMS, st.integers(1, 5), st.integers(400, 3000))
def test_policies_stay_within_their_limits(items: list[PolicyItem], peers: int, size: int) -> None:
    """No policy is empty, has more peers than it may, or more bytes."""
    fixed = "x" * 100
    policies, _ = pack(items, len(fixed), max_bytes=size, max_peers=peers)
    for policy in policies.values():
        assert 0 < len(policy) <= peers
        written = [
            {"f": field, "ports": ports, "to": found} for field, ports, found in rules(policy)
        ]
        assert len(msgspec.json.encode(written)) + len(fixed) <= size


@given(_ITEMS, _ITEMS, st.integers(1, 5))
def test_peers_move_only_to_policies_that_are_new(
    items: list[PolicyItem], more: list[PolicyItem], peers: int
) -> None:
    """As others come, one moves to a policy that was not there; as they go, from one that goes."""
    few, _ = pack(items, 100, max_peers=peers)
    many, _ = pack([*items, *more], 100, max_peers=peers)
    before = {item: place for place, policy in few.items() for item in policy}
    after = {item: place for place, policy in many.items() for item in policy}
    moved = {item for item in before if before[item] != after[item]}
    assert not {after[item] for item in moved} & few.keys()


class _Said(msgspec.Struct):
    cidr: str
    except_: list[str] = msgspec.field(default_factory=list, name="except")


@settings(deadline=None)
@given(_BLOCKS, st.lists(NETWORKS, max_size=8))
def test_collapsing_keeps_the_meaning(
    found: list[tuple[Ports, Block]], tried: list[Network]
) -> None:
    """At the edges of all networks, an address is open on the ports on which it was."""
    after = [
        (item.ports, Block(network_of(said.cidr), tuple(map(network_of, said.except_))))
        for item in block_items("toCIDRSet", found)
        for said in (msgspec.json.decode(item.peer, type=_Said),)
    ]
    networks = [*tried, *(block.network for _, block in found)]
    networks += [each for _, block in found for each in block.excepts]
    for edge in {single_address_network(each[place]) for each in networks for place in (0, -1)}:
        opened = {ports for ports, block in after if _opens(block, edge)}
        assert opened == {ports for ports, block in found if _opens(block, edge)}


@given(_BLOCKS)
def test_no_network_lies_in_another_of_its_ports(found: list[tuple[Ports, Block]]) -> None:
    """Those without exceptions are the fewest there can be: none is there twice."""
    plain: dict[Ports, list[str]] = {}
    for item in block_items("toCIDRSet", found):
        said = msgspec.json.decode(item.peer, type=_Said)
        if not said.except_:
            plain.setdefault(item.ports, []).append(said.cidr)
    for cidrs in plain.values():
        networks = [network_of(each) for each in cidrs]
        assert list(collapse(networks)) == sorted(networks, key=_order)


def _order(network: Network) -> tuple[int, int]:
    return network.version, int(network.network_address)


def _opens(block: Block, address: Network) -> bool:
    return holds(block.network, address) and not any_holds(block.excepts, address)
