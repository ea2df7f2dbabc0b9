"""`egress explain`: open or closed, by which intent, and what nearly opens it."""

from ipaddress import ip_address, ip_network
from typing import Any, Final

import msgspec
import pytest

from core.base import names
from core.base.errors import SettingsError
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import Requirement
from egress.analysis.cluster_egress import ClusterEgress
from egress.analysis.connection import parse_target
from egress.analysis.explanation import Explanation, explain
from egress.model.facts import KnownService
from egress.model.openings import Backend
from egress.render.target import EngineKind
from kube.egress.pods import DeclaredPort, EgressPod
from kube.egress.service_endpoints import ServicePort, ServiceShape
from tests.unit.egress.allowlist_objects import allowlist, destinations
from tests.unit.egress.analysis.small_clusters import TCP_443, pod, service, world

TRAINER: Final = pod("train-0")
TCP_80: Final = PortRange("TCP", 80, 80)
NET: Final = {"cidr": "192.0.2.0/24"}
RIGHT: Final = ("research", "trainer", "shared")
DNS: Final = pod(
    "coredns-0",
    "coredns",
    "kube-system",
    labels={"k8s-app": "kube-dns"},
    addresses=(ip_address("10.244.1.2"),),
)
CATALOGUE: Final = pod(
    "catalogue-0",
    "catalogue",
    "data",
    labels={"app": "catalogue"},
    addresses=(ip_address("10.244.1.30"),),
)


def _ask(to: str, found: ClusterEgress, source: EgressPod = TRAINER) -> Explanation:
    return explain(source, parse_target(to, found), found)


def _at(namespace: str, name: str, address: str, *ports: DeclaredPort) -> EgressPod:
    return pod(name, name, namespace, addresses=(ip_address(address),), ports=ports)


def _near(found: Explanation) -> str:
    return "; ".join(f"{each.what}: {each.why}" for each in found.near)


def test_open_names_the_intent() -> None:
    """With its owner, reason, end and place."""
    found = _ask("192.0.2.7:443", world(allowlist(NET)))
    assert (found.verdict, found.near, found.add) == ("open", [], None)
    (cited,) = found.by
    assert (cited.allowlist, cited.path, cited.owner) == (
        "pypi",
        "spec.to[0]",
        "research-platform",
    )


def test_closed_gives_the_smallest_entry() -> None:
    """And nothing where nothing is known of the destination."""
    found = _ask("198.51.100.9:22", world())
    ports = [{"protocol": "TCP", "port": 22}]
    assert (found.verdict, found.add) == ("closed", {"cidr": "198.51.100.9/32", "ports": ports})
    named = _ask("example.org:22", world())
    assert named.add == {"dnsName": "example.org", "ports": ports}
    six = _ask("[2001:db8::7]:53/udp", world())
    assert six.add == {
        "cidr": "2001:db8::7/128",
        "ports": [{"protocol": "UDP", "port": 53}],
    }


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"expiresAt": "2026-01-01T00:00:00Z"}, "it has expired"),
        ({"serviceAccounts": ["other"]}, "is for research/other; this Pod runs as"),
        ({"podSelector": {"matchLabels": {"app": "x"}}}, "[app=x]"),
    ],
)
def test_near_misses_of_an_intent(spec: dict[str, Any], said: str) -> None:
    """Expired, for another account, for other labels."""
    found = _ask("192.0.2.7:443", world(allowlist(NET, **spec)))
    assert found.verdict == "closed"
    assert said in _near(found)


def test_other_port_is_near() -> None:
    """With the ports that are open there."""
    found = _ask("192.0.2.7:80", world(allowlist(NET)))
    assert "opens TCP 443 there, not TCP 80" in _near(found)


def test_what_waits_for_an_approval_is_near_and_enough() -> None:
    """No entry is proposed beside it."""
    found = _ask("10.1.2.3:443", world(allowlist({"cidr": "10.0.0.0/8"})))
    assert "two people must approve it" in _near(found)
    assert found.add is None


def test_what_the_approvals_of_a_stored_intent_lack_is_told() -> None:
    """As the allowlist's own condition says it; one of a file has no approvals to speak of."""
    broad = allowlist({"cidr": "10.0.0.0/8"})
    stored = msgspec.structs.replace(
        broad,
        meta=msgspec.structs.replace(broad.meta, creation_timestamp="2026-01-01T00:00:00Z"),
        approvable=msgspec.structs.replace(broad.approvable, author=frozenset({"user:a"})),
    )
    assert "(0 of 2 people have approved it as it is)" in _near(_ask("10.1.2.3:443", world(stored)))
    assert "0 of 2" not in _near(_ask("10.1.2.3:443", world(broad)))


def test_carved_range_is_near() -> None:
    """A broader network does not open what is reserved, and that is said."""
    found = _ask("169.254.169.254:80", world(allowlist({"cidr": "169.0.0.0/8"})))
    assert found.verdict == "closed"
    intents = allowlist({"cidr": "10.9.0.0/16", "ports": [{"protocol": "TCP", "port": 80}]})
    found = _ask("10.9.1.1:80", world(intents, ranges=["10.9.1.0/24"]))
    assert "10.9.1.0/24 is taken out" in _near(found)
    assert "in a reserved range" in found.warnings[0]


def test_set_that_has_it_is_near() -> None:
    """With the right that is missing, or as the entry to add where nothing is."""
    shared = destinations(NET)
    found = _ask("192.0.2.7:443", world(sets=[shared]))
    assert "must first let the service account `use` it" in _near(found)
    found = _ask("192.0.2.7:443", world(sets=[shared], usable=[RIGHT]))
    assert found.add == {"destinations": {"name": "shared"}}
    asked = allowlist({"destinations": {"name": "shared"}})
    found = _ask("192.0.2.7:443", world(asked, sets=[shared]))
    assert "may not use EgressDestinations shared" in _near(found)


def test_name_is_open_by_its_addresses() -> None:
    """With some of them alone it is partly open; a reserved one stays closed."""
    intents = allowlist({"dnsName": "packages.example.org"})
    both = world(intents, learnt={"packages.example.org": ["203.0.113.7", "203.0.113.8"]})
    assert _ask("packages.example.org:443", both).verdict == "open"
    assert _ask("203.0.113.8:443", both).verdict == "open"
    some = world(intents, learnt={"packages.example.org": ["127.0.0.1", "203.0.113.8"]})
    found = _ask("packages.example.org:443", some)
    assert (found.verdict, found.closed_addresses) == ("partly", ["127.0.0.1"])
    assert "is in the reserved range 127.0.0.0/8" in _near(found)


def test_engine_that_knows_names_needs_no_address() -> None:
    """A wildcard opens the names below it there, and nowhere else."""
    intents = allowlist({"dnsName": "*.example.com"})
    assert _ask("a.example.com:443", world(intents, engine="cilium")).verdict == "open"
    assert _ask("example.com:443", world(intents, engine="cilium")).verdict == "closed"
    found = _ask("a.example.com:443", world(intents))
    assert found.verdict == "closed"


def test_service_and_pods_are_told_apart_from_addresses() -> None:
    """A Service is asked for by name, by its Pods, or by a Pod's address."""
    services = {("data", "catalogue"): service("10.244.1.30", 80, 8080, app="catalogue")}
    entry = {
        "service": {"namespace": "data", "name": "catalogue"},
        "ports": [{"protocol": "TCP", "port": 80}],
    }
    found = world(allowlist(entry), pods=[TRAINER, CATALOGUE], services=services)
    for to in ("catalogue.data:80", "catalogue.data.svc.cluster.local:80", "10.244.1.30:8080"):
        assert _ask(to, found).verdict == "open"
    assert _ask("catalogue.data:81", found).verdict == "closed"
    closed = world(pods=[TRAINER, CATALOGUE], services=services)
    add = _ask("pod/data/catalogue-0:8080", closed).add
    assert add is not None
    assert add["pods"] == {
        "namespace": "data",
        "podSelector": {"matchLabels": {"app": "catalogue"}},
    }


def test_a_name_that_leads_to_a_shared_front_end_waits_for_two_people() -> None:
    """It says to what it leads; with every approval it is open."""
    found = world(
        allowlist({"dnsName": "files.example.org"}), learnt={"files.example.org": ["151.101.1.7"]}
    )
    closed = _ask("files.example.org:443", found)
    assert closed.verdict == "closed"
    assert "151.101.1.7, which strangers share: Fastly" in _near(closed)
    assert _ask("files.example.org:443", found.with_all_granted()).verdict == "open"


def test_a_named_port_is_open_where_a_pod_declares_it() -> None:
    """By the number that it has there, and at no other Pod."""
    entry = {"pods": {"namespace": "data"}, "ports": [{"protocol": "TCP", "name": "http"}]}
    found = world(
        allowlist(entry),
        pods=[
            TRAINER,
            _at("data", "db", "10.244.1.30", DeclaredPort("TCP", 8080, "http")),
            _at("data", "other", "10.244.1.31", DeclaredPort("TCP", 8080, "grpc")),
        ],
    )
    said = {to: _ask(to, found).verdict for to in ("pod/data/db:8080", "pod/data/other:8080")}
    assert said == {"pod/data/db:8080": "open", "pod/data/other:8080": "closed"}
    assert _ask("pod/data/db:8081", found).verdict == "closed"


def test_namespaces_are_told_by_their_labels() -> None:
    """As the cluster has them; another namespace's Pod is closed, with an entry that opens it."""
    entry = {"pods": {"namespaceSelector": {"matchLabels": {names.NAMESPACE_NAME_LABEL: "data"}}}}
    found = world(
        allowlist(entry),
        pods=[
            TRAINER,
            _at("data", "db", "10.244.1.30"),
            _at("eval", "db", "10.244.1.31"),
        ],
    )
    assert _ask("pod/data/db:443", found).verdict == "open"
    assert _ask("pod/eval/db:443", found).verdict == "closed"


@pytest.mark.parametrize("engine", ["networkpolicy", "cilium", "cilium-aks-basic"])
def test_a_service_without_pods_is_closed(engine: EngineKind) -> None:
    """Nothing is rendered of it, whatever the engine; mended is the Service, not the allowlist."""
    key, port = ("data", "catalogue"), {"protocol": "TCP", "port": 80}
    empty = KnownService((Requirement("app", "In", ("catalogue",)),), ports={TCP_80: ()})
    entry = {"service": {"namespace": "data", "name": "catalogue"}, "ports": [port]}
    found = world(allowlist(entry), pods=[TRAINER], services={key: empty}, engine=engine)
    answer = _ask("catalogue.data:80", found)
    assert answer.verdict == "closed"
    assert "opens it once live Pods are behind it" in _near(answer)
    assert answer.add is None


@pytest.mark.parametrize("engine", ["networkpolicy", "cilium"])
@pytest.mark.parametrize("to", ["kubernetes.default:443", "10.0.0.1:443", "20.50.1.2:6443"])
def test_kube_apiserver_is_told_by_its_service(to: str, engine: EngineKind) -> None:
    """By name, by the Service's cluster address, and by its own: all are the same connection."""
    backend = Backend((PortRange("TCP", 6443, 6443),), (ip_network("20.50.1.2/32"),))
    known = KnownService(ports={TCP_443: (backend,)}, is_api_server=True)
    port = ServicePort("https", "TCP", 443)
    shape = ServiceShape("default", "kubernetes", (), "", (port,), (ip_address("10.0.0.1"),))
    entry = {"service": {"namespace": "default", "name": "kubernetes"}}
    key = ("default", "kubernetes")
    found = world(allowlist(entry), services={key: known}, shapes={key: shape}, engine=engine)
    assert _ask(to, found).verdict == "open"
    closed = world(services={key: known}, shapes={key: shape}, engine=engine)
    answer = _ask(to, closed)
    assert answer.verdict == "closed"
    assert answer.add == {
        "service": {"namespace": "default", "name": "kubernetes"},
        "ports": [{"protocol": "TCP", "port": 443}],
    }


@pytest.mark.parametrize(("engine", "verdict"), [("networkpolicy", "open"), ("cilium", "closed")])
def test_a_node_is_matched_by_no_network_on_cilium(engine: EngineKind, verdict: str) -> None:
    """Nor by its address, where a Pod on the node's network shows that it is one."""
    proxy = pod(
        "kube-proxy-x",
        "kube-proxy",
        "kube-system",
        host_network=True,
        addresses=(ip_address("10.224.0.5"),),
    )
    net = allowlist({"cidr": "10.224.0.0/28"})
    found = world(net, pods=[TRAINER, proxy], engine=engine)
    for to in ("pod/kube-system/kube-proxy-x:443", "10.224.0.5:443"):
        assert _ask(to, found).verdict == verdict
    assert _ask("10.224.0.9:443", found).verdict == "open"


def test_what_the_engine_cannot_say_is_no_advice() -> None:
    """An address of Pods that nobody knows, on Cilium: a network would open nothing."""
    found = world(ranges=["10.244.0.0/16"], engine="cilium")
    assert _ask("10.244.3.9:443", found).add is None
    assert _ask("10.244.3.9:443", world(ranges=["10.244.0.0/16"])).add is not None


def test_a_network_that_the_engine_says_in_part_is_open_in_part() -> None:
    """Cilium matches no Pod by a network: the rest of the entry stays open."""
    net = allowlist({"cidr": "10.244.3.0/24"}, {"cidr": "192.0.2.0/24"})
    found = world(net, ranges=["10.244.0.0/16"], engine="cilium")
    assert _ask("192.0.2.9:443", found).verdict == "open"
    answer = _ask("10.244.3.9:443", found)
    assert answer.verdict == "closed"
    assert "name `pods`" in _near(answer)


def test_pods_that_no_intent_holds() -> None:
    """On the node's network, or in a namespace that is not enrolled: open, and not by an intent."""
    found = world(pods=[DNS])
    assert _ask("192.0.2.7:443", found, pod("a", host_network=True)).verdict == "unlimited"
    assert _ask("192.0.2.7:443", found, DNS).verdict == "unlimited"


def test_pod_without_the_gates_labels_must_be_made_anew() -> None:
    """Though an intent is there; no entry would help."""
    found = _ask("192.0.2.7:443", world(allowlist(NET)), pod("old", labels={}))
    assert (found.verdict, found.add) == ("closed", None)
    assert "made anew" in _near(found)


def test_clusters_dns_is_open() -> None:
    """Port 53 of its Pods, and nothing else of them."""
    found = world(pods=[TRAINER, DNS])
    assert _ask("10.244.1.2:53/udp", found).verdict == "open"
    assert _ask("pod/kube-system/coredns-0:53", found).verdict == "open"
    assert _ask("10.244.1.2:9153", found).verdict == "closed"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("packages.example.org", "must be HOST:PORT"),
        ("packages.example.org:0", "between 1 and 65535"),
        ("packages.example.org:70000", "between 1 and 65535"),
        ("packages.example.org:443/icmp", "tcp, udp or sctp"),
        ("2001:db8::7:443", "must be HOST:PORT"),
        ("pod/x/y:80", "no such Pod"),
        ("service/x/y:80", "no such Service"),
    ],
)
def test_bad_destinations_are_refused(text: str, said: str) -> None:
    """With what to write instead."""
    with pytest.raises(SettingsError, match=said):
        parse_target(text, world())
