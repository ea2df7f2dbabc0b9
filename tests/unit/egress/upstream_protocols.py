"""Upstream's cases that are about protocols: policies and truth tables."""

from tests.unit.egress.upstream import (
    ALL,
    X_A,
    Case,
    allow_from,
    case,
    named,
    no,
    policy,
    spaces,
    step,
    yes,
)

_DENY = policy(ALL, ingress=[])
_FROM_Y_A = policy(X_A, ingress=[allow_from(spaces(named("y"), X_A))])
_ONLY_Y = (no("x", "x/a"), no("z", "x/a"))


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
