"""A gate that kube-apiserver asks; nobody may use a profile but those named here."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final

import pytest

from tests.api.people.rights.people import OPERATED, OTHERS, TEAM, Givers, rights
from tests.api.people.rights.tries import READER
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json, connect, read_objects
from tests.harness.programs.controller_manager import ControllerManager
from tests.harness.programs.guarded_apiserver import guarded
from tests.harness.worlds.rbac import GROUP

GATE_ACCOUNT: Final = ("sallyport-gate", "sallyport-system")
GUARDS: Final = ("namespace-guard.yaml", "own-namespace-guard.yaml")


async def _install(client: Client) -> str:
    for file in sorted((ROOT / "helm/sallyport-crds/templates").glob("*.yaml")):
        await client.apply(read_objects(file))
    await client.wait_for_kind("sallyport.dev/v1alpha1", "ContainerProfile")
    for file in sorted((ROOT / "policies/profiles").glob("*.yaml")):
        if not file.stem.endswith("-grant"):
            await client.apply(read_objects(file))
    name, namespace = GATE_ACCOUNT
    for each in (namespace, TEAM, OTHERS, OPERATED):
        await client.create_namespace(each)
    await client.apply(rights())
    for guard in GUARDS:
        await client.apply(read_objects(ROOT / "deploy" / guard))
    await client.apply(read_objects(ROOT / "deploy/rbac.yaml"))
    await _until_filled(client)
    return await client.create_token(name, namespace)


async def _until_filled(client: Client) -> None:
    end = time.monotonic() + 60
    while not (await client.get(f"{GROUP}/v1", "ClusterRole", "edit"))["rules"]:
        assert time.monotonic() < end
        await asyncio.sleep(0.1)


@pytest.fixture(scope="package")
def asked(apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A kube-apiserver that asks the gate about changes to rights."""
    # It fills view, edit and admin, which are empty without it.
    folder = tmp_path_factory.mktemp("controllers")
    manager = ControllerManager(folder, apiserver, "clusterrole-aggregation-controller")
    guards = [item for guard in GUARDS for item in read_objects(ROOT / "deploy" / guard)]
    leftovers = (*guards, *rights())
    try:
        with guarded(apiserver, tmp_path_factory.mktemp("gate"), _install, leftovers=leftovers):
            yield apiserver
    finally:
        manager.stop()


@pytest.fixture
async def admin(asked: ApiServer) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`), about whom the gate is not asked."""
    async with connect(asked) as client:
        yield client


@pytest.fixture
def givers(admin: Client) -> Givers:
    """Whoever else gives rights."""
    return Givers(admin)


@pytest.fixture(autouse=True)
async def _reader(admin: Client) -> None:
    """A Role that is there."""
    await admin.apply([READER])


@pytest.fixture
async def made(admin: Client) -> AsyncIterator[Callable[[Json], Json]]:
    """Takes away what a test makes."""
    items: list[Json] = []

    def keep(item: Json) -> Json:
        items.append(item)
        return item

    yield keep
    for item in reversed(items):
        await admin.delete(item)
