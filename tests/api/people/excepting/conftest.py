"""A gate that is asked about Pods, exceptions and approvals."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.api.admission.conftest import ALLOW_AGE_S, Installation, install
from tests.harness.apiserver import ApiServer
from tests.harness.client import Client, connect, read_objects
from tests.harness.evidence import ROOT
from tests.harness.gate import Gate
from tests.harness.webhooks import registered

WEBHOOKS = {"validate", "mutate", "guards", "authors"}


@pytest.fixture(scope="package")
def installation(
    apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """The gate, asked by the kube-apiserver about what these tests write."""
    folder = tmp_path_factory.mktemp("gate")
    with asyncio.Runner() as runner:
        connection = connect(apiserver)
        client = runner.run(connection.__aenter__())
        token = runner.run(install(client))
        kubeconfig = apiserver.kubeconfig_for_token("sallyport-gate", token)
        settings = {"SALLYPORT_ACCESS__ALLOW_AGE": str(ALLOW_AGE_S)}
        gate = Gate(folder, apiserver.authority, kubeconfig, settings)
        only = {f"{name}.sallyport.dev" for name in WEBHOOKS}
        webhooks = registered(client, gate.url, apiserver.authority.pem, only)
        runner.run(webhooks.__aenter__())
        try:
            yield Installation(apiserver, gate, kubeconfig)
        finally:
            runner.run(webhooks.__aexit__(None, None, None))
            gate.stop()
            grants = sorted((ROOT / "policies/profiles").glob("*-grant.yaml"))
            for file in (ROOT / "deploy/namespace-guard.yaml", *grants):
                for item in read_objects(file):
                    runner.run(client.delete(item))
            runner.run(connection.__aexit__(None, None, None))


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(installation.apiserver) as client:
        yield client
