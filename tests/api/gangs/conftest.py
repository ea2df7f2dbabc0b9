"""A cluster of this folder's own, with the controllers that make gangs of Pods."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, connect
from tests.harness.programs.controller_manager import ControllerManager
from tests.harness.worlds.gangs import Recorder, recorder

TRAIN = "train"


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A kube-apiserver and the controllers of Jobs and StatefulSets."""
    for program in ("etcd", "kube-apiserver", "kube-controller-manager"):
        require(program)
    apiserver = ApiServer(tmp_path_factory.mktemp("apiserver"))
    folder = tmp_path_factory.mktemp("controllers")
    try:
        manager = ControllerManager(folder, apiserver, "job-controller", "statefulset-controller")
        yield apiserver
        manager.stop()
    finally:
        apiserver.stop()


@pytest.fixture
async def admin(cluster: ApiServer) -> AsyncIterator[Client]:
    """A client of it with all rights, and the namespace `train`."""
    async with connect(cluster) as client:
        await client.create_namespace(TRAIN)
        yield client


@pytest.fixture
async def seen(cluster: ApiServer, admin: Client) -> AsyncIterator[Recorder]:
    """The reviews of Pods in the namespace `train`."""
    async with recorder(cluster, admin, TRAIN) as recording:
        yield recording
