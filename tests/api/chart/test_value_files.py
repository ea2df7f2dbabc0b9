"""Helm installs the chart with each of the files of values beside values.yaml."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.harness.programs.apiserver import ApiServer, own_apiserver
from tests.harness.programs.client import Json, connect
from tests.harness.programs.helm import CHART, CRDS, NAMESPACE, RELEASE, Helm
from tests.unit.helm.test_value_files import NEEDED


@pytest.fixture(scope="module")
def empty_cluster(helm: Helm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A kube-apiserver with the kinds and the namespace, in which nothing is installed."""
    with own_apiserver(tmp_path_factory.mktemp("apiserver")) as server:

        async def create() -> None:
            async with connect(server) as client:
                labels = {"pod-security.kubernetes.io/enforce": "restricted"}
                await client.create_namespace(NAMESPACE, labels)

        asyncio.run(create())
        helm.run("install", "sallyport-crds", CRDS, "--kubeconfig", server.kubeconfig())
        yield server


@pytest.mark.parametrize("name", NEEDED)
def test_a_file_is_installed_as_it_is_rendered(
    helm: Helm, empty_cluster: ApiServer, name: str
) -> None:
    """Each object is there; an upgrade by the same values changes none, and it can be removed."""
    cluster = ("--namespace", NAMESPACE, "--kubeconfig", empty_cluster.kubeconfig())
    given: tuple[str | Path, ...] = ("--values", CHART / f"values-{name}.yaml", *NEEDED[name])
    helm.run("install", RELEASE, CHART, *cluster, *given)
    installed = manifest(helm, *cluster)
    assert len(installed) > 50
    asyncio.run(require_all(empty_cluster, installed))
    helm.run("upgrade", RELEASE, CHART, *cluster, *given)
    assert manifest(helm, *cluster) == installed
    text = helm.run("template", RELEASE, CHART, "--namespace", NAMESPACE, "--no-hooks", *given)
    rendered = [item for item in yaml.safe_load_all(text) if item]
    assert sorted(map(identity, rendered)) == sorted(map(identity, installed))
    if name == "gitops":
        assert sorted(rendered, key=identity) == sorted(installed, key=identity)
    helm.run("uninstall", RELEASE, "--no-hooks", *cluster)


def manifest(helm: Helm, *cluster: str | Path) -> list[Json]:
    """Return what Helm has installed."""
    text = helm.run("get", "manifest", RELEASE, *cluster)
    return [item for item in yaml.safe_load_all(text) if item]


def identity(item: Json) -> str:
    """Name an object."""
    return f"{item['kind']} {item['metadata']['name']}"


async def require_all(cluster: ApiServer, items: list[Json]) -> None:
    """Ask the cluster for each object; one that is not there raises ApiStatusError."""
    async with connect(cluster) as client:
        for item in items:
            meta = item["metadata"]
            await client.get(item["apiVersion"], item["kind"], meta["name"], meta.get("namespace"))
