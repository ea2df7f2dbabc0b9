"""Fixtures: the CRDs on the cluster, and a LiveCluster that has loaded everything."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.base import names
from kube.cluster.live import LiveCluster
from kube.manifests.reader import read_paths
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client


@pytest.fixture
async def crds(client: Client) -> None:
    """The CRDs, served."""
    path = Path("helm/sallyport-crds/templates/containerprofiles.yaml")
    await client.apply(manifest.value for manifest in read_paths([path]))
    await client.wait_for_kind(names.API_VERSION, "ContainerProfile")


@pytest.fixture
async def live(apiserver: ApiServer, crds: None) -> AsyncIterator[LiveCluster]:
    """A LiveCluster with all rights, loaded."""
    cluster = LiveCluster(apiserver.kubeconfig())
    await cluster.start()
    try:
        await cluster.wait(60)
        yield cluster
    finally:
        await cluster.stop()
