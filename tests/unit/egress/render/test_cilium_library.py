"""Cilium's own policy library reads the generated policies as our evaluator does."""

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base import names
from egress.model.openings import Opening
from egress.model.reserved_ranges import ALWAYS_RESERVED
from egress.render.engines import render
from egress.render.target import Dns, Engine, RenderTarget
from tests.harness.oracles.cilium_semantics import Policies
from tests.harness.oracles.cilium_semantics import Target as To
from tests.harness.oracles.policy_semantics import Pod
from tests.harness.programs.cilium_policy import (
    Answer,
    Destination,
    Judgement,
    PodLabels,
    Question,
    judge,
)
from tests.unit.egress.generated_worlds import NUMBERS, PROTOCOLS, RANGES, World, made
from tests.unit.egress.render.random_openings import (
    ACCOUNT,
    PORTS,
    SPACE,
    addresses_of,
    meaning,
    openings,
)
from tests.unit.egress.told_worlds import labelled, rendered

Json = dict[str, Any]

WORLDS: Final = settings(deadline=None, max_examples=24)
"""Each starts the program once, about 0.1 s."""

TARGET: Final = RenderTarget(
    Engine("cilium", (1, 19), sctp=True),
    Dns(search=("west.internal.example",)),
    reserved=ALWAYS_RESERVED,
)
VERSIONS: Final = st.sampled_from([(1, 17), (1, 19)])
NAMES: Final = (
    *("packages.example.org", "example.com", "www.example.com", "a.b.example.com"),
    *("evil-example.com", "files.example.com", "api.alpha.svc.cluster.local"),
    "files.example.com.west.internal.example",
)
METADATA: Final = "169.254.169.254"

SOURCES: Final = tuple(
    Pod(SPACE, account, {names.EGRESS_ACCOUNT_LABEL: account, "app": "a"})
    for account in (*sorted({*ACCOUNT.values()}), "s3")
)
KUBE_DNS: Final = Pod("kube-system", "coredns-1", {"k8s-app": "kube-dns"}, ("10.244.0.2",))
PODS: Final = (
    KUBE_DNS,
    *(
        Pod(namespace, f"{namespace}-{index}", labels, ("192.0.2.1",), host_network)
        for namespace in ("alpha", "beta", "gamma")
        for index, labels in enumerate(
            ({}, {"app": "a"}, {"app": "b", "tier": "x"}, {"app": "c", "tier": "x"})
        )
        for host_network in (False, True)
    ),
)

Case = tuple[Pod, To, str, int]


def _rendered(found: Iterable[Opening], version: tuple[int, int] = (1, 19)) -> tuple[Json, ...]:
    engine = msgspec.structs.replace(TARGET.engine, version=version)
    return render(meaning(found), msgspec.structs.replace(TARGET, engine=engine)).objects


def _labels(pod: Pod) -> PodLabels:
    return PodLabels(pod.namespace, pod.labels)


def _destination(to: To) -> Destination:
    """Return the same for Cilium, to which a Pod of its node's network is the node."""
    if to.pod is None:
        return Destination(address=to.address, names=to.names)
    if to.pod.host_network:
        return Destination(address=to.address, entity="remote-node")
    return Destination(pod=_labels(to.pod))


def _differences(policies: tuple[Json, ...], targets: Iterable[To]) -> list[Case]:
    """Return the connections of which Cilium and the evaluator think differently."""
    cases = [
        (source, to, ports.protocol, port)
        for source in SOURCES
        for to in targets
        for ports in PORTS
        for port in sorted({ports.first, ports.last, ports.last + 1})
    ]
    ours = Policies(policies)
    return [case for case, allowed in _judged(policies, cases) if ours.allows(*case) != allowed]


def _judged(policies: tuple[Json, ...], cases: Sequence[Case]) -> Iterable[tuple[Case, bool]]:
    """Return each connection with whether Cilium allows it; it refuses none of the policies."""
    questions = [
        Question(_labels(source), _destination(to), protocol, port)
        for source, to, protocol, port in cases
    ]
    found = judge(policies, questions)
    assert found.problems == ()
    return zip(cases, (answer.allowed for answer in found.answers), strict=True)


@WORLDS
@given(openings(), VERSIONS)
def test_cilium_and_the_evaluator_agree_about_addresses(
    found: list[Opening], version: tuple[int, int]
) -> None:
    """At the edges of all networks, and of reserved ones; no policy is refused."""
    addresses = [str(each[0]) for each in addresses_of(found)]
    targets = [To(each) for each in (*addresses, METADATA, "8.8.8.8", "2001:db8:ffff::1")]
    assert _differences(_rendered(found, version), targets) == []


@WORLDS
@given(openings())
def test_cilium_and_the_evaluator_agree_about_pods(found: list[Opening]) -> None:
    """By their labels and namespaces, and of those in their nodes' network."""
    assert _differences(_rendered(found), [To(pod.addresses[0], pod) for pod in PODS]) == []


@WORLDS
@given(openings(), VERSIONS, st.data())
def test_cilium_and_the_evaluator_agree_about_answered_names(
    found: list[Opening], version: tuple[int, int], data: st.DataObject
) -> None:
    """An address is an answer for one name or for two, and may be one that a CIDR has, too."""
    addresses = [*(str(each[0]) for each in addresses_of(found)), METADATA, "198.51.100.9"]
    targets = [
        To(
            data.draw(st.sampled_from(addresses)),
            names=tuple(data.draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))),
        )
        for _ in NAMES
    ]
    for index, name in enumerate(NAMES):
        targets += [To(f"198.51.100.{index}", names=(name,)), To(METADATA, names=(name,))]
    assert _differences(_rendered(found, version), targets) == []


@WORLDS
@given(openings(), VERSIONS)
def test_cilium_and_the_evaluator_agree_about_questions(
    found: list[Opening], version: tuple[int, int]
) -> None:
    """Which names a Pod may ask the cluster's DNS for, by UDP and by TCP."""
    policies = _rendered(found, version)
    ours = Policies(policies)
    cases = [
        (source, name, protocol)
        for source in SOURCES
        for name in NAMES
        for protocol in ("UDP", "TCP")
    ]
    judged = judge(
        policies,
        [
            Question(_labels(source), Destination(pod=_labels(KUBE_DNS)), protocol, 53, name)
            for source, name, protocol in cases
        ],
    )
    assert all(answer.allowed and answer.dns for answer in judged.answers)
    assert [
        case
        for case, answer in zip(cases, judged.answers, strict=True)
        if ours.answers(*case[:2]) != answer.answered
    ] == []


def test_cilium_and_the_evaluator_agree_about_whole_clusters() -> None:
    """About all connections between Pods, to answers, and to the edges of what policies name."""
    tried = opened = 0
    for seed in range(12):
        world = made(seed)
        found = rendered(world, Engine("cilium", (1, 20), sctp=True))
        policies = tuple(item for each in found for item in each.objects)
        ours = Policies(policies)
        cases = list(_connections(world, policies))
        for case, allowed in _judged(policies, cases):
            assert ours.allows(*case) == allowed, (seed, case)
            tried, opened = tried + 1, opened + allowed
    assert tried / 200 < opened < tried * 3 / 4, "the clusters have too little, or too much, open"


def _connections(world: World, policies: tuple[Json, ...]) -> Iterator[Case]:
    """Yield connections from all Pods that have an identity of their own."""
    pods = [labelled(world, pod) for pod in world.pods]
    targets = [To(pod.addresses[0], pod) for pod in pods]
    named = {each: names for each, names in _names_by_address(world).items() if _is_outside(each)}
    targets += [To(address, names=names) for address, names in named.items()]
    edges = sorted({*map(str, _edges(policies))} - named.keys())
    targets += map(To, world.dice.sample(list(filter(_is_outside, edges)), 20))
    ports = sorted({(protocol, number) for protocol in PROTOCOLS for number in (*NUMBERS, 8081)})
    for source in pods:
        if not source.host_network:
            yield from ((source, to, *on) for to in targets for on in ports)


def _names_by_address(world: World) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, addresses in world.answers.items():
        for address in addresses:
            found[address] = (*found.get(address, ()), name)
    return found


def _is_outside(address: str) -> bool:
    """Return whether an address is neither a Pod's, nor a Service's, nor a node's."""
    return not any(ip_address(address) in ip_network(each) for each in RANGES)


def _edges(policies: tuple[Json, ...]) -> Iterator[IPv4Address | IPv6Address]:
    """Yield the first and the last address of each network, and those before and after."""
    for policy in policies:
        for field in ("egress", "egressDeny"):
            for rule in policy["spec"].get(field, ()):
                for each in rule.get("toCIDRSet", ()):
                    for network in map(ip_network, (each["cidr"], *each.get("except", ()))):
                        yield from _edges_of(network)


def _edges_of(network: IPv4Network | IPv6Network) -> Iterator[IPv4Address | IPv6Address]:
    for number in (int(network[0]) - 1, int(network[0]), int(network[-1]), int(network[-1]) + 1):
        if 0 <= number < 1 << network.max_prefixlen:
            yield type(network[0])(number)


CLIENT: Final = PodLabels(SPACE, {"app": "client"})
SERVER: Final = PodLabels("beta", {"app": "api"})
API_SERVER: Final = "203.0.113.5"
HOST: Final = Destination(entity="host", address="192.0.2.10")
NODE: Final = Destination(entity="remote-node", address="192.0.2.11")
OWN_API_SERVER: Final = Destination(entity="kube-apiserver")
OUTER_API_SERVER: Final = Destination(entity="kube-apiserver", address=API_SERVER)


def _policy(*egress: Json, deny: tuple[Json, ...] = (), name: str = "one") -> Json:
    spec: Json = {"endpointSelector": {}, "egress": list(egress)}
    if deny:
        spec["egressDeny"] = list(deny)
    return {"metadata": {"namespace": SPACE, "name": name}, "spec": spec}


def _dns_rule(selected: Json, *asked: str) -> Json:
    ports: Json = {"ports": [{"port": "53", "protocol": "UDP"}]}
    if asked:
        ports["rules"] = {"dns": [{"matchName": name} for name in asked]}
    return {"toEndpoints": [selected], "toPorts": [ports]}


def _reach(policy: Json, *to: Destination) -> list[bool]:
    """Return which of these a Pod of the namespace reaches on TCP 443."""
    found: Judgement = judge([policy], [Question(CLIENT, each, "TCP", 443) for each in to])
    assert found.problems == ()
    return [answer.allowed for answer in found.answers]


DNS_PODS: Final[Json] = {
    "matchLabels": {"k8s:io.kubernetes.pod.namespace": "kube-system", "k8s:k8s-app": "kube-dns"}
}
ALL_OF_KUBE_SYSTEM: Final[Json] = {
    "matchLabels": {"k8s:io.kubernetes.pod.namespace": "kube-system"}
}


def _ask(*policies: Json) -> Answer:
    to = Destination(pod=_labels(KUBE_DNS))
    found = judge(policies, [Question(CLIENT, to, "UDP", 53, "evil.example.net")])
    assert found.problems == ()
    return found.answers[0]


@pytest.mark.parametrize("selected", [DNS_PODS, ALL_OF_KUBE_SYSTEM, {}], ids=["same", "more", "ns"])
def test_a_rule_without_names_beside_one_with_names_opens_every_name(selected: Json) -> None:
    """The rules of one port add up, be it by one selector or by two, in one policy or in two."""
    named = _policy(_dns_rule(DNS_PODS, "packages.example.org"))
    alone = _ask(named)
    assert alone == Answer(allowed=True, dns=("packages.example.org",), answered=False)
    both = _ask(named, _policy(_dns_rule(selected), name="two"))
    if selected:
        assert both == Answer(allowed=True, dns=("*", "packages.example.org"), answered=True)
    else:  # An empty selector means the Pods of the policy's own namespace.
        assert both == alone


def test_a_denied_network_denies_a_kube_apiserver_that_lies_in_it() -> None:
    """Deny is before allow, for one outside of the cluster; on a node it has no CIDR."""
    allowed = {"toEntities": ["kube-apiserver"]}
    denied = {"toCIDRSet": [{"cidr": "203.0.113.0/24"}]}
    to = (OUTER_API_SERVER, OWN_API_SERVER)
    assert _reach(_policy(allowed), *to) == [True, True]
    assert _reach(_policy(allowed, deny=(denied,)), *to) == [False, True]
    assert _reach(_policy(allowed, deny=({"toCIDRSet": [{"cidr": "0.0.0.0/0"}]},)), *to) == [
        False,
        True,
    ]


def test_a_network_of_everything_matches_no_pod_and_no_node() -> None:
    """But it matches the world, and a kube-apiserver outside of the cluster."""
    everything = {"toCIDRSet": [{"cidr": "0.0.0.0/0"}, {"cidr": "::/0"}]}
    inside = (Destination(pod=SERVER), HOST, NODE, OWN_API_SERVER)
    outside = (
        Destination(address="8.8.8.8"),
        Destination(address="2001:db8::1"),
        Destination(entity="world"),
        OUTER_API_SERVER,
    )
    assert _reach(_policy(everything), *inside) == [False] * len(inside)
    assert _reach(_policy(everything), *outside) == [True] * len(outside)
    allowed = _policy({"toEntities": ["all"]}, deny=(everything,))
    assert _reach(allowed, *inside) == [True] * len(inside)
    assert _reach(allowed, *outside) == [False] * len(outside)


def test_the_entity_host_is_the_pods_own_node_alone() -> None:
    """Neither other nodes, nor kube-apiserver, nor Pods, nor the world."""
    policy = _policy({"toEntities": ["host"]})
    assert _reach(policy, HOST, Destination(entity="host")) == [True, True]
    others = (
        NODE,
        Destination(entity="remote-node"),
        OWN_API_SERVER,
        OUTER_API_SERVER,
        Destination(pod=SERVER),
        Destination(address="192.0.2.12"),
    )
    assert _reach(policy, *others) == [False] * len(others)


def test_a_policy_that_cilium_refuses_is_found() -> None:
    """The tests above are not vacuous: a broken policy is refused, with the reason."""
    broken = _policy({"toCIDRSet": [{"cidr": "192.0.2.0"}]})
    (problem,) = judge([broken]).problems
    assert problem.policy == "alpha/one"
    assert "192.0.2.0" in problem.reason
