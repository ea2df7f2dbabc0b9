"""A gate that decides by risk, and suspends the exceptions of those at risk."""

import time
from collections.abc import AsyncIterator, Iterator

import pytest

from core.risk.model import RiskSource
from core.risk.snapshot import Coverage, Head, SnapshotDraft
from core.risk.snapshot_storage import HEAD_NAME
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.risk.store import RiskStore
from tests.api.admission.conftest import ALLOW_AGE_S, install, shipped_by_install
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, connect
from tests.harness.programs.guarded_apiserver import Installation, guarded

WEBHOOKS = {f"{name}.sallyport.dev" for name in ("validate", "mutate", "guards", "authors")}
SYSTEM = "sallyport-system"
TENANT = "0a6c4b1e-8a4e-4e0e-9e51-5d2f0c8f4b11"


def _clean(draft: SnapshotDraft) -> None:
    """Say that all is known, and that nobody is at risk."""
    complete = Coverage(as_of=time.time())
    draft.head = Head(
        version=draft.head.version,
        written=draft.head.written,
        tenant=TENANT,
        users=complete,
        service_principals=complete,
    )


@pytest.fixture(scope="package")
def installation(
    apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """The gate, asked by the kube-apiserver about what these tests write."""
    settings = {
        "SALLYPORT_ACCESS__ALLOW_AGE": str(ALLOW_AGE_S),
        "SALLYPORT_IDENTITY__ENABLED": "true",
        "SALLYPORT_IDENTITY__TENANT": TENANT,
        "SALLYPORT_IDENTITY__SUSPEND_EXCEPTIONS": "true",
    }

    async def with_risk(client: Client) -> str:
        token = await install(client)
        connection = Connection(apiserver.kubeconfig())
        await connection.open()
        await RiskStore(Objects(connection), SYSTEM).update(_clean)
        await connection.close()
        return token

    folder = tmp_path_factory.mktemp("gate")
    leftovers = [
        *shipped_by_install(),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": HEAD_NAME, "namespace": SYSTEM},
        },
    ]
    with guarded(
        apiserver, folder, with_risk, settings, only=WEBHOOKS, leftovers=leftovers
    ) as found:
        yield found


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(installation.apiserver) as client:
        yield client


@pytest.fixture
async def store(installation: Installation) -> AsyncIterator[RiskStore]:
    """What says who is at risk; nobody is when the test ends."""
    connection = Connection(installation.apiserver.kubeconfig())
    await connection.open()
    found = RiskStore(Objects(connection), SYSTEM)

    def forget(draft: SnapshotDraft) -> None:
        for family in RiskSource:
            for key, _ in list(draft.before.entries(family)):
                draft.drop(family, key)

    try:
        yield found
        await found.update(forget)
    finally:
        await connection.close()
