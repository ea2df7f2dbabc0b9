"""Policies in the shape that Sallyport generates, written by hand for the Pods of the scene."""

from typing import Final

from core.base import names
from core.egress.pod_labels import label_value
from tests.harness.programs.client import Json
from tests.harness.programs.node.outside_world import ELSEWHERE, INTERNET, WIRE_SERVER
from tests.harness.programs.node.scene import BROAD, DNS_LABELS, SERVICES, SYSTEM, TEAM, TRAINER

_NAMESPACE: Final = "kubernetes.io/metadata.name"


def _policy(name: str, spec: Json) -> Json:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {
            "name": f"sallyport-{name}",
            "namespace": TEAM,
            "labels": {"app.kubernetes.io/managed-by": "sallyport"},
        },
        "spec": {"podSelector": {}, "policyTypes": ["Egress"], **spec},
    }


def _ports(*written: str) -> list[Json]:
    """Read `TCP 443` and `TCP 8000-8010`."""
    found = []
    for each in written:
        protocol, ports = each.split()
        first, _, last = ports.partition("-")
        found.append({"protocol": protocol, "port": int(first), "endPort": int(last or first)})
    return found


def _pods(namespace: str, labels: dict[str, str]) -> Json:
    return {
        "namespaceSelector": {"matchLabels": {_NAMESPACE: namespace}},
        "podSelector": {"matchLabels": labels},
    }


def _allow(account: str, egress: list[Json]) -> Json:
    values = [label_value(account)]
    selected = {"key": names.EGRESS_ACCOUNT_LABEL, "operator": "In", "values": values}
    return _policy(
        f"allow-{account}-0", {"podSelector": {"matchExpressions": [selected]}, "egress": egress}
    )


DENY: Final = _policy("default-deny", {})
DNS: Final = _policy(
    "dns", {"egress": [{"to": [_pods(SYSTEM, DNS_LABELS)], "ports": _ports("UDP 53", "TCP 53")}]}
)
ALLOWED: Final = _allow(
    TRAINER,
    [
        {
            "to": [
                {"ipBlock": {"cidr": f"{INTERNET[0]}/32"}},
                {"ipBlock": {"cidr": f"{INTERNET[1]}/128"}},
            ],
            "ports": _ports("TCP 443"),
        },
        {
            "to": [
                {"ipBlock": {"cidr": f"{ELSEWHERE[0]}/32"}},
                {"ipBlock": {"cidr": f"{ELSEWHERE[1]}/128"}},
            ],
            "ports": _ports("TCP 8000-8010", "UDP 5000", "SCTP 3868"),
        },
        {
            "to": [{"ipBlock": {"cidr": BROAD, "except": [f"{WIRE_SERVER}/32"]}}],
            "ports": _ports("TCP 80"),
        },
        {"to": [_pods(SERVICES, {"app": "api"})], "ports": _ports("TCP 8080")},
    ],
)
