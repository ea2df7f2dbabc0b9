"""A cluster of this folder's own, with kube-apiserver's proxy to the processes' Pods."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.api.status.installed_status import InstalledStatus, installed_status
from tests.harness.programs.client import Client, connect
from tests.harness.programs.helm import Helm


@pytest.fixture(scope="package")
def installed(tmp_path_factory: pytest.TempPathFactory, helm: Helm) -> Iterator[InstalledStatus]:
    """Everything installed, running and well."""
    with installed_status(tmp_path_factory.mktemp, helm) as made:
        yield made


@pytest.fixture
async def admin(installed: InstalledStatus) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(installed.installation.apiserver) as client:
        yield client
