"""A gate that is asked about allowlists, sets and approvals."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.api.admission.conftest import ALLOW_AGE_S, install, shipped_by_install
from tests.api.admission.objects import new_namespace
from tests.api.egress.intents.people import set_up, until_known
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, connect
from tests.harness.programs.guarded_apiserver import Installation, guarded

WEBHOOKS = {"guards.sallyport.dev", "authors.sallyport.dev"}


@pytest.fixture(scope="package")
def installation(
    apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """The gate, asked by the kube-apiserver about what these tests write."""
    settings = {
        "SALLYPORT_ACCESS__ALLOW_AGE": str(ALLOW_AGE_S),
        "SALLYPORT_EGRESS__DEFAULT": "deny",
    }
    folder = tmp_path_factory.mktemp("gate")
    leftovers = shipped_by_install()
    with guarded(apiserver, folder, install, settings, only=WEBHOOKS, leftovers=leftovers) as found:
        yield found


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(installation.apiserver) as client:
        yield client


@pytest.fixture
async def place(admin: Client) -> str:
    """A namespace of the test's own, with the service account `trainer`, and people's rights."""
    await set_up(admin)
    namespace = await new_namespace(admin)
    await admin.create_service_account("trainer", namespace)
    await until_known(admin, namespace)
    return namespace
