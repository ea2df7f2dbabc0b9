"""Labels, annotations and Pods as people set them: in the place of nothing of the chart."""

from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.programs.client import Json
from tests.harness.programs.helm import Helm, HelmFailedError, Values, named, pod_templates
from tests.unit.helm.switches import FLAGS, PODS, SWITCHES
from tests.unit.helm.test_settings_files import settings_of

PROCESSES: Final = ("gate", "control", "auditor")
OWN_GUARD: Final = "own-namespace-guard.sallyport.dev"


def test_every_object_and_pod_has_the_common_labels(helm: Helm) -> None:
    """Those of an object or a Pod itself win."""
    objects = helm.objects(SWITCHES["labels and annotations"])
    for item in objects:
        labels = item["metadata"]["labels"]
        assert (labels["example.com/team"], labels["release"]) == ("sre", "common"), labels
    for name, template in pod_templates(objects).items():
        labels = template["metadata"]["labels"]
        assert labels["example.com/team"] == "sre"
        assert labels["release"] == name.removeprefix("sallyport-")


def test_common_labels_are_in_no_selector(helm: Helm) -> None:
    """A selector cannot be changed: with a label in it the next upgrade would fail."""
    for item in helm.objects(SWITCHES["labels and annotations"]):
        spec = item.get("spec", {})
        assert "example.com/team" not in str(spec.get("selector", {}))
        assert "example.com/team" not in str(spec.get("volumeClaimTemplates", {}))


def test_every_object_has_the_common_annotations(helm: Helm) -> None:
    """But for the guard of the own namespace, as the value says."""
    objects = helm.objects(SWITCHES["labels and annotations"])
    left_out = {
        (item["kind"], item["metadata"]["name"])
        for item in objects
        if "example.com/by" not in item["metadata"].get("annotations", {})
    }
    assert left_out == {
        ("ValidatingAdmissionPolicy", OWN_GUARD),
        ("ValidatingAdmissionPolicyBinding", OWN_GUARD),
    }
    assert not any(
        "example.com/by" in template["metadata"]["annotations"]
        for template in pod_templates(objects).values()
    )


def test_accounts_and_services_have_annotations_of_their_own(helm: Helm) -> None:
    """They win over the common ones, and what the chart writes stays beside them."""
    objects = helm.objects(SWITCHES["labels and annotations"])
    for process in PROCESSES:
        account = named(objects, "ServiceAccount", f"sallyport-{process}")["metadata"]
        assert account["annotations"]["example.com/by"] == process
        assert account["annotations"]["argocd.argoproj.io/sync-wave"] == "-1"
    control = named(objects, "ServiceAccount", "sallyport-control")["metadata"]["annotations"]
    assert control.keys() > {"azure.workload.identity/client-id"}
    for name in ("gate", "auditor", "security-events"):
        service = named(objects, "Service", f"sallyport-{name}")["metadata"]
        assert service["annotations"]["argocd.argoproj.io/sync-wave"] == "2"
    metrics = named(objects, "Service", "sallyport-metrics")["metadata"]["annotations"]
    assert metrics["prometheus.io/scrape"] == "true"


def test_annotations_that_the_chart_needs_stay(helm: Helm) -> None:
    """Beside the common ones."""
    deployment = named(
        helm.objects(SWITCHES["labels and annotations"]), "Deployment", "sallyport-gate"
    )
    assert deployment["metadata"]["annotations"] == {
        "sallyport.dev/catalogue": "4",
        **SWITCHES["labels and annotations"]["commonAnnotations"],
    }


def test_pull_secrets_are_names_or_objects(helm: Helm) -> None:
    """Every Pod has them, those of Helm's hooks too."""
    objects = helm.objects(SWITCHES["by digest, with a pull secret"])
    pods = [item["spec"] for item in objects if item["kind"] == "Pod"]
    pods += [template["spec"] for template in pod_templates(objects).values()]
    assert len(pods) == 5
    for spec in pods:
        assert spec["imagePullSecrets"] == [{"name": "pull"}, {"name": "second"}]


@pytest.mark.parametrize("process", PROCESSES)
def test_pods_are_as_the_values_say(helm: Helm, process: str) -> None:
    """Each process has what was set for it, after what the chart writes."""
    objects = helm.objects(SWITCHES["everything about Pods"])
    spec = pod_templates(objects)[f"sallyport-{process}"]["spec"]
    (container,) = spec["containers"]
    assert spec["affinity"] == PODS["affinity"]
    assert (spec["dnsPolicy"], spec["dnsConfig"]) == (PODS["dnsPolicy"], PODS["dnsConfig"])
    config = ["--config", "/etc/sallyport/config/config.yaml"]
    flags = [] if process == "auditor" else FLAGS["extraArgs"]
    assert container["args"] == [process, *config, *flags]
    assert container["env"][-2:] == PODS["extraEnv"]
    assert [volume for volume in spec["volumes"] if volume in PODS["extraVolumes"]] == (
        PODS["extraVolumes"]
    )
    assert container["volumeMounts"][-2:] == PODS["extraVolumeMounts"]
    workload = next(i for i in objects if i.get("spec", {}).get("template", {}).get("spec") == spec)
    assert workload["spec"]["revisionHistoryLimit"] == 3


def test_spread_constraints_take_the_place_of_the_charts(helm: Helm) -> None:
    """One without a selector counts the Pods of its process."""
    spec = pod_templates(helm.objects(SWITCHES["everything about Pods"]))["sallyport-gate"]["spec"]
    own, others = spec["topologySpreadConstraints"]
    assert own["labelSelector"]["matchLabels"] == {
        "app.kubernetes.io/name": "sallyport",
        "app.kubernetes.io/instance": "sallyport",
        "app.kubernetes.io/component": "gate",
    }
    assert {**own, "labelSelector": None} == {
        **PODS["topologySpreadConstraints"][0],
        "labelSelector": None,
    }
    assert others == PODS["topologySpreadConstraints"][1]


def test_name_servers_of_pods_may_be_asked(helm: Helm) -> None:
    """The NetworkPolicies would drop what they ask."""
    objects = helm.objects({"auditor": {"dnsConfig": {"nameservers": ["10.0.0.9", "fd00::9"]}}})
    for process, found in (("auditor", True), ("gate", False)):
        policy = named(objects, "NetworkPolicy", f"sallyport-{process}")
        (dns,) = [rule for rule in policy["spec"]["egress"] if rule["ports"][0]["port"] == 53]
        blocks = [peer["ipBlock"]["cidr"] for peer in dns["to"] if "ipBlock" in peer]
        assert blocks == (["10.0.0.9/32", "fd00::9/128"] if found else [])


def test_gates_can_be_on_the_nodes_network(helm: Helm, tmp_path: Path) -> None:
    """On ports of the node, which a new gate has only once the old one is gone."""
    objects = helm.objects(SWITCHES["gates on the node's network"])
    templates = pod_templates(objects)
    spec = templates["sallyport-gate"]["spec"]
    assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    (container,) = spec["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    settings = settings_of(objects, "gate", tmp_path)
    assert ports == {"https": 19443, "status": 19080}
    assert (settings.listen.port, settings.status.port) == (19443, 19080)
    deployment = named(objects, "Deployment", "sallyport-gate")["spec"]
    assert deployment["strategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
    for process in ("control", "auditor"):
        assert "hostNetwork" not in templates[f"sallyport-{process}"]["spec"]
        assert settings_of(objects, process, tmp_path).status.port == 9080


def test_auditor_takes_records_of_gates_on_nodes(helm: Helm) -> None:
    """Their connections come from the nodes' addresses: the gates' labels match none of them."""
    objects = helm.objects(SWITCHES["gates on the node's network"])
    policy = named(objects, "NetworkPolicy", "sallyport-auditor")["spec"]
    (records,) = [rule for rule in policy["ingress"] if rule["ports"][0]["port"] == 9444]
    assert records["from"] == [
        {"ipBlock": {"cidr": "10.224.0.0/16"}},
        {"ipBlock": {"cidr": "fd00:1::/64"}},
        {
            "podSelector": {
                "matchLabels": {
                    "app.kubernetes.io/name": "sallyport",
                    "app.kubernetes.io/instance": "sallyport",
                    "app.kubernetes.io/component": "control",
                }
            }
        },
    ]


def _host_network(**more: Any) -> Values:
    gate = SWITCHES["gates on the node's network"]["gate"]
    host_network = {**gate["hostNetwork"], **more.pop("on", {})}
    return {"gate": {**gate, **more, "hostNetwork": host_network}}


def _volume(name: str = "extra", path: str = "/extra") -> Values:
    return {
        "extraVolumes": [{"name": name, "emptyDir": {}}],
        "extraVolumeMounts": [{"name": name, "mountPath": path}],
    }


TMP: Final = "/tmp"  # noqa: S108 (a folder of a container)
LABEL: Final = "app.kubernetes.io/component"
TWICE: Final = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]

REFUSED: Final[dict[str, tuple[Values, str]]] = {
    "a label of selectors": ({"commonLabels": {LABEL: "x"}}, f"commonLabels: {LABEL} is the chart"),
    "a label of selectors on Pods": (
        {"auditor": {"podLabels": {"app.kubernetes.io/name": "x"}}},
        r"auditor\.podLabels: app\.kubernetes\.io/name is the chart's own",
    ),
    "a label that Sallyport reads": (
        {"gate": {"podLabels": {"sallyport.dev/egress": "x"}}},
        r"gate\.podLabels: sallyport\.dev/egress is the chart's own",
    ),
    "a label of selectors on rules": (
        {"monitoring": {"rules": {"labels": {LABEL: "x"}}}},
        r"monitoring\.rules\.labels: ",
    ),
    "everything a hook": (
        {"commonAnnotations": {"helm.sh/hook": "pre-install"}},
        "commonAnnotations: helm.sh/hook is read by Helm",
    ),
    "another application": (
        {"control": {"serviceAccount": {"annotations": {"azure.workload.identity/client-id": ""}}}},
        r"control\.serviceAccount\.annotations: azure\.workload\.identity/client-id says as whom",
    ),
    "other settings": (
        {"gate": {"extraArgs": ["--config=/extra/config.yaml"]}},
        r"gate\.extraArgs: --config is the chart's own",
    ),
    "another cluster": (
        {"control": {"extraArgs": ["--kubeconfig=/extra/k"]}},
        r"control\.extraArgs: --kubeconfig",
    ),
    "two bundles": (
        {"gate": {"extraArgs": ["--bundle=/extra/b"]}, "bundle": {"configMap": "b"}},
        r"gate\.extraArgs: --bundle would take the place of bundle\.configMap",
    ),
    "a value for a flag": ({"gate": {"extraArgs": ["--config", "/a"]}}, "does not match pattern"),
    "a setting as a variable": (
        {"gate": {"extraEnv": [{"name": "SALLYPORT_DEFAULT_MODE", "value": "audit"}]}},
        r"gate\.extraEnv: SALLYPORT_DEFAULT_MODE is a setting",
    ),
    "a setting in small letters": (
        {"auditor": {"extraEnv": [{"name": "sallyport_ledger__url", "value": "sqlite://"}]}},
        r"auditor\.extraEnv: sallyport_ledger__url is a setting",
    ),
    "another program": (
        {"gate": {"extraEnv": [{"name": "PYTHONPATH", "value": "/extra"}]}},
        r"gate\.extraEnv: PYTHONPATH decides which program runs",
    ),
    **{
        f"{name} as a variable": (
            {"auditor": {"extraEnv": [{"name": name, "value": "x"}]}},
            rf"auditor\.extraEnv: {name} decides which servers are trusted",
        )
        for name in ("PGSSLMODE", "PGSSLROOTCERT", "PGHOST", "OPENSSL_CONF", "SSL_CERT_FILE")
    },
    "a variable twice": ({"gate": {"extraEnv": TWICE}}, r"gate\.extraEnv: A is there twice"),
    "a folder of the node": (
        {"gate": {"extraVolumes": [{"name": "a", "hostPath": {"path": "/"}}]}},
        "additional properties 'hostPath' not allowed",
    ),
    "no source": ({"gate": {"extraVolumes": [{"name": "a"}]}}, "minProperties: got 1, want 2"),
    "two volumes of a name": (
        {"gate": {"extraVolumes": [{"name": "a", "emptyDir": {}}] * 2}},
        r"gate\.extraVolumes: two are called a",
    ),
    "a sink's volume": (
        {"auditor": _volume("sink-pager")},
        r"auditor\.extraVolumes: sink-pager is the name of a volume of the chart's own",
    ),
    "a volume of the chart, elsewhere": (
        {"gate": {"extraVolumeMounts": [{"name": "spool", "mountPath": "/extra"}]}},
        r"gate\.extraVolumeMounts: spool is none of gate\.extraVolumes",
    ),
    "the program": ({"gate": _volume(path="/usr/local/bin")}, "would hide /usr"),
    "the account's token": (
        {"gate": _volume(path="/var/run/secrets/kubernetes.io/serviceaccount")},
        "would hide /var/run",
    ),
    "the ledger's space": ({"auditor": _volume(path=TMP)}, r"auditor.* /tmp would hide /tmp"),
    "one over the other": (
        {
            "gate": {
                "extraVolumes": [{"name": "a", "emptyDir": {}}],
                "extraVolumeMounts": [
                    {"name": "a", "mountPath": "/extra/a"},
                    {"name": "a", "mountPath": "/extra"},
                ],
            }
        },
        "/extra would hide /extra/a",
    ),
    "a way up": ({"gate": _volume(path="/extra/../etc")}, "does not match pattern"),
    "all": ({"gate": _volume(path="/")}, "does not match pattern"),
    "nobody to ask": (
        {"control": {"dnsPolicy": "None"}},
        r"control\.dnsConfig\.nameservers: missing",
    ),
    "no auditor to be found": (
        {"gate": {"dnsPolicy": "Default"}},
        r"gate\.dnsPolicy: Default asks the node's name servers",
    ),
    "the node's network for everybody": (
        {
            **_host_network(clientCaConfigMap="", clientNames=[]),
            "networkPolicies": {
                "webhooksFrom": ["10.1.0.0/28"],
                "iKnowThatAnyPodReachesTheGate": False,
            },
        },
        r"gate\.hostNetwork\.enabled: no NetworkPolicy holds for Pods on the node's network",
    ),
    "records that nobody takes": (
        _host_network(on={"nodes": []}),
        r"gate\.hostNetwork\.nodes: missing",
    ),
    "two on one port": (
        _host_network(on={"statusPort": 19443}),
        r"gate\.hostNetwork\.statusPort: is gate\.hostNetwork\.port too",
    ),
    "a port for root": (_host_network(on={"port": 443}), "minimum: got 443"),
    "the node's name servers": (
        _host_network(dnsPolicy="ClusterFirst"),
        r"gate\.dnsPolicy: ClusterFirst asks the node's name servers",
    ),
    "decisions nowhere": (
        {"logLevel": "warning", "auditor": {"enabled": False}},
        "logLevel: warning writes no line for an ordinary decision",
    ),
}

TAKEN: Final[dict[str, Values]] = {
    "the auditor may ask the node": {"auditor": {"dnsPolicy": "Default"}},
    "quiet with an auditor": {"logLevel": "error"},
    "quiet with whole lines": {
        "logLevel": "warning",
        "auditor": {"enabled": False},
        "record": {"lines": True},
    },
    "a file beside the certificates of authorities": {"gate": _volume(path="/etc/ssl/site")},
    "space of the gate's own": {"gate": _volume(path=TMP)},
    "an account of the gate in Azure": {
        "gate": {"serviceAccount": {"annotations": {"azure.workload.identity/client-id": "x"}}}
    },
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_take_the_charts_place_is_refused(helm: Helm, case: str) -> None:
    """Never in silence: the message names the value."""
    values, says = REFUSED[case]
    with pytest.raises(HelmFailedError, match=says):
        helm.template(values)


@pytest.mark.parametrize("case", TAKEN)
def test_what_hurts_nobody_is_taken(helm: Helm, case: str) -> None:
    """The refusals above are no wider than they must be."""
    assert helm.template(TAKEN[case])


def _own(switch: str, helm: Helm, process: str) -> tuple[set[str], set[str]]:
    """Return the names of the chart's own volumes and where they are mounted."""
    objects = helm.objects(SWITCHES[switch])
    spec: Json = pod_templates(objects).get(f"sallyport-{process}", {}).get("spec", {})
    given: Values = SWITCHES[switch].get(process, {})
    names: set[str] = {volume["name"] for volume in spec.get("volumes", ())}
    paths: set[str] = set()
    for container in spec.get("containers", ()):
        names |= {mount["name"] for mount in container["volumeMounts"]}
        paths |= {mount["mountPath"] for mount in container["volumeMounts"]}
    extra: list[Any] = given.get("extraVolumes", [])
    mounts: list[Any] = given.get("extraVolumeMounts", [])
    return names - {v["name"] for v in extra}, paths - {m["mountPath"] for m in mounts}


@pytest.mark.parametrize("process", PROCESSES)
def test_no_volume_of_the_chart_can_be_replaced(helm: Helm, process: str) -> None:
    """Whatever is switched: its name, its folder, one above and one inside are refused."""
    names: set[str] = set()
    paths: set[str] = set()
    for switch in SWITCHES:
        more_names, more_paths = _own(switch, helm, process)
        names |= more_names
        paths |= more_paths
    assert len(names) > 5
    for name in names:
        with pytest.raises(HelmFailedError, match=rf"{process}\.extraVolumes: {name} is the name"):
            helm.template({process: _volume(name)})
    for path in paths:
        above = path.rpartition("/")[0] or path
        for taken in (path, above, f"{path}/inside"):
            with pytest.raises(HelmFailedError, match=rf"extraVolumeMounts: {taken} would hide"):
                helm.template({process: _volume(path=taken)})
