"""A cluster of its own to sweep, since a sweep judges everything in one."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from control.sweep.settings import SweepSettings
from tests.api.control.sweep.rights import ACCOUNT, rights
from tests.api.control.sweep.sweep_run import Frames, Swept
from tests.api.kube.restartable_apiserver import RestartableServer
from tests.harness.evidence import ROOT
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, connect, read_objects
from tests.harness.programs.etcd import delete_pods
from tests.harness.programs.sweeper import NAMESPACE, open_parts
from tests.harness.published.openreports import install_crds

FAST = SweepSettings(
    interval_s=3600,
    pods_per_second=10_000,
    core_share=1.0,
    page_size=50,
    store_every_s=0.0,
    retry_s=(0.1,),
)
SWEEP = "019aa68f-4b3b-791c-8ca7-e02b195e0b08"


@dataclass(frozen=True)
class SweptCluster:
    """A kube-apiserver with OpenReports' CRDs, and the account that sweeps it."""

    server: RestartableServer
    kubeconfig: Path
    """Of a service account that has the rights of rights.py, and no other."""


async def _install(client: Client) -> str:
    await client.apply(read_objects(ROOT / "helm/sallyport-crds/templates/containerprofiles.yaml"))
    await client.wait_for_kind("sallyport.dev/v1alpha1", "ContainerProfile")
    for file in sorted((ROOT / "policies/profiles").glob("*.yaml")):
        await client.apply(read_objects(file))
    await install_crds(client)
    await client.create_namespace(NAMESPACE)
    await client.create_service_account(ACCOUNT, NAMESPACE)
    await client.apply(rights())
    return await client.create_token(ACCOUNT, NAMESPACE)


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SweptCluster]:
    """A cluster without Pods, in which everyone may use pss-restricted."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    server = RestartableServer(tmp_path_factory.mktemp("swept"))

    async def install() -> str:
        async with connect(server) as client:
            return await _install(client)

    try:
        token = asyncio.run(install())
        yield SweptCluster(server, server.kubeconfig_for_token(ACCOUNT, token))
    finally:
        server.stop()


@pytest.fixture
async def admin(cluster: SweptCluster) -> AsyncIterator[Client]:
    """A client with all rights; what a test leaves behind is swept away."""
    async with connect(cluster.server) as client:
        yield client
        await delete_pods(cluster.server.etcd_url)
        await forget(client)


async def forget(client: Client) -> None:
    """Take away what sweeps have written."""
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/sallyport-sweep"
    await client.request("DELETE", path)
    _, found = await client.request("GET", "/apis/openreports.io/v1alpha1/reports")
    for report in found.get("items", []):
        await client.delete(report)
    await client.request("DELETE", "/apis/openreports.io/v1alpha1/clusterreports/sallyport-sweep")


@pytest.fixture
async def swept(cluster: SweptCluster, admin: Client) -> AsyncIterator[Swept]:
    """A sweep, as the account that has just the rights it needs; as fast as it can."""
    frames = Frames()
    opening = open_parts(cluster.kubeconfig, frames, FAST, SWEEP)
    async with opening as (parts, registry):
        yield Swept(parts, registry, frames)
