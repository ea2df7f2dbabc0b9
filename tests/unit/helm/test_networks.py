"""NetworkPolicies of its own namespace: closed but for what each process needs."""

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from cli.verify.port import needs_certificate
from tests.harness.evidence import ROOT
from tests.harness.programs.client import Json
from tests.harness.programs.helm import (
    CHART,
    NAMESPACE,
    Helm,
    HelmFailedError,
    Values,
    named,
    pod_templates,
)
from tests.unit.helm.switches import IDENTITY, SWITCHES


def policy(objects: list[Json], component: str) -> Any:
    """Return what a component's policy says."""
    return named(objects, "NetworkPolicy", f"sallyport-{component}")["spec"]


def ports(rules: list[Any] | None) -> set[int]:
    """Return the ports that rules open."""
    return {each["port"] for rule in rules or () for each in rule["ports"]}


@pytest.mark.parametrize("switch", SWITCHES)
def test_every_process_has_one_and_the_rest_is_closed(helm: Helm, switch: str) -> None:
    """Both ways; and no rule without ports."""
    objects = helm.objects(SWITCHES[switch])
    deny = policy(objects, "deny")
    assert deny == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    for name, template in pod_templates(objects).items():
        spec = named(objects, "NetworkPolicy", name)["spec"]
        labels = template["metadata"]["labels"].items()
        assert spec["podSelector"]["matchLabels"].items() <= labels
        assert spec["policyTypes"] == ["Ingress", "Egress"]
        for rule in [*(spec.get("ingress") or ()), *(spec.get("egress") or ())]:
            assert rule["ports"]


@pytest.mark.parametrize("switch", SWITCHES)
def test_each_process_is_reached_on_the_ports_that_it_has(helm: Helm, switch: str) -> None:
    """What a container listens on is open to somebody, and nothing else is."""
    objects = helm.objects(SWITCHES[switch])
    for name, template in pod_templates(objects).items():
        (container,) = template["spec"]["containers"]
        listens = {each["containerPort"] for each in container["ports"]}
        assert ports(named(objects, "NetworkPolicy", name)["spec"]["ingress"]) == listens


def test_by_default_each_reaches_kube_apiserver_dns_and_the_auditor_alone(helm: Helm) -> None:
    """The auditor asks kube-apiserver alone, which gate is which; the gate never asks Graph."""
    objects = helm.objects({})
    assert ports(policy(objects, "gate")["egress"]) == {443, 6443, 53, 9444}
    assert ports(policy(objects, "control")["egress"]) == {443, 6443, 53, 9444}
    assert ports(policy(objects, "auditor")["egress"]) == {443, 6443, 53}
    nobody = helm.objects({"auditor": {"gateInstances": "off"}})
    assert ports(policy(nobody, "auditor")["egress"]) == {53}
    assert ports(policy(objects, "test")["egress"]) == {443, 6443}


def test_named_networks_are_the_only_ones(helm: Helm) -> None:
    """With all of them named, no port is open to any address."""
    hub = {"servers": ["site.servicebus.windows.net:9093"], "topics": ["risk"]}
    values: Values = {
        "identity": {**IDENTITY, "eventHub": hub},
        "auditor": {"ledger": {"existingSecret": "ledger"}},
        "networkPolicies": {
            "kubeApiServer": {"addresses": ["10.1.0.1/32"], "ports": [443]},
            "webhooksFrom": ["10.1.0.0/28"],
            "azure": ["10.2.0.0/24"],
            "database": {"addresses": ["10.3.0.5/32"], "port": 6432},
        },
    }
    objects = helm.objects(values)
    for component in ("gate", "control", "auditor"):
        spec = policy(objects, component)
        assert all("from" in rule for rule in spec["ingress"])
        assert all("to" in rule for rule in spec["egress"])
    assert ports(policy(objects, "control")["egress"]) == {443, 53, 9444, 9093}
    database = [r for r in policy(objects, "auditor")["egress"] if ports([r]) == {6432}]
    assert [r["to"] for r in database] == [[{"ipBlock": {"cidr": "10.3.0.5/32"}}]]


@pytest.mark.parametrize(
    ("image", "port"),
    [
        ("r.example:5000/a/b:c", 5000),
        ("oci://r.example:5000/a/b:c", 5000),
        ("r.example/a/b:5000", 443),
    ],
)
def test_control_alone_reaches_the_registry_of_bundles(helm: Helm, image: str, port: int) -> None:
    """On its port, at the addresses that are named."""
    values: Values = {
        "bundle": {"source": {"oci": image, "unsigned": True}},
        "networkPolicies": {"registry": ["10.4.0.0/28"]},
    }
    objects = helm.objects(values)
    to = [{"ipBlock": {"cidr": "10.4.0.0/28"}}]
    (rule,) = [r for r in policy(objects, "control")["egress"] if r.get("to") == to]
    assert ports([rule]) == {port}
    for component in ("gate", "auditor"):
        assert all(r.get("to") != to for r in policy(objects, component)["egress"])


def test_control_alone_reaches_the_logs_of_dns(helm: Helm) -> None:
    """At the Pods of the cluster's DNS alone, all of them, and only where logs are read."""
    egress: Values = {
        "dnsLog": {"serverName": "kube-dns.example", "port": 6100, "existingSecret": "dns-log"},
        "dns": {"others": [{"namespace": "dns", "labels": {"app": "cache"}}]},
    }
    objects = helm.objects({"egress": egress})
    (rule,) = [r for r in policy(objects, "control")["egress"] if ports([r]) == {6100}]
    assert rule == {
        "ports": [{"port": 6100, "protocol": "TCP"}],
        "to": [
            {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "podSelector": {"matchLabels": labels},
            }
            for namespace, labels in (
                ("kube-system", {"k8s-app": "kube-dns"}),
                ("dns", {"app": "cache"}),
            )
        ],
    }
    for component in ("gate", "auditor", "test"):
        assert 6100 not in ports(policy(objects, component)["egress"])
    assert ports(policy(helm.objects({}), "control")["egress"]) == {443, 6443, 53, 9444}


def test_metrics_are_for_the_namespaces_that_are_named(helm: Helm) -> None:
    """Nobody's, if none is."""
    for namespaces in (["monitoring", "prometheus"], []):
        values = {"networkPolicies": {"metricsFrom": {"namespaces": namespaces}}}
        objects = helm.objects(values)
        for component in ("gate", "control", "auditor"):
            found = [
                peer["namespaceSelector"]["matchExpressions"][0]["values"]
                for rule in policy(objects, component)["ingress"] or ()
                if ports([rule]) == {9080}
                for peer in rule["from"]
            ]
            assert found == ([namespaces] if namespaces else [])


def test_kube_apiserver_may_ask_how_processes_stand(helm: Helm) -> None:
    """From where webhooks come, as its proxy does too. Without a source nobody is let in."""
    values: Values = {"networkPolicies": {"webhooksFrom": [TUNNEL, "10.1.0.0/28"]}}
    for component in ("gate", "control", "auditor"):
        rules = policy(helm.objects(values), component)["ingress"]
        sources = [rule["from"] for rule in rules if ports([rule]) == {9080}]
        assert [TUNNEL, {"ipBlock": {"cidr": "10.1.0.0/28"}}] in sources
        rules = policy(helm.objects({}), component)["ingress"]
        assert len([rule for rule in rules if ports([rule]) == {9080}]) == 1


def test_metrics_can_be_for_some_pods_of_a_namespace(helm: Helm) -> None:
    """On AKS the agents of managed Prometheus run in kube-system, beside much else."""
    agents = {"namespaces": ["kube-system"], "podLabels": {"rsName": "ama-metrics"}}
    objects = helm.objects({"networkPolicies": {"metricsFrom": agents}})
    for component in ("gate", "control", "auditor"):
        (peer,) = [
            peer
            for rule in policy(objects, component)["ingress"]
            if ports([rule]) == {9080}
            for peer in rule["from"]
        ]
        assert peer["namespaceSelector"]["matchExpressions"][0]["values"] == ["kube-system"]
        assert peer["podSelector"] == {"matchLabels": {"rsName": "ama-metrics"}}


def test_network_policies_can_be_switched_off(helm: Helm) -> None:
    """For those who write their own."""
    objects = helm.objects({"networkPolicies": {"enabled": False}})
    assert "NetworkPolicy" not in {item["kind"] for item in objects}


TUNNEL: Final = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
    "podSelector": {"matchLabels": {"app": "konnectivity-agent"}},
}


def test_webhooks_come_from_pods_and_from_networks(helm: Helm) -> None:
    """A tunnel's agents are Pods, whose addresses change and which Cilium knows by no address."""
    values: Values = {"networkPolicies": {"webhooksFrom": [TUNNEL, "10.1.0.0/28"]}}
    rules = policy(helm.objects(values), "gate")["ingress"]
    (rule,) = [rule for rule in rules if ports([rule]) == {9443}]
    assert rule["from"] == [TUNNEL, {"ipBlock": {"cidr": "10.1.0.0/28"}}]


def test_what_cilium_takes_for_a_node_is_an_entity(helm: Helm) -> None:
    """In a policy of its own; without other sources no NetworkPolicy opens the port to all."""
    values: Values = {"networkPolicies": {"webhooksFromEntities": ["remote-node"]}}
    objects = helm.objects(values)
    assert 9443 not in ports(policy(objects, "gate")["ingress"])
    spec = named(objects, "CiliumNetworkPolicy", "sallyport-gate")["spec"]
    assert spec["endpointSelector"] == policy(objects, "gate")["podSelector"]
    assert spec["ingress"] == [
        {
            "fromEntities": ["remote-node"],
            "toPorts": [{"ports": [{"port": "9443", "protocol": "TCP"}]}],
        }
    ]
    status = named(objects, "CiliumNetworkPolicy", "sallyport-status")["spec"]
    assert status["ingress"][0]["toPorts"] == [{"ports": [{"port": "9080", "protocol": "TCP"}]}]
    both = values["networkPolicies"] | {"webhooksFrom": [TUNNEL]}
    assert 9443 in ports(policy(helm.objects({"networkPolicies": both}), "gate")["ingress"])


@pytest.mark.parametrize("file", sorted((ROOT / "examples/values").glob("*.yaml")))
def test_shipped_values_leave_the_port_to_kube_apiserver(helm: Helm, file: Path) -> None:
    """Each says a source, or that kube-apiserver shows a certificate of a name: none is waived."""
    given = "image.repository=registry.example/sallyport,record.whenFull=refuse,defaultMode=enforce"
    where = ("--namespace", NAMESPACE)
    text = helm.run("template", "sallyport", CHART, *where, "--values", file, "--set", given)
    objects = [item for item in yaml.safe_load_all(text) if item]
    settings = named(objects, "ConfigMap", "sallyport-gate")["data"]["config.yaml"]
    if needs_certificate(settings):
        return
    rules = [r for r in policy(objects, "gate")["ingress"] if ports([r]) == {9443}]
    assert rules
    assert all(rule["from"] for rule in rules)


@pytest.mark.parametrize(
    "peer",
    [
        {},
        {"podSelector": {}, "namespaceSelector": {}},
        {"podSelector": {"matchLabels": {"app": "a"}}},
        {"podSelector": {"matchLabels": {}}, "namespaceSelector": {"matchLabels": {"a": "b"}}},
        {"ipBlock": {"cidr": "0.0.0.0/0"}},
        "everywhere",
    ],
)
def test_a_peer_that_selects_everything_is_refused(helm: Helm, peer: object) -> None:
    """It would open the port to every Pod, or to every one of the gate's own namespace."""
    with pytest.raises(HelmFailedError, match="webhooksFrom"):
        helm.objects({"networkPolicies": {"webhooksFrom": [peer]}})


_HALVES: Final = [f"{first}.0.0.0/8" for first in range(128, 256)]

TOO_WIDE: Final = {
    "all of IPv4": (["0.0.0.0/0"], "/8 of IPv4"),
    "all of IPv6": (["::/0"], "/24 of IPv6"),
    "two halves of IPv4": (["0.0.0.0/1", "128.0.0.0/1"], "/8 of IPv4"),
    "two halves of IPv6": (["::/1", "8000::/1"], "/24 of IPv6"),
    "one half of IPv4 in networks of /8": (_HALVES, "/8 of IPv4"),
    "two networks of /8": (["10.0.0.0/8", "100.0.0.0/8"], "/8 of IPv4"),
    "a /8 and one address": (["10.0.0.0/8", "192.168.0.1/32"], "/8 of IPv4"),
    "a /7": (["10.0.0.0/7"], "/8 of IPv4"),
    "a /23": (["fc00::/23"], "/24 of IPv6"),
    "a /24 and one address": (["2001:db8::/24", "fd00::1/128"], "/24 of IPv6"),
    "all of IPv4, written as IPv6": (["::ffff:0:0/96"], "/8 of IPv4"),
    "the same in full": (["0:0:0:0:0:FFFF:0.0.0.0/96"], "/8 of IPv4"),
    "a length with a zero before it": (["0.0.0.0/00"], "/8 of IPv4"),
}
"""Networks that hold every Pod's address or may, and of what there is too much."""

NARROW: Final = (
    ["10.0.0.0/8"],
    ["10.0.0.0/9", "172.16.0.0/12", "192.168.0.0/16"],
    ["2001:db8::/24"],
    ["10.0.0.0/8", "2001:db8::/24"],
    ["10.1.0.0/28", "fd00:1::/64", "fd00:2::/64"],
    ["::ffff:10.1.0.0/124"],
)


@pytest.mark.parametrize(("networks", "says"), TOO_WIDE.values(), ids=TOO_WIDE)
def test_networks_that_hold_all_pods_are_acknowledged_or_refused(
    helm: Helm, networks: list[str], says: str
) -> None:
    """They name a source and close nothing, each alone or all together."""
    wide = {"webhooksFrom": networks, "iKnowThatAnyPodReachesTheGate": False}
    words = rf"webhooksFrom: {re.escape(networks[0])}.* wider in all than a {says}: Pods have such"
    with pytest.raises(HelmFailedError, match=words) as refused:
        helm.objects({"networkPolicies": wide})
    assert "or set networkPolicies.iKnowThatAnyPodReachesTheGate=true" in str(refused.value)
    helm.objects({"networkPolicies": wide | {"iKnowThatAnyPodReachesTheGate": True}})


@pytest.mark.parametrize("networks", NARROW)
def test_networks_up_to_the_bound_are_sources(helm: Helm, networks: list[str]) -> None:
    """A /8 of IPv4 and a /24 of IPv6, each whole or in parts."""
    values = {"webhooksFrom": networks, "iKnowThatAnyPodReachesTheGate": False}
    rules = policy(helm.objects({"networkPolicies": values}), "gate")["ingress"]
    (rule,) = [rule for rule in rules if ports([rule]) == {9443}]
    assert [peer["ipBlock"]["cidr"] for peer in rule["from"]] == networks


@pytest.mark.parametrize("enabled", [True, False])
def test_a_port_open_to_all_is_acknowledged_or_refused(helm: Helm, *, enabled: bool) -> None:
    """The message says what could happen and the three ways out."""
    closed = {"enabled": enabled, "iKnowThatAnyPodReachesTheGate": False}
    with pytest.raises(HelmFailedError, match=r"networkPolicies\.webhooksFrom: missing; any Pod"):
        helm.objects({"networkPolicies": closed})
    a_ca_alone = {"clientCaConfigMap": "clients"}
    with pytest.raises(HelmFailedError, match="a CA alone may vouch for every user"):
        helm.objects({"networkPolicies": closed, "gate": a_ca_alone})
    helm.objects({"networkPolicies": closed, "gate": a_ca_alone | {"clientNames": ["apiserver"]}})
    helm.objects({"networkPolicies": closed | {"iKnowThatAnyPodReachesTheGate": True}})
    sources = closed | {"webhooksFrom": ["10.1.0.0/28"]}
    if enabled:
        helm.objects({"networkPolicies": sources})
    else:
        with pytest.raises(
            HelmFailedError, match=r"networkPolicies\.enabled: false makes no policy"
        ):
            helm.objects({"networkPolicies": sources})


_COMMAND: Final = re.compile(r"\bhelm (?:upgrade|install) [^\n`|]*(?:(?<=\\)\n[^\n`|]*)*")
"""One of a page, with the lines that a backslash joins to it."""


def install_commands() -> list[str]:
    """Return the commands of the pages that install or upgrade the chart."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = [each for page in pages for each in _COMMAND.findall(page.read_text())]
    return sorted({each for each in found if "helm/sallyport " in f"{each} "})


def test_commands_of_pages_say_where_kube_apiserver_calls_from() -> None:
    """By a file of values, or by those that the installation has: else the chart refuses them."""
    commands = install_commands()
    assert any("--install" in each for each in commands)
    for command in commands:
        assert "--values " in command or "--reset-then-reuse-values" in command, command


@pytest.mark.parametrize("engine", ["cilium", "cilium-aks-basic"])
def test_own_pods_reach_dns_on_the_node_on_cilium(helm: Helm, engine: str) -> None:
    """It is the entity host there, which no NetworkPolicy can name."""
    dns = {"addresses": ["169.254.10.10/32"], "others": [NODE_LOCAL]}
    objects = helm.objects({"egress": {"engine": engine, "dns": dns}})
    spec = named(objects, "CiliumNetworkPolicy", "sallyport-dns")["spec"]
    (rule,) = spec["egress"]
    assert rule["toEntities"] == ["host"]
    assert {each["port"] for one in rule["toPorts"] for each in one["ports"]} == {"53"}
    (of,) = spec["endpointSelector"]["matchExpressions"]
    assert set(of["values"]) == {"gate", "control", "auditor"}
    text = yaml.safe_dump(policy(objects, "control"))
    assert "node-local-dns" in text
    assert "169.254.10.10/32" in text


def test_without_dns_on_the_node_there_is_no_policy_of_ciliums_for_it(helm: Helm) -> None:
    """Nor where the engine is none of Cilium's: it need not know the kind."""
    for engine, addresses in (("cilium", []), ("networkpolicy", ["169.254.20.10/32"])):
        objects = helm.objects({"egress": {"engine": engine, "dns": {"addresses": addresses}}})
        assert not [each for each in objects if each["kind"] == "CiliumNetworkPolicy"]


NODE_LOCAL: Final = {"namespace": "kube-system", "labels": {"k8s-app": "node-local-dns"}}
