"""What meets Sallyport in a cluster is found before the installation; the values fit the chart."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from core.base import names
from tests.api.record.installation import PROGRAM
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, Json, connect
from tests.harness.programs.helm import CHART, NAMESPACE, Helm
from tests.harness.worlds import rbac
from tests.harness.worlds.pods import RESTRICTED

NODE: Final = {
    "kubernetes.azure.com/cluster": "MC_group",
    "kubernetes.azure.com/ebpf-dataplane": "cilium",
    "kubernetes.azure.com/localdns-state": "enabled",
}
NAMESPACES: Final = ("calico-system", "gatekeeper-system", "aks-command", "cert-manager", "team")


def webhooks(kind: str, name: str, **more: Any) -> Json:
    """Return a webhook of somebody's that takes Pods."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": "pods.example.org",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "clientConfig": {"url": "https://127.0.0.1:1/x", "caBundle": ""},
                "failurePolicy": "Ignore",
                "timeoutSeconds": 10,
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ],
                **more,
            }
        ],
    }


def daemon_set(name: str, namespace: str, labels: Json, **spec: Any) -> Json:
    """Return what runs on every node."""
    container = {"name": "agent", "image": f"registry.example/{name}:v1.18.6"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **spec}}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


async def furnish(client: Client) -> None:
    """Make what a cluster of AKS with some years behind it holds.

    Somebody made namespaces that are called as Calico's and Azure's, and runs in the first what is
    called as Calico's agent.
    """
    node: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": NODE}}
    cilium = daemon_set("cilium", "kube-system", {"k8s-app": "cilium"}, hostNetwork=True)
    await client.apply([node, cilium])
    for name in NAMESPACES:
        await client.create_namespace(name, {"kubernetes.azure.com/managedby": "aks"})
    pod = RESTRICTED.pod()
    labels = {"k8s-app": "calico-node"}
    await client.apply([daemon_set("calico-node", "calico-system", labels, hostNetwork=True)])
    agent = {"name": "agent", "namespace": "kube-system", "labels": {"app": "konnectivity-agent"}}
    false = {"name": "calico-node", "namespace": "calico-system", "labels": labels}
    await client.create_service_account("default", "kube-system")
    await client.create(pod | {"metadata": agent})
    await client.create(pod | {"metadata": false, "spec": pod["spec"] | {"hostNetwork": True}})
    for number, spec in enumerate(({}, {"hostNetwork": True}, {"hostPID": True})):
        made = {**pod, "metadata": {"name": f"p{number}", "namespace": "team"}}
        await client.create(made | {"spec": pod["spec"] | spec})
    creates = rbac.rule(["apps"], "deployments", "create")
    subjects = (
        rbac.group("researchers"),
        rbac.group("system:authenticated"),
        rbac.group("system:masters"),
        rbac.user("zoe"),
        rbac.service_account("runner", "team"),
        rbac.service_account("job-controller", "kube-system"),
    )
    await client.apply(rbac.grant("creates", creates, *subjects, namespace="team"))
    exempt = {
        "matchExpressions": [
            {"key": names.NAMESPACE_NAME_LABEL, "operator": "NotIn", "values": [NAMESPACE]}
        ]
    }
    await client.apply(
        [
            webhooks("Mutating", "vault-injector", timeoutSeconds=30),
            webhooks("Mutating", "a-defaulter"),
            webhooks("Validating", "gatekeeper-validating", failurePolicy="Fail"),
            webhooks("Validating", "polite", failurePolicy="Fail", namespaceSelector=exempt),
        ]
    )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A kube-apiserver with all of that in it."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    server = ApiServer(tmp_path_factory.mktemp("apiserver"))

    async def prepare() -> None:
        async with connect(server) as client:
            await furnish(client)

    try:
        asyncio.run(prepare())
        yield server
    finally:
        server.stop()


def ask(cluster: ApiServer, *flags: str | Path, user: str = "admin") -> "tuple[int, str, str]":
    """Run the command, as a user."""
    command: list[str | Path] = [PROGRAM, "preflight", "cluster"]
    command += ["--kubeconfig", cluster.kubeconfig(user), *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def found(cluster: ApiServer) -> Json:
    """What it finds, for programs."""
    code, out, err = ask(cluster, "-o", "json")
    assert (code, err) == (1, "")
    shown: Json = json.loads(out)
    assert shown["unknown"] == []
    return shown


def whats(found: Json, area: str) -> str:
    """Return what was found of an area, a line each."""
    return "\n".join(
        f"{each['severity']} {each['what']}" for each in found["findings"] if each["area"] == area
    )


def test_the_network_and_its_dns_are_told(found: Json) -> None:
    """As `egress doctor` tells them, with the values that fit."""
    assert found["values"]["egress"]["engine"] == "cilium-aks-basic"
    assert found["values"]["egress"]["dns"]["addresses"]
    tunnel = found["values"]["networkPolicies"]["webhooksFrom"][0]
    assert tunnel["podSelector"] == {"matchLabels": {"app": "konnectivity-agent"}}


def test_no_namespace_is_left_out_for_its_name(found: Json) -> None:
    """Nor for a label, or for what runs in it beside the network's engine: a person looks."""
    assert "webhooks" not in found["values"]
    text = whats(found, "namespaces")
    assert "warning calico-system (Calico): so called, but no engine" in text
    assert "warning aks-command (`az aks command invoke`), gatekeeper-system (Azure Policy" in text
    assert "note cert-manager (cert-manager) are judged as any other" in text


def test_webhooks_that_meet_sallyports_are_named(found: Json) -> None:
    """By order, by time, and by what they do to Sallyport's own Pods; others are not."""
    text = whats(found, "webhooks")
    assert "warning vault-injector change Pods after Sallyport's mutating webhook" in text
    assert "note vault-injector (30 s) may hold up a Pod" in text
    assert "may take 40 s of a Pod's creation in all" in text
    assert "gatekeeper-validating refuse Sallyport's own Pods while they are away" in text
    assert "polite" not in text
    assert "a-defaulter" not in text
    assert "Gatekeeper judges here too (gatekeeper-validating)" in whats(found, "policies")


def test_who_would_be_locked_out_is_told(found: Json) -> None:
    """Accounts whose Pods want more, and who may create any; users are counted, not named."""
    text = whats(found, "lockout")
    assert "Pods run with privileges of the node in team (2 of 3, as default), " in text
    assert "calico-system (1 of 1, as default)" in text
    assert {(each["kind"], each["name"]) for each in found["authors"]} == {
        ("Group", "system:authenticated"),
        ("Group", "researchers"),
        ("ServiceAccount", "runner"),
    }
    assert found["users"] == 1
    assert "zoe" not in json.dumps(found)


def test_sizes_follow_from_what_is_there(found: Json) -> None:
    """A small cluster gets the smallest installation."""
    assert found["sizes"] == {"nodes": 1, "pods": 5, "namespaces": len(NAMESPACES) + 4}
    assert found["values"]["gate"]["replicas"] == 3
    assert found["values"]["auditor"]["ledger"]["size"] == "50Gi"


def test_what_is_printed_and_written_is_a_values_file(
    cluster: ApiServer, found: Json, helm: Helm, tmp_path: Path
) -> None:
    """The chart takes it with the image beside it, and what it asks each operator to choose."""
    file = tmp_path / "values.yaml"
    code, out, _ = ask(cluster, "--values-out", file)
    assert code == 1
    assert yaml.safe_load(out) == yaml.safe_load(file.read_text()) == found["values"]
    image = "image.repository=registry.example/sallyport"
    text = helm.run(
        *("template", "sallyport", CHART, "--namespace", NAMESPACE),
        *("--values", file, "--set", image, "--set", "record.whenFull=refuse"),
        *("--set", "webhooks.whenReady=false"),
    )
    hooks = next(
        each
        for each in yaml.safe_load_all(text)
        if each
        and (each["kind"], each["metadata"]["name"])
        == ("ValidatingWebhookConfiguration", "sallyport")
    )
    (left_out,) = hooks["webhooks"][0]["namespaceSelector"]["matchExpressions"]
    assert not {"calico-system", "aks-command"} & set(left_out["values"])


def test_without_rights_it_says_what_it_could_not_read(cluster: ApiServer) -> None:
    """And proposes nothing that would follow from it."""
    code, out, _ = ask(cluster, "-o", "json", user="alice")
    found = json.loads(out)
    assert code == 2
    assert [each.partition(":")[0] for each in found["unknown"]] == [
        "the network",
        "namespaces",
        "Pods",
        "webhooks",
        "roles and bindings",
    ]
    assert (found["sizes"], found["values"]) == (None, {"defaultMode": "audit"})


def test_a_cluster_that_does_not_answer_is_an_error(cluster: ApiServer, tmp_path: Path) -> None:
    """One line, and nothing that could be taken for an answer."""
    content = json.loads(cluster.kubeconfig().read_text())
    content["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(content))
    done = subprocess.run(
        [PROGRAM, "preflight", "cluster", "--kubeconfig", file],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("sallyport: GET /version: no answer: ")
