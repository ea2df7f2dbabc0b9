"""Cilium's own policy library judges what is rendered for each AKS network that is Cilium's."""

from typing import Final

import pytest

from core.base import names
from core.egress.destinations import PortRange
from docs.generate.egress_networks import NEEDS, NETWORKS, SELECTS, AksNetwork, target_of
from egress.model.openings import CompiledAllowlists, Opening, Pods
from egress.render.engines import render
from tests.harness.programs.cilium_policy import (
    Answer,
    Destination,
    PodLabels,
    Question,
    judge,
)

ON_CILIUM: Final = [each for each in NETWORKS if each.engine.is_cilium]
TRAINER: Final = PodLabels("research", {names.EGRESS_ACCOUNT_LABEL: "trainer"})
OTHER: Final = PodLabels("research", {names.EGRESS_ACCOUNT_LABEL: "other"})
KUBE_DNS: Final = Destination(pod=PodLabels("kube-system", {"k8s-app": "kube-dns"}))
ON_NODE: Final = (
    Destination(entity="host", address="169.254.10.10"),
    Destination(address="169.254.10.10"),
)
"""As Cilium knows DNS on the node from 1.17 on; and before, or until an agent has seen it."""

REACHED: Final[dict[str, tuple[Destination, int]]] = {
    "kube-apiserver, public": (Destination(entity="kube-apiserver", address="20.50.1.2"), 443),
    "kube-apiserver on a node": (Destination(entity="kube-apiserver"), 443),
    "a private endpoint beside the nodes": (Destination(address="10.224.0.9"), 443),
    "a name": (Destination(address="198.51.100.9", names=("packages.example.org",)), 443),
    "a network": (Destination(address="203.0.113.7"), 443),
    "a Service's Pods": (Destination(pod=PodLabels("data", {"app": "catalogue"})), 8080),
    "a Pod of the gang": (Destination(pod=PodLabels("research", {"job-name": "train"})), 41234),
}
CLOSED: Final[dict[str, tuple[Destination, int]]] = {
    "a node": (Destination(entity="remote-node", address="10.224.0.5"), 443),
    "what shares the nodes' subnet": (Destination(address="10.224.0.10"), 443),
    "the kubelet": (Destination(entity="host"), 10250),
    "metadata": (Destination(address="169.254.169.254", names=("packages.example.org",)), 443),
    "the wire server": (Destination(address="168.63.129.16"), 80),
    "another Pod": (Destination(pod=PodLabels("data", {"app": "other"})), 8080),
    "an address without a name": (Destination(address="198.51.100.10"), 443),
}


OPENINGS: Final = tuple(
    Opening(f"need-{index}", "spec.to[0]", SELECTS, need.peer, need.ports)
    for index, need in enumerate(NEEDS)
    if need.peer is not None
)
WIDE: Final = (PortRange("TCP", 1, 65535), PortRange("UDP", 1, 65535))


def _ask(network: AksNetwork, *questions: Question, more: tuple[Opening, ...] = ()) -> list[Answer]:
    """Let Cilium judge with all that the table needs open for one service account."""
    found = render(CompiledAllowlists("research", (*OPENINGS, *more)), target_of(network))
    judged = judge(found.objects, questions)
    assert judged.problems == ()
    return list(judged.answers)


@pytest.mark.parametrize("network", ON_CILIUM, ids=lambda each: each.title)
def test_what_a_job_needs_is_open_and_nothing_beside_it(network: AksNetwork) -> None:
    """For the service account that the allowlists name; for all others everything is closed."""
    asked = [*REACHED.values(), *CLOSED.values()]
    answers = _ask(network, *(Question(TRAINER, to, "TCP", port) for to, port in asked))
    opened = dict(zip((*REACHED, *CLOSED), (each.allowed for each in answers), strict=True))
    assert opened == {**dict.fromkeys(REACHED, True), **dict.fromkeys(CLOSED, False)}
    others = _ask(network, *(Question(OTHER, to, "TCP", port) for to, port in asked))
    assert not any(each.allowed for each in others)


@pytest.mark.parametrize("network", ON_CILIUM, ids=lambda each: each.title)
def test_every_pod_resolves_names(network: AksNetwork) -> None:
    """By CoreDNS, and by what answers on the node where that is set."""
    servers = [KUBE_DNS, *(ON_NODE if network.dns.is_on_node else ())]
    name = "kubernetes.default.svc.cluster.local"
    answers = _ask(network, *(Question(OTHER, each, "UDP", 53, name) for each in servers))
    assert all(each.allowed and each.answered for each in answers)
    if not network.dns.is_on_node:
        closed = _ask(network, *(Question(OTHER, each, "UDP", 53) for each in ON_NODE))
        assert not any(each.allowed for each in closed)


def test_with_acns_only_names_of_allowlists_are_answered() -> None:
    """Also under Azure's search domain, and beside an allowlist that means the Pods of DNS."""
    network = next(each for each in ON_CILIUM if each.engine.learns_names)
    pods = Opening("dns", "spec.to[0]", SELECTS, Pods("kube-system"), WIDE)
    suffix = "x1y2.ax.internal.cloudapp.net"
    wanted = {
        "packages.example.org": True,
        f"packages.example.org.{suffix}": True,
        "a.example.com": True,
        "secret.evil.example": False,
        f"secret.evil.example.{suffix}": False,
    }
    questions = [Question(TRAINER, KUBE_DNS, "UDP", 53, name) for name in wanted]
    answers = _ask(network, *questions, more=(pods,))
    assert dict(zip(wanted, (each.answered for each in answers), strict=True)) == wanted
