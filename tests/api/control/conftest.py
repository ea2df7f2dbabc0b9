"""Fixtures: the cluster as the loops see it, and a field on which processes contend."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kube.client.objects import Objects, open_objects
from tests.api.control.leader.field import Field
from tests.api.kube.objects import new_name
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client


@pytest.fixture
async def contest(apiserver: ApiServer, client: Client, tmp_path: Path) -> AsyncIterator[Field]:
    """A field of this test's own; all contenders end with it."""
    made = Field(apiserver, client, tmp_path)
    await made.prepare()
    yield made
    made.stop()


@pytest.fixture
async def objects(apiserver: ApiServer) -> AsyncIterator[Objects]:
    """The cluster."""
    async with open_objects(apiserver.kubeconfig()) as made:
        yield made


@pytest.fixture
async def namespace(client: Client) -> str:
    """A namespace of this test's own."""
    name = new_name("control")
    await client.create_namespace(name)
    return name
