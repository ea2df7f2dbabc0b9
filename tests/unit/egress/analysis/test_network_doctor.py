"""`egress doctor`: which network a cluster has, by what it shows, and which settings fail there."""

from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml

from egress.analysis.network_doctor import NetworkReport, examine
from egress.render.target import Dns, Engine, RenderTarget
from kube.egress.network_facts import read_folder_facts

Json = dict[str, Any]

LOCAL_DNS: Final = ("169.254.10.10/32", "169.254.10.11/32")


def node(name: str, address: str, **labels: str) -> Json:
    """Return a node of AKS."""
    keys = {f"kubernetes.azure.com/{key.replace('_', '-')}": each for key, each in labels.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/os": "linux", **keys}},
        "spec": {"podCIDRs": [f"10.244.{address.rpartition('.')[2]}.0/24"]},
        "status": {
            "addresses": [
                {"type": "Hostname", "address": name},
                {"type": "InternalIP", "address": address},
            ]
        },
    }


def program(name: str, image: str, *words: str, host: bool = True, **more: str) -> Json:
    """Return a DaemonSet."""
    template = {
        "metadata": {"labels": {"k8s-app": name}},
        "spec": {
            "hostNetwork": host,
            "containers": [{"name": "main", "image": image, "args": list(words)}],
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": more.get("namespace", "kube-system")},
        "spec": {"selector": {}, "template": template},
    }


NODES: Final = [node("a", "10.224.0.4"), node("b", "10.224.0.5")]
AZURE: Final = [
    node("a", "10.224.0.4", ebpf_dataplane="cilium", localdns_state="disabled"),
    node("b", "10.224.0.5", ebpf_dataplane="cilium", localdns_state="disabled"),
]
LOCAL: Final = [
    AZURE[0],
    node("b", "10.224.0.5", ebpf_dataplane="cilium", localdns_state="enabled"),
]
CILIUM: Final = program("cilium", "mcr.example/containernetworking/cilium/cilium:v1.18.6-260101")
ACNS: Final = program("acns-security-agent", "mcr.example/acns/security:v1.0.0")
SERVICES: Final = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "ServiceCIDR",
    "metadata": {"name": "kubernetes"},
    "spec": {"cidrs": ["10.0.0.0/16"]},
}
KUBE_DNS: Final = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "kube-dns", "namespace": "kube-system"},
    "spec": {"selector": {"k8s-app": "kube-dns"}, "clusterIPs": ["10.0.0.10"]},
}


def _report(tmp_path: Path, *objects: Json, target: RenderTarget | None = None) -> NetworkReport:
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all([*objects, SERVICES, KUBE_DNS]))
    return examine(read_folder_facts(file), target)


def _grave(report: NetworkReport) -> list[str]:
    return [each.setting for each in report.problems if each.grave]


@pytest.mark.parametrize(
    ("objects", "network", "values"),
    [
        (
            [*NODES, program("azure-npm", "mcr.example/npm:v1.5.0")],
            "Azure Network Policy Manager",
            {"engine": "networkpolicy", "ipFamilies": ["IPv4"]},
        ),
        (
            [*NODES, program("calico-node", "x/calico/node:v3.29.0", namespace="calico-system")],
            "Calico",
            {"engine": "networkpolicy"},
        ),
        (
            [*AZURE, CILIUM, ACNS],
            "Azure CNI powered by Cilium, with ACNS",
            {"engine": "cilium-aks", "ciliumVersion": "1.18"},
        ),
        (
            [*AZURE, CILIUM],
            "Azure CNI powered by Cilium, without ACNS",
            {"engine": "cilium-aks-basic", "ciliumVersion": "1.18"},
        ),
        (
            [*LOCAL, CILIUM, ACNS],
            "Azure CNI powered by Cilium, with ACNS",
            {
                "engine": "cilium-aks-basic",
                "ciliumVersion": "1.18",
                "dns": {"addresses": list(LOCAL_DNS)},
            },
        ),
        (
            [*NODES, program("cilium", "quay.example/cilium/cilium@sha256:0a")],
            "Cilium",
            {"engine": "cilium"},
        ),
    ],
)
def test_each_network_is_told_and_gets_its_settings(
    tmp_path: Path, objects: list[Json], network: str, values: Json
) -> None:
    """With the ranges that objects tell."""
    report = _report(tmp_path, *objects)
    ranges = {"pods": ["10.244.4.0/23"], "services": ["10.0.0.0/16"], "nodes": ["10.224.0.0/24"]}
    assert report.network == network
    assert report.values == {**values, "ranges": ranges}
    assert not _grave(report)


def test_without_an_engine_to_enrol_closes_nothing(tmp_path: Path) -> None:
    """And that is no note."""
    report = _report(tmp_path, *NODES)
    assert report.network == ""
    assert _grave(report) == ["egress.engine"]


@pytest.mark.parametrize("host", [True, False])
def test_a_cache_on_each_node_answers_too(tmp_path: Path, *, host: bool) -> None:
    """By the addresses that it listens on, or by its Pods behind a redirect policy."""
    words = ("-localip", "169.254.20.10,10.0.0.10", "-conf", "/etc/Corefile")
    cache = program("node-local-dns", "registry.example/dns/k8s-dns-node-cache:1.26.0", *words)
    cache["spec"]["template"]["spec"]["hostNetwork"] = host
    dns = _report(tmp_path, *AZURE, CILIUM, cache).values["dns"]
    if host:
        assert dns == {"addresses": ["169.254.20.10/32", "10.0.0.10/32"]}
    else:
        labels = {"k8s-app": "node-local-dns"}
        assert dns == {"others": [{"namespace": "kube-system", "labels": labels}]}


def test_azures_own_objects_tell_the_range_of_pods(tmp_path: Path) -> None:
    """NodeNetworkConfig has the whole of an overlay; nodes have parts of it, or none."""
    config = {
        "apiVersion": "acn.azure.com/v1alpha",
        "kind": "NodeNetworkConfig",
        "metadata": {"name": "a", "namespace": "kube-system"},
        "status": {"networkContainers": [{"subnetAddressSpace": "10.244.0.0/16"}]},
    }
    assert _report(tmp_path, *AZURE, CILIUM, config).values["ranges"]["pods"] == ["10.244.0.0/16"]


def test_settings_that_cannot_work_are_wrong(tmp_path: Path) -> None:
    """Names by Cilium where LocalDNS is on: Pods could resolve nothing, and nodes are outside."""
    ranges = (ip_network("10.244.0.0/16"),)
    target = RenderTarget(Engine("cilium-aks", (1, 17)), ranges=ranges, pods=ranges)
    report = _report(tmp_path, *LOCAL, CILIUM, ACNS, target=target)
    assert _grave(report) == [
        "egress.engine",
        "egress.dns.addresses",
        "egress.dns.addresses",
        "egress.ranges.nodes",
    ]
    version = next(each for each in report.problems if each.setting == "egress.ciliumVersion")
    assert "1.17 is set, and 1.18 runs" in version.why


def test_settings_that_fit_are_not(tmp_path: Path) -> None:
    """A subnet of nodes that is wider than what is seen of it, too."""
    addresses = tuple(map(ip_network, LOCAL_DNS))
    nodes = (ip_network("10.224.0.0/16"),)
    target = RenderTarget(
        Engine("cilium-aks-basic", (1, 18)),
        Dns(addresses=addresses),
        ranges=(ip_network("10.244.0.0/16"), *nodes),
        pods=(ip_network("10.244.0.0/16"),),
        nodes=nodes,
    )
    assert not _grave(_report(tmp_path, *LOCAL, CILIUM, ACNS, target=target))
    other = msgspec.structs.replace(target, engine=Engine(ip_families=("IPv4", "IPv6")))
    npm = _report(tmp_path, *NODES, program("azure-npm", "x/npm:v1.5.0"), target=other)
    assert "egress.ipFamilies" in _grave(npm)
