"""What of some connections others do not have: exactly, however they are written."""

from ipaddress import IPv4Network, ip_network

from hypothesis import given
from hypothesis import strategies as st

from core.base.networks import Network, collapse
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import Requirement
from egress.analysis.plan import PeerPorts, covers, missing_connections
from egress.model.openings import Addresses, Block, Name, Pods, Service

networks = st.builds(
    lambda start, length: ip_network((0x0A000000 + start, length), strict=False),
    st.integers(0, 255),
    st.integers(24, 32),
)
ports = st.builds(
    lambda first, more: PortRange("TCP", first, first + more), st.integers(1, 9), st.integers(0, 4)
)
connections = st.lists(
    st.builds(
        lambda some, port: PeerPorts(
            Addresses(tuple(map(Block, collapse(some)))), port, "a spec.to[0]"
        ),
        st.lists(networks, min_size=1, max_size=4),
        ports,
    ),
    max_size=4,
)


def _packets(found: list[PeerPorts]) -> set[tuple[int, int]]:
    return {
        (int(address), port)
        for each in found
        if isinstance(each.peer, Addresses)
        for block in each.peer.blocks
        for address in block.network
        if not any(address in hole for hole in block.excepts)
        for port in range(each.ports.first, each.ports.last + 1)
    }


@given(connections, connections)
def test_addresses_and_ports_are_subtracted_exactly(
    wanted: list[PeerPorts], there: list[PeerPorts]
) -> None:
    """Every packet that one lets through and the other does not, and no other."""
    assert _packets(missing_connections(wanted, there)) == _packets(wanted) - _packets(there)


@given(connections)
def test_nothing_is_missing_of_itself(found: list[PeerPorts]) -> None:
    """However it is written."""
    assert missing_connections(found, found) == []


def _at(*texts: str) -> PeerPorts:
    found: list[Network] = [IPv4Network(text) for text in texts]
    return PeerPorts(Addresses(tuple(map(Block, found))), PortRange("TCP", 443, 443), "a x")


def test_two_halves_are_the_whole() -> None:
    """A network that is written as its halves opens and closes nothing."""
    halves = [_at("10.0.0.0/9"), _at("10.128.0.0/9")]
    assert missing_connections([_at("10.0.0.0/8")], halves) == []
    assert missing_connections(halves, [_at("10.0.0.0/8")]) == []


def test_excepts_count() -> None:
    """What was taken out of a network and is not any more opens."""
    whole = IPv4Network("10.0.0.0/24")
    hole = IPv4Network("10.0.0.128/25")
    before = PeerPorts(Addresses((Block(whole, (hole,)),)), PortRange("TCP", 1, 1), "a x")
    after = PeerPorts(Addresses((Block(whole),)), PortRange("TCP", 1, 1), "a x")
    (found,) = missing_connections([after], [before])
    assert found.peer == Addresses((Block(hole),))


def test_wide_names_cover_narrow_ones() -> None:
    """A wildcard has the names below it, not its own name; a pinned name covers only itself."""
    wide, below, itself = (Name(each, ()) for each in ("*.a.org", "x.y.a.org", "a.org"))
    assert covers(wide, below)
    assert covers(wide, Name("*.y.a.org", ()))
    assert not covers(wide, itself)
    assert not covers(below, wide)
    assert not covers(wide, Name("*", ()))
    assert covers(Name("*", ()), wide)
    assert not covers(itself, Name("a.org", (), pinned=True))


def test_patterns_inside_labels_cover_what_they_mean() -> None:
    """One that begins with any labels is in none that does not."""
    starred = Name("gpu-*.a.org", ())
    assert covers(starred, Name("gpu-1.a.org", ()))
    assert covers(Name("*.a.org", ()), starred)
    assert not covers(starred, Name("*.a.org", ()))
    assert not covers(starred, Name("*.gpu-1.a.org", ()))
    assert covers(Name("*.g*.a.org", ()), Name("*.gpu.a.org", ()))


def test_pods_and_services_cover_their_like() -> None:
    """All Pods of a namespace have those with a label; a Service is itself alone."""
    some = Pods("data", (Requirement("app", "In", ("a",)),))
    assert covers(Pods("data"), some)
    assert not covers(some, Pods("data"))
    assert not covers(Pods("other"), some)
    team = (Requirement("team", "In", ("a",)),)
    assert covers(Pods("", (), ()), some)
    assert covers(Pods("", (), ()), Pods("", (), team))
    assert covers(Pods("", (), team), Pods("", some.requirements, team))
    assert not covers(Pods("", (), team), some)
    named = (Requirement("kubernetes.io/metadata.name", "In", ("data", "other")),)
    assert covers(Pods("", (), named), some)
    one = Service("data", "a", (), ())
    assert covers(one, Service("data", "a", (Requirement("x", "Exists"),), ()))
    assert not covers(one, Service("data", "b", (), ()))


def test_ports_of_a_name_are_subtracted() -> None:
    """What was opened in the middle of a range leaves two ranges."""
    name = Name("a.org", ())
    wanted = [PeerPorts(name, PortRange("TCP", 1, 9), "a x")]
    there = [PeerPorts(name, PortRange("TCP", 4, 5), "a x")]
    assert [each.ports for each in missing_connections(wanted, there)] == [
        PortRange("TCP", 1, 3),
        PortRange("TCP", 6, 9),
    ]


def test_a_named_port_is_none_of_the_numbers() -> None:
    """Nor of another name: what it is differs from Pod to Pod."""
    pods = Pods("data")
    http, https = (PeerPorts(pods, PortRange("TCP", 0, 0, each), "a x") for each in ("a", "b"))
    every = PeerPorts(pods, PortRange("TCP", 1, 65535), "a x")
    assert missing_connections([http], [https, every]) == [http]
    assert missing_connections([http, every], [http]) == [every]
