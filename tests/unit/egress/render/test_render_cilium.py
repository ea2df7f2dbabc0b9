"""Openings become CiliumNetworkPolicies that open these, and nothing else."""

import json
import random
from collections.abc import Iterable
from ipaddress import ip_network
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base import names
from core.base.networks import single_address_network
from core.egress.destinations import PortRange
from core.egress.dns_names import matches_name
from core.kubernetes.label_selectors import Requirement
from egress.model.openings import Addresses, Backend, Block, Name, Opening, Peer, Pods, Service
from egress.model.reserved_ranges import ALWAYS_RESERVED, PRIVATE, with_translated
from egress.render.cilium import MAP_ENTRIES
from egress.render.cilium_words import map_entries
from egress.render.engines import render
from egress.render.target import Dns, Engine, EngineKind, RenderTarget
from tests.harness.oracles.cilium_semantics import CORE_DNS, Policies
from tests.harness.oracles.cilium_semantics import Target as To
from tests.harness.oracles.policy_semantics import Pod
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

ENGINE = Engine("cilium", (1, 19), sctp=True)
TARGET = RenderTarget(ENGINE, reserved=ALWAYS_RESERVED)
SELECTS = (Requirement(names.EGRESS_ACCOUNT_LABEL, "In", ("s1",)),)
HTTPS = (PortRange("TCP", 443, 443),)
METADATA = ip_network("169.254.169.254/32")
ASKED = (
    "packages.example.org",
    "example.com",
    "www.example.com",
    "a.b.example.com",
    "evil-example.com",
)


def _pod(account: str) -> Pod:
    labels = {names.EGRESS_ACCOUNT_LABEL: account, "app": "a"}
    return Pod(SPACE, account, labels, (f"10.244.9.{len(account)}",))


def _opening(peer: Peer, allowlist: str = "a", *ports: PortRange) -> Opening:
    return Opening(allowlist, "spec.to[0]", SELECTS, peer, ports or HTTPS)


def _policies(found: Iterable[Opening], target: RenderTarget = TARGET) -> Policies:
    return Policies(render(meaning(found), target).objects)


def _refusal(peer: Peer, target: RenderTarget = TARGET, *ports: PortRange) -> str:
    """Return why an opening is refused, once nothing is rendered of it."""
    found = render(meaning([_opening(peer, "a", *ports)]), target)
    assert not [item for item in found.objects if "-allow-" in item["metadata"]["name"]]
    (problem,) = found.problems
    assert problem.closes
    assert problem.path == "spec.to[0]"
    return problem.message


@settings(deadline=None)
@given(openings())
def test_no_list_of_peers_is_empty(found: list[Opening]) -> None:
    """Zero addresses drop the rule; a rule without peers would be about everything."""
    for item in render(meaning(found), TARGET).objects:
        for rule in (*item["spec"].get("egress", ()), *item["spec"].get("egressDeny", ())):
            assert all(rule.values())
            assert rule or item["metadata"]["name"] == "sallyport-default-deny"
            assert all(ports["ports"] for ports in rule.get("toPorts", ()))


@settings(deadline=None)
@given(openings())
def test_only_what_openings_name_is_reachable(found: list[Opening]) -> None:
    """At the edges of all networks, exactly the addresses that the account's openings name."""
    policies = _policies(found)
    for account in sorted({*ACCOUNT.values()}):
        mine = [each for each in found if ACCOUNT[each.allowlist] == account and _by_cidr(each)]
        for address in addresses_of(found):
            for ports in PORTS:
                last = PortRange(ports.protocol, ports.last, ports.last)
                wanted = any(opens_address(each, address, last) for each in mine)
                to = To(str(address[0]))
                assert policies.allows(_pod(account), to, ports.protocol, ports.last) == wanted


def _by_cidr(opening: Opening) -> bool:
    """Return whether Cilium goes by an opening's addresses: not for names, nor for Pods."""
    peer = opening.peer
    return isinstance(peer, Addresses) or (isinstance(peer, Name) and peer.pinned)


@settings(deadline=None)
@given(openings(), st.sampled_from(ASKED), st.sampled_from([(1, 17), (1, 19)]))
def test_only_names_of_openings_are_open(
    found: list[Opening], name: str, version: tuple[int, int]
) -> None:
    """An address is open as the answer for a name that an opening means, in either version."""
    engine = msgspec.structs.replace(ENGINE, version=version)
    target = msgspec.structs.replace(TARGET, engine=engine)
    many = version >= (1, 19)
    policies = Policies(render(meaning(found), target).objects, many_labels=many)
    to = To("198.51.100.9", names=(name,))
    for account in sorted({*ACCOUNT.values()}):
        mine = [each for each in found if ACCOUNT[each.allowlist] == account]
        by_name = [(each, each.peer) for each in mine if isinstance(each.peer, Name)]
        asked = any(matches_name(peer.pattern, name) for _, peer in by_name)
        assert policies.answers(_pod(account), name) == asked
        for ports in PORTS:
            wanted = any(
                matches_name(peer.pattern, name) and not peer.pinned and ports in opening.ports
                for opening, peer in by_name
            )
            assert policies.allows(_pod(account), to, ports.protocol, ports.first) == wanted


@settings(deadline=None)
@given(openings())
def test_no_answer_opens_a_reserved_address(found: list[Opening]) -> None:
    """Whatever a name's owner answers, metadata is open to accounts alone that name it."""
    policies = _policies([*found, _opening(Name("*", ()), "b", *PORTS)])
    to = To("169.254.169.254", names=("packages.example.org", "www.example.com"))
    for account in sorted({*ACCOUNT.values()}):
        names_it = any(
            opens_address(each, METADATA, PortRange(each.ports[0].protocol, port, port))
            for each in found
            if ACCOUNT[each.allowlist] == account and _by_cidr(each)
            for port in (each.ports[0].first,)
        )
        opened = any(
            policies.allows(_pod(account), to, each.protocol, each.first) for each in PORTS
        )
        assert opened <= names_it


@settings(deadline=None)
@given(openings(), st.data())
def test_removing_an_opening_opens_nothing(found: list[Opening], data: st.DataObject) -> None:
    """What is reachable by address or by name without it was reachable with it.

    But reserved addresses, once nobody names them, are denied to more Pods, and never to fewer.
    """
    if not found:
        return
    fewer = list(found)
    fewer.remove(data.draw(st.sampled_from(found)))
    whole, less = _policies(found), _policies(fewer)
    targets = [To(str(each[0])) for each in addresses_of(found)]
    targets += [To("198.51.100.9", names=(each,)) for each in ASKED]
    for to in targets:
        for account in sorted({*ACCOUNT.values()}):
            for ports in PORTS:
                if less.allows(_pod(account), to, ports.protocol, ports.first):
                    assert whole.allows(_pod(account), to, ports.protocol, ports.first)


@settings(deadline=None)
@given(openings(), st.randoms())
def test_any_order_gives_the_same_bytes(found: list[Opening], dice: random.Random) -> None:
    """Whoever lists the openings, and in whatever order."""
    other = list(found)
    dice.shuffle(other)
    assert json.dumps(render(meaning(other), TARGET).objects) == json.dumps(
        render(meaning(found), TARGET).objects
    )


def test_cilium_policies_of_every_namespace_open_dns_alone() -> None:
    """Nothing is open but questions for the cluster's own zone; reserved addresses are denied."""
    deny, dns, guard, private = render(meaning([]), TARGET).objects
    assert deny["spec"] == {"endpointSelector": {}, "egress": [{}]}
    (rule,) = dns["spec"]["egress"]
    assert rule["toPorts"] == [
        {
            "ports": [{"port": "53", "protocol": "TCP"}, {"port": "53", "protocol": "UDP"}],
            "rules": {"dns": [{"matchPattern": "**.cluster.local"}]},
        }
    ]
    denied = {each["cidr"] for each in guard["spec"]["egressDeny"][0]["toCIDRSet"]}
    assert denied == set(map(str, ALWAYS_RESERVED))
    denied = {each["cidr"] for each in private["spec"]["egressDeny"][0]["toCIDRSet"]}
    assert denied == set(map(str, with_translated(PRIVATE)))


def test_names_are_asked_for_with_the_search_list() -> None:
    """A node's domains, too: musl's resolver gives up where such a question is refused."""
    target = msgspec.structs.replace(TARGET, dns=Dns(search=("west.internal.example",)))
    policies = _policies([_opening(Name("packages.example.org", ()))], target)
    assert policies.answers(_pod("s1"), "packages.example.org.west.internal.example")
    assert policies.answers(_pod("s1"), "packages.example.org.alpha.svc.cluster.local")
    assert not policies.answers(_pod("s1"), "secret.west.internal.example")
    assert not policies.answers(_pod("s2"), "packages.example.org")


def test_cilium_guard_spares_accounts_that_name_metadata() -> None:
    """Its guard spares the accounts that name it, and is there for all others."""
    policies = _policies([_opening(Addresses((Block(METADATA),)))])
    assert policies.allows(_pod("s1"), To("169.254.169.254"), "TCP", 443)
    assert not policies.allows(_pod("s2"), To("169.254.169.254"), "TCP", 443)
    assert not policies.allows(_pod("s1"), To("169.254.169.253"), "TCP", 443)


def test_a_service_is_its_pods_by_their_labels() -> None:
    """On the ports of the Pods; no address is written."""
    app = (Requirement("app", "In", ("api",)),)
    backend = Backend((PortRange("TCP", 8080, 8080),), (ip_network("10.244.3.4/32"),))
    policies = _policies([_opening(Service("beta", "api", app, (backend,)))])
    behind = Pod("beta", "api-1", {"app": "api"}, ("10.244.3.4",))
    assert policies.allows(_pod("s1"), To("10.244.3.4", behind), "TCP", 8080)
    assert not policies.allows(_pod("s1"), To("10.244.3.4", behind), "TCP", 443)
    elsewhere = Pod("gamma", "api-1", {"app": "api"}, ("10.244.4.4",))
    assert not policies.allows(_pod("s1"), To("10.244.4.4", elsewhere), "TCP", 8080)


def test_services_that_selectors_cannot_say_are_refused() -> None:
    """Without a selector, and with Pods that listen on different ports."""
    one = Backend((PortRange("TCP", 8080, 8080),), (ip_network("10.244.3.4/32"),))
    other = Backend((PortRange("TCP", 9090, 9090),), (ip_network("10.244.3.5/32"),))
    app = (Requirement("app", "In", ("api",)),)
    assert "has no selector" in _refusal(Service("beta", "api", (), (one,)))
    assert "different ports" in _refusal(Service("beta", "api", app, (one, other)))


@pytest.mark.parametrize("operator", ["NotIn", "In"])
def test_labels_that_cilium_does_not_see_are_refused(operator: str) -> None:
    """`NotIn` of such a label would be true of every Pod."""
    requirement = msgspec.convert(
        {"key": "pod-template-hash", "operator": operator, "values": ("x",)}, Requirement
    )
    assert "pod-template-hash" in _refusal(Pods("beta", (requirement,)))


def test_networks_of_pods_are_refused() -> None:
    """Cilium's CIDR rules match none; what lies outside of them stays open."""
    target = msgspec.structs.replace(TARGET, ranges=(ip_network("10.244.0.0/16"),))
    inside = Block(ip_network("10.244.3.0/24"))
    assert "10.244.3.0/24" in _refusal(Addresses((inside,)), target)
    both = _opening(Addresses((inside, Block(ip_network("192.0.2.0/24")))))
    found = render(meaning([both]), target)
    assert len(found.problems) == 1
    assert Policies(found.objects).allows(_pod("s1"), To("192.0.2.1"), "TCP", 443)


def test_what_shares_the_nodes_subnet_is_open_and_nodes_are_not() -> None:
    """A private endpoint beside the nodes is matched by a network; a node itself never is."""
    nodes = (ip_network("10.224.0.0/16"),)
    target = msgspec.structs.replace(
        TARGET, reserved=(*ALWAYS_RESERVED, *nodes), ranges=nodes, nodes=nodes
    )
    found = render(meaning([_opening(Addresses((Block(ip_network("10.224.0.9/32")),)))]), target)
    assert [(each.reason, each.closes) for each in found.problems] == [("NodesClosed", False)]
    policies = Policies(found.objects)
    assert policies.allows(_pod("s1"), To("10.224.0.9"), "TCP", 443)
    assert not policies.allows(_pod("s2"), To("10.224.0.9"), "TCP", 443)
    assert not policies.allows(_pod("s1"), To("10.224.0.9", entity="remote-node"), "TCP", 443)


API_SERVER = Service(
    "default",
    "kubernetes",
    (),
    (Backend((PortRange("TCP", 6443, 6443),), (ip_network("10.224.0.4/32"),)),),
    is_api_server=True,
)


@pytest.mark.parametrize("kind", ["cilium", "cilium-aks", "cilium-aks-basic"])
def test_kube_apiserver_is_an_entity(kind: EngineKind) -> None:
    """On its own port, in the nodes' subnet too, where a guard denies all others what it has."""
    nodes = (ip_network("10.224.0.0/16"),)
    target = msgspec.structs.replace(
        TARGET,
        engine=Engine(kind),
        reserved=(*ALWAYS_RESERVED, *nodes),
        ranges=nodes,
        nodes=nodes,
    )
    found = render(meaning([_opening(API_SERVER)]), target)
    assert not found.problems
    policies = Policies(found.objects)
    server = To("10.224.0.4", entity="kube-apiserver")
    assert policies.allows(_pod("s1"), server, "TCP", 6443)
    assert not policies.allows(_pod("s1"), server, "TCP", 10250)
    assert not policies.allows(_pod("s2"), server, "TCP", 6443)
    assert not policies.allows(_pod("s1"), To("10.224.0.5"), "TCP", 6443)


LOCAL_DNS = Dns(addresses=(ip_network("169.254.10.10/32"), ip_network("169.254.10.11/32")))
NODE_DNS = tuple(To("169.254.10.10", entity=each) for each in ("", "host"))
"""As a network before Cilium 1.17, and until an agent knows the address; as the node after that."""


@pytest.mark.parametrize("kind", ["cilium", "cilium-aks-basic"])
def test_dns_on_the_node_is_open(kind: EngineKind) -> None:
    """To every Pod, on its port alone; and no guard denies it, whoever names the whole range."""
    target = msgspec.structs.replace(TARGET, engine=Engine(kind), dns=LOCAL_DNS)
    whole = _opening(Addresses((Block(ip_network("169.254.0.0/16")),)), "a", PortRange("TCP", 1, 1))
    policies = _policies([whole], target)
    for account in ("s1", "s2"):
        for to in NODE_DNS:
            assert policies.allows(_pod(account), to, "UDP", 53)
            assert not policies.allows(_pod(account), to, "TCP", 443)
        assert not policies.allows(_pod(account), To("169.254.169.254"), "UDP", 53)


def test_without_names_in_aks_a_name_is_its_addresses() -> None:
    """DNS answers everything there, a wildcard is refused, Pods go by their labels all the same."""
    target = msgspec.structs.replace(TARGET, engine=Engine("cilium-aks-basic"))
    name = Name("packages.example.org", (ip_network("198.51.100.9/32"),))
    found = render(meaning([_opening(name)]), target)
    assert "toFQDNs" not in str(found.objects)
    assert "rules" not in str(found.objects)
    policies = Policies(found.objects)
    assert policies.allows(_pod("s1"), To("198.51.100.9"), "TCP", 443)
    assert not policies.allows(_pod("s1"), To("198.51.100.8"), "TCP", 443)
    assert policies.answers(_pod("s1"), "anything.example")
    assert "wildcard" in _refusal(Name("*.example.com", ()), target)
    app = (Requirement("app", "In", ("api",)),)
    backend = Backend((PortRange("TCP", 8080, 8080),), (ip_network("10.244.3.4/32"),))
    policies = _policies([_opening(Service("beta", "api", app, (backend,)))], target)
    behind = Pod("beta", "api-1", {"app": "api"}, ("10.244.3.4",))
    assert policies.allows(_pod("s1"), To("10.244.3.4", behind), "TCP", 8080)


@pytest.mark.parametrize(
    "peer",
    [
        Pods("kube-system"),
        Pods("kube-system", (Requirement("k8s-app", "Exists"),)),
        Service(
            "kube-system",
            "kube-dns",
            (Requirement("k8s-app", "In", ("kube-dns",)),),
            (Backend((PortRange("UDP", 53, 53),), (ip_network("10.244.0.10/32"),)),),
        ),
    ],
)
def test_an_opening_to_dns_pods_opens_no_other_names(peer: Peer) -> None:
    """A rule on port 53 without names beside one with them would have Cilium answer all."""
    ports = (PortRange("TCP", 50, 60), PortRange("UDP", 53, 53))
    policies = _policies([_opening(peer, "a", *ports), _opening(Name("example.com", ()), "b")])
    assert policies.answers(_pod("s1"), "example.com")
    assert not policies.answers(_pod("s1"), "secret.evil.example")
    if isinstance(peer, Pods):
        assert policies.allows(_pod("s1"), CORE_DNS, "TCP", 54)


def test_a_network_of_dns_on_the_node_opens_no_other_names() -> None:
    """On its port it is refused, or left out of a wider one; on another port it is as written."""
    target = msgspec.structs.replace(TARGET, dns=LOCAL_DNS)
    server = Addresses((Block(ip_network("169.254.10.10/32")),))
    assert "the cluster's DNS" in _refusal(server, target, PortRange("UDP", 53, 53))
    wide = Addresses((Block(ip_network("169.254.10.0/24")),))
    for peer, ports in ((wide, PortRange("UDP", 53, 53)), (server, PortRange("TCP", 443, 443))):
        policies = _policies([_opening(peer, "a", ports)], target)
        assert not policies.answers(_pod("s1"), "secret.evil.example", NODE_DNS[0])
        near = To("169.254.10.12" if peer is wide else "169.254.10.10")
        assert policies.allows(_pod("s1"), near, ports.protocol, ports.first)


def test_a_wider_network_stays_open_but_for_dns_in_it() -> None:
    """On its port, and only where a guard does not keep it apart already."""
    ports = (PortRange("TCP", 443, 443), PortRange("UDP", 53, 53))
    target = msgspec.structs.replace(TARGET, dns=LOCAL_DNS)
    everywhere = Addresses((Block(ip_network("0.0.0.0/0"), (ip_network("169.254.0.0/16"),)),))
    policies = _policies([_opening(everywhere, "a", *ports)], target)
    assert policies.allows(_pod("s1"), To("192.0.2.1"), "TCP", 443)
    own = Dns(addresses=(ip_network("10.1.2.3/32"),))
    target = msgspec.structs.replace(TARGET, dns=own)
    wide = Addresses((Block(ip_network("10.0.0.0/8")),))
    found = render(meaning([_opening(wide, "a", *ports)]), target)
    assert [(each.reason, each.closes) for each in found.problems] == [("DnsLeftOut", False)]
    left = Addresses((Block(ip_network("10.0.0.0/8"), (ip_network("10.1.2.3/32"),)),))
    assert [each.peer for each in found.openings] == [left]
    policies = Policies(found.objects)
    assert policies.allows(_pod("s1"), To("10.9.9.9"), "TCP", 443)
    assert not policies.answers(_pod("s1"), "secret.evil.example", To("10.1.2.3"))


def test_a_name_that_leads_to_dns_opens_nothing_there() -> None:
    """Its owner answers with the address of a server in a reserved range: no port is open."""
    nodes = (ip_network("10.224.0.0/16"),)
    server = To("10.224.0.50", names=("a.attacker.example",))
    target = msgspec.structs.replace(
        TARGET,
        dns=Dns(addresses=(ip_network("10.224.0.50/32"),)),
        reserved=(*ALWAYS_RESERVED, *nodes),
        ranges=nodes,
        nodes=nodes,
    )
    every = (PortRange("TCP", 1, 65535), PortRange("UDP", 1, 65535))
    policies = _policies([_opening(Name("a.attacker.example", ()), "a", *every)], target)
    assert not policies.allows(_pod("s1"), server, "TCP", 443)
    assert not policies.answers(_pod("s1"), "secret.evil.example", server)
    assert policies.answers(_pod("s1"), "a.attacker.example", server)
    named = _opening(Addresses((Block(ip_network("10.224.0.50/32")),)))
    assert _policies([named], target).allows(_pod("s1"), To("10.224.0.50"), "TCP", 443)


def test_denials_stay_whatever_family_is_enforced() -> None:
    """A name may lead to IPv6 where allowlists name none."""
    target = msgspec.structs.replace(
        TARGET, engine=msgspec.structs.replace(ENGINE, ip_families=("IPv4",))
    )
    six = (ip_network("2001:db8::9/128"),)
    policies = _policies([_opening(Name("packages.example.org", six))], target)
    metadata = To("fd00:ec2::254", names=("packages.example.org",))
    assert not policies.allows(_pod("s1"), metadata, "TCP", 443)
    assert policies.allows(
        _pod("s1"), To("198.51.100.9", names=("packages.example.org",)), "TCP", 443
    )


def test_pods_that_are_surely_no_dns_keep_port_53() -> None:
    """Another label of the same key, or another namespace."""
    chosen = Pods("kube-system", (Requirement("k8s-app", "In", ("other",)),))
    resolver = Pod("kube-system", "other", {"k8s-app": "other"}, ("10.244.0.11",))
    policies = _policies([_opening(chosen, "a", PortRange("UDP", 53, 53))])
    assert policies.allows(_pod("s1"), To("10.244.0.11", resolver), "UDP", 53)


def test_search_domains_may_have_any_label() -> None:
    """AKS appends two labels that nobody knows before; the name before them stays as it is."""
    target = msgspec.structs.replace(TARGET, dns=Dns(search=("*.*.internal.cloudapp.net",)))
    names_of = [Name("packages.example.org", ()), Name("*.example.com", ())]
    policies = _policies([_opening(each) for each in names_of], target)
    suffix = "abc123.ax.internal.cloudapp.net"
    for name in ("packages.example.org", "a.example.com", "a.b.example.com"):
        assert policies.answers(_pod("s1"), f"{name}.{suffix}")
    assert not policies.answers(_pod("s1"), f"secret.evil.example.{suffix}")
    assert not policies.answers(_pod("s1"), "packages.example.org.one.internal.cloudapp.net")


def test_names_of_the_cluster_are_refused() -> None:
    """Behind them are Pods, which no name opens."""
    assert "write `service`" in _refusal(Name("api.beta.svc.cluster.local", ()))


def test_the_wildcard_for_every_name_is_refused_in_aks() -> None:
    """AKS takes none in rules of DNS."""
    target = msgspec.structs.replace(TARGET, engine=Engine("cilium-aks"))
    assert "every name" in _refusal(Name("*", ()), target)


def test_what_old_versions_lack_is_refused_or_said() -> None:
    """Ranges of ports before 1.17; SCTP unless it is on; wildcards are said, with a warning."""
    old = msgspec.structs.replace(TARGET, engine=Engine("cilium", (1, 16)))
    block = Addresses((Block(ip_network("192.0.2.0/24")),))
    assert "1.17" in _refusal(block, old, PortRange("TCP", 1, 2))
    assert "sctp.enabled" in _refusal(block, old, PortRange("SCTP", 1, 1))
    found = render(meaning([_opening(Name("*.example.com", ()))]), old)
    assert [(each.reason, each.closes) for each in found.problems] == [("Narrowed", False)]


def test_an_allowlist_beyond_the_policy_map_is_refused_whole() -> None:
    """By itself; of several together it is a warning: removing one must not open another."""
    blocks = tuple(Block(single_address_network(each)) for each in ip_network("198.18.0.0/18"))
    spread = blocks[::2]
    assert len(spread) == MAP_ENTRIES // 2
    half = _opening(Addresses(spread))
    whole = _opening(Addresses(spread), "a", HTTPS[0], PortRange("TCP", 8000, 8000), *PORTS[2:3])
    refused = render(meaning([whole]), TARGET)
    assert [each.reason for each in refused.problems] == ["TooManyEntries"]
    both = render(meaning([half, msgspec.structs.replace(half, allowlist="a-0")]), TARGET)
    assert {(each.reason, each.closes) for each in both.problems} == {("PolicyMapFull", False)}
    assert not render(meaning([half]), TARGET).problems


@pytest.mark.parametrize(
    ("first", "last", "entries"), [(443, 443, 1), (8000, 8010, 3), (1, 65535, 1), (2, 65535, 15)]
)
def test_a_range_of_ports_takes_aligned_blocks(first: int, last: int, entries: int) -> None:
    """As a longest-prefix match holds them: 8000-8007, 8008-8009 and 8010 are three."""
    covered = map_entries((PortRange("TCP", first, last),))
    assert covered == entries
