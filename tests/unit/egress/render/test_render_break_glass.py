"""What a BreakGlass opens: every connection of some Pods, but to what is reserved everywhere."""

from ipaddress import ip_network
from typing import Any, Final

import msgspec
import pytest

from core.base import names
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import Requirement, Requirements
from egress.model.facts import CompilerFacts
from egress.model.openings import Addresses, Block, CompiledAllowlists, Name, Opening
from egress.model.reserved_ranges import ALWAYS_RESERVED, METADATA
from egress.render.engines import render
from egress.render.generated_objects import BREAK_GLASS, BREAK_GLASS_IPV6, DEFAULT_DENY
from egress.render.target import Dns, Engine, EngineKind, IpFamily, RenderTarget
from tests.harness.oracles.policy_semantics import Cluster, End, Pod
from tests.harness.programs.cilium_policy import Destination, PodLabels, Question, judge

Json = dict[str, Any]

SPACE: Final = "alpha"
FETCH: Final = (Requirement(names.EGRESS_WORKLOAD_LABEL, "In", ("Job.fetch",)),)
RANGES: Final = (ip_network("10.244.0.0/16"), ip_network("10.1.0.0/16"))
FACTS: Final = CompilerFacts(0.0, ranges=RANGES)
ANYWHERE: Final = ("8.8.8.8", "10.200.0.7", "2001:db8::1")
"""Public, on somebody's own network, and of IPv6."""
ORIGIN: Final = "origin.example.net"
"""A name that no allowlist has."""
CACHED_DNS: Final = Dns(addresses=(ip_network("169.254.20.10/32"), ip_network("10.1.0.10/32")))
DNS_SERVERS: Final = (
    Destination(pod=PodLabels("kube-system", {"k8s-app": "kube-dns"})),
    Destination(address="169.254.20.10"),
)
CLOSED: Final = tuple(str(each[0]) for each in METADATA)


def _pod(workload: str) -> Pod:
    labels = {names.EGRESS_ACCOUNT_LABEL: "s1", names.EGRESS_WORKLOAD_LABEL: workload}
    return Pod(SPACE, workload.lower(), labels, ("10.244.9.1",))


OF_FETCH: Final = _pod("Job.fetch")
OF_WEB: Final = _pod("Deployment.web")
OTHER: Final = Pod("beta", "db", {"app": "db"}, ("10.244.9.2",))


def _objects(
    opened: Requirements | None,
    kind: EngineKind = "networkpolicy",
    *openings: Opening,
    families: tuple[IpFamily, ...] = ("IPv4", "IPv6"),
    dns: Dns = Dns(),  # noqa: B008  Frozen.
) -> tuple[Json, ...]:
    engine = Engine(kind, (1, 19), ip_families=families)
    target = RenderTarget(engine, dns, reserved=FACTS.reserved, ranges=RANGES)
    meaning = CompiledAllowlists(SPACE, openings).with_opened(opened)
    return render(meaning, target).objects


def _lets_out(objects: tuple[Json, ...], source: Pod, to: str, pod: Pod | None = None) -> bool:
    cluster = Cluster({SPACE: {}, "beta": {}}, objects)
    start, end = End(source.addresses[0], source), End(to, pod)
    return cluster.lets_out(start, end, "TCP", 5432)


def _cilium_lets_out(objects: tuple[Json, ...], source: Pod, to: Destination) -> bool:
    asked = Question(PodLabels(source.namespace, source.labels), to, "TCP", 5432)
    found = judge(objects, [asked])
    assert found.problems == ()
    return found.answers[0].allowed


def _is_answered(
    objects: tuple[Json, ...], source: Pod, to: Destination, protocol: str, name: str
) -> bool:
    asked = Question(PodLabels(source.namespace, source.labels), to, protocol, 53, name)
    found = judge(objects, [asked])
    assert found.problems == ()
    return found.answers[0].allowed and bool(found.answers[0].answered)


def test_all_pods_connect_everywhere_but_to_what_is_reserved() -> None:
    """Outside, to other Pods, to nodes; not to metadata; the default deny stays in place."""
    objects = _objects(())
    for to in ANYWHERE:
        assert not _lets_out(_objects(None), OF_WEB, to)
        assert _lets_out(objects, OF_WEB, to)
    assert _lets_out(objects, OF_WEB, OTHER.addresses[0], OTHER)
    for to in CLOSED:
        assert not _lets_out(objects, OF_WEB, to)
    made = {each["metadata"]["name"]: each for each in objects}
    before = {each["metadata"]["name"]: each for each in _objects(None)}
    assert made[DEFAULT_DENY] == before[DEFAULT_DENY]
    assert made.keys() - before.keys() == {BREAK_GLASS, BREAK_GLASS_IPV6}


def test_of_one_workload_the_others_stay_closed() -> None:
    """Pods without the label too."""
    objects = _objects(FETCH)
    assert _lets_out(objects, OF_FETCH, "8.8.8.8")
    assert not _lets_out(objects, OF_WEB, "8.8.8.8")
    assert not _lets_out(objects, Pod(SPACE, "old", {}, ("10.244.9.3",)), "8.8.8.8")


@pytest.mark.parametrize("family", ["IPv4", "IPv6"])
def test_no_policy_has_addresses_of_a_family_that_the_network_lacks(family: IpFamily) -> None:
    """And Pods are reached on either."""
    objects = _objects((), families=(family,))
    (policy,) = (each for each in objects if "break-glass" in each["metadata"]["name"])
    (rule,) = policy["spec"]["egress"]
    (block, *_) = rule["to"]
    assert block["ipBlock"]["cidr"] == {"IPv4": "0.0.0.0/0", "IPv6": "::/0"}[family]
    assert {"namespaceSelector": {}} in rule["to"]


@pytest.mark.parametrize("kind", ["cilium", "cilium-aks", "cilium-aks-basic"])
def test_cilium_opens_the_same(kind: EngineKind) -> None:
    """By Cilium's own library: no guard but those of what is reserved everywhere stands there."""
    objects = _objects((), kind)
    reached = [Destination(address=each) for each in ANYWHERE]
    reached += [
        Destination(pod=PodLabels("beta", {"app": "db"})),
        Destination(address="10.1.0.4", entity="remote-node"),
    ]
    for to in reached:
        assert _cilium_lets_out(objects, OF_WEB, to), to
        assert not _cilium_lets_out(_objects(None, kind), OF_WEB, to), to
    for each in CLOSED:
        assert not _cilium_lets_out(objects, OF_WEB, Destination(address=each)), each


@pytest.mark.parametrize("kind", ["cilium", "cilium-aks", "cilium-aks-basic"])
@pytest.mark.parametrize("protocol", ["UDP", "TCP"])
def test_cilium_lets_opened_pods_ask_dns_for_every_name(kind: EngineKind, protocol: str) -> None:
    """Beside an allowlist of another name; other Pods ask for what they did before."""
    other = Opening("a", "spec.to[0]", (), Name("packages.example.org", ()), PORTS)
    cases: list[tuple[Pod, Requirements | None, bool]] = [
        (OF_WEB, (), True),
        (OF_FETCH, FETCH, True),
        (OF_WEB, FETCH, kind == "cilium-aks-basic"),
        (OF_WEB, None, kind == "cilium-aks-basic"),
    ]
    for pod, opened, is_answered in cases:
        objects = _objects(opened, kind, other, dns=CACHED_DNS)
        for to in DNS_SERVERS:
            assert _is_answered(objects, pod, to, protocol, ORIGIN) == is_answered, (to, opened)
            assert _is_answered(objects, pod, to, protocol, "web.beta.svc.cluster.local")


def test_no_policy_for_aks_has_a_wildcard_for_every_name() -> None:
    """AKS refuses such a policy as a whole."""
    assert b'"*"' not in msgspec.json.encode(_objects((), "cilium-aks", dns=CACHED_DNS))


def test_answers_to_opened_pods_open_what_their_allowlists_name() -> None:
    """Cilium goes on filtering names, with a filter that takes all, so it sees their answers."""
    asked = Question(PodLabels(SPACE, OF_WEB.labels), DNS_SERVERS[0], "UDP", 53, ORIGIN)
    (answer,) = judge(_objects((), "cilium", dns=CACHED_DNS), [asked]).answers
    assert answer.dns is not None
    assert "*" in answer.dns


def test_cilium_keeps_the_guards_of_other_workloads() -> None:
    """Names of theirs still lead to nobody's private network."""
    objects = _objects(FETCH, "cilium")
    private = Destination(address="10.200.0.7")
    assert _cilium_lets_out(objects, OF_FETCH, private)
    assert not _cilium_lets_out(objects, OF_WEB, private)
    wide = Opening("a", "spec.to[0]", (), Addresses((Block(ip_network("8.0.0.0/8")),)), PORTS)
    named = {each["metadata"]["name"] for each in _objects(FETCH, "cilium", wide)}
    assert {"sallyport-guard-0", "sallyport-guard-private-0", "sallyport-guard-open-0"} <= named


def test_an_allowlist_that_names_metadata_opens_it_for_its_own_pods_alone() -> None:
    """While a BreakGlass is open too."""
    of_fetch = Addresses((Block(ip_network("169.254.169.254/32")),))
    account = Requirement(names.EGRESS_ACCOUNT_LABEL, "In", ("s1",))
    opening = Opening("a", "spec.to[0]", (account, *FETCH), of_fetch, PORTS)
    kinds: tuple[EngineKind, ...] = ("networkpolicy", "cilium")
    for kind in kinds:
        objects = _objects((), kind, opening)
        for pod, is_open in ((OF_FETCH, True), (OF_WEB, False)):
            to = "169.254.169.254"
            if kind == "cilium":
                assert _cilium_lets_out(objects, pod, Destination(address=to)) == is_open
            else:
                assert _lets_out(objects, pod, to) == is_open


def test_every_range_that_is_reserved_everywhere_is_left_out() -> None:
    """Written once for each family, so that the policy is a valid one."""
    (four, six) = (
        each["spec"]["egress"][0]["to"][0]["ipBlock"]
        for each in _objects(())
        if "break-glass" in each["metadata"]["name"]
    )
    left_out = {*four["except"], *six["except"]}
    assert left_out == {str(each) for each in ALWAYS_RESERVED}


PORTS: Final = (PortRange("TCP", 5432, 5432),)
