"""While no gate answers, rights stay as they are, and the cluster can be repaired."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from tests.api.people.rights.people import Givers, account, bound, cluster_role
from tests.harness.programs.client import ApiStatusError, Client, Json, Outcome
from tests.harness.worlds.rbac import rule, user

COLLEAGUE = user("colleague@example.com")
SYSTEM = "sallyport-system"


@pytest.fixture
async def gone(admin: Client, givers: Givers) -> AsyncIterator[None]:
    """The gate does not answer about rights."""
    api, kind = "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"
    webhooks = (await admin.get(api, kind, "sallyport"))["webhooks"]
    lost = [
        {**each, "clientConfig": {**each["clientConfig"], "url": "https://127.0.0.1:1/validate"}}
        if each["name"] == "rights.sallyport.dev"
        else each
        for each in webhooks
    ]
    registration: Json = {"apiVersion": api, "kind": kind, "metadata": {"name": "sallyport"}}
    await admin.patch(registration, {"webhooks": lost})
    await _until(givers, Outcome.ALLOWED, negate=True)
    yield
    await admin.patch(registration, {"webhooks": webhooks})
    await _until(givers, Outcome.ALLOWED, negate=False)


async def _until(givers: Givers, outcome: Outcome, *, negate: bool) -> None:
    end = time.monotonic() + 60
    while True:
        assert time.monotonic() < end
        try:
            found = (await givers.administrator.dry_run(bound("view", COLLEAGUE))).outcome
        except ApiStatusError:
            found = Outcome.INVALID
        if (found is outcome) is not negate:
            return
        await asyncio.sleep(0.1)


@pytest.mark.usefixtures("gone")
async def test_nobody_is_locked_out(admin: Client, givers: Givers) -> None:
    """Without a gate nobody gives rights, but members of system:masters, and in its namespace."""
    for item in (bound("view", COLLEAGUE), cluster_role(rule([""], "pods", "get"))):
        for client in (givers.researcher, givers.administrator):
            with pytest.raises(ApiStatusError, match=r"rights\.sallyport\.dev"):
                await client.create(item)
        assert (await admin.dry_run(item)).outcome is Outcome.ALLOWED
    repaired = bound("cluster-admin", COLLEAGUE, namespace=SYSTEM)
    assert (await givers.administrator.dry_run(repaired)).outcome is Outcome.ALLOWED
    plain = account()
    assert (await givers.researcher.dry_run(plain)).outcome is Outcome.ALLOWED
