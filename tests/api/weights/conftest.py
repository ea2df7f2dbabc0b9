"""A cluster of this folder's own whose weights are guarded, recorded and reported."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, closing

import pytest

from tests.api.weights.scene import WeightScene
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, connect
from tests.harness.programs.cluster_network import ClusterNetwork
from tests.harness.programs.helm import Helm


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, helm: Helm) -> Iterator[WeightScene]:
    """Everything installed and running, with an anchor and a folder of storage's logs."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    with ExitStack() as ends:
        network = ends.enter_context(closing(ClusterNetwork()))
        apiserver = ApiServer(tmp_path_factory.mktemp("apiserver"), environment=network.environment)
        ends.callback(apiserver.stop)
        folder = tmp_path_factory.mktemp("story")
        with asyncio.Runner() as runner:
            cluster = runner.run(_cluster(apiserver))
            scene = WeightScene(folder, apiserver, network, cluster)
            ends.callback(scene.installed.stop)
            runner.run(scene.install(helm))
        yield scene


async def _cluster(apiserver: ApiServer) -> str:
    async with connect(apiserver) as client:
        return str((await client.get("v1", "Namespace", "kube-system"))["metadata"]["uid"])


@pytest.fixture
async def story_admin(story: WeightScene) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(story.apiserver) as client:
        yield client
