"""The same gate as for exceptions, and control's loop that writes statuses, with its rights."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.people.exceptions.conftest import admin, installation
from tests.api.people.statuses.writer import StatusWriter, give_rights, writing
from tests.harness.evidence import ROOT
from tests.harness.programs.client import Client, read_objects
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.programs.helm import Helm

__all__ = ["admin", "installation", "writer"]

GUARD = read_objects(ROOT / "deploy" / "status-guard.yaml")


@pytest.fixture
async def writer(
    admin: Client, installation: Installation, helm: Helm
) -> AsyncIterator[StatusWriter]:
    """The loop of control, which runs when it is told to."""
    await admin.apply(GUARD)
    token = await give_rights(admin, helm)
    kubeconfig: Path = installation.apiserver.kubeconfig_for_token("sallyport-control", token)
    async with writing(installation.apiserver, kubeconfig) as found:
        yield found
    for each in GUARD:
        await admin.delete(each)
