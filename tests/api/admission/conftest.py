"""A whole installation: the shipped manifests in a real kube-apiserver, and the gate it asks."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json, connect, read_objects
from tests.harness.programs.guarded_apiserver import Installation, guarded
from tests.harness.programs.webhooks import serve_guarded

GATE_ACCOUNT = ("sallyport-gate", "sallyport-system")
ALLOW_AGE_S = 3.0
"""Shorter than the default, so that the tests of it are short; the default is only longer."""


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


def installed_gate(apiserver: ApiServer) -> Path:
    """Install what is shipped, with all kinds served; return the gate's kubeconfig."""

    async def prepare() -> str:
        async with connect(apiserver) as client:
            token = await install(client)
            await serve_guarded(client)
            return token

    return apiserver.kubeconfig_for_token(GATE_ACCOUNT[0], asyncio.run(prepare()))


@pytest.fixture(scope="package")
def installation(
    apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """The gate, asked by the kube-apiserver for everything that the manifests say."""
    settings = {"SALLYPORT_ACCESS__ALLOW_AGE": str(ALLOW_AGE_S)}
    folder = tmp_path_factory.mktemp("gate")
    with guarded(apiserver, folder, install, settings, leftovers=shipped_by_install()) as found:
        yield found


def shipped_by_install() -> list[Json]:
    """Return what of `install` must not outlive a folder.

    What holds for everyone in the cluster.
    """
    grants = sorted((ROOT / "policies/profiles").glob("*-grant.yaml"))
    files = (ROOT / "deploy/namespace-guard.yaml", *grants)
    return [item for file in files for item in read_objects(file)]


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(installation.apiserver) as client:
        yield client
