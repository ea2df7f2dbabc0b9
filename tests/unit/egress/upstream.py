"""How the cases of Kubernetes' own NetworkPolicy tests are written down here.

They are in test/e2e/network/netpol of kubernetes/kubernetes v1.36.3: `network_policy.go` has the
cases, `policies.go` makes the policies, `reachability.go` the truth tables, `model.go` the Pods.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

X_A = {"matchLabels": {"pod": "a"}}
X_B = {"matchLabels": {"pod": "b"}}
ALL: Json = {}


@dataclass(frozen=True)
class Expected:
    """Whether connections are made, from and to `x/a`, all Pods of `x`, or all (`*`)."""

    source: str
    target: str
    connected: bool


@dataclass(frozen=True)
class Step:
    """What is tried on one port under some policies; what is not named is connected."""

    policies: tuple[Json, ...]
    protocol: str
    port: int
    expected: tuple[Expected, ...]
    """The later ones win."""
    namespace_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    pod_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A case of upstream's, by its title."""

    title: str
    pods: tuple[str, ...]
    steps: tuple[Step, ...]


def case(title: str, pods: str, *steps: Step) -> Case:
    """Return a case; Pods as `x/a x/b`."""
    return Case(title, tuple(pods.split()), steps)


def step(
    policies: Sequence[Json],
    on: str,
    *expected: Expected,
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
    pods: Mapping[str, Mapping[str, str]] | None = None,
) -> Step:
    """Return a step; `on` as `TCP 80`."""
    protocol, port = on.split()
    return Step(tuple(policies), protocol, int(port), expected, namespaces or {}, pods or {})


def no(source: str, target: str) -> Expected:
    """Expect that connections fail."""
    return Expected(source, target, connected=False)


def yes(source: str, target: str) -> Expected:
    """Expect that connections are made, after all."""
    return Expected(source, target, connected=True)


def policy(
    selector: Json,
    ingress: Sequence[Json] | None = None,
    egress: Sequence[Json] | None = None,
    namespace: str = "x",
) -> Json:
    """Return a policy, with the types that it has rules of."""
    spec: Json = {"podSelector": selector, "policyTypes": []}
    if ingress is not None:
        spec |= {"ingress": list(ingress), "policyTypes": ["Ingress"]}
    if egress is not None:
        spec |= {"egress": list(egress), "policyTypes": [*spec["policyTypes"], "Egress"]}
    return {"metadata": {"namespace": namespace, "name": "policy"}, "spec": spec}


def allow_from(*peers: Json, **port: str | int) -> Json:
    """Return an ingress rule; with a port or a protocol, for that alone."""
    return {"from": list(peers)} | ({"ports": [port]} if port else {})


def allow_to(*peers: Json, **port: str | int) -> Json:
    """Return an egress rule."""
    return {"to": list(peers)} | ({"ports": [port]} if port else {})


def pods(selector: Json) -> Json:
    """Return a peer: Pods of the policy's namespace."""
    return {"podSelector": selector}


def in_namespace(operator: str, *names: str) -> Json:
    """Return a selector of namespaces, by the name that kube-apiserver labels them with."""
    key = "kubernetes.io/metadata.name"
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(names)}]}


def named(name: str) -> Json:
    """Return a selector of one namespace, by `matchLabels`."""
    return {"matchLabels": {"kubernetes.io/metadata.name": name}}


def spaces(selector: Json, of: Json | None = None) -> Json:
    """Return a peer: Pods of namespaces, and of those perhaps only some."""
    return {"namespaceSelector": selector} | ({} if of is None else {"podSelector": of})


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


def _of_protocol(protocol: str) -> tuple[Case, ...]:
    """Return the three cases that upstream has of UDP and of SCTP."""
    return (
        case(
            f"{protocol}: should support a 'default-deny-ingress' policy",
            "x/a x/b y/a y/b",
            step([_DENY], f"{protocol} 80", no("*", "x")),
        ),
        case(
            f"{protocol}: should enforce policy based on Ports",
            "x/a x/b y/a z/a",
            step(
                [policy(X_A, [allow_from(spaces(named("y")), port=81, protocol=protocol)])],
                f"{protocol} 81",
                *_ONLY_Y,
            ),
        ),
        case(
            f"{protocol}: should enforce policy to allow traffic only from a pod in a different "
            "namespace based on PodSelector and NamespaceSelector",
            "x/a x/b y/a",
            step([_FROM_Y_A], f"{protocol} 80", no("*", "x/a"), yes("y/a", "x/a")),
        ),
    )


PROTOCOL_CASES = (
    case(
        "should enforce ingress policy allowing any port traffic to a server on a specific "
        "protocol",
        "x/a y/a",
        step([policy(X_A, ingress=[allow_from(protocol="TCP")])], "TCP 80"),
        step([policy(X_A, ingress=[allow_from(protocol="TCP")])], "UDP 80", no("*", "x/a")),
    ),
    case(
        "should not mistakenly treat 'protocol: SCTP' as 'protocol: TCP', even if the plugin "
        "doesn't support SCTP",
        "x/a y/a",
        step(
            [_DENY, policy(X_A, ingress=[allow_from(port=81, protocol="SCTP")])],
            "TCP 81",
            no("*", "x"),
        ),
    ),
    case(
        "should properly isolate pods that are selected by a policy allowing SCTP, even if the "
        "plugin doesn't support SCTP",
        "x/a y/a",
        step(
            [policy(X_A, ingress=[allow_from(port=80, protocol="SCTP")])],
            "TCP 81",
            no("*", "x/a"),
        ),
    ),
    case(
        "should not allow access by TCP when a policy specifies only UDP",
        "x/a y/a",
        step(
            [policy(X_A, ingress=[allow_from(port=81, protocol="UDP")])],
            "TCP 81",
            no("*", "x/a"),
        ),
    ),
    *_of_protocol("UDP"),
    *_of_protocol("SCTP"),
)
