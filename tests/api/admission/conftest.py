"""A whole installation: the shipped manifests in a real kube-apiserver, and the gate it asks."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness.apiserver import ApiServer
from tests.harness.client import Client, connect, read_objects
from tests.harness.evidence import ROOT
from tests.harness.gate import Gate
from tests.harness.webhooks import registered

GATE_ACCOUNT = ("sallyport-gate", "sallyport-system")
ALLOW_AGE_S = 3.0
"""Shorter than the default, so that the tests of it are short; the default is only longer."""


@dataclass(frozen=True)
class Installation:
    """What the tests of this folder share."""

    apiserver: ApiServer
    gate: Gate
    kubeconfig: Path
    """Of the gate's service account, with the rights that `deploy/rbac.yaml` gives it."""


async def install(client: Client) -> str:
    """Apply everything that is shipped but the webhooks; give a token of the gate's account."""
    await client.apply(read_objects(ROOT / "helm/sallyport-crds/templates/containerprofiles.yaml"))
    await client.wait_for_kind("sallyport.dev/v1alpha1", "ContainerProfile")
    for file in sorted((ROOT / "policies/profiles").glob("*.yaml")):
        await client.apply(read_objects(file))
    name, namespace = GATE_ACCOUNT
    await client.create_namespace(namespace)
    await client.apply(read_objects(ROOT / "deploy/rbac.yaml"))
    await client.apply(read_objects(ROOT / "deploy/namespace-guard.yaml"))
    return await client.create_token(name, namespace)


@pytest.fixture(scope="package")
def installation(
    apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """The gate, asked by the kube-apiserver for everything that the manifests say."""
    folder = tmp_path_factory.mktemp("gate")
    with asyncio.Runner() as runner:
        connection = connect(apiserver)
        client = runner.run(connection.__aenter__())
        token = runner.run(install(client))
        kubeconfig = apiserver.kubeconfig_for_token("sallyport-gate", token)
        settings = {"SALLYPORT_ACCESS__ALLOW_AGE": str(ALLOW_AGE_S)}
        gate = Gate(folder, apiserver.authority, kubeconfig, settings)
        webhooks = registered(client, gate.url, apiserver.authority.pem)
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
