"""Upstream's cases that are about egress, alone or beside ingress: policies and truth tables."""

from tests.unit.egress.upstream import (
    ALL,
    X_A,
    X_B,
    allow_from,
    allow_to,
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

ADDRESSES = {
    f"{namespace}/{pod}": f"10.1.{row}.{column}"
    for row, namespace in enumerate("xyz")
    for column, pod in enumerate("abc", start=1)
}

_TO_Y_A = policy(X_A, egress=[allow_to(spaces(named("y"), X_A))])
_ONLY_80 = policy(ALL, egress=[allow_to(port=80)])
_NAMED = policy(ALL, egress=[allow_to(port="serve-80-tcp")])
_BOTH = policy(X_A, ingress=[allow_from(pods(X_B))], egress=[allow_to(port=80)])
_DENY_ALL = policy(ALL, ingress=[], egress=[])


def _block(cidr: str, *without: str) -> dict[str, object]:
    return {"ipBlock": {"cidr": cidr, "except": list(without)}}


_ALL_BUT_B = policy(X_A, egress=[allow_to(_block("0.0.0.0/4", f"{ADDRESSES['x/b']}/32"))])

EGRESS_CASES = (
    case(
        "should support a 'default-deny-all' policy",
        "x/a x/b y/a",
        step([_DENY_ALL], "TCP 80", no("*", "x"), no("x", "*")),
    ),
    case(
        "should allow egress access on one named port",
        "x/a y/a",
        step([_NAMED], "TCP 80"),
        step([_NAMED], "TCP 81", no("x", "*")),
    ),
    case(
        "should deny egress from pods based on PodSelector",
        "x/a x/b y/a",
        step([policy(X_A, egress=[])], "TCP 80", no("x/a", "*")),
    ),
    case(
        "should deny egress from all pods in a namespace",
        "x/a x/b y/a",
        step([policy(ALL, egress=[])], "TCP 80", no("x", "*")),
    ),
    case(
        "should work with Ingress, Egress specified together",
        "x/a x/b x/c y/a",
        step([_BOTH], "TCP 80", no("*", "x/a"), yes("x/b", "x/a")),
        step([_BOTH], "TCP 81", no("*", "x/a"), no("x/a", "*"), yes("x/b", "x/a")),
    ),
    case(
        "should support denying of egress traffic on the client side (even if the server "
        "explicitly allows this traffic)",
        "x/a y/a y/b",
        step(
            [
                _TO_Y_A,
                policy(X_A, [allow_from(spaces(named("x"), X_A))], namespace="y"),
                policy(X_B, [allow_from(spaces(named("x"), X_A))], namespace="y"),
            ],
            "TCP 80",
            no("x/a", "*"),
            no("*", "y/a"),
            yes("x/a", "y/a"),
            no("*", "y/b"),
        ),
    ),
    case(
        "should enforce egress policy allowing traffic to a server in a different namespace based "
        "on PodSelector and NamespaceSelector",
        "x/a y/a y/b",
        step([_TO_Y_A], "TCP 80", no("x/a", "*"), yes("x/a", "y/a")),
    ),
    case(
        "should enforce multiple egress policies with egress allow-all policy taking precedence",
        "x/a y/a",
        step([_ONLY_80], "TCP 81", no("x", "*")),
        step([_ONLY_80, policy(ALL, egress=[{}])], "TCP 81"),
    ),
    case(
        "should stop enforcing policies after they are deleted",
        "x/a y/a",
        step([_DENY_ALL], "TCP 80", no("x", "*"), no("*", "x")),
        step([], "TCP 80"),
    ),
    case(
        "should allow egress access to server in CIDR block",
        "x/a y/a y/b",
        step(
            [policy(X_A, egress=[allow_to(_block(f"{ADDRESSES['y/b']}/32"))])],
            "TCP 80",
            no("x/a", "*"),
            yes("x/a", "y/b"),
        ),
    ),
    case(
        "should enforce except clause while egress access to server in CIDR block",
        "x/a x/b x/c",
        step([_ALL_BUT_B], "TCP 80", no("x/a", "x/b")),
    ),
    case(
        "should ensure an IP overlapping both IPBlock.CIDR and IPBlock.Except is allowed",
        "x/a x/b x/c",
        step([_ALL_BUT_B], "TCP 80", no("x/a", "x/b")),
        # Upstream's second policy has the name of the first, and so takes its place.
        step(
            [policy(X_A, egress=[allow_to(_block(f"{ADDRESSES['x/b']}/32"))])],
            "TCP 80",
            no("x/a", "*"),
            yes("x/a", "x/b"),
        ),
    ),
    case(
        "should enforce policies to check ingress and egress policies can be controlled "
        "independently based on PodSelector",
        "x/a x/b y/a",
        step([policy(X_A, egress=[{}])], "TCP 80"),
        step([policy(X_A, egress=[{}]), policy(X_A, ingress=[])], "TCP 80", no("*", "x/a")),
    ),
    case(
        "should enforce policy based on NamespaceSelector with MatchExpressions using default ns "
        "label",
        "x/a x/b y/a z/a",
        step(
            [policy(X_A, egress=[allow_to(spaces(in_namespace("NotIn", "y")))])],
            "TCP 80",
            no("x/a", "y"),
        ),
    ),
)
