"""Upstream's cases that are about ingress: policies and truth tables."""

from tests.unit.egress.upstream import (
    ALL,
    X_A,
    X_B,
    Json,
    allow_from,
    case,
    in_namespace,
    named,
    no,
    pods,
    policy,
    spaces,
    step,
    yes,
)

_DENY = policy(ALL, ingress=[])
_FROM_B = policy(X_A, ingress=[allow_from(pods(X_B))])
_FROM_Y = policy(X_A, ingress=[allow_from(spaces(named("y")))])
_FROM_Y_A = policy(X_A, ingress=[allow_from(spaces(named("y"), X_A))])
_ONLY_Y = (no("x", "x/a"), no("z", "x/a"))
_NOT_X = in_namespace("NotIn", "x")


def _from_y(port: int | str) -> Json:
    return policy(X_A, ingress=[allow_from(spaces(named("y")), port=port, protocol="TCP")])


def _expression(*values: str) -> Json:
    return {"matchExpressions": [{"key": "pod", "operator": "In", "values": list(values)}]}


INGRESS_CASES = (
    case(
        "should support a 'default-deny-ingress' policy",
        "x/a x/b y/a y/b",
        step([_DENY], "TCP 80", no("*", "x")),
    ),
    case(
        "should enforce policy to allow traffic from pods within server namespace based on "
        "PodSelector",
        "x/a x/b x/c y/a",
        step([_FROM_B], "TCP 80", no("*", "x/a"), yes("x/b", "x/a")),
    ),
    case(
        "should enforce policy to allow ingress traffic for a target",
        "x/a x/b y/a",
        step(
            [
                _DENY,
                policy(X_A, ingress=[allow_from({"podSelector": {}, "namespaceSelector": {}})]),
            ],
            "TCP 80",
            no("*", "x/b"),
        ),
    ),
    case(
        "should enforce policy to allow ingress traffic from pods in all namespaces",
        "x/a x/b y/a z/a",
        step([policy(X_A, ingress=[allow_from(spaces({"matchLabels": {}}))])], "TCP 80"),
    ),
    case(
        "should enforce policy to allow traffic only from a different namespace, based on "
        "NamespaceSelector",
        "x/a x/b y/a z/a",
        step([_FROM_Y], "TCP 80", *_ONLY_Y),
    ),
    case(
        "should enforce policy based on PodSelector with MatchExpressions",
        "x/a x/b y/a",
        step(
            [policy(X_A, ingress=[allow_from(pods(_expression("b")))])],
            "TCP 80",
            no("*", "x/a"),
            yes("x/b", "x/a"),
        ),
    ),
    case(
        "should enforce policy based on NamespaceSelector with MatchExpressions",
        "x/a x/b y/a z/a",
        step(
            [policy(X_A, ingress=[allow_from(spaces(in_namespace("In", "y")))])],
            "TCP 80",
            *_ONLY_Y,
        ),
    ),
    case(
        "should enforce policy based on PodSelector or NamespaceSelector",
        "x/a x/b x/c y/a",
        step(
            [policy(X_A, ingress=[allow_from(spaces(_NOT_X), pods(X_B))])],
            "TCP 80",
            no("x/c", "x/a"),
        ),
    ),
    case(
        "should enforce policy based on PodSelector and NamespaceSelector",
        "x/a x/b y/a y/b z/b",
        step(
            [policy(X_A, ingress=[allow_from(spaces(_NOT_X, X_B))])],
            "TCP 80",
            no("*", "x/a"),
            yes("y/b", "x/a"),
            yes("z/b", "x/a"),
        ),
    ),
    case(
        "should enforce policy based on Multiple PodSelectors and NamespaceSelectors",
        "x/a x/b y/a y/b y/c",
        step(
            [policy(X_A, ingress=[allow_from(spaces(_NOT_X, _expression("b", "c")))])],
            "TCP 80",
            no("x", "x/a"),
            no("y/a", "x/a"),
        ),
    ),
    case(
        "should enforce policy based on any PodSelectors",
        "x/a x/b x/c",
        step(
            [policy(X_A, ingress=[allow_from(pods(X_B), pods({"matchLabels": {"pod": "c"}}))])],
            "TCP 80",
            no("*", "x/a"),
            yes("x/b", "x/a"),
            yes("x/c", "x/a"),
        ),
    ),
    case(
        "should enforce policy to allow traffic only from a pod in a different namespace based on "
        "PodSelector and NamespaceSelector",
        "x/a x/b y/a y/b z/a",
        step([_FROM_Y_A], "TCP 80", no("*", "x/a"), yes("y/a", "x/a")),
    ),
    case(
        "should enforce policy based on Ports",
        "x/a x/b y/a y/b z/a",
        step([_from_y(81)], "TCP 81", *_ONLY_Y),
    ),
    case(
        "should enforce multiple, stacked policies with overlapping podSelectors",
        "x/a x/b y/a y/b z/a",
        step([_from_y(81)], "TCP 81", *_ONLY_Y),
        step([_from_y(81)], "TCP 80", no("*", "x/a")),
        step([_from_y(81), _from_y(80)], "TCP 80", *_ONLY_Y),
    ),
    case(
        "should support allow-all policy",
        "x/a x/b y/a",
        step([policy({"matchLabels": {}}, ingress=[{}])], "TCP 80"),
        step([policy({"matchLabels": {}}, ingress=[{}])], "TCP 81"),
    ),
    case(
        "should allow ingress access on one named port",
        "x/a x/b y/a",
        step([policy(ALL, ingress=[allow_from(port="serve-81-tcp")])], "TCP 81"),
        step([policy(ALL, ingress=[allow_from(port="serve-81-tcp")])], "TCP 80", no("*", "x")),
    ),
    case(
        "should allow ingress access from namespace on one named port",
        "x/a x/b y/a z/a",
        step([_from_y("serve-80-tcp")], "TCP 80", *_ONLY_Y),
        step([_from_y("serve-80-tcp")], "TCP 81", no("*", "x/a")),
    ),
    case(
        "should enforce updated policy",
        "x/a y/a",
        step([policy(ALL, ingress=[{}])], "TCP 81"),
        step([_DENY], "TCP 81", no("*", "x")),
    ),
    case(
        "should allow ingress access from updated namespace",
        "x/a y/a",
        *(
            step(
                [policy(X_A, ingress=[allow_from(spaces({"matchLabels": {"ns2": "updated"}}))])],
                "TCP 80",
                no("*", "x/a"),
                *expected,
                namespaces=labels,
            )
            for labels, expected in (({}, ()), ({"y": {"ns2": "updated"}}, (yes("y", "*"),)))
        ),
    ),
    case(
        "should allow ingress access from updated pod",
        "x/a x/b",
        *(
            step(
                [
                    policy(
                        X_A,
                        ingress=[
                            allow_from(pods({"matchLabels": {"pod": "b", "pod2": "updated"}}))
                        ],
                    )
                ],
                "TCP 80",
                no("*", "x/a"),
                *expected,
                pods=labels,
            )
            for labels, expected in (({}, ()), ({"x/b": {"pod2": "updated"}}, (yes("x/b", "x/a"),)))
        ),
    ),
    case(
        "should deny ingress from pods on other namespaces",
        "x/a x/b y/a z/a",
        step(
            [policy(ALL, ingress=[allow_from(pods({"matchLabels": {}}))])],
            "TCP 80",
            no("y", "x"),
            no("z", "x"),
        ),
    ),
    case(
        "should deny ingress access to updated pod",
        "x/a y/a",
        *(
            step(
                [policy({"matchLabels": {"target": "isolated"}}, ingress=[])],
                "TCP 80",
                *expected,
                pods=labels,
            )
            for labels, expected in (({}, ()), ({"x/a": {"target": "isolated"}}, (no("*", "x/a"),)))
        ),
    ),
    case(
        "should enforce multiple ingress policies with ingress allow-all policy taking precedence",
        "x/a y/a",
        step([policy(ALL, ingress=[allow_from(port=80)])], "TCP 81", no("*", "x")),
        step(
            [policy(ALL, ingress=[allow_from(port=80)]), policy(ALL, ingress=[{}])],
            "TCP 81",
        ),
    ),
    case(
        "should enforce policy to allow traffic based on NamespaceSelector with MatchLabels using "
        "default ns label",
        "x/a x/b y/a z/a",
        step([_FROM_Y], "TCP 80", *_ONLY_Y),
    ),
)
