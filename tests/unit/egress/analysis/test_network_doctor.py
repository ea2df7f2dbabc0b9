"""`egress doctor`: which network a cluster has, by what it shows, and which settings fail there."""

from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from app.settings.egress import EgressSection, target_of
from egress.analysis.network_doctor import NetworkReport, examine
from egress.render.target import Dns, Engine, EngineKind, RenderTarget
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


def _errors(report: NetworkReport) -> list[str]:
    return [each.setting for each in report.problems if each.is_error]


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
            "Azure CNI powered by Cilium, with ACNS security",
            {"engine": "cilium-aks", "ciliumVersion": "1.18"},
        ),
        (
            [*AZURE, CILIUM],
            "Azure CNI powered by Cilium, without ACNS security",
            {"engine": "cilium-aks-basic", "ciliumVersion": "1.18"},
        ),
        (
            [*LOCAL, CILIUM, ACNS],
            "Azure CNI powered by Cilium, with ACNS security",
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
    assert not _errors(report)


@pytest.mark.parametrize("is_aks", [True, False])
def test_without_an_engine_nothing_enforces(tmp_path: Path, *, is_aks: bool) -> None:
    """On AKS that is sure; elsewhere there are engines that no DaemonSet shows."""
    nodes = [node("a", "10.224.0.4", cluster="MC_a")] if is_aks else NODES
    report = _report(tmp_path, *nodes)
    assert report.network == ""
    assert _errors(report) == ["egress.engine"] * is_aks
    assert "egress.engine" in [each.setting for each in report.problems]


def test_ciliums_own_settings_count(tmp_path: Path) -> None:
    """SCTP where it is on; that IPv6 is off is its default, and no reason to set anything."""
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "cilium-config", "namespace": "kube-system"},
        "data": {"enable-sctp": "true", "enable-ipv6": "false"},
    }
    report = _report(tmp_path, *AZURE, CILIUM, ACNS, config, target=_fitting("cilium-aks"))
    assert report.values["sctp"] is True
    assert "ipFamilies" not in report.values
    assert not _errors(report)


@pytest.mark.parametrize("data", [{"enable-policy": "never"}, {"policy-audit-mode": "true"}])
def test_a_cilium_that_enforces_nothing_is_wrong(tmp_path: Path, data: dict[str, str]) -> None:
    """Whatever is set."""
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "cilium-config", "namespace": "kube-system"},
        "data": data,
    }
    assert _errors(_report(tmp_path, *NODES, CILIUM, config)) == ["egress.engine"]


def test_anybodys_daemon_set_is_no_engine(tmp_path: Path) -> None:
    """One of an engine's name in a namespace where none is installed."""
    theirs = program("cilium", "registry.example/theirs:v1.18.6", namespace="team-x")
    acns = program("acns-security-agent", "registry.example/theirs:v1", namespace="team-x")
    assert _report(tmp_path, *NODES, theirs).network == ""
    assert _report(tmp_path, *AZURE, CILIUM, acns).values["engine"] == "cilium-aks-basic"


def test_ciliums_own_pool_tells_the_range_of_pods(tmp_path: Path) -> None:
    """Nodes' podCIDRs are not used there."""
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "cilium-config", "namespace": "kube-system"},
        "data": {"ipam": "cluster-pool", "cluster-pool-ipv4-cidr": "10.50.0.0/16"},
    }
    assert _report(tmp_path, *NODES, CILIUM, config).values["ranges"]["pods"] == ["10.50.0.0/16"]


def _fitting(kind: EngineKind, **dns: Any) -> RenderTarget:
    """Return settings that fit these clusters but for what is given."""
    pods, nodes = (ip_network("10.244.0.0/16"),), (ip_network("10.224.0.0/16"),)
    return RenderTarget(
        Engine(kind, (1, 18)), Dns(**dns), ranges=(*pods, *nodes), pods=pods, nodes=nodes
    )


@pytest.mark.parametrize("host", [True, False])
def test_a_cache_on_each_node_answers_too(tmp_path: Path, *, host: bool) -> None:
    """By the addresses that it listens on, or by its Pods behind a redirect policy."""
    words = ("-localip", "169.254.20.10,10.0.0.10", "-conf", "/etc/Corefile")
    cache = program("node-local-dns", "registry.example/dns/k8s-dns-node-cache:1.26.0", *words)
    cache["spec"]["template"]["metadata"]["labels"] = {"app": "dns-cache"}
    cache["spec"]["template"]["spec"]["hostNetwork"] = host
    report = _report(tmp_path, *AZURE, CILIUM, ACNS, cache, target=_fitting("cilium-aks"))
    if host:
        assert report.values["engine"] == "cilium-aks-basic"
        assert report.values["dns"] == {"addresses": ["169.254.20.10/32", "10.0.0.10/32"]}
        assert set(_errors(report)) == {"egress.engine", "egress.dns.addresses"}
    else:
        others = [{"namespace": "kube-system", "labels": {"app": "dns-cache"}}]
        assert report.values["engine"] == "cilium-aks"
        assert report.values["dns"] == {"others": others}
        assert _errors(report) == ["egress.dns"]


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
    assert _errors(report) == [
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
    target = _fitting("cilium-aks-basic", addresses=addresses)
    assert not _errors(_report(tmp_path, *LOCAL, CILIUM, ACNS, target=target))
    npm = program("azure-npm", "x/npm:v1.5.0")
    assert _errors(_report(tmp_path, *NODES, npm, target=_fitting("networkpolicy"))) == [
        "egress.ipFamilies"
    ]


@pytest.mark.parametrize("objects", [[*AZURE, CILIUM, ACNS], [*LOCAL, CILIUM, ACNS], NODES])
def test_values_are_settings_that_start(tmp_path: Path, objects: list[Json]) -> None:
    """Whatever is printed, a process with it starts, and the doctor finds nothing wrong there."""
    values = _report(tmp_path, *objects).values
    section = EgressSection.model_validate(
        {
            **{key: values[key] for key in ("engine", "dns", "ranges") if key in values},
            "cilium_version": values.get("ciliumVersion", "1.17"),
        }
    )
    assert not _errors(_report(tmp_path, *objects, target=target_of(section)))
