"""A cluster of this folder's own, since webhooks that fail closed are registered in it."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.harness.programs.apiserver import ApiServer, own_apiserver
from tests.harness.programs.client import Client, connect
from tests.harness.programs.helm import CRDS, NAMESPACE, RELEASE, Helm

ELSEWHERE = "elsewhere"
"""A namespace with which Sallyport has nothing to do."""

SECRETS = (
    "sallyport-ca",
    "sallyport-gate-tls",
    "sallyport-auditor-tls",
    "sallyport-shipping-gate",
    "sallyport-shipping-control",
    "sallyport-ledger-signing",
)
"""What control makes of them."""

MADE = (
    *(f"/api/v1/namespaces/{NAMESPACE}/secrets/{name}" for name in SECRETS),
    f"/api/v1/namespaces/{NAMESPACE}/configmaps/sallyport-sweep",
    f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/sallyport-control",
)
"""All that it makes."""


@pytest.fixture(scope="package")
def apiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A kube-apiserver of this folder's own."""
    with own_apiserver(tmp_path_factory.mktemp("apiserver")) as server:
        yield server


@pytest.fixture(scope="package")
def namespaces(apiserver: ApiServer) -> None:
    """Namespaces: its own, in which Pod Security's strictest level is enforced, and another."""

    async def create() -> None:
        async with connect(apiserver) as client:
            labels = {"pod-security.kubernetes.io/enforce": "restricted"}
            await client.create_namespace(NAMESPACE, labels)
            await client.create_namespace(ELSEWHERE)
            # kube-apiserver looks for them when it is given the Pods of Helm's hooks.
            for hook in ("test", "uninstall"):
                await client.create_service_account(f"sallyport-{hook}", ELSEWHERE)

    asyncio.run(create())


@pytest.fixture(scope="package")
def kinds(apiserver: ApiServer, helm: Helm) -> Iterator[None]:
    """The CRDs, installed by their chart."""
    config = apiserver.kubeconfig()
    helm.run("install", "sallyport-crds", CRDS, "--kubeconfig", config)
    yield
    helm.run("uninstall", "sallyport-crds", "--kubeconfig", config)


@pytest.fixture(scope="package")
def installed(apiserver: ApiServer, helm: Helm, namespaces: None, kinds: None) -> Iterator[str]:
    """The chart, installed by Helm with its defaults; what Helm said."""
    yield helm.install(apiserver.kubeconfig(), {})
    flags = ("--namespace", NAMESPACE, "--kubeconfig", apiserver.kubeconfig())
    helm.run("uninstall", RELEASE, "--no-hooks", *flags)


@pytest.fixture
async def admin(apiserver: ApiServer, installed: str) -> AsyncIterator[Client]:
    """Who may do everything, on the cluster in which the chart is installed."""
    async with connect(apiserver) as connected:
        yield connected


@pytest.fixture
async def nothing_of_control(admin: Client) -> None:
    """None of the objects that control makes, to begin with."""
    for path in MADE:
        await admin.request("DELETE", path)
