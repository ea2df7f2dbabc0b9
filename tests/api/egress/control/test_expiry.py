"""What ends by the clock: an allowlist closes, and its Pods are evicted where it says so."""

import asyncio
import time

import pytest

from audit.ledger.records.frames import FrameKind
from audit.ledger.records.recorder import LedgerRecorder
from control.egress import endings, loop
from core.base import names
from core.weights.documents.object_change import ObjectChange, decode_change
from kube.client.objects import Objects
from kube.resources.live_pods import LivePod, list_live_pods
from tests.api.egress.control.field import OWN, PATIENCE_S, SOON_S, Field, later
from tests.api.egress.control.pods import has_pod, pod, running
from tests.api.kube.objects import wait_for
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json
from tests.harness.programs.egress_control import Controlled, controlling, settings_of

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


class _Frames:
    """Keeps the changes that are recorded."""

    def __init__(self) -> None:
        self.changes: list[ObjectChange] = []

    def append(self, kind: int, frame_id: bytes, payload: bytes) -> None:
        """Keep one."""
        del frame_id
        assert kind == FrameKind.CHANGE
        self.changes.append(decode_change(payload))


async def test_an_end_in_use_is_told_and_recorded_once(
    apiserver: ApiServer, client: Client, field: Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many Pods that it was for still run; of one that no Pod uses nothing is told."""
    monkeypatch.setattr(endings, "INTERVAL_S", 0.5)
    listed: list[str] = []

    async def list_pods(objects: Objects, namespace: str) -> list[LivePod]:
        listed.append(namespace)
        return await list_live_pods(objects, namespace)

    monkeypatch.setattr(endings, "list_live_pods", list_pods)
    for name, account in (("a", "default"), ("b", "default"), ("c", "other")):
        await client.create(pod(field.name, name, **{names.EGRESS_ACCOUNT_LABEL: account}))
    kept = _Frames()
    recorder = LedgerRecorder(kept, lambda: "prod", lambda _: "")
    async with controlling(settings_of(apiserver.kubeconfig(), OWN)) as controlled:
        assert controlled.egress.endings is not None
        controlled.egress.endings.recorder = recorder
        until = later(3)
        await field.allow("one", {"cidr": "192.0.2.0/24"}, expiresAt=until)
        unused = {"serviceAccounts": ["nobody"], "expiresAt": until}
        await field.allow("two", {"cidr": "192.0.2.0/24"}, **unused)
        await field.settle_names(ONE, "sallyport-allow-two-0")
        event = await field.settle_event("EndedInUse")
        await asyncio.sleep(1.2)
    assert event["involvedObject"]["name"] == "one"
    assert "It has ended, and 2 Pods that it was for still run" in event["message"]
    (change,) = kept.changes
    assert (change.cluster, change.name, change.event) == ("prod", "one", "ended-in-use")
    left = "2 Pods that it was for still run: what only it opened is closed to them"
    assert change.why == left
    assert listed.count(field.name) == 1  # For both of them.
    async with controlling(settings_of(apiserver.kubeconfig(), OWN)) as controlled:
        assert controlled.egress.endings is not None
        controlled.egress.endings.recorder = recorder

        async def is_recorded() -> bool:
            return len(kept.changes) == 2

        await wait_for(is_recorded, PATIENCE_S)
    assert kept.changes[0].id == kept.changes[1].id
    assert len(await field.events("EndedInUse")) == 1
