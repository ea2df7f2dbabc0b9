"""A cluster of this folder's own: the chart, its processes, and webhooks that fail closed."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.api.record.installation import Installation
from tests.harness import rbac
from tests.harness.apiserver import ApiServer
from tests.harness.client import Client, Json, connect
from tests.harness.cluster_network import ClusterNetwork
from tests.harness.helm import CRDS, NAMESPACE, Helm
from tests.harness.pods import RESTRICTED
from tests.harness.programs import require

TRAIN = "train"
EARLIER = "earlier"
"""A Pod that nobody may run, created before there was anyone to refuse it."""


def pod(name: str, **spec: Any) -> Json:
    """Give a Pod that needs nothing but what `spec` adds."""
    made = RESTRICTED.pod()
    made["metadata"] = {"name": name, "namespace": TRAIN}
    made["spec"] |= spec
    return made


@pytest.fixture(scope="package")
def installation(tmp_path_factory: pytest.TempPathFactory, helm: Helm) -> Iterator[Installation]:
    """Everything installed and running, as docs/operate/chart.md says."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    network = ClusterNetwork()
    folder = tmp_path_factory.mktemp("apiserver")
    apiserver = ApiServer(folder, environment=network.environment)
    installed = Installation(tmp_path_factory.mktemp("installed"), apiserver, network)
    try:
        with asyncio.Runner() as runner:
            runner.run(_install(installed, helm))
        yield installed
    finally:
        installed.stop()
        apiserver.stop()
        network.close()


async def _install(installed: Installation, helm: Helm) -> None:
    kubeconfig = installed.apiserver.kubeconfig()
    async with connect(installed.apiserver) as client:
        await client.create_namespace(NAMESPACE)
        helm.run("install", "sallyport-crds", CRDS, "--kubeconfig", kubeconfig)
        await client.create_namespace(TRAIN)
        makes_pods = rbac.rule([""], "pods", "create")
        await client.apply(
            rbac.grant("makes-pods", makes_pods, rbac.user("alice"), namespace=TRAIN)
        )
        await client.create(pod(EARLIER, hostNetwork=True))
        helm.install(kubeconfig, {})
        await installed.start_control(client)
        installed.start_auditor()
        await installed.start_gate(client)


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(installation.apiserver) as client:
        yield client
