"""`egress verify`: what is tried, and what it says."""

from ipaddress import ip_address
from typing import Final

import pytest

from core.egress.destinations import PortRange
from egress.analysis.verification import (
    METADATA,
    Expected,
    Probe,
    ProbeFinding,
    Verdict,
    judge_probe,
    probe_works,
    probes_of,
    representatives,
    untried_openings,
)
from kube.egress.pods import DeclaredPort
from kube.egress.service_endpoints import Endpoint
from tests.unit.egress.allowlist_objects import allowlist
from tests.unit.egress.analysis.small_clusters import pod, service, world

TRAINER: Final = pod("train-0", node_address=ip_address("10.20.0.11"))


def test_intents_and_controls_are_tried() -> None:
    """Each with what intents say of it: also the cluster's DNS, which shows that it works."""
    listening = pod(
        "c-0",
        "c",
        "data",
        labels={"app": "c"},
        addresses=(ip_address("10.244.1.30"),),
        ports=(DeclaredPort("TCP", 9),),
    )
    dns = pod(
        "dns",
        "coredns",
        "kube-system",
        labels={"k8s-app": "kube-dns"},
        addresses=(ip_address("10.244.1.2"),),
    )
    services = {("data", "web"): service("10.244.1.31", 443, 8443)}
    intents = allowlist(
        {"dnsName": "packages.example.org"},
        {"cidr": "192.0.2.7/32"},
        {"cidr": "198.51.100.0/24"},
        {"service": {"namespace": "data", "name": "web"}},
    )
    learnt = {"packages.example.org": ["203.0.113.7"]}
    found = world(intents, pods=[TRAINER, listening, dns], services=services, learnt=learnt)
    found.snapshot.endpoints.update(  # type: ignore[attr-defined]  # A dict, made just now.
        {
            ("default", "kubernetes"): (
                Endpoint(ip_address("10.20.0.1"), (("https", PortRange("TCP", 6443, 6443)),)),
            )
        }
    )
    tried = {(each.host, each.port): each for each in probes_of(TRAINER, found)}
    assert {key for key, each in tried.items() if each.expected == "open"} == {
        ("10.244.1.2", 53),
        ("packages.example.org", 443),
        ("192.0.2.7", 443),
        ("10.244.1.31", 8443),
    }
    assert {key for key, each in tried.items() if each.expected == "closed"} == {
        ("169.254.169.254", 80),
        ("168.63.129.16", 80),
        ("10.20.0.11", 10250),
        ("10.20.0.1", 6443),
        ("10.244.1.30", 9),
    }
    assert untried_openings(TRAINER, found) == [
        "198.51.100.0/24 TCP 443: nobody knows who listens there"
    ]


def test_what_others_reach_must_be_closed() -> None:
    """Where they are known to listen."""
    other = allowlist({"cidr": "192.0.2.9/32"}, name="other", serviceAccounts=["other"])
    tried = {each.host: each for each in probes_of(TRAINER, world(other, pods=[TRAINER]))}
    assert tried["192.0.2.9"].expected == "closed"


def test_metadata_that_an_intent_names_is_expected_open() -> None:
    """What is tried follows the intents."""
    named = allowlist({"cidr": "169.254.169.254/32", "ports": [{"protocol": "TCP", "port": 80}]})
    (metadata,) = [
        each
        for each in probes_of(TRAINER, world(named, pods=[TRAINER]).with_all_granted())
        if f"{each.host}:{each.port}" == METADATA
    ]
    assert metadata.expected == "open"


@pytest.mark.parametrize(
    ("expected", "found", "verdict"),
    [
        ("open", "open", "agrees"),
        ("open", "timeout", "cut off"),
        ("open", "refused", "cut off"),
        ("open", "noname", "cut off"),
        ("open", "untried", "unknown"),
        ("closed", "open", "leaks"),
        ("closed", "timeout", "agrees"),
        ("closed", "refused", "agrees"),
        ("closed", "closed", "agrees"),
        ("closed", "unreachable", "agrees"),
        ("closed", "error", "unknown"),
        ("closed", "untried", "unknown"),
        ("closed", "noname", "unknown"),
    ],
)
def test_verdicts(expected: Expected, found: ProbeFinding, verdict: Verdict) -> None:
    """A probe that did not run never counts as a closed port."""
    assert judge_probe(TRAINER, Probe("a.org", 1, "x", expected), found).verdict == verdict


def test_probe_is_shown_to_work_by_something_open() -> None:
    """That must be open; silence alone proves nothing."""
    probes = [Probe("a", 1, "x", "open"), Probe("b", 1, "x", "closed")]
    assert probe_works(probes, ["open", "timeout"])
    assert not probe_works(probes, ["timeout", "timeout"])
    assert not probe_works(probes, ["timeout", "open"])


def test_one_pod_of_each_service_account_and_workload() -> None:
    """Of thousands that are alike, one is asked."""
    alike = [pod(f"a-{number}", labels=TRAINER.labels) for number in range(9)]
    chosen = representatives([*alike, pod("b", "other")])
    assert [each.name for each in chosen] == ["a-0", "b"]
