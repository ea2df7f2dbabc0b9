"""A gate that is asked about Pods, exceptions and approvals."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.api.admission.conftest import ALLOW_AGE_S, install, shipped_by_install
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, connect
from tests.harness.programs.guarded_apiserver import Installation, guarded

WEBHOOKS = {f"{name}.sallyport.dev" for name in ("validate", "mutate", "guards", "authors")}


@pytest.fixture(scope="package")
def installation(
    apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """The gate, asked by the kube-apiserver about what these tests write."""
    settings = {"SALLYPORT_ACCESS__ALLOW_AGE": str(ALLOW_AGE_S)}
    folder = tmp_path_factory.mktemp("gate")
    leftovers = shipped_by_install()
    with guarded(apiserver, folder, install, settings, only=WEBHOOKS, leftovers=leftovers) as found:
        yield found


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(installation.apiserver) as client:
        yield client
