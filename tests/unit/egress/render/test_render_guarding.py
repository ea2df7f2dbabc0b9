"""Who is denied which reserved addresses, on engines that can deny."""

import time
from ipaddress import IPv4Address, IPv4Network, ip_network

from hypothesis import given
from hypothesis import strategies as st

from core.base import names
from core.base.networks import Address, Network
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import Requirement
from egress.model.openings import Addresses, Block, CompiledAllowlists, Name, Opening, Peer
from egress.model.reserved_ranges import ALWAYS_RESERVED, PRIVATE_OR_TRANSLATED
from egress.render.engines import render
from egress.render.guards import (
    MOST_NAMED,
    RangeGuard,
    build_guards,
    names_some_of,
    ranges_in_opening,
    reserved_in_opening,
)
from egress.render.target import Engine, EngineKind, IpFamily, RenderTarget
from tests.unit.egress.render.random_openings import SPACE, openings

LINK_LOCAL = ip_network("169.254.0.0/16")
ACCOUNTS = ("s1", "s2", "s3")
HTTPS = (PortRange("TCP", 443, 443),)


def _opening(account: str, network: Network, *, pinned: bool = False) -> Opening:
    selects = (Requirement(names.EGRESS_ACCOUNT_LABEL, "In", (account,)),)
    peer: Peer = Addresses((Block(network),))
    if pinned:
        peer = Name("metadata.example", (network,), pinned=True)
    return Opening("a", "spec.to[0]", selects, peer, HTTPS)


def _is_denied(found: tuple[RangeGuard, ...], account: str, address: Address) -> bool:
    return any(
        address in block.network and not any(address in hole for hole in block.excepts)
        for guard in found
        if account not in guard.but_for
        for block in guard.blocks
    )


def test_who_names_a_part_is_spared_in_that_part_alone() -> None:
    """Another account's broader network spares nobody but that account."""
    part = ip_network("169.254.0.0/32")
    found = build_guards(
        [_opening("s1", LINK_LOCAL), _opening("s2", part, pinned=True)], [LINK_LOCAL]
    )
    metadata = IPv4Address("169.254.169.254")
    assert not _is_denied(found, "s1", metadata)
    assert _is_denied(found, "s2", metadata)
    assert not _is_denied(found, "s1", IPv4Address("169.254.0.0"))
    assert not _is_denied(found, "s2", IPv4Address("169.254.0.0"))
    assert _is_denied(found, "s3", IPv4Address("169.254.0.0"))


networks = st.builds(
    lambda start, length: ip_network(
        (int(LINK_LOCAL.network_address) + start, length), strict=False
    ),
    st.integers(0, 63),
    st.integers(26, 32),
)


@given(st.lists(st.tuples(st.sampled_from(ACCOUNTS), networks), max_size=6))
def test_each_is_denied_what_it_does_not_name(
    chosen: list[tuple[str, IPv4Network]],
) -> None:
    """Every address of the range that no opening of its own names, and no other."""
    found = build_guards([_opening(*each) for each in chosen], [LINK_LOCAL])
    for account in ACCOUNTS:
        own = [network for who, network in chosen if who == account]
        for last in (*range(64), 65_534):
            address = LINK_LOCAL[last]
            wanted = not any(address in each for each in own)
            assert _is_denied(found, account, address) == wanted


def test_what_is_spared_is_denied_to_nobody() -> None:
    """Though an account names a part of it, or all of the range around it."""
    spared = ip_network("169.254.10.0/24")
    part = ip_network("169.254.10.10/32")
    for named in (part, LINK_LOCAL):
        found = build_guards([_opening("s1", named)], [LINK_LOCAL], [spared])
        for account in ACCOUNTS:
            assert not _is_denied(found, account, IPv4Address("169.254.10.10"))
            assert not _is_denied(found, account, IPv4Address("169.254.10.11"))
        assert _is_denied(found, "s2", IPv4Address("169.254.169.254"))


def test_many_named_networks_spare_their_account_in_the_whole_range() -> None:
    """Holes for each would fill every Pod's policy map, and take minutes to compare."""
    ranges = [ip_network("10.0.0.0/8"), ip_network("192.168.0.0/16")]
    found = [
        _opening("s1", IPv4Network((0x0A000000 + 4 * number, 32)))
        for number in range(MOST_NAMED + 1)
    ]
    began = time.perf_counter()
    guards = build_guards(found * 60, ranges, named=ranges_in_opening)
    assert time.perf_counter() - began < 20
    assert sum(len(block.excepts) for guard in guards for block in guard.blocks) <= len(ranges)
    for address in ("10.0.0.1", "10.200.0.1"):
        assert not _is_denied(guards, "s1", IPv4Address(address))
        assert _is_denied(guards, "s2", IPv4Address(address))
    assert _is_denied(guards, "s1", IPv4Address("192.168.0.1"))


def test_a_wider_network_names_the_ranges_in_it() -> None:
    """So that what an allowlist opens by address is not denied for what names could lead to."""
    ranges = [ip_network("10.0.0.0/8")]
    wide = build_guards([_opening("s1", IPv4Network("0.0.0.0/1"))], ranges, (), ranges_in_opening)
    assert not _is_denied(wide, "s1", IPv4Address("10.1.1.1"))
    assert _is_denied(wide, "s2", IPv4Address("10.1.1.1"))


PRIVATE = st.sampled_from(
    [
        *map(ip_network, ("10.0.0.0/8", "10.200.0.0/24", "0.0.0.0/1", "8.8.8.0/24")),
        *map(ip_network, ("fd00::/8", "fc00::/120", "2001:db8::/32")),
    ]
)
NEAR = st.lists(st.builds(_opening, st.sampled_from(ACCOUNTS), PRIVATE), max_size=4)
KINDS: tuple[EngineKind, ...] = ("cilium", "cilium-aks-basic")
FAMILIES: tuple[tuple[IpFamily, ...], ...] = (("IPv4", "IPv6"), ("IPv4",))


@given(openings(), NEAR, st.sampled_from(KINDS), st.sampled_from(FAMILIES))
def test_what_guards_spared_makes_the_same_guards_again(
    found: list[Opening], near: list[Opening], kind: EngineKind, families: tuple[IpFamily, ...]
) -> None:
    """Without the openings themselves, of which nothing is written then."""
    engine = Engine(kind, (1, 19), ip_families=families)
    target = RenderTarget(engine, reserved=ALWAYS_RESERVED)
    workload = (Requirement(names.EGRESS_WORKLOAD_LABEL, "In", ("Job.fetch",)),)
    whole = CompiledAllowlists(SPACE, (*found, *near), opened=workload)
    written = render(whole, target)
    again = render(CompiledAllowlists(SPACE, opened=workload, spared=written.spared), target)
    said = [each for each in written.objects if "annotations" not in each["metadata"]]
    assert list(again.objects) == said
    assert again.spared == written.spared
    assert (again.openings, again.open, again.problems) == ((), (), ())


@given(openings(), NEAR)
def test_what_names_none_of_the_ranges_spares_none(
    found: list[Opening], near: list[Opening]
) -> None:
    """Such an opening need not be looked at."""
    for ranges in (ALWAYS_RESERVED, PRIVATE_OR_TRANSLATED):
        for each in (*found, *near):
            spares = reserved_in_opening(each, ranges) or ranges_in_opening(each, ranges)
            assert names_some_of(each, ranges) or not spares
    assert not names_some_of(_opening("s1", ip_network("8.8.8.0/24")), PRIVATE_OR_TRANSLATED)
