"""What is said of reach agrees with what policies mean, for all that are made here."""

from itertools import product

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from core.egress.destinations import PortRange
from tests.harness.oracles.policy_semantics import Cluster, End, NamedPort, Pod
from tests.unit.egress.compiler.foreign_objects import (
    ACCOUNT,
    Json,
    opened,
    policy,
    read,
    uncovered,
)
from tests.unit.egress.random_policies import (
    BLOCKS,
    NUMBERED_PORTS,
    POD_PEERS,
    egress_policies,
)

_ADDRESSES = ("10.0.0.0", "10.0.0.3", "10.0.0.4", "10.0.0.7", "10.0.0.12", "fd00::1", "fd00::5")
_PORTS = (1, 2, 3, 4, 5)
_LABELS: tuple[dict[str, str], ...] = (
    {},
    {"app": "a"},
    {"app": "b"},
    {ACCOUNT: "x"},
    {ACCOUNT: "x", "app": "a"},
)
_NAMED: tuple[tuple[NamedPort, ...], ...] = (
    (),
    (NamedPort("web", "TCP", 2),),
    (NamedPort("web", "TCP", 3), NamedPort("web", "UDP", 3)),
)
_HERE = tuple(Pod("ml", f"here-{i}", each) for i, each in enumerate(_LABELS))
_TARGETS = (
    *(End(each) for each in _ADDRESSES),
    *(
        End(address, Pod(place, address, each, (address,), ports=named))
        for i, place in enumerate(("ml", "data", "web"))
        for j, (each, named) in enumerate(product(_LABELS, _NAMED))
        for address in (f"10.0.{i}.{16 + j}",)
    ),
)
_SPACES = {"ml": {}, "data": {"team": "x"}, "web": {"team": "y", "app": "a"}}


def _open(made: Json) -> set[tuple[str, str, str, int]]:
    """Return all connections that one policy lets out, from the Pods that it is about."""
    cluster = Cluster(_SPACES, (made,))
    nothing = Cluster(_SPACES, (policy(selects=made["spec"]["podSelector"]),))
    return {
        (source.name, target.address, protocol, port)
        for source in _HERE
        for target in _TARGETS
        for protocol in ("TCP", "UDP")
        for port in _PORTS
        if cluster.lets_out(End("10.9.9.9", source), target, protocol, port)
        and not nothing.lets_out(End("10.9.9.9", source), target, protocol, port)
    }


def _similar(made: Json, numbers: list[int]) -> Json:
    """Return a policy that opens more here and less there.

    What is chosen by numbers is left out.
    """
    text = msgspec.json.encode(made)
    for number in numbers:
        made = msgspec.json.decode(text)
        rules = made["spec"]["egress"]
        lists = [
            *(rule[field] for rule in rules for field in ("to", "ports")),
            *(
                found["matchExpressions"]
                for found in (
                    made["spec"]["podSelector"],
                    *(peer.get("podSelector", {}) for rule in rules for peer in rule["to"]),
                )
                if "matchExpressions" in found
            ),
        ]
        chosen = lists[number % len(lists)]
        if len(chosen) > 1 or chosen not in [rule["to"] for rule in rules]:
            del chosen[:1]
        text = msgspec.json.encode(made)
    return made


@settings(max_examples=150, deadline=None)
@given(
    egress_policies(st.one_of(BLOCKS, POD_PEERS)),
    st.lists(egress_policies(st.one_of(BLOCKS, POD_PEERS)), max_size=2),
    st.lists(st.lists(st.integers(0, 99), max_size=3), max_size=3),
)
def test_what_is_said_to_open_nothing_opens_nothing(
    asked: Json, others: list[Json], numbers: list[list[int]]
) -> None:
    """For all policies: each connection of one that passes is a connection of those there."""
    there = [*others, *(_similar(asked, each) for each in numbers)]
    if opened(asked, *there):
        return
    known = set().union(*map(_open, there))
    assert _open(asked) <= known


@settings(max_examples=300, deadline=None)
@given(
    egress_policies(BLOCKS, NUMBERED_PORTS),
    st.lists(egress_policies(BLOCKS, NUMBERED_PORTS), min_size=1),
)
def test_of_addresses_only_what_opens_something_is_told(asked: Json, there: list[Json]) -> None:
    """For one and the same selector, comparing addresses and ports is exact, not only safe."""
    for each in (asked, *there):
        each["spec"]["podSelector"] = {}
        each["spec"]["egress"] = [
            rule for rule in each["spec"]["egress"] if rule["to"] and rule["ports"]
        ]
    told = [
        rule for rule in read(asked) if uncovered(rule, [r for one in there for r in read(one)])
    ]
    new = _everything(asked) - set().union(*map(_everything, there))
    assert bool(told) == bool(new)


@settings(max_examples=300, deadline=None)
@given(
    egress_policies(st.one_of(BLOCKS, POD_PEERS)),
    st.lists(egress_policies(st.one_of(BLOCKS, POD_PEERS)), max_size=2),
)
def test_no_policy_opens_more_than_itself(asked: Json, others: list[Json]) -> None:
    """For all policies: beside itself, and whatever else is there, it opens nothing."""
    assert opened(asked, *others, asked) == []


def _everything(made: Json) -> set[tuple[int, int, str, int]]:
    """Return all addresses and ports of a policy's blocks that matter: those at their edges."""
    found: set[tuple[int, int, str, int]] = set()
    for rule in read(made):
        for span in rule.spans:
            edges = {
                (version, address)
                for version, at in ((4, _EDGES_4), (6, _EDGES_6))
                for address in at
                if span.version == version and span.first <= address <= span.last
            }
            for ports in (each for each in rule.ports if isinstance(each, PortRange)):
                found |= {
                    (*edge, ports.protocol, port)
                    for edge in edges
                    for port in range(ports.first, ports.last + 1)
                }
    return found


_EDGES_4 = (0, 2**32 - 1, *range(10 * 2**24, 10 * 2**24 + 16))
_EDGES_6 = (0, 2**128 - 1, *range(0xFD << 120, (0xFD << 120) + 9))
