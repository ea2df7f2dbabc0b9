"""A cluster of its own, since the controller of egress looks after all of one."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.api.egress.control.field import OWN, Field
from tests.api.kube.objects import new_name
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, connect, read_objects
from tests.harness.programs.egress_control import Controlled, controlling, settings_of
from tests.harness.published.policy_engines import install_crds


async def _install(server: ApiServer) -> None:
    async with connect(server) as client:
        for file in sorted((ROOT / "helm/sallyport-crds/templates").glob("*.yaml")):
            await client.apply(read_objects(file))
        await install_crds(client)
        for kind in ("ContainerProfile", "EgressAllowlist", "EgressDestinations", "Approval"):
            await client.wait_for_kind("sallyport.dev/v1alpha1", kind)
        await client.create_namespace(OWN)


@pytest.fixture(scope="package")
def apiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A kube-apiserver with all CRDs, for this folder alone."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    server = ApiServer(tmp_path_factory.mktemp("egress"))
    try:
        asyncio.run(_install(server))
        yield server
    finally:
        server.stop()


@pytest.fixture
async def controlled(apiserver: ApiServer) -> AsyncIterator[Controlled]:
    """A controller that runs beside the test; its name servers do not answer."""
    async with controlling(settings_of(apiserver.kubeconfig(), OWN)) as found:
        yield found


@pytest.fixture
async def field(client: Client) -> Field:
    """An enrolled namespace of this test's own."""
    made = Field(client, new_name("egress"))
    await made.prepare()
    return made
