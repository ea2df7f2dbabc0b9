"""The chart is not installed beside other workloads: nobody would judge them there."""

from pathlib import Path

import pytest

from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json
from tests.harness.programs.helm import CHART, CRDS, RELEASE, Helm, HelmFailedError

TAKEN = "guards-taken"


def deployment(labels: dict[str, str]) -> Json:
    """Return one without Pods."""
    app = {"app": "other"}
    spec = {"containers": [{"name": "main", "image": "registry.example/a:1"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "other", "namespace": TAKEN, "labels": labels},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": app},
            "template": {"metadata": {"labels": app}, "spec": spec},
        },
    }


async def test_a_namespace_with_workloads_of_others_is_refused(
    client: Client, apiserver: ApiServer, helm: Helm
) -> None:
    """By what is there; an empty one, or with what an earlier release left, is taken."""
    config = apiserver.kubeconfig()
    await client.create_namespace(TAKEN)
    # Other tests of this folder have applied some.
    forced = ("--take-ownership", "--force-conflicts")
    helm.run("install", "sallyport-crds", CRDS, "--kubeconfig", config, *forced)
    flags = ("--namespace", TAKEN, "--kubeconfig", config, "--dry-run=server")
    install: list[str | Path] = ["install", RELEASE, CHART, *flags, *helm.values({})]
    theirs = await client.create(deployment({"app.kubernetes.io/name": "postgres"}))
    with pytest.raises(HelmFailedError, match="Deployment other is there already"):
        helm.run(*install)
    await client.delete(theirs)
    await client.create(deployment({"app.kubernetes.io/name": "sallyport"}))
    helm.run(*install)
    helm.run("uninstall", "sallyport-crds", "--kubeconfig", config)
