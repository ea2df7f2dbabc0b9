"""What a policy would open is told by what it reaches, whatever its text looks like."""

import pytest

from core.base.errors import InvalidObjectError
from egress.compiler.foreign_policies import (
    MOST_NETWORKS,
    MOST_PARTS,
    find_excess,
    split_rule,
)
from tests.unit.egress.compiler.foreign_objects import (
    ACCOUNT,
    DNS,
    HTTPS,
    NAME,
    TRAINER,
    Json,
    block,
    opened,
    policy,
    read,
)

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
                "all Pods of all namespaces on TCP 443",
            ],
        ),
        (
            {"to": [{"namespaceSelector": {"matchLabels": {"team": "x"}}}], "ports": HTTPS},
            ["all Pods of namespaces with team In x on TCP 443"],
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


OF_SHAPES: dict[str, Json] = {
    "all namespaces": {"to": [{"namespaceSelector": {}}], "ports": [{"port": 53}]},
    "labels of namespaces": {"to": [{"namespaceSelector": {"matchLabels": {"team": "x"}}}]},
    "expressions of both": {
        "to": [
            {
                "namespaceSelector": {
                    "matchExpressions": [
                        {"key": "team", "operator": "In", "values": ["x", "y"]},
                        {"key": "gone", "operator": "DoesNotExist"},
                    ]
                },
                "podSelector": {
                    "matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]
                },
            }
        ]
    },
    "a namespace by name and label": {
        "to": [{"namespaceSelector": {"matchLabels": {NAME: "data", "team": "x"}}}]
    },
    "ports by name, to Pods": {
        "to": [{"podSelector": {}}],
        "ports": [{"port": "https"}, {"port": "dns", "protocol": "UDP"}],
    },
    "ports by name, to addresses": {"to": [block("0.0.0.0/0")], "ports": [{"port": "https"}]},
    "ports by name, to all": {"ports": [{"port": "https"}]},
    "more values than are split": {
        "to": [
            {
                "podSelector": {
                    "matchExpressions": [
                        {"key": key, "operator": "In", "values": list("abcdefgh")}
                        for key in ("app", "tier")
                    ]
                }
            }
        ]
    },
    "all": {},
}
"""As public policies are written; each was refused beside itself, but the last two."""


@pytest.mark.parametrize("shape", OF_SHAPES)
def test_a_policy_opens_nothing_beyond_itself(shape: str) -> None:
    """What is open already is not refused, in whatever words."""
    same = policy(OF_SHAPES[shape])
    assert opened(same, same) == []


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ({"namespaceSelector": {}}, {"podSelector": {}}),
        ({"namespaceSelector": {}}, {"namespaceSelector": {"matchLabels": {"team": "x"}}}),
        (
            {"namespaceSelector": {"matchLabels": {"team": "x"}}},
            {"namespaceSelector": {"matchLabels": {"team": "x", NAME: "data"}}},
        ),
    ],
)
def test_namespaces_by_label_are_compared_by_what_surely_follows(wide: Json, narrow: Json) -> None:
    """More labels are fewer namespaces, and each has its name as a label."""
    assert opened(policy({"to": [narrow]}), policy({"to": [wide]})) == []
    assert opened(policy({"to": [wide]}), policy({"to": [narrow]})) != []


def test_a_namespace_by_name_and_label_is_not_the_one_by_name() -> None:
    """What is open to a namespace while it has a label is not open to it for good."""
    both = policy({"to": [{"namespaceSelector": {"matchLabels": {NAME: "data", "team": "x"}}}]})
    named = policy({"to": [{"namespaceSelector": {"matchLabels": {NAME: "data"}}}]})
    assert opened(named, both) == ["all Pods of namespace data on every port"]


def test_a_port_by_its_name_opens_no_number() -> None:
    """A name may stand for any port that a Pod declares: only the same name is surely open."""
    to = {"to": [block("10.0.0.0/8")]}
    named = policy({**to, "ports": [{"port": "https"}]})
    assert opened(policy({**to, "ports": HTTPS}), named) == ["10.0.0.0/8 on TCP 443"]
    for other in ({"port": "http"}, {"port": "https", "protocol": "UDP"}):
        assert opened(policy({**to, "ports": [other]}), named) != []
    wider = policy({"to": [block("10.0.0.0/7")], "ports": [{"port": "https"}]})
    assert opened(wider, named) == ["11.0.0.0/8 on TCP 1-65535"]
    every = policy({**to, "ports": [{"protocol": "TCP"}]})
    assert opened(named, every) == []


EGRESS = "spec.egress"


def _wide_peer(count: int) -> Json:
    """Return a peer of so many namespaces, by name."""
    named = {"key": NAME, "operator": "In", "values": [f"ns-{index}" for index in range(count)]}
    return {"podSelector": {}, "namespaceSelector": {"matchExpressions": [named]}}


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ({"to": [block("10.0.0.1/8")]}, "spec.egress[0].to[0].ipBlock.cidr"),
        ({"to": [block("::ffff:10.0.0.0/104")]}, "spec.egress[0].to[0].ipBlock.cidr"),
        ({"to": [block("10.0.0.0/8", "x")]}, "spec.egress[0].to[0].ipBlock.except[0]"),
        ({"to": [{}]}, "spec.egress[0].to[0]"),
        ({"to": [block("10.0.0.0/32")] * (MOST_NETWORKS + 1)}, EGRESS),
        ({"to": [], "ports": [{"port": 1}] * MOST_PARTS}, EGRESS),
        ({"to": "x"}, "spec.egress[0].to"),
        ({"to": [_wide_peer(64)] * 40}, "spec"),
        ({"to": [_wide_peer(8)] * 60, "ports": [{"port": port} for port in range(1, 64)]}, EGRESS),
    ],
)
def test_what_cannot_be_compared_is_an_error_that_names_the_field(rule: Json, field: str) -> None:
    """Nothing is guessed: a network that can be read in two ways, or more than can be compared."""
    with pytest.raises(InvalidObjectError) as raised:
        read(policy(rule))
    assert raised.value.field == field


def test_each_step_of_a_large_comparison_is_short() -> None:
    """It compares one peer's Pods of one namespace, or addresses on one part of the ports."""
    [rule] = read(policy({"to": [_wide_peer(64)] * 31}, selects=TRAINER))
    [case] = split_rule(rule)
    steps = [*find_excess(case, ())]
    assert len(steps) == 64 * 31
    assert {len(found) for found in steps} == {1}


def test_no_rules_open_nothing() -> None:
    """A policy that closes, or is about ingress, says nothing of egress."""
    assert read(policy()) == ()
    assert read({"spec": {"podSelector": {}, "ingress": [{}]}}) == ()
    assert read({"spec": {"podSelector": None, "egress": None}}) == ()
