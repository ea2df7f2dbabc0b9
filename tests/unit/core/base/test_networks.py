"""Networks: read as they are written, put together and taken apart without losing an address."""

import ipaddress
import itertools
from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InvalidObjectError
from core.base.networks import (
    Network,
    Span,
    any_holds,
    are_within,
    collapse,
    holds,
    merge_spans,
    network_of,
    overlap,
    parse_network,
    single_address_network,
    span_of,
    subtract,
    subtract_spans,
)

BITS = 8
"""Networks of a small universe: the last octet of 10.0.0.0, each address can be looked at."""


@st.composite
def small(draw: st.DrawFn) -> Network:
    """Return a network inside 10.0.0.0/24."""
    prefix = draw(st.integers(32 - BITS, 32))
    step = 2 ** (32 - prefix)
    place = draw(st.integers(0, 2**BITS // step - 1)) * step
    return IPv4Network(((10 << 24) + place, prefix))


def addresses(*networks: Network) -> set[int]:
    """Return all addresses of networks."""
    return {int(each) for network in networks for each in network}


@pytest.mark.parametrize(
    "text",
    ["10.0.0.0/8", "0.0.0.0/0", "10.1.2.3/32", "2001:db8::/32", "::/0", "::1/128", "fe80::/10"],
)
def test_canonical_networks_are_read(text: str) -> None:
    """What is read is what is written."""
    assert str(parse_network(text, field="spec.to[0].cidr", what="x")) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("10.0.0.1/8", "is not in its canonical form: write 10.0.0.0/8"),
        ("10.0.0.1", "is not in its canonical form: write 10.0.0.1/32"),
        ("10.0.0.0/255.0.0.0", "is not in its canonical form: write 10.0.0.0/8"),
        ("2001:DB8::/32", "is not in its canonical form: write 2001:db8::/32"),
        ("2001:0::/32", "is not in its canonical form: write 2001::/32"),
        ("010.0.0.0/8", "must be a network in CIDR notation"),
        ("10.0.0.0/33", "must be a network in CIDR notation"),
        ("10.0.0.0/-1", "must be a network in CIDR notation"),
        ("fe80::1%eth0/128", "must be a network in CIDR notation"),
        ("fe80::1%/128", "must be a network in CIDR notation"),
        ("packages.example.org", "must be a network in CIDR notation"),
        ("", "must be a network in CIDR notation"),
        (" 10.0.0.0/8", "must be a network in CIDR notation"),
        ("١٠.0.0.0/8", "must be a network in CIDR notation"),
        ("::ffff:10.0.0.0/104", "holds IPv4-mapped addresses: write the IPv4 network itself"),
        ("::ffff:169.254.169.254/128", "holds IPv4-mapped addresses"),
        ("::ffff:0:0/96", "holds IPv4-mapped addresses"),
    ],
)
def test_any_other_writing_is_refused_with_what_to_write(text: str, why: str) -> None:
    """The error names the field, what was written and what to write."""
    with pytest.raises(InvalidObjectError) as error:
        parse_network(text, field="spec.to[0].cidr", what="EgressAllowlist a")
    assert error.value.field == "spec.to[0].cidr"
    assert repr(text) in error.value.problem
    assert why in error.value.problem


@given(st.ip_addresses())
def test_an_address_is_a_network_of_one(address: ipaddress.IPv4Address) -> None:
    """Both families."""
    assert single_address_network(address).num_addresses == 1


@given(st.lists(small(), max_size=8))
def test_collapsing_keeps_each_address_and_is_the_least(networks: list[Network]) -> None:
    """The same addresses, in as few networks as can be, whatever the order."""
    found = collapse(networks)
    assert addresses(*found) == addresses(*networks)
    assert found == collapse(reversed(networks))
    assert len(found) <= len(set(networks))


@given(small(), st.lists(small(), max_size=8))
def test_subtracting_takes_just_those_out(network: Network, holes: list[Network]) -> None:
    """What is left is what is in the one and in none of the others; collapsed."""
    left = subtract(network, holes)
    assert addresses(*left) == addresses(network) - addresses(*holes)
    assert left == collapse(left)


@given(small(), small())
def test_holding_and_meeting_are_of_addresses(one: Network, other: Network) -> None:
    """One network holds another as sets do."""
    assert holds(one, other) == (addresses(one) >= addresses(other))
    assert overlap(one, other) == bool(addresses(one) & addresses(other))
    assert any_holds([one, one], other) == holds(one, other)


def test_the_families_never_mix() -> None:
    """0.0.0.0/0 and ::/0 have nothing in common."""
    four, six = network_of("0.0.0.0/0"), network_of("::/0")
    assert not holds(four, six)
    assert not overlap(four, six)
    assert subtract(four, [six]) == (four,)
    assert merge_spans([span_of(four), span_of(six)]) == [span_of(four), span_of(six)]


def test_six_is_subtracted_as_four_is() -> None:
    """The last address of the last network too."""
    assert subtract(network_of("::/0"), [network_of("::/1")]) == (network_of("8000::/1"),)
    assert subtract(network_of("ff00::/8"), [network_of("::/0")]) == ()


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 10)), max_size=8))
def test_merged_spans_neither_meet_nor_touch(parts: list[tuple[int, int]]) -> None:
    """The same numbers, in as few spans as can be."""
    spans = [Span(4, first, first + more) for first, more in parts]
    found = merge_spans(spans)
    assert {n for s in found for n in range(s.first, s.last + 1)} == {
        n for s in spans for n in range(s.first, s.last + 1)
    }
    assert all(one.last + 1 < other.first for one, other in itertools.pairwise(found))
    assert sum(each.size for each in found) == len(
        {n for s in spans for n in range(s.first, s.last + 1)}
    )


def test_holes_outside_take_nothing() -> None:
    """Before, behind, and of the other family."""
    whole = Span(4, 10, 20)
    assert subtract_spans(whole, [Span(4, 0, 9), Span(4, 21, 30), Span(6, 0, 100)]) == [whole]
    assert subtract_spans(whole, [Span(4, 0, 10), Span(4, 12, 30)]) == [Span(4, 11, 11)]


@given(st.lists(small(), max_size=6), st.lists(small(), max_size=6))
def test_within_says_whether_each_address_is_there(
    inner: list[Network], outer: list[Network]
) -> None:
    """Addresses are looked at one by one, in both families at once."""
    six = span_of(ipaddress.ip_network("::/64"))
    some = {address for network in inner for address in network}
    all_of = {address for network in outer for address in network}
    left, right = merge_spans(map(span_of, inner)), merge_spans(map(span_of, outer))
    assert are_within(left, right) == (some <= all_of)
    assert are_within([*left, six], [*right, six]) == (some <= all_of)
    assert not are_within([*left, six], right)
