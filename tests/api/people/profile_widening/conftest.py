"""A gate that is asked about approvals, and about profiles whose names begin with `widening-`."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.api.admission.conftest import ALLOW_AGE_S, install, shipped_by_install
from tests.api.people.profile_widening.profiles import PREFIX, profile, set_up
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json, Outcome, connect
from tests.harness.programs.guarded_apiserver import Installation, guarded
from tests.harness.programs.webhooks import configurations

WEBHOOKS = {f"{name}.sallyport.dev" for name in ("guards", "authors", "validate")}


def _registration(installation: Installation) -> Json:
    """Return what the chart registers with `approvals.profiles` (tests/unit/helm), for these alone.

    Other tests of this kube-apiserver write profiles too.
    """
    authority = installation.apiserver.authority
    shipped = configurations(installation.gate.url, authority.pem)
    webhooks = [webhook for item in shipped for webhook in item["webhooks"]]
    (guards,) = (each for each in webhooks if each["name"] == "guards.sallyport.dev")
    rule = {
        "apiGroups": ["sallyport.dev"],
        "apiVersions": ["v1alpha1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["containerprofiles"],
        "scope": "Cluster",
    }
    expression = f"object.metadata.name.startsWith('{PREFIX}')"
    condition = {"name": "of-these-tests", "expression": expression}
    own = {"name": "profiles.sallyport.dev", "rules": [rule], "matchConditions": [condition]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "sallyport-profiles"},
        "webhooks": [{**guards, **own}],
    }


@pytest.fixture(scope="package")
def installation(
    apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """The gate, with `approvals.profiles`."""
    settings = {
        "SALLYPORT_ACCESS__ALLOW_AGE": str(ALLOW_AGE_S),
        "SALLYPORT_APPROVALS__PROFILES": "true",
    }
    folder = tmp_path_factory.mktemp("gate")
    leftovers = shipped_by_install()
    with (
        guarded(apiserver, folder, install, settings, only=WEBHOOKS, leftovers=leftovers) as found,
        asyncio.Runner() as runner,
    ):
        runner.run(_register(found))
        yield found
        runner.run(_unregister(found))


async def _register(installation: Installation) -> None:
    async with connect(installation.apiserver) as client:
        await set_up(client)
        await client.apply([_registration(installation)])
        await _until(client, asked=True)


async def _unregister(installation: Installation) -> None:
    async with connect(installation.apiserver) as client:
        await client.delete(_registration(installation))
        await _until(client, asked=False)


async def _until(client: Client, *, asked: bool) -> None:
    end = time.monotonic() + 60
    while True:
        answer = await client.dry_run(profile(f"{PREFIX}probe"))
        if (answer.outcome is Outcome.DENIED) is asked:
            return
        assert time.monotonic() < end, answer.body
        await asyncio.sleep(0.1)


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(installation.apiserver) as client:
        yield client
