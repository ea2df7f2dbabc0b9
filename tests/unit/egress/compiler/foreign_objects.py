"""NetworkPolicies as tests of reach write them."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec

from egress.compiler.foreign_policies import EgressRule, find_excess, read_rules, split_rule

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
    """Return a peer of addresses."""
    return {"ipBlock": {"cidr": cidr, **({"except": list(holes)} if holes else {})}}


def policy(*egress: Json, selects: Json | None = None) -> Json:
    """Return a NetworkPolicy of the namespace `ml`."""
    spec = {"podSelector": selects or {}, "policyTypes": ["Egress"], "egress": list(egress)}
    return {"metadata": {"name": "own", "namespace": "ml"}, "spec": spec}


def read(made: Json, *, trusted: bool = False) -> tuple[EgressRule, ...]:
    """Read a policy as it comes."""
    return read_rules(msgspec.json.encode(made), "ml", trusted=trusted)


def uncovered(rule: EgressRule, there: Sequence[EgressRule]) -> list[str]:
    """Return what a rule opens and no rule of `there` does, each once."""
    steps = [found for case in split_rule(rule) for found in find_excess(case, there)]
    return list(dict.fromkeys(chain.from_iterable(steps)))


def opened(made: Json, *there: Json) -> list[str]:
    """Return what a policy opens beyond those that are there."""
    known = [rule for each in there for rule in read(each, trusted=True)]
    return [text for rule in read(made) for text in uncovered(rule, known)]
