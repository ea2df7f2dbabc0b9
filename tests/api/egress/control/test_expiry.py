"""What ends by the clock: an allowlist closes, and its Pods are evicted where it says so."""

import time

import pytest

from control.egress import loop
from core.base import names
from tests.api.egress.control.field import SOON_S, Field, later
from tests.api.egress.control.pods import has_pod, pod, running
from tests.harness.programs.client import Client, Json
from tests.harness.programs.egress_control import Controlled

ONE = "sallyport-allow-one-0"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have evictions tried again after a second."""
    monkeypatch.setattr(loop, "WAITS_S", 1.0)


async def test_expired_allowlist_closes_within_two_seconds(
    field: Field, controlled: Controlled
) -> None:
    """Within two seconds of its time, by the clock, nothing is open, and it says so."""
    until = later(3)
    await field.allow("one", {"cidr": "192.0.2.0/24"}, expiresAt=until)
    await field.settle_names(ONE)
    expires = controlled.egress.state.intents[field.name]["one"].allowlist
    assert expires is not None
    await field.settle_names()
    assert expires.expires <= time.time() < expires.expires + SOON_S
    assert (await field.settle_reason("one", "Expired"))["status"] == "False"
    await field.settle_event("Expired")


@pytest.mark.usefixtures("controlled")
async def test_pods_are_evicted_once(field: Field, client: Client) -> None:
    """Pods of its time go once it has expired; one that a budget keeps is told; others stay."""
    account = {names.EGRESS_ACCOUNT_LABEL: "default"}
    await client.create(pod(field.name, "old", **account))
    await running(client, pod(field.name, "kept", **account, keep="it"), "10.9.0.9")
    await client.create(pod(field.name, "other", **{names.EGRESS_ACCOUNT_LABEL: "other"}))
    budget: Json = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep", "namespace": field.name},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"keep": "it"}}},
    }
    await client.create(budget)
    until = later(3)
    await field.allow("one", {"cidr": "192.0.2.0/24"}, expiresAt=until, whenExpired="Evict")
    await field.settle_names(ONE)
    waiting = await field.settle_reason("one", "Waiting", "Evicted")
    assert "kept: a PodDisruptionBudget keeps it" in waiting["message"]
    assert not await has_pod(client, field.name, "old")
    assert await has_pod(client, field.name, "kept")
    assert await has_pod(client, field.name, "other")
    await client.create(pod(field.name, "new", **account))
    await client.delete(budget)
    await field.settle_reason("one", "Done", "Evicted")
    assert not await has_pod(client, field.name, "kept")
    assert await has_pod(client, field.name, "new")
    await field.settle_event("NotEvicted")
