"""Openings become NetworkPolicies that open these, and nothing else."""

import json
import random
from collections.abc import Iterable
from ipaddress import ip_network
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from core.base import names
from core.base.networks import Network
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import Requirement
from egress.model.openings import Addresses, Backend, Block, Name, Opening, Pods, Service
from egress.render.engines import render
from egress.render.generated_objects import DEFAULT_DENY, DNS, MANAGED_LABELS, allow_name
from egress.render.partition import MAX_BYTES, MAX_PEERS
from egress.render.target import Dns, Engine, RenderTarget
from tests.harness.oracles.policy_semantics import Cluster, End, Pod
from tests.unit.egress.render.random_openings import (
    ACCOUNT,
    PORTS,
    SPACE,
    addresses_of,
    meaning,
    openings,
    opens_address,
)

Json = dict[str, Any]

TARGET = RenderTarget()
SELECTS = (Requirement(names.EGRESS_ACCOUNT_LABEL, "In", ("s1",)),)
HTTPS = (PortRange("TCP", 443, 443),)
WITHOUT_LABELS = Pod(SPACE, "old", {"app": "a"}, ("10.244.9.9",))


def _pod(account: str) -> Pod:
    labels = {names.EGRESS_ACCOUNT_LABEL: account, "app": "a"}
    return Pod(SPACE, account, labels, (f"10.244.9.{len(account)}",))


def _cluster(found: Iterable[Opening]) -> Cluster:
    return Cluster({SPACE: {}, "beta": {}}, render(meaning(found), TARGET).objects)


def _reaches(cluster: Cluster, source: Pod, address: Network, ports: PortRange) -> bool:
    start, end = End(source.addresses[0], source), End(str(address[0]))
    return cluster.lets_out(start, end, ports.protocol, ports.last)


def _last(ports: PortRange) -> PortRange:
    return PortRange(ports.protocol, ports.last, ports.last)


def _opening(peer: Addresses | Name | Pods | Service, allowlist: str = "a") -> Opening:
    return Opening(allowlist, "spec.to[0]", SELECTS, peer, HTTPS)


@settings(deadline=None)
@given(openings())
def test_no_list_of_peers_is_empty(found: list[Opening]) -> None:
    """Zero addresses drop the rule: an empty `to`, or none, would be everywhere."""
    for item in render(meaning(found), TARGET).objects:
        assert item["spec"]["policyTypes"] == ["Egress"]
        assert "egress" not in item["spec"] or item["spec"]["egress"]
        for rule in item["spec"].get("egress", ()):
            assert rule["to"]
            assert all(rule["to"])
            assert rule["ports"]


@settings(deadline=None)
@given(openings())
def test_only_what_openings_name_is_reachable(found: list[Opening]) -> None:
    """At the edges of all networks, for each account, exactly its own openings are open."""
    cluster = _cluster(found)
    for account in sorted({*ACCOUNT.values()}):
        mine = [
            each for each in found if ACCOUNT[each.allowlist] == account and not _is_pattern(each)
        ]
        for address in addresses_of(found):
            for ports in PORTS:
                wanted = any(opens_address(each, address, _last(ports)) for each in mine)
                assert _reaches(cluster, _pod(account), address, ports) == wanted


def _is_pattern(opening: Opening) -> bool:
    return isinstance(opening.peer, Name) and "*" in opening.peer.pattern


@settings(deadline=None)
@given(openings())
def test_pod_without_the_gates_labels_reaches_nothing(found: list[Opening]) -> None:
    """Whatever other labels a Pod has."""
    cluster = _cluster(found)
    for address in addresses_of(found):
        assert not any(_reaches(cluster, WITHOUT_LABELS, address, ports) for ports in PORTS)


@settings(deadline=None)
@given(openings(), st.data())
def test_removing_an_opening_opens_nothing(found: list[Opening], data: st.DataObject) -> None:
    """What is reachable without it was reachable with it."""
    if not found:
        return
    fewer = list(found)
    fewer.remove(data.draw(st.sampled_from(found)))
    whole, less = _cluster(found), _cluster(fewer)
    for address in addresses_of(found):
        for account in sorted({*ACCOUNT.values()}):
            for ports in PORTS:
                pod = _pod(account)
                if _reaches(less, pod, address, ports):
                    assert _reaches(whole, pod, address, ports)


@settings(deadline=None)
@given(openings(), st.randoms())
def test_any_order_gives_the_same_bytes(found: list[Opening], dice: random.Random) -> None:
    """Whoever lists the openings, and in whatever order."""
    other = list(found)
    dice.shuffle(other)
    assert json.dumps(render(meaning(other), TARGET).objects) == json.dumps(
        render(meaning(found), TARGET).objects
    )


def test_network_policies_of_every_namespace_open_dns_alone() -> None:
    """Nothing is open but the cluster's DNS, to all Pods, for TCP and UDP."""
    deny, dns = render(meaning([]), TARGET).objects
    assert deny == {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": DEFAULT_DENY, "namespace": SPACE, "labels": MANAGED_LABELS},
        "spec": {"podSelector": {}, "policyTypes": ["Egress"]},
    }
    assert dns["metadata"]["name"] == DNS
    assert dns["spec"] == {
        "podSelector": {},
        "policyTypes": ["Egress"],
        "egress": [
            {
                "to": [
                    {
                        "namespaceSelector": {
                            "matchLabels": {"kubernetes.io/metadata.name": "kube-system"}
                        },
                        "podSelector": {
                            "matchExpressions": [
                                {"key": "k8s-app", "operator": "In", "values": ["kube-dns"]}
                            ]
                        },
                    }
                ],
                "ports": [{"protocol": "TCP", "port": 53}, {"protocol": "UDP", "port": 53}],
            }
        ],
    }


def test_node_local_dns_goes_by_its_address() -> None:
    """What runs on the node's network is matched by no selector."""
    target = RenderTarget(dns=Dns(addresses=(ip_network("169.254.20.10/32"),)))
    dns = render(meaning([]), target).objects[1]
    assert {"ipBlock": {"cidr": "169.254.20.10/32"}} in dns["spec"]["egress"][0]["to"]


def test_a_policy_says_whose_it_is() -> None:
    """The allowlist is in the name and in the annotation; the Pods are the gate's."""
    block = Block(ip_network("10.0.0.0/8"), (ip_network("10.9.0.0/16"),))
    found = render(meaning([_opening(Addresses((block,)))]), TARGET).objects
    allow = next(item for item in found if item["metadata"]["name"] == "sallyport-allow-a-0")
    assert allow["metadata"]["annotations"] == {names.ALLOWLIST_ANNOTATION: "a"}
    assert allow["spec"] == {
        "podSelector": {
            "matchExpressions": [
                {"key": names.EGRESS_ACCOUNT_LABEL, "operator": "In", "values": ["s1"]}
            ]
        },
        "policyTypes": ["Egress"],
        "egress": [
            {
                "to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.9.0.0/16"]}}],
                "ports": [{"protocol": "TCP", "port": 443}],
            }
        ],
    }


def test_a_wildcard_is_refused_with_the_reason() -> None:
    """It opens nothing, and the problem names the entry and what to do."""
    found = render(meaning([_opening(Name("*.example.com", ()))]), TARGET)
    assert [item["metadata"]["name"] for item in found.objects] == [DEFAULT_DENY, DNS]
    (problem,) = found.problems
    assert (problem.path, problem.reason) == ("spec.to[0].dnsName", "CannotSay")
    assert problem.closes


def test_azure_cloud_at_full_size_fits() -> None:
    """2,809 + 2,032 networks that do not collapse: several policies, each within the limits."""
    four = [ip_network(f"20.{i >> 7}.{(i & 127) * 2}.0/24") for i in range(2809)]
    six = [ip_network(f"2603:1000:{i * 2:x}::/48") for i in range(2032)]
    peer = Addresses(tuple(map(Block, [*four, *six])))
    policies = render(meaning([_opening(peer)]), TARGET).objects[:-2]
    peers = [len(rule["to"]) for item in policies for rule in item["spec"]["egress"]]
    assert sum(peers) == len(four) + len(six)
    assert max(peers) <= MAX_PEERS
    assert all(len(json.dumps(item)) <= MAX_BYTES for item in policies)


def test_a_selector_that_fits_into_no_policy_is_refused() -> None:
    """The entry stays closed, with the reason; others of the allowlist do not."""
    values = tuple(f"value-{number:050}" for number in range(10_000))
    large = _opening(Pods("beta", (Requirement("app", "In", values),)))
    small = Opening("a", "spec.to[1]", SELECTS, Pods("beta"), HTTPS)
    found = render(meaning([large, small]), TARGET)
    assert [(each.path, each.reason) for each in found.problems] == [("spec.to[0]", "TooLarge")]
    assert len(found.objects) == 3


@given(
    st.lists(st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?", fullmatch=True), unique=True)
)
def test_no_two_allowlists_share_a_policy(allowlists: list[str]) -> None:
    """Names are unique, also of long ones, and can be an object's."""
    made = [allow_name(each, index) for each in allowlists for index in (0, 1, 10)]
    assert len(set(made)) == len(made)
    assert all(len(each) <= 253 and "." not in each[-1] for each in made)


BOTH = (ip_network("192.0.2.1/32"), ip_network("2001:db8::1/128"))


def test_no_policy_has_networks_of_both_families() -> None:
    """Azure NPM leaves a policy as it was where it holds IPv6: of IPv4 nothing may be lost so."""
    target = RenderTarget(dns=Dns(addresses=BOTH))
    blocks = Addresses(tuple(map(Block, BOTH)))
    found = render(meaning([_opening(blocks), _opening(Name("example.com", BOTH), "b")]), target)
    assert not found.problems
    families = {item["metadata"]["name"]: _families(item) for item in found.objects}
    assert all(len(each) <= 1 for each in families.values())
    assert families["sallyport-dns"] == {4}
    assert families["sallyport-dns-ipv6"] == {6}
    assert families["sallyport-allow-b-0"] == {4}
    assert families["sallyport-allow-b-0ipv6"] == {6}


def test_an_engine_of_one_family_gets_no_other() -> None:
    """What has no address of it is refused; what has both is open by the one."""
    engine = Engine(ip_families=("IPv4",))
    target = RenderTarget(engine, Dns(addresses=BOTH))
    six = Addresses((Block(BOTH[1]),))
    found = render(meaning([_opening(six), _opening(Name("example.com", BOTH), "b")]), target)
    assert {each for item in found.objects for each in _families(item)} == {4}
    (problem,) = found.problems
    assert (problem.allowlist, problem.reason, problem.closes) == ("a", "CannotSay", True)
    assert "another family than IPv4" in problem.message


def test_a_service_with_pods_of_another_family_alone_is_told() -> None:
    """It is not open, and the condition of its allowlist must say so."""
    backend = Backend((PortRange("TCP", 8080, 8080),), (BOTH[1],))
    opening = _opening(Service("data", "api", (Requirement("app", "In", ("a",)),), (backend,)))
    found = render(meaning([opening]), RenderTarget(Engine(ip_families=("IPv4",))))
    (problem,) = found.problems
    assert (problem.reason, problem.closes, found.open) == ("CannotSay", True, ())


def _families(item: Json) -> set[int]:
    return {
        ip_network(peer["ipBlock"]["cidr"]).version
        for rule in item["spec"].get("egress", ())
        for peer in rule["to"]
        if "ipBlock" in peer
    }


def test_kube_apiserver_is_its_addresses() -> None:
    """As its Service tells them, on the port that they listen on."""
    backend = Backend((PortRange("TCP", 6443, 6443),), (ip_network("20.50.1.2/32"),))
    peer = Service("default", "kubernetes", (), (backend,), is_api_server=True)
    cluster = _cluster([_opening(peer)])
    server = ip_network("20.50.1.2/32")
    assert _reaches(cluster, _pod("s1"), server, PortRange("TCP", 6443, 6443))
    assert not _reaches(cluster, _pod("s1"), server, PortRange("TCP", 443, 443))
    assert not _reaches(cluster, _pod("s2"), server, PortRange("TCP", 6443, 6443))
