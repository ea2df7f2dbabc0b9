"""Broader networks open no reserved address; what names one, opens it as written."""

from ipaddress import IPv4Address, IPv4Network, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.networks import Network, any_holds
from egress.model.openings import Block
from egress.model.reserved_ranges import ALWAYS_RESERVED, blocks_of, named_block

PODS = ip_network("10.244.0.0/16")
RESERVED = (*ALWAYS_RESERVED, PODS)
EVERYWHERE = ip_network("0.0.0.0/0")


def _opens(block: Block, address: Network) -> bool:
    return any_holds((block.network,), address) and not any_holds(block.excepts, address)


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "168.63.129.16", "127.0.0.1", "10.244.3.4", "224.0.0.1", "0.0.0.1"],
)
def test_everywhere_opens_nothing_that_is_reserved(address: str) -> None:
    """The whole Internet is without metadata, wire server, loopback and the cluster's Pods."""
    block = named_block(EVERYWHERE, RESERVED)
    assert block is not None
    assert not _opens(block, ip_network(address))
    assert _opens(block, ip_network("8.8.8.8"))


def test_everywhere_in_ipv6_opens_no_way_back_to_what_is_reserved() -> None:
    """Where a translator leads IPv6 to IPv4, metadata is not behind it; the Internet is."""
    block = named_block(ip_network("::/0"), RESERVED)
    assert block is not None
    for closed in ("64:ff9b::a9fe:a9fe", "64:ff9b::a83f:8110", "fe80::1", "fd00:ec2::254"):
        assert not _opens(block, ip_network(closed))
    for open_ in ("64:ff9b::808:808", "2001:4860:4860::8888"):
        assert _opens(block, ip_network(open_))


@pytest.mark.parametrize("text", ["169.254.169.254/32", "10.244.7.0/24", "168.63.129.16/32"])
def test_what_lies_in_a_reserved_range_names_it(text: str) -> None:
    """It is open as written."""
    assert named_block(ip_network(text), RESERVED) == Block(ip_network(text))


def test_a_network_of_others_making_never_opens_what_is_reserved() -> None:
    """A service tag that holds the wire server, or is it, names no reserved range."""
    found = blocks_of([ip_network("168.63.129.16/32"), ip_network("168.63.128.0/17")], RESERVED)
    assert found == (Block(ip_network("168.63.128.0/17"), (ip_network("168.63.129.16/32"),)),)


def test_nothing_is_left_where_all_is_carved_out() -> None:
    """No block, rather than one whose holes are all of it."""
    halves = [ip_network("10.0.0.0/9"), ip_network("10.128.0.0/9")]
    assert named_block(ip_network("10.0.0.0/8"), (), halves) is None


_networks = st.builds(
    lambda address, prefix: IPv4Network((address, prefix), strict=False),
    st.integers(0, 2**32 - 1),
    st.integers(0, 32),
)


@given(_networks, st.lists(_networks, max_size=4), st.lists(_networks, max_size=4), st.data())
def test_a_block_opens_exactly_what_is_named_and_not_reserved(
    network: IPv4Network,
    reserved: list[IPv4Network],
    without: list[IPv4Network],
    data: st.DataObject,
) -> None:
    """Address by address: in the network, not excepted, and in no range that it does not name."""
    corners = [each.network_address for each in (network, *reserved, *without)]
    corners += [each.broadcast_address for each in (network, *reserved, *without)]
    address = data.draw(st.sampled_from(corners) | st.ip_addresses(v=4))
    assert isinstance(address, IPv4Address)
    named = [each for each in reserved if network.subnet_of(each)]
    wanted = (
        address in network
        and not any(address in each and each.subnet_of(network) for each in without)
        and not any(
            address in each and each.subnet_of(network) for each in reserved if each not in named
        )
    )
    block = named_block(network, reserved, without)
    assert (block is not None and _opens(block, ip_network(address))) == wanted
