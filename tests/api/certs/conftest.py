"""A cluster of this folder's own: webhooks that fail closed, and certificates of seconds."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kube.client.objects import Objects, open_objects
from tests.api.admission.conftest import installed_gate
from tests.api.kube.objects import new_name
from tests.harness.programs.apiserver import ApiServer, own_apiserver
from tests.harness.programs.client import Client


@pytest.fixture(scope="package")
def apiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A kube-apiserver of this folder's own."""
    with own_apiserver(tmp_path_factory.mktemp("apiserver")) as server:
        yield server


@pytest.fixture(scope="package")
def kubeconfig(apiserver: ApiServer) -> Path:
    """The gate's service account, with everything installed that it needs."""
    return installed_gate(apiserver)


@pytest.fixture
async def objects(apiserver: ApiServer) -> AsyncIterator[Objects]:
    """The cluster, as control sees it."""
    async with open_objects(apiserver.kubeconfig()) as made:
        yield made


@pytest.fixture
async def namespace(client: Client) -> str:
    """A namespace of this test's own, in which Sallyport might be installed."""
    name = new_name("certs")
    await client.create_namespace(name)
    return name
