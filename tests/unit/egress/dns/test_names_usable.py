"""Which addresses of a name may be opened: none in a reserved range that no intent names."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address, ip_network

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.networks import Address, Network, any_holds, single_address_network
from egress.dns.learnt_names import UNASKED, DnsReply, LearntName, NamesSettings, learn
from egress.dns.usable_addresses import LearntNames, split_usable
from egress.model.facts import NameSource, ResolvedName
from egress.model.reserved_ranges import ALWAYS_RESERVED

SETTINGS = NamesSettings()
PODS = ip_network("10.244.0.0/16")
RESERVED = (*ALWAYS_RESERVED, PODS, ip_network("fd00:10:244::/56"))
CLUSTER = "10.244.7.7"

nets = st.one_of(
    st.sampled_from(RESERVED),
    st.builds(
        lambda number, length: IPv4Network((number, length), strict=False),
        st.integers(0, 2**32 - 1),
        st.integers(0, 32),
    ),
)
addresses = st.one_of(
    st.ip_addresses(),
    st.ip_addresses(network="10.244.0.0/16"),
    st.ip_addresses(network="169.254.0.0/16"),
    st.builds(
        lambda four: IPv6Address(0x64FF9B << 96 | int(four)), st.ip_addresses(network="127.0.0.0/8")
    ),
    st.builds(lambda four: IPv6Address(0x2002 << 112 | int(four) << 80), st.ip_addresses(v=4)),
)


def open_of(*texts: str, within: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the networks that may be opened, as text."""
    networks = tuple(ip_network(text) for text in within)
    return tuple(map(str, split_usable(map(ip_address, texts), networks, RESERVED).addresses))


def dropped_of(text: str, within: tuple[str, ...] = ()) -> str:
    """Return why an address is dropped."""
    networks = tuple(ip_network(each) for each in within)
    found = split_usable([ip_address(text)], networks, RESERVED)
    assert found.addresses == ()
    return found.dropped[0]


def test_public_addresses_are_open() -> None:
    """Single addresses, collapsed, IPv4 first."""
    assert open_of("2a00::1", "192.0.2.1", "192.0.2.0", "192.0.2.5") == (
        "192.0.2.0/31",
        "192.0.2.5/32",
        "2a00::1/128",
    )


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("169.254.169.254", "169.254.0.0/16"),
        ("168.63.129.16", "168.63.129.16/32"),
        ("127.0.0.1", "127.0.0.0/8"),
        ("127.255.255.255", "127.0.0.0/8"),
        ("0.0.0.1", "0.0.0.0/8"),
        ("224.0.0.1", "224.0.0.0/3"),
        ("255.255.255.255", "224.0.0.0/3"),
        (CLUSTER, "10.244.0.0/16"),
        ("::1", "::/127"),
        ("::", "::/127"),
        ("fe80::1", "fe80::/10"),
        ("fd00:ec2::254", "fd00:ec2::/64"),
        ("fd20:ce::254", "fd20:ce::254/128"),
        ("ff02::1", "ff00::/8"),
        ("fd00:10:244::7", "fd00:10:244::/56"),
    ],
)
def test_reserved_addresses_are_dropped(text: str, closed: str) -> None:
    """Each is told with its range and with what would open it."""
    assert dropped_of(text) == (
        f"{text} is in the reserved range {closed}: it needs a `within` inside that"
    )


@pytest.mark.parametrize(
    ("text", "leads"),
    [
        ("64:ff9b:1::a9fe:a9fe", "169.254.169.254"),
        ("2002:a83f:8110::1", "168.63.129.16"),
        ("2002:7f00:1::", "127.0.0.1"),
        ("::10.244.7.7", CLUSTER),
        ("64:ff9b::10.244.7.7", CLUSTER),
        ("2001:0:a9fe:a9fe::", "169.254.169.254"),
        ("2001:0:102:304:0:0:f50b:f8f8", CLUSTER),
    ],
)
def test_ipv6_that_leads_to_reserved_ipv4_is_dropped(text: str, leads: str) -> None:
    """NAT64, 6to4, Teredo and IPv4-compatible addresses are judged by the IPv4 address inside."""
    assert f" leads to {leads}, which is in the reserved range" in dropped_of(text)


@pytest.mark.parametrize("text", ["64:ff9b::808:808", "2002:808:808::1"])
def test_ipv6_that_leads_to_public_ipv4_is_open(text: str) -> None:
    """Behind a NAT64 every public name resolves so."""
    assert open_of(text) == (f"{text}/128",)


@pytest.mark.parametrize("within", [(), ("::/0",), ("::ffff:0:0/96",)])
def test_ipv4_mapped_answers_are_dropped(within: tuple[str, ...]) -> None:
    """They never travel: the packet goes to the IPv4 address, and no policy would match it."""
    assert "IPv4-mapped" in dropped_of("::ffff:192.0.2.1", within)


def test_within_leaves_only_what_is_inside() -> None:
    """Answers elsewhere are dropped, in reserved ranges or not."""
    assert open_of("192.0.2.1", "198.51.100.1", within=("192.0.2.0/24",)) == ("192.0.2.1/32",)
    assert dropped_of("198.51.100.1", ("192.0.2.0/24",)) == "198.51.100.1 is not in `within`"
    assert dropped_of("127.0.0.1", ("192.0.2.0/24",)) == "127.0.0.1 is not in `within`"


@pytest.mark.parametrize(
    ("text", "within"),
    [
        (CLUSTER, "10.244.0.0/16"),
        (CLUSTER, "10.244.7.0/24"),
        ("169.254.169.254", "169.254.169.254/32"),
        ("fd00:10:244::7", "fd00:10:244::/64"),
        ("64:ff9b::a9fe:a9fe", "64:ff9b::a9fe:a9fe/128"),
        ("64:ff9b::a9fe:a9fe", "64:ff9b::a9fe:0/112"),
        ("2002:a9fe:a9fe::1", "2002:a9fe:a9fe::/48"),
    ],
)
def test_within_a_reserved_range_names_it(text: str, within: str) -> None:
    """Whoever writes a network that lies in a reserved range means that range."""
    assert open_of(text, within=(within,)) == (f"{text}/{ip_address(text).max_prefixlen}",)


@pytest.mark.parametrize(
    ("text", "within"),
    [
        (CLUSTER, ("10.0.0.0/8",)),
        ("169.254.169.254", ("0.0.0.0/0",)),
        ("169.254.169.254", ("128.0.0.0/1",)),
        ("169.254.169.254", ("0.0.0.0/0", "169.254.1.0/24")),
        ("64:ff9b::a9fe:a9fe", ("64:ff9b::/96",)),
        ("64:ff9b:1::a9fe:a9fe", ("64:ff9b:1::a9fe:0/111",)),
        ("2002:a9fe:a9fe::1", ("2002::/16",)),
        ("fe80::1", ("::/0",)),
    ],
)
def test_broader_networks_name_no_reserved_range(text: str, within: tuple[str, ...]) -> None:
    """A network that merely holds a reserved range does not mean it, as with `cidr`."""
    assert "is in the reserved range" in dropped_of(text, within)


@given(st.lists(addresses, max_size=8), st.lists(nets, max_size=3))
def test_nothing_reserved_or_outside_is_open(these: list[Address], within: list[Network]) -> None:
    """Open is what lies in `within`, and reserved only where that names the range."""
    found = split_usable(these, within, RESERVED)
    for network in found.addresses:
        assert (
            any_holds([single_address_network(each) for each in these], network)
            or network.num_addresses > 1
        )
        if within:
            assert any_holds(within, network) or network.num_addresses > 1
        for closed in RESERVED:
            if closed.version == network.version and closed.overlaps(network):
                inside = [each for each in within if any_holds([closed], each)]
                assert all(any_holds(inside, single_address_network(each)) for each in network)


@given(st.lists(addresses, max_size=8), st.lists(nets, max_size=3))
def test_every_address_is_open_or_told(these: list[Address], within: list[Network]) -> None:
    """None is lost in silence."""
    found = split_usable(these, within, RESERVED)
    for address in these:
        told = any(text.startswith(f"{address} ") for text in found.dropped)
        assert told != any_holds(found.addresses, single_address_network(address))


def names(**learnt: LearntName) -> NameSource:
    """Return a snapshot with names under .example."""
    state = {f"{name}.example": each for name, each in learnt.items()}
    return LearntNames(state, RESERVED, SETTINGS)


def answered(*texts: str, settings: NamesSettings = SETTINGS) -> LearntName:
    """Return what is known after one answer with IPv4 addresses."""
    return learn(UNASKED, [DnsReply("a:53", 4, tuple(map(IPv4Address, texts)), 60)], 0.0, settings)


def test_one_name_is_judged_by_each_intent() -> None:
    """Of the same answers, each intent gets those that its own `within` lets through."""
    known = names(x=answered("192.0.2.1", CLUSTER))
    assert known.resolved("x.example", ()) == ResolvedName(
        (ip_network("192.0.2.1"),),
        (f"{CLUSTER} is in the reserved range {PODS}: it needs a `within` inside that",),
    )
    assert known.resolved("x.example", (PODS,)).addresses == (ip_network(CLUSTER),)


def test_a_name_that_nobody_asked_for_is_told() -> None:
    """It has no addresses, and the reason."""
    expected = ResolvedName(problem="y.example has not been resolved yet")
    assert names().resolved("y.example", ()) == expected


def test_what_was_learnt_before_a_restart_counts_at_once() -> None:
    """Stored addresses are open before anybody is asked again, and nothing is wrong with them."""
    learnt = LearntName(answered("192.0.2.1").seen)
    assert names(x=learnt).resolved("x.example", ()) == ResolvedName((ip_network("192.0.2.1"),))


def test_problems_are_told() -> None:
    """Servers that fail, names without addresses, and too many of them."""
    failed = [DnsReply("a:53", 4, problem="answers SERVFAIL")]
    before = answered("192.0.2.1")
    stale = names(x=learn(before, failed, 9.0, SETTINGS)).resolved("x.example", ())
    assert stale == ResolvedName(
        (ip_network("192.0.2.1"),),
        problem="x.example: a:53 answers SERVFAIL (what was learnt before stays open)",
    )
    nothing = names(x=learn(UNASKED, failed, 9.0, SETTINGS)).resolved("x.example", ())
    assert nothing.problem == "x.example: a:53 answers SERVFAIL (nothing is known of it)"
    gone = names(x=answered()).resolved("x.example", ())
    assert gone.problem == "x.example has no address: no such name, or none of its own"
    capped = answered("192.0.2.1", "192.0.2.2", settings=NamesSettings(max_addresses=1))
    assert (
        "x.example has more than 256 addresses" in names(x=capped).resolved("x.example", ()).problem
    )


@pytest.mark.parametrize(
    "text",
    [
        *("10.1.2.3", "172.31.255.255", "192.168.0.1", "100.64.0.1", "100.127.255.255"),
        *("fd00::1", "fc00::1", "64:ff9b::10.1.2.3", "2002:a01:203::1"),
    ],
)
def test_a_private_answer_needs_a_within(text: str) -> None:
    """Whoever owns a public name could lead it to any machine of the operator's own network."""
    address = ip_address(text)
    seen = learn(UNASKED, [DnsReply("s", address.version, (address,))], 0.0, SETTINGS)
    names = LearntNames({"a.example": seen}, RESERVED, SETTINGS)
    found = names.resolved("a.example", ())
    assert found.addresses == ()
    assert "needs a `within` inside that" in found.dropped[0]
    inside = single_address_network(address)
    pinned = names.resolved("a.example", (inside,))
    assert pinned.addresses == (inside,)


@pytest.mark.parametrize("text", ["9.255.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1"])
def test_a_public_answer_needs_none(text: str) -> None:
    """The ranges end where their RFCs say."""
    seen = learn(UNASKED, [DnsReply("s", 4, (ip_address(text),))], 0.0, SETTINGS)
    assert LearntNames({"a.example": seen}, RESERVED, SETTINGS).resolved("a.example", ()).addresses


def test_what_is_learnt_is_told_with_its_beginning() -> None:
    """Without an estimate, with one, and where more come than may be kept."""
    learnt = msgspec.structs.replace(answered("192.0.2.1"), learning=1_800_000_000.0)
    begun = "x.example is being learnt since 2027-01-15T08:00:00Z: 1 address is known, "
    said = [
        names(x=msgspec.structs.replace(learnt, refused=refused, pool=pool))
        .resolved("x.example", ())
        .learning
        for refused, pool in ((None, 0), (40, 0), (60, 1700))
    ]
    assert said[:2] == [
        f"{begun}it may have more",
        f"{begun}and up to an estimated 40 % of connections to it are refused",
    ]
    assert said[2].startswith(f"{begun}and up to an estimated 60 % of connections to it are")
    assert "some 1,700 addresses or more, over the 256 that are kept" in said[2]
    assert names(x=answered("192.0.2.1")).resolved("x.example", ()).learning == ""
