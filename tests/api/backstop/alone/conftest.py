"""A kube-apiserver with the back-stop and no webhook at all."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import pytest

from tests.api.backstop.installed_backstop import GROUPS, comes_to, install, kept, leftovers
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import ApiStatusError, Client, connect
from tests.harness.worlds.pods import RESTRICTED

SPACE = "backstop-alone"


@pytest.fixture(scope="package")
def backstopped(apiserver: ApiServer) -> Iterator[ApiServer]:
    """The kube-apiserver while the back-stop is in force."""
    asyncio.run(_install(apiserver))
    yield apiserver
    asyncio.run(_remove(apiserver))


async def _install(apiserver: ApiServer) -> None:
    async with connect(apiserver) as client:
        await install(client)
        await client.create_namespace(SPACE)
        runner = client.as_user("nobody", GROUPS)
        await runner.wait_until_can("create", {"resource": "pods", "namespace": SPACE})
        privileged = RESTRICTED.pod()
        privileged["spec"]["hostPID"] = True
        async with kept(apiserver):
            await comes_to(runner, privileged, SPACE, 403)


async def _remove(apiserver: ApiServer) -> None:
    async with connect(apiserver) as client:
        for item in leftovers():
            with suppress(ApiStatusError):
                await client.delete(item)


@pytest.fixture
async def admin(backstopped: ApiServer) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`), and a ConfigMap that is kept."""
    async with connect(backstopped) as client, kept(backstopped):
        yield client


@pytest.fixture
def nobody(admin: Client) -> Client:
    """Who may do everything with Pods, and use no profile."""
    return admin.as_user("nobody", GROUPS)


@pytest.fixture
def holder(admin: Client) -> Client:
    """Who may use the widest profile."""
    return admin.as_user("pss-privileged", GROUPS)
