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


def pod(*addresses: str, host: bool = False) -> LivePod:
    """Return a live Pod."""
    return LivePod("p", "u", {}, tuple(map(ip_address, addresses)), host, 0.0)


def test_only_addresses_of_live_pods_count() -> None:
    """Others are dropped, each with the reason; a node's too."""
    found = known_service(
        SHAPE,
        [endpoint("10.0.0.1"), endpoint("10.0.0.2"), endpoint("10.0.0.9"), endpoint("fd00::1")],
        [pod("10.0.0.1", "fd00::1"), pod("10.0.0.9", host=True)],
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
    )
    assert [each.ports for each in found.ports[HTTP.range]] == [(TARGET,), (other,)]
    assert "leaves the port open" in found.dropped[0]


def test_a_service_without_endpoints_has_its_ports_and_nobody_behind() -> None:
    """So that what is missing can be told apart: the port, or the Pods."""
    assert known_service(SHAPE, [], []).ports == {HTTP.range: ()}


def test_many_addresses_that_are_dropped_are_told_shortly() -> None:
    """The first, and how many more."""
    found = known_service(SHAPE, [endpoint(f"10.0.1.{number}") for number in range(40)], [])
    assert len(found.dropped) == 9
    assert found.dropped[-1] == "and 32 more"


def test_another_name_has_no_pods() -> None:
    """ExternalName: whoever writes the Service chooses the name."""
    raw = b'{"metadata":{"name":"s"},"spec":{"type":"ExternalName","externalName":"a.b"}}'
    shape = read_service(raw)
    assert (shape.external_name, shape.selector) == ("a.b", ())
    assert known_service(shape, [endpoint("10.0.0.1")], [pod("10.0.0.1")]).ports == {}


def test_slices_and_pods_are_read_as_kubernetes_writes_them() -> None:
    """Addresses that are none, and fields that are absent, do no harm."""
    raw = b"""{"metadata":{"name":"x"},"addressType":"FQDN","endpoints":[{"addresses":["a.b"]},
      {"addresses":["10.0.0.1"]}],"ports":[{"name":"http","port":8080},{"port":null}]}"""
    first, second = read_slice(raw)
    assert first.address == "a.b"
    assert second.ports == (("http", TARGET), ("", None))
    assert "a.b is no address" in known_service(SHAPE, [first], []).dropped
    bare = read_live_pod(b'{"metadata":{"name":"p"},"spec":{},"status":{"podIP":"10.0.0.1"}}')
    assert bare.addresses == (ip_address("10.0.0.1"),)
    assert read_live_pod(b'{"metadata":{"name":"p"},"spec":{}}').addresses == ()


def test_a_headless_service_may_name_no_ports() -> None:
    """Its slices name none either; behind it are its live Pods, and no node."""
    shape = ServiceShape("a", "workers", (("app", "mpi"),), "", ())
    told = [Endpoint(ip_address(f"10.0.0.{number}"), ()) for number in (1, 2, 9)]
    found = known_service(shape, told, [pod("10.0.0.1"), pod("10.0.0.9", host=True)])
    assert (found.ports, found.portless) == ({}, (ip_network("10.0.0.1/32"),))
    assert known_service(shape, [], []).portless == ()
    assert known_service(SHAPE, [], []).portless is None


def test_addresses_that_no_pod_can_have_do_not_count() -> None:
    """Whoever writes a Pod's status may write any: reserved ones, and those outside its networks.

    Where the networks of Pods are not known, only reserved ones are sure to be none.
    """
    told = ("10.244.0.1", "168.63.129.16", "169.254.169.254", "203.0.113.7")
    endpoints = [endpoint(each) for each in told]
    pods = [pod(*told)]
    ranges = (ip_network("10.244.0.0/16"),)
    known = known_service(SHAPE, endpoints, pods, ranges)
    (backend,) = known.ports[HTTP.range]
    assert backend.addresses == (ip_network("10.244.0.1/32"),)
    assert len(known.dropped) == 3
    assert all("no Pod can have it" in each for each in known.dropped)
    (backend,) = known_service(SHAPE, endpoints, pods).ports[HTTP.range]
    assert backend.addresses == (ip_network("10.244.0.1/32"), ip_network("203.0.113.7/32"))


HTTPS = ServicePort("https", "TCP", 443)
API = ServiceShape("default", "kubernetes", (), "", (HTTPS,))


def _told(address: str, by: str) -> Endpoint:
    ports = (("https", PortRange("TCP", 6443, 6443)),)
    return Endpoint(ip_address(address), ports, by)


def test_behind_kube_apiserver_are_the_addresses_of_its_own_slice() -> None:
    """No Pod must have them; a slice of the same Service that others made counts for nothing."""
    own, other = _told("20.50.1.2", "kubernetes"), _told("203.0.113.66", "mine")
    found = known_service(API, [own, other], [])
    backend = Backend((PortRange("TCP", 6443, 6443),), (ip_network("20.50.1.2/32"),))
    assert found.is_api_server
    assert found.ports == {HTTPS.range: (backend,)}
    assert found.dropped == ("EndpointSlice mine is none of kube-apiserver's",)


def test_kube_apiserver_is_at_no_reserved_address() -> None:
    """Whoever writes its slice, if only for seconds, opens no metadata service."""
    told = [_told("168.63.129.16", "kubernetes"), _told("20.50.1.2", "kubernetes")]
    found = known_service(API, told, [])
    ((backend,),) = found.ports.values()
    assert backend.addresses == (ip_network("20.50.1.2/32"),)
    assert found.dropped == ("168.63.129.16 is reserved: kube-apiserver is not there",)


def test_networks_of_pods_judge_their_own_family() -> None:
    """On a cluster of both families of which one alone is named."""
    ranges = (ip_network("10.244.0.0/16"),)
    told = ("10.244.0.1", "10.9.0.1", "fd12::1")
    found = known_service(SHAPE, [endpoint(each) for each in told], [pod(*told)], ranges)
    (backend,) = found.ports[HTTP.range]
    assert backend.addresses == (ip_network("10.244.0.1/32"), ip_network("fd12::1/128"))


def test_a_service_of_its_name_elsewhere_is_no_kube_apiserver() -> None:
    """Anybody can make one in a namespace of their own."""
    shape = ServiceShape("research", "kubernetes", (), "", (HTTPS,))
    found = known_service(shape, [_told("20.50.1.2", "kubernetes")], [])
    assert not found.is_api_server
    assert found.ports == {HTTPS.range: ()}


def test_cluster_addresses_are_read() -> None:
    """Those of either family; `None` of a headless Service is none."""
    raw = b'{"metadata":{"name":"s"},"spec":{"clusterIPs":["10.0.0.1","fd00::1","None"]}}'
    assert read_service(raw).cluster_ips == (ip_address("10.0.0.1"), ip_address("fd00::1"))
