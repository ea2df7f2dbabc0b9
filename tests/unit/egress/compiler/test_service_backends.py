"""Which addresses behind a Service count."""

from ipaddress import ip_address, ip_network

from core.egress.destinations import PortRange
from egress.compiler.service_backends import known_service
from egress.model.openings import Backend
from kube.egress.service_endpoints import (
    Endpoint,
    ServicePort,
    ServiceShape,
    read_service,
    read_slice,
)
from kube.resources.live_pods import LivePod, read_live_pod

HTTP = ServicePort("http", "TCP", 80)
SHAPE = ServiceShape("a", "shop", (("app", "shop"),), "", (HTTP,))
TARGET = PortRange("TCP", 8080, 8080)


def endpoint(address: str, *ports: tuple[str, PortRange | None]) -> Endpoint:
    """Return an endpoint; on the Service's port by default."""
    return Endpoint(ip_address(address), ports or (("http", TARGET),))


RANGES = (ip_network("10.0.0.0/16"), ip_network("fd00::/64"))
"""The cluster's networks of Pods."""


def pod(*addresses: str, host: bool = False) -> LivePod:
    """Return a live Pod."""
    return LivePod("p", "u", {}, tuple(map(ip_address, addresses)), host, 0.0)


def test_only_addresses_of_live_pods_count() -> None:
    """Others are dropped, each with the reason; a node's too."""
    found = known_service(
        SHAPE,
        [endpoint("10.0.0.1"), endpoint("10.0.0.2"), endpoint("10.0.0.9"), endpoint("fd00::1")],
        [pod("10.0.0.1", "fd00::1"), pod("10.0.0.9", host=True)],
        RANGES,
    )
    networks = (ip_network("10.0.0.1/32"), ip_network("fd00::1/128"))
    assert found.ports == {HTTP.range: (Backend((TARGET,), networks),)}
    assert len(found.dropped) == 2
    assert "10.0.0.2 belongs to no live Pod that it selects" in found.dropped[0]
    assert "10.0.0.9 is a node's" in found.dropped[1]


def test_ports_go_by_their_names_and_protocols() -> None:
    """A named port may be another on each Pod; one that a slice leaves open, or of UDP, is none."""
    other = PortRange("TCP", 9090, 9090)
    found = known_service(
        SHAPE,
        [
            endpoint("10.0.0.1"),
            endpoint("10.0.0.2", ("http", other)),
            endpoint("10.0.0.3", ("http", PortRange("UDP", 8080, 8080))),
            endpoint("10.0.0.4", ("metrics", TARGET)),
            endpoint("10.0.0.5", ("http", None)),
        ],
        [pod(f"10.0.0.{number}") for number in range(1, 6)],
        RANGES,
    )
    assert [each.ports for each in found.ports[HTTP.range]] == [(TARGET,), (other,)]
    assert "leaves the port open" in found.dropped[0]


def test_a_service_without_endpoints_has_its_ports_and_nobody_behind() -> None:
    """So that what is missing can be told apart: the port, or the Pods."""
    assert known_service(SHAPE, [], [], RANGES).ports == {HTTP.range: ()}


def test_many_addresses_that_are_dropped_are_told_shortly() -> None:
    """The first, and how many more."""
    found = known_service(SHAPE, [endpoint(f"10.0.1.{number}") for number in range(40)], [], RANGES)
    assert len(found.dropped) == 9
    assert found.dropped[-1] == "and 32 more"


def test_another_name_has_no_pods() -> None:
    """ExternalName: whoever writes the Service chooses the name."""
    raw = b'{"metadata":{"name":"s"},"spec":{"type":"ExternalName","externalName":"a.b"}}'
    shape = read_service(raw)
    assert (shape.external_name, shape.selector) == ("a.b", ())
    assert known_service(shape, [endpoint("10.0.0.1")], [pod("10.0.0.1")], RANGES).ports == {}


def test_slices_and_pods_are_read_as_kubernetes_writes_them() -> None:
    """Addresses that are none, and fields that are absent, do no harm."""
    raw = b"""{"metadata":{"name":"x"},"addressType":"FQDN","endpoints":[{"addresses":["a.b"]},
      {"addresses":["10.0.0.1"]}],"ports":[{"name":"http","port":8080},{"port":null}]}"""
    first, second = read_slice(raw)
    assert first.address == "a.b"
    assert second.ports == (("http", TARGET), ("", None))
    assert "a.b is no address" in known_service(SHAPE, [first], [], RANGES).dropped
    bare = read_live_pod(b'{"metadata":{"name":"p"},"spec":{},"status":{"podIP":"10.0.0.1"}}')
    assert bare.addresses == (ip_address("10.0.0.1"),)
    assert read_live_pod(b'{"metadata":{"name":"p"},"spec":{}}').addresses == ()


def test_a_headless_service_may_name_no_ports() -> None:
    """Its slices name none either; behind it are its live Pods, and no node."""
    shape = ServiceShape("a", "workers", (("app", "mpi"),), "", ())
    told = [Endpoint(ip_address(f"10.0.0.{number}"), ()) for number in (1, 2, 9)]
    found = known_service(shape, told, [pod("10.0.0.1"), pod("10.0.0.9", host=True)], RANGES)
    assert (found.ports, found.portless) == ({}, (ip_network("10.0.0.1/32"),))
    assert known_service(shape, [], [], RANGES).portless == ()
    assert known_service(SHAPE, [], [], RANGES).portless is None


def test_addresses_that_no_pod_can_have_do_not_count() -> None:
    """Whoever writes a Pod's status may write any: reserved ones, and any beyond its networks."""
    told = ("10.244.0.1", "168.63.129.16", "169.254.169.254", "203.0.113.7")
    endpoints = [endpoint(each) for each in told]
    pods = [pod(*told)]
    ranges = (ip_network("10.244.0.0/16"),)
    known = known_service(SHAPE, endpoints, pods, ranges)
    (backend,) = known.ports[HTTP.range]
    assert backend.addresses == (ip_network("10.244.0.1/32"),)
    assert len(known.dropped) == 3
    assert all("no Pod can have it" in each for each in known.dropped)


def test_where_no_network_of_pods_is_named_no_address_counts() -> None:
    """Nobody can tell one that a Pod can have; what to set is said."""
    found = known_service(SHAPE, [endpoint("10.244.0.1")], [pod("10.244.0.1")], ())
    assert found.ports == {HTTP.range: ()}
    assert found.dropped == (
        "10.244.0.1 is told by a Pod, and nobody knows whether a Pod can have it: set "
        "egress.ranges.pods",
    )


def test_a_family_without_a_network_of_pods_does_not_count() -> None:
    """Else a dual-stack Service could be given any IPv6 address."""
    ranges = (ip_network("10.244.0.0/16"),)
    told = ("10.244.0.1", "2001:db8::7")
    found = known_service(SHAPE, [endpoint(each) for each in told], [pod(*told)], ranges)
    (backend,) = found.ports[HTTP.range]
    assert backend.addresses == (ip_network("10.244.0.1/32"),)
    assert "2001:db8::7 is told by a Pod" in found.dropped[0]


def test_where_addresses_open_nothing_only_reserved_ones_are_dropped() -> None:
    """Cilium knows Pods by identity: their ports alone are taken from what stands behind."""
    told = ("10.244.0.1", "169.254.169.254")
    found = known_service(SHAPE, [endpoint(each) for each in told], [pod(*told)], None)
    (backend,) = found.ports[HTTP.range]
    assert backend.addresses == (ip_network("10.244.0.1/32"),)


HTTPS = ServicePort("https", "TCP", 443)
API = ServiceShape("default", "kubernetes", (), "", (HTTPS,))


def _told(address: str, by: str) -> Endpoint:
    ports = (("https", PortRange("TCP", 6443, 6443)),)
    return Endpoint(ip_address(address), ports, by)


def test_behind_kube_apiserver_are_the_addresses_of_its_own_slice() -> None:
    """No Pod must have them; a slice of the same Service that others made counts for nothing."""
    own, other = _told("20.50.1.2", "kubernetes"), _told("203.0.113.66", "mine")
    found = known_service(API, [own, other], [], RANGES)
    backend = Backend((PortRange("TCP", 6443, 6443),), (ip_network("20.50.1.2/32"),))
    assert found.is_api_server
    assert found.ports == {HTTPS.range: (backend,)}
    assert found.dropped == ("EndpointSlice mine is none of kube-apiserver's",)


def test_kube_apiserver_is_at_no_reserved_address() -> None:
    """Whoever writes its slice, if only for seconds, opens no metadata service."""
    told = [_told("168.63.129.16", "kubernetes"), _told("20.50.1.2", "kubernetes")]
    found = known_service(API, told, [], RANGES)
    ((backend,),) = found.ports.values()
    assert backend.addresses == (ip_network("20.50.1.2/32"),)
    assert found.dropped == ("168.63.129.16 is reserved: kube-apiserver is not there",)


def test_a_service_of_its_name_elsewhere_is_no_kube_apiserver() -> None:
    """Anybody can make one in a namespace of their own."""
    shape = ServiceShape("research", "kubernetes", (), "", (HTTPS,))
    found = known_service(shape, [_told("20.50.1.2", "kubernetes")], [], RANGES)
    assert not found.is_api_server
    assert found.ports == {HTTPS.range: ()}


def test_cluster_addresses_are_read() -> None:
    """Those of either family; `None` of a headless Service is none."""
    raw = b'{"metadata":{"name":"s"},"spec":{"clusterIPs":["10.0.0.1","fd00::1","None"]}}'
    assert read_service(raw).cluster_ips == (ip_address("10.0.0.1"), ip_address("fd00::1"))
