"""`egress doctor` tells a network by what a real kube-apiserver lists."""

import pytest

from app.settings.root import Settings
from cli.egress.doctor import look_at_network
from tests.api.kube.objects import new_name
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json


def _daemon_set() -> Json:
    labels = {"k8s-app": "cilium"}
    container = {"name": "cilium-agent", "image": "registry.example/cilium:v1.18.6"}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "cilium", "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


@pytest.mark.parametrize("state", ["enabled", "disabled"])
async def test_a_network_is_told_by_a_cluster(
    apiserver: ApiServer, client: Client, state: str
) -> None:
    """By its nodes and DaemonSets; the range of Services is kube-apiserver's own object."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": new_name("node"),
            "labels": {
                "kubernetes.azure.com/ebpf-dataplane": "cilium",
                "kubernetes.azure.com/localdns-state": state,
            },
        },
    }
    made = [node, _daemon_set()]
    for each in made:
        await client.create(each)
    try:
        settings = Settings(kubeconfig=apiserver.kubeconfig())
        report = await look_at_network(settings)
    finally:
        for each in made:
            await client.delete(each)
    assert report.values["engine"] == "cilium-aks-basic"
    assert ("dns" in report.values) == (state == "enabled")
    assert report.values["ranges"]["services"]
