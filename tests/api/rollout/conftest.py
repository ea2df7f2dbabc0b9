"""A cluster of this folder's own: the chart in the mode audit, its processes, two researchers."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import pytest

from cli.flags import read_flags
from cli.rollout.status import RolloutRequest, read_status
from cli.rollout.verdicts import Standing, Status
from tests.api.record.installation import Installation, installed
from tests.harness.programs.client import ApiStatusError, Client, connect
from tests.harness.programs.helm import NAMESPACE, Helm
from tests.harness.worlds import rbac

PEOPLE: Final = ("alice", "bob")
MAKES: Final = rbac.rule(["", "apps"], "pods deployments", "create delete")
USES: Final = rbac.rule(["sallyport.dev"], "containerprofiles", "use", "pss-baseline")
SWEPT_S: Final = 60.0


@pytest.fixture(scope="package")
def installation(tmp_path_factory: pytest.TempPathFactory, helm: Helm) -> Iterator[Installation]:
    """Everything installed and running; namespaces without the label audit."""
    with installed(tmp_path_factory.mktemp, helm, _prepare, "audit") as made:
        yield made


async def _prepare(client: Client) -> None:
    for person in PEOPLE:
        await client.apply(rbac.grant(f"{person}-makes", MAKES, rbac.user(person)))
    await client.apply(rbac.grant("bob-uses", USES, rbac.user("bob")))


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(installation.apiserver) as client:
        yield client


class Rollout:
    """The command line, asked of the installation."""

    def __init__(self, installed: Installation) -> None:
        self._installed = installed

    def run(self, command: str, *arguments: str) -> tuple[int, Any, str]:
        """Return the exit code, what `-o json` prints, and what stands on standard error."""
        kubeconfig = str(self._installed.apiserver.kubeconfig())
        done = self._installed.run(
            "rollout", command, *arguments, "-o", "json", "--kubeconfig", kubeconfig
        )
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr

    async def status(self, *namespaces: str) -> Status:
        """Return what status says of half an hour, asked in this process."""
        kubeconfig = self._installed.apiserver.kubeconfig()
        settings = read_flags(None, kubeconfig=kubeconfig, ledger=self._installed.ledger)
        return await read_status(settings, RolloutRequest(namespaces, "30m"))

    async def of(self, namespace: str) -> Standing:
        """Return what it says of one namespace."""
        (standing,) = (await self.status(namespace)).namespaces
        return standing

    async def sweep_anew(self, admin: Client) -> None:
        """Have everything swept again, and wait until that is in the ledger."""
        last = await self._last_sweep()
        deadline = time.monotonic() + SWEPT_S
        await admin.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}/configmaps/sallyport-sweep")
        while await self._last_sweep() == last:
            assert time.monotonic() < deadline, "no new sweep is in the ledger"
            await asyncio.sleep(0.5)

    async def _last_sweep(self) -> str:
        found = (await self.status(NAMESPACE)).sweep
        return found.sweep if found else ""


@pytest.fixture
def rollout(installation: Installation) -> Rollout:
    """`sallyport rollout`."""
    return Rollout(installation)


async def refused(client: Client, made: dict[str, Any]) -> bool:
    """Create an object; say whether Sallyport, or its back-stop, refused it."""
    try:
        await client.create(made)
    except ApiStatusError as error:
        if "allyport" not in error.message:
            raise
        return True
    return False
