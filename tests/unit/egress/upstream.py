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
