"""What a policy would open is told by what it reaches, whatever its text looks like."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InvalidObjectError
from egress.reach import uncovered
from egress.reading import MOST_NETWORKS, MOST_PARTS, Rule, read_rules
from tests.harness.policy_semantics import Cluster, End, Pod

Json = dict[str, Any]

ACCOUNT = "egress.sallyport.dev/service-account"
NAME = "kubernetes.io/metadata.name"

TRAINER = {"matchLabels": {ACCOUNT: "trainer"}}
HTTPS = [{"protocol": "TCP", "port": 443}]
DNS = {
    "to": [
        {
            "namespaceSelector": {"matchLabels": {NAME: "kube-system"}},
            "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
        }
    ],
    "ports": [{"protocol": "TCP", "port": 53}, {"protocol": "UDP", "port": 53}],
}


def block(cidr: str, *holes: str) -> Json:
    """Give a peer of addresses."""
    return {"ipBlock": {"cidr": cidr, **({"except": list(holes)} if holes else {})}}


def policy(*egress: Json, selects: Json | None = None) -> Json:
    """Give a NetworkPolicy of the namespace `ml`."""
    spec = {"podSelector": selects or {}, "policyTypes": ["Egress"], "egress": list(egress)}
    return {"metadata": {"name": "own", "namespace": "ml"}, "spec": spec}


def read(made: Json, *, trusted: bool = False) -> tuple[Rule, ...]:
    """Read a policy as it comes."""
    return read_rules(msgspec.json.encode(made), "ml", trusted=trusted)


def opened(made: Json, *there: Json) -> list[str]:
    """Give what a policy opens beyond those that are there."""
    known = [rule for each in there for rule in read(each, trusted=True)]
    return [text for rule in read(made) for text in uncovered(rule, known)]


OPEN = policy(
    {"to": [block("10.0.0.0/8", "10.1.0.0/16")], "ports": HTTPS},
    {"to": [block("10.1.0.0/17")], "ports": [{"protocol": "TCP", "port": 400, "endPort": 500}]},
    selects=TRAINER,
)
BOTH = policy(
    {"to": [block("192.0.2.0/24")], "ports": HTTPS},
    selects={"matchExpressions": [{"key": ACCOUNT, "operator": "In", "values": ["a", "b"]}]},
)
PODS = policy(
    {
        "to": [
            {
                "namespaceSelector": {"matchLabels": {NAME: "data"}},
                "podSelector": {"matchLabels": {"app": "db"}},
            }
        ],
        "ports": [{"protocol": "TCP", "port": 5432, "endPort": 5440}],
    },
    DNS,
)


@pytest.mark.parametrize(
    "rule",
    [
        {"to": [block("10.0.0.0/9", "10.1.0.0/16")], "ports": HTTPS},
        {"to": [block("10.0.0.0/16"), block("10.128.0.0/9")], "ports": HTTPS},
        {"to": [block("10.0.0.0/15", "10.1.128.0/17")], "ports": HTTPS},
        {"to": [block("10.1.4.0/24")], "ports": [{"port": 450, "endPort": 460}]},
        {"to": [block("10.2.3.4/32")], "ports": [{"port": 443}]},
    ],
)
def test_what_is_open_already_may_be_said_again(rule: Json) -> None:
    """Parts, unions and exceptions of what is open open nothing, however they are cut."""
    assert opened(policy(rule, selects=TRAINER), OPEN) == []


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"to": [block("10.0.0.0/8")], "ports": HTTPS}, ["10.1.128.0/17 on TCP 443"]),
        (
            {"to": [block("10.2.0.0/16")], "ports": [{"port": 443, "endPort": 444}]},
            ["10.2.0.0/16 on TCP 444"],
        ),
        ({"to": [block("10.2.0.0/16")]}, ["10.2.0.0/16 on every port"]),
        (
            {"to": [block("10.2.0.0/16")], "ports": [{"protocol": "UDP", "port": 443}]},
            ["10.2.0.0/16 on UDP 443"],
        ),
        ({"to": [block("fd00::/64")], "ports": HTTPS}, ["fd00::/64 on TCP 443"]),
        (
            {"to": [block("0.0.0.0/1"), block("128.0.0.0/1")], "ports": HTTPS},
            ["0.0.0.0/5, 8.0.0.0/7, 10.1.128.0/17 and more on TCP 443"],
        ),
        (
            {"ports": HTTPS},
            [
                "0.0.0.0/5, 8.0.0.0/7, 10.1.128.0/17 and more on TCP 443",
                "Pods of namespaces that it does not name on TCP 443",
            ],
        ),
        (
            {"to": [{"namespaceSelector": {"matchLabels": {"team": "x"}}}], "ports": HTTPS},
            ["Pods of namespaces that it does not name on TCP 443"],
        ),
        (
            {"to": [{"podSelector": {}}], "ports": [{"port": "https"}]},
            ["all Pods of namespace ml on TCP 1-65535"],
        ),
        (
            {"to": [block("10.2.0.0/16")], "ports": [{"port": "https"}]},
            ["10.2.0.0/16 on TCP 1-442", "10.2.0.0/16 on TCP 444-65535"],
        ),
    ],
)
def test_what_is_new_is_named(rule: Json, told: list[str]) -> None:
    """The description is of what would be opened, and of nothing else."""
    assert opened(policy(rule, selects=TRAINER), OPEN) == told


def test_what_is_open_to_some_pods_is_not_open_to_all() -> None:
    """A policy that selects more Pods than the allowlist's opens it to the others."""
    rule = {"to": [block("10.2.0.0/16")], "ports": HTTPS}
    for selects in ({}, {"matchLabels": {"app": "x"}}, {"matchLabels": {ACCOUNT: "other"}}):
        assert opened(policy(rule, selects=selects), OPEN) == ["10.2.0.0/16 on TCP 443"]


def test_what_is_open_to_each_account_is_open_to_all_of_them() -> None:
    """Several allowlists together are for the accounts of all of them."""
    rule = {"to": [block("10.2.0.0/16")], "ports": HTTPS}
    more = policy(rule, selects=BOTH["spec"]["podSelector"])
    asked = policy(
        rule,
        selects={
            "matchExpressions": [
                {"key": ACCOUNT, "operator": "In", "values": ["trainer", "a"]},
                {"key": "app", "operator": "Exists"},
            ]
        },
    )
    assert opened(asked, OPEN, more) == []
    assert opened(asked, OPEN) == ["10.2.0.0/16 on TCP 443"]


@pytest.mark.parametrize(
    ("peer", "ports", "told"),
    [
        ({"app": "db", "tier": "1"}, [{"port": 5433}], []),
        ({"app": "db"}, [{"port": 5440, "endPort": 5441}], ["TCP 5441"]),
        ({"app": "web"}, [{"port": 5432}], ["TCP 5432"]),
        ({}, [{"port": 5432}], ["TCP 5432"]),
    ],
)
def test_pods_are_compared_by_what_surely_follows(
    peer: dict[str, str], ports: list[Json], told: list[str]
) -> None:
    """More labels are fewer Pods; other labels are other Pods."""
    asked: Json = {
        "to": [
            {
                "namespaceSelector": {"matchLabels": {NAME: "data", "x": "y"}},
                "podSelector": {"matchLabels": peer},
            }
        ],
        "ports": ports,
    }
    assert [text.partition(" on ")[2] for text in opened(policy(asked), PODS)] == told
    assert opened(policy(DNS), PODS) == []


def test_ports_by_name_open_nothing_where_it_is_trusted() -> None:
    """A name may stand for any port that a Pod declares: nobody can rely on it."""
    named = policy({"to": [block("10.0.0.0/8")], "ports": [{"port": "https"}]})
    asked = policy({"to": [block("10.0.0.0/8")], "ports": HTTPS})
    assert read(named, trusted=True) == ()
    assert opened(asked, named) == ["10.0.0.0/8 on TCP 443"]


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ({"to": [block("10.0.0.1/8")]}, "spec.egress[0].to[0].ipBlock.cidr"),
        ({"to": [block("::ffff:10.0.0.0/104")]}, "spec.egress[0].to[0].ipBlock.cidr"),
        ({"to": [block("10.0.0.0/8", "x")]}, "spec.egress[0].to[0].ipBlock.except[0]"),
        ({"to": [{}]}, "spec.egress[0].to[0]"),
        ({"to": [block("10.0.0.0/32")] * (MOST_NETWORKS + 1)}, "spec.egress"),
        ({"to": [], "ports": [{"port": 1}] * MOST_PARTS}, "spec.egress"),
        ({"to": "x"}, "spec.egress[0].to"),
    ],
)
def test_what_cannot_be_compared_is_an_error_that_names_the_field(rule: Json, field: str) -> None:
    """Nothing is guessed: a network that can be read in two ways, or more than can be compared."""
    with pytest.raises(InvalidObjectError) as raised:
        read(policy(rule))
    assert raised.value.field == field


def test_no_rules_open_nothing() -> None:
    """A policy that closes, or is about ingress, says nothing of egress."""
    assert read(policy()) == ()
    assert read({"spec": {"podSelector": {}, "ingress": [{}]}}) == ()
    assert read({"spec": {"podSelector": None, "egress": None}}) == ()


_ADDRESSES = ("10.0.0.0", "10.0.0.3", "10.0.0.4", "10.0.0.7", "10.0.0.12", "fd00::1", "fd00::5")
_PORTS = (1, 2, 3, 4, 5)
_LABELS: tuple[dict[str, str], ...] = (
    {},
    {"app": "a"},
    {"app": "b"},
    {ACCOUNT: "x"},
    {ACCOUNT: "x", "app": "a"},
)
_HERE = tuple(Pod("ml", f"here-{i}", each) for i, each in enumerate(_LABELS))
_TARGETS = (
    *(End(each) for each in _ADDRESSES),
    *(
        End(f"10.9.{i}.{j}", Pod(place, f"{place}-{i}", each))
        for i, place in enumerate(("ml", "data", "web"))
        for j, each in enumerate(_LABELS)
    ),
)
_SPACES = {"ml": {}, "data": {"team": "x"}, "web": {"team": "x"}}

_keys = st.sampled_from(("app", ACCOUNT))
_values = st.lists(st.sampled_from(("a", "b", "x")), min_size=1, max_size=2, unique=True)
_expressions = st.one_of(
    st.builds(
        lambda key, op, values: {"key": key, "operator": op, "values": values},
        _keys,
        st.sampled_from(("In", "NotIn")),
        _values,
    ),
    st.builds(
        lambda key, op: {"key": key, "operator": op},
        _keys,
        st.sampled_from(("Exists", "DoesNotExist")),
    ),
)
_selectors = st.lists(_expressions, max_size=2).map(
    lambda found: {"matchExpressions": found} if found else {}
)
_spaces: st.SearchStrategy[Json] = st.one_of(
    st.just({}),
    st.just({"matchLabels": {"team": "x"}}),
    st.sampled_from(("ml", "data", "web")).map(lambda name: {"matchLabels": {NAME: name}}),
)
_blocks = st.one_of(
    st.sampled_from(("10.0.0.0/29", "10.0.0.0/30", "10.0.0.4/30", "10.0.0.12/32")).map(block),
    st.sampled_from(("fd00::/125", "fd00::4/126", "::/0")).map(block),
    st.sampled_from(("10.0.0.3/32", "10.0.0.4/30")).map(lambda hole: block("10.0.0.0/28", hole)),
)
_pods = st.one_of(
    _selectors.map(lambda found: {"podSelector": found}),
    st.builds(lambda a, b: {"podSelector": a, "namespaceSelector": b}, _selectors, _spaces),
)
_ports = st.builds(
    lambda protocol, first, more: {
        "protocol": protocol,
        "port": first,
        **({"endPort": first + more} if more else {}),
    },
    st.sampled_from(("TCP", "UDP")),
    st.integers(1, 4),
    st.integers(0, 1),
)


def _policies(peers: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    rules = st.builds(
        lambda to, ports: {"to": to, "ports": ports},
        st.lists(peers, max_size=3),
        st.lists(_ports, max_size=3),
    )
    return st.builds(
        lambda egress, selects: policy(*egress, selects=selects),
        st.lists(rules, min_size=1, max_size=2),
        _selectors,
    )


def _open(made: Json) -> set[tuple[str, str, str, int]]:
    """Give all connections that one policy lets out, from the Pods that it is about."""
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
    """Give a policy that opens more here and less there: what is chosen by numbers is left out."""
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


@settings(max_examples=250, deadline=None)
@given(
    _policies(st.one_of(_blocks, _pods)),
    st.lists(_policies(st.one_of(_blocks, _pods)), max_size=2),
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
@given(_policies(_blocks), st.lists(_policies(_blocks), min_size=1))
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


def _everything(made: Json) -> set[tuple[int, int, str, int]]:
    """Give all addresses and ports of a policy's blocks that matter: those at their edges."""
    found: set[tuple[int, int, str, int]] = set()
    for rule in read(made):
        for span in rule.spans:
            edges = {
                (version, address)
                for version, at in ((4, _EDGES_4), (6, _EDGES_6))
                for address in at
                if span.version == version and span.first <= address <= span.last
            }
            for ports in rule.ports:
                found |= {
                    (*edge, ports.protocol, port)
                    for edge in edges
                    for port in range(ports.first, ports.last + 1)
                }
    return found


_EDGES_4 = tuple(range(10 * 2**24, 10 * 2**24 + 16))
_EDGES_6 = (0, 2**128 - 1, *range(0xFD << 120, (0xFD << 120) + 9))
