"""What allowlists say beyond names, networks and numbers of ports: how each engine has it."""

from typing import Any, Final

import msgspec
import pytest

from core.base import names
from core.egress.destinations import EVERY_PORT, PortRange
from core.egress.dns_names import matches_name
from core.kubernetes.label_selectors import Requirement
from egress.model.openings import Name, Opening, Peer, Pods, Problem
from egress.render.engines import render
from egress.render.target import Engine, EngineKind, RenderTarget
from tests.harness.oracles.cilium_semantics import Policies, Target
from tests.harness.oracles.policy_semantics import Cluster, End, NamedPort, Pod
from tests.harness.programs.cilium_policy import Destination, PodLabels, Question, judge
from tests.unit.egress.render.random_openings import SPACE, meaning

Json = dict[str, Any]

TRAINER: Final = (Requirement(names.EGRESS_ACCOUNT_LABEL, "In", ("trainer",)),)
SOURCE: Final = Pod(SPACE, "train-0", {names.EGRESS_ACCOUNT_LABEL: "trainer"})
TCP_443: Final = PortRange("TCP", 443, 443)
HTTP: Final = PortRange("TCP", 0, 0, "http")
ECHO: Final = PortRange("ICMP", 8, 8)
ECHO_6: Final = PortRange("ICMPv6", 128, 128)
TEAM: Final = (Requirement("team", "In", ("vision",)),)
APP: Final = (Requirement("app", "In", ("db",)),)
LABELS: Final = {"beta": {"team": "vision"}, "gamma": {"team": "speech"}, SPACE: {}}
CILIUM: Final = Engine("cilium", (1, 19))
DB: Final = Pod("beta", "db", {"app": "db"}, ("10.244.0.7",), ports=(NamedPort("http", "TCP", 80),))


def _rendered(
    peer: Peer, *ports: PortRange, engine: Engine | EngineKind = "networkpolicy"
) -> tuple[tuple[Json, ...], tuple[Problem, ...]]:
    kind = engine if isinstance(engine, Engine) else Engine(engine, (1, 19))
    opening = Opening("one", "spec.to[0]", TRAINER, peer, ports)
    found = render(meaning([opening]), RenderTarget(kind))
    return found.objects, found.problems


def _opens(policies: tuple[Json, ...], to: Pod, protocol: str, port: int) -> bool:
    cluster = Cluster(LABELS, policies)
    return cluster.lets_out(End("", SOURCE), End(to.addresses[0], to), protocol, port)


def _cilium_opens(policies: tuple[Json, ...], to: Destination, *on: tuple[str, int]) -> list[bool]:
    source = PodLabels(SPACE, SOURCE.labels)
    found = judge(policies, [Question(source, to, *each) for each in on])
    assert found.problems == ()
    return [answer.allowed for answer in found.answers]


def _in(namespace: str, **labels: str) -> Pod:
    return Pod(namespace, "one", labels, ("10.244.0.9",))


def test_namespaces_are_selected_by_their_labels() -> None:
    """With labels of the Pods beside them; no other namespace is open, nor the allowlist's own."""
    policies, problems = _rendered(Pods("", APP, TEAM), TCP_443)
    assert problems == ()
    assert _opens(policies, _in("beta", app="db"), "TCP", 443)
    for other in (_in("beta"), _in("gamma", app="db"), _in(SPACE, app="db")):
        assert not _opens(policies, other, "TCP", 443)


def test_cilium_selects_namespaces_by_their_labels() -> None:
    """By the labels that an identity has of its Pod's namespace; by none, every namespace."""
    name = Requirement(names.NAMESPACE_NAME_LABEL, "In", ("beta", "gamma"))
    policies, problems = _rendered(Pods("", APP, (name,)), TCP_443, engine=CILIUM)
    assert problems == ()
    for pod, wanted in (
        (_in("beta", app="db"), True),
        (_in("gamma", app="db"), True),
        (_in("delta", app="db"), False),
        (_in("beta"), False),
        (_in(SPACE, app="db"), False),
    ):
        to = Destination(pod=PodLabels(pod.namespace, pod.labels))
        assert _cilium_opens(policies, to, ("TCP", 443)) == [wanted], pod
        assert Policies(policies).allows(SOURCE, Target("", pod), "TCP", 443) == wanted
    everywhere, _ = _rendered(Pods("", (), ()), TCP_443, engine=CILIUM)
    for namespace in ("beta", SPACE, "delta"):
        to = Destination(pod=PodLabels(namespace, {"app": "x"}))
        assert _cilium_opens(everywhere, to, ("TCP", 443), ("TCP", 444)) == [True, False]


def test_a_label_of_namespaces_is_written_as_cilium_has_it() -> None:
    """Documentation, security/policy/kubernetes: k8s:io.cilium.k8s.namespace.labels.KEY."""
    policies, _ = _rendered(Pods("", (), TEAM), TCP_443, engine=CILIUM)
    selectors = [
        selector
        for policy in policies
        for rule in policy["spec"].get("egress", ())
        for selector in rule.get("toEndpoints", ())
        if rule["toPorts"][0]["ports"][0]["port"] == "443"
    ]
    key = "k8s:io.cilium.k8s.namespace.labels.team"
    assert selectors == [
        {"matchExpressions": [{"key": key, "operator": "In", "values": ["vision"]}]}
    ]


@pytest.mark.parametrize("namespaces", [(), (Requirement("team", "NotIn", ("vision",)),)])
def test_namespaces_by_labels_open_no_names_at_dns(namespaces: tuple[Requirement, ...]) -> None:
    """Where DNS may be among them its port is left out: a rule without names opens all names."""
    peer = Pods("", (), namespaces)
    policies, problems = _rendered(peer, PortRange("UDP", 53, 54), engine=CILIUM)
    assert [each.reason for each in problems] == ["DnsLeftOut"]
    to = Destination(pod=PodLabels("kube-system", {"k8s-app": "kube-dns"}))
    question = Question(PodLabels(SPACE, SOURCE.labels), to, "UDP", 53, "evil.example.net")
    (answer,) = judge(policies, [question]).answers
    assert not answer.answered


def test_a_named_port_is_the_one_that_each_pod_declares() -> None:
    """NetworkPolicy resolves it by the Pod that is connected to; another number stays closed."""
    policies, problems = _rendered(Pods("beta", APP), HTTP)
    assert problems == ()
    assert _opens(policies, DB, "TCP", 80)
    assert not _opens(policies, DB, "TCP", 81)
    assert not _opens(policies, DB, "UDP", 80)


@pytest.mark.parametrize("kind", ["cilium", "cilium-aks", "cilium-aks-basic"])
def test_cilium_gets_no_port_by_its_name(kind: EngineKind) -> None:
    """It would look it up among all Pods of the cluster, whoever made them."""
    _, (problem,) = _rendered(Pods("beta", APP), HTTP, engine=kind)
    assert (problem.reason, problem.closes) == ("CannotSay", True)
    assert "write the number" in problem.message


def test_every_port_is_every_port_of_tcp_and_udp() -> None:
    """And of no other protocol; Cilium writes it as one entry of its map."""
    to = Pods("beta", APP)
    policies, _ = _rendered(to, *EVERY_PORT)
    in_cilium, _ = _rendered(to, *EVERY_PORT, engine=CILIUM)
    on = [("TCP", 1), ("TCP", 65535), ("UDP", 53), ("SCTP", 1)]
    wanted = [True, True, True, False]
    assert [_opens(policies, DB, *each) for each in on] == wanted
    there = Destination(pod=PodLabels("beta", {"app": "db"}))
    assert _cilium_opens(in_cilium, there, *on) == wanted
    assert [Policies(in_cilium).allows(SOURCE, Target("", DB), *each) for each in on] == wanted


def test_cilium_has_types_of_icmp() -> None:
    """In rules without ports, which Cilium demands; no other type is open."""
    policies, problems = _rendered(Pods("beta", APP), ECHO, ECHO_6, TCP_443, engine=CILIUM)
    assert problems == ()
    on = [("ICMP", 8), ("ICMP", 0), ("ICMPv6", 128), ("TCP", 443), ("TCP", 8)]
    wanted = [True, False, True, True, False]
    there = Destination(pod=PodLabels("beta", {"app": "db"}))
    assert _cilium_opens(policies, there, *on) == wanted
    assert [Policies(policies).allows(SOURCE, Target("", DB), *each) for each in on] == wanted


def test_network_policies_have_no_icmp_and_say_so() -> None:
    """What else the entry says is open; the problem names the engine's setting."""
    policies, (problem,) = _rendered(Pods("beta", APP), ECHO, TCP_443)
    assert (problem.reason, problem.closes) == ("CannotSay", False)
    assert "ICMP type 8 stays closed" in problem.message
    assert "egress.engine" in problem.message
    assert _opens(policies, DB, "TCP", 443)
    assert "ICMP" not in str(policies)
    alone, (problem,) = _rendered(Pods("beta", APP), ECHO)
    assert problem.closes
    assert not _opens(alone, DB, "TCP", 443)


@pytest.mark.parametrize("pattern", ["gpu-*.example.org", "a.*.example.org", "*.b*.example.org"])
@pytest.mark.parametrize("version", [(1, 17), (1, 19)])
def test_patterns_inside_names_mean_the_same_in_cilium(
    pattern: str, version: tuple[int, int]
) -> None:
    """Cilium's own matcher and ours agree about each name that may be asked for."""
    engine = msgspec.structs.replace(CILIUM, version=version)
    policies, _ = _rendered(Name(pattern, ()), TCP_443, engine=engine)
    to = Destination(pod=PodLabels("kube-system", {"k8s-app": "kube-dns"}))
    asked = [
        *("gpu-1.example.org", "gpu-.example.org", "gpu-1.x.example.org", "gpu.example.org"),
        *("a.b.example.org", "a.b.c.example.org", "a.example.org", "x.bc.example.org"),
        *("x.y.b.example.org", "b.example.org", "example.org", "gpu-1.example.org.evil.example"),
    ]
    source = PodLabels(SPACE, SOURCE.labels)
    found = judge(policies, [Question(source, to, "UDP", 53, name) for name in asked])
    assert found.problems == ()
    wanted = [matches_name(pattern, name) for name in asked]
    assert [answer.answered for answer in found.answers] == wanted
    assert any(wanted)
    assert not all(wanted)
