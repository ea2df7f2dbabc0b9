"""A cluster on which the chart is installed and taken away again and again."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, connect
from tests.harness.programs.helm import CRDS, NAMESPACE, RELEASE, Helm

TEAM = "team"
"""A namespace that is judged."""

WHEN_READY = ("--set", "webhooks.whenReady=true")
"""What people get who say nothing."""


@pytest.fixture(scope="package")
def apiserver(tmp_path_factory: pytest.TempPathFactory, helm: Helm) -> Iterator[ApiServer]:
    """A kube-apiserver of this folder's own, with the kinds and two namespaces."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    server = ApiServer(tmp_path_factory.mktemp("apiserver"))

    async def create() -> None:
        async with connect(server) as client:
            for namespace in (NAMESPACE, TEAM):
                await client.create_namespace(namespace)

    try:
        asyncio.run(create())
        helm.run("install", "sallyport-crds", CRDS, "--kubeconfig", server.kubeconfig())
        yield server
    finally:
        server.stop()


@pytest.fixture
def taken_away(apiserver: ApiServer, helm: Helm) -> Iterator[tuple[str, ...]]:
    """Flags for Helm; what a test installs is gone after it."""
    flags = ("--namespace", NAMESPACE, "--kubeconfig", str(apiserver.kubeconfig()))
    yield flags
    helm.run("uninstall", RELEASE, "--no-hooks", "--ignore-not-found", *flags)


@pytest.fixture
async def admin(apiserver: ApiServer) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(apiserver) as client:
        yield client
