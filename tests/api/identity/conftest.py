"""A cluster of this folder's own in which Entra's risk decides: chart, processes, a fake Entra."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.api.identity.scene import Scene
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, connect
from tests.harness.programs.helm import Helm


@pytest.fixture(scope="package")
def scene(tmp_path_factory: pytest.TempPathFactory, helm: Helm) -> Iterator[Scene]:
    """Everything installed and running, as docs/operate/identity.md says."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    with Scene(tmp_path_factory.mktemp) as made:
        asyncio.run(made.install(helm))
        yield made


@pytest.fixture
async def admin(scene: Scene) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(scene.apiserver) as client:
        yield client
