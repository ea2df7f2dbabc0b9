"""A sweep that is stopped anywhere goes on where it was, and comes to the same."""

import math
import random
import time
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from audit.ledger.records.frames import FrameKind
from core.base.errors import ClusterError, NotLeaderError
from core.decision.document import DecisionDocument
from core.decision.sweep_document import SweepDocument
from kube.client.objects import Objects, Page
from kube.leader.lease import Leadership
from tests.api.control.sweep.conftest import SWEEP, SweptCluster, forget
from tests.api.control.sweep.sweep_run import Swept, document_of, essence, said
from tests.api.kube.restartable_apiserver import RestartableServer
from tests.harness.programs.client import Client, Json
from tests.harness.programs.etcd import compact, put_pods
from tests.harness.programs.sweeper import NAMESPACE
from tests.harness.sizes import size
from tests.harness.worlds.running_pods import namespace_name, running_pods

CURSOR = f"/api/v1/namespaces/{NAMESPACE}/configmaps/sallyport-sweep"
PODS, PER_NAMESPACE = 260, 65
"""Four namespaces, and pages of 50 that end within them."""


@pytest.fixture(autouse=True)
async def pods(cluster: SweptCluster, admin: Client) -> None:
    """Pods in four namespaces."""
    for index in range(PODS // PER_NAMESPACE):
        await admin.create_namespace(namespace_name(index))
    await put_pods(cluster.server.etcd_url, running_pods(PODS, PER_NAMESPACE))


class LostAfter(Leadership):
    """A leadership that is lost after so many writes."""

    def __init__(self, writes: int) -> None:
        super().__init__(1, math.inf, time.monotonic)
        self.left = writes

    def require(self) -> None:
        """Pass while writes are left."""
        self.left -= 1
        if self.left < 0:
            raise NotLeaderError("lost")


Outcome = tuple[dict[bytes, DecisionDocument], list[Json], SweepDocument]


async def outcome(admin: Client, swept: Swept) -> Outcome:
    """Return the decisions, what the Reports say, and the sweep's document."""
    recorded = swept.frames.of(FrameKind.DECISION)
    decisions = {frame_id: essence(payload) for frame_id, payload in recorded.items()}
    document = msgspec.structs.replace(document_of(swept), finished="", interruptions=0)
    return decisions, await said(admin), document


@pytest.mark.proof
async def test_leaders_that_are_lost_at_any_write_change_nothing(
    admin: Client, swept: Swept
) -> None:
    """Each goes on where the last one was; in the end all is as if there had been one."""
    await swept.run()
    undisturbed = await outcome(admin, swept)
    rng = random.Random(4)  # noqa: S311 -- must repeat, need not be secret
    for _ in range(size(ci=4, proof=40)):
        await forget(admin)
        swept.frames.kept.clear()
        stops = 0
        while True:
            try:
                await swept.run(LostAfter(rng.randint(0, 60)))
            except NotLeaderError:
                stops += 1
            else:
                break
        assert document_of(swept).interruptions <= stops
        assert await outcome(admin, swept) == undisturbed


class Meddled(Objects):
    """Objects of a cluster in which something happens after the second page."""

    def __init__(self, objects: Objects, meddle: Any) -> None:
        self.__dict__ |= objects.__dict__
        self._meddle, self._pages = meddle, 0

    async def page(self, *args: Any, **more: Any) -> Page:
        """Return a page, after what happens."""
        self._pages += 1
        if self._pages == 3:
            await self._meddle()
        return await super().page(*args, **more)


def meddled(swept: Swept, meddle: Any) -> Swept:
    """Return a sweep in whose midst something happens."""
    return replace(swept, parts=replace(swept.parts, objects=Meddled(swept.parts.objects, meddle)))


def restart(server: RestartableServer) -> None:
    """Let kube-apiserver forget what only it remembers."""
    server.stop_kube_apiserver()
    server.start_kube_apiserver()


async def test_a_list_that_has_expired_goes_on_in_the_cluster_of_now(
    cluster: SweptCluster, admin: Client, swept: Swept
) -> None:
    """All Pods are judged once; the sweep says that it did not see one moment."""

    async def expire() -> None:
        await compact(cluster.server.etcd_url)
        restart(cluster.server)  # Not in a thread, with whose end the server would end.

    with capture_logs() as logs:
        await meddled(swept, expire).run()
    assert "it goes on in the cluster as it is now" in str(logs)
    document = document_of(swept)
    assert not document.consistent
    assert swept.metric("sallyport_sweep_progress_objects") == PODS
    assert document.namespaces == PODS // PER_NAMESPACE


async def test_a_list_that_is_gone_is_begun_anew(swept: Swept) -> None:
    """With another id: what the first one recorded stays, and counts for nothing."""

    async def gone() -> None:
        raise ClusterError("410 Gone", status=410)

    ids = iter([SWEEP, "019aa68f-4b3b-7000-8000-000000000002"])
    again = replace(swept, parts=replace(swept.parts, new_id=lambda _: next(ids)))
    await meddled(again, gone).run()
    document = document_of(swept)
    assert document.id == "019aa68f-4b3b-7000-8000-000000000002"
    assert document.consistent
    assert swept.metric("sallyport_sweep_progress_objects") == PODS


async def test_a_cluster_that_fails_is_taken_up_again(admin: Client, swept: Swept) -> None:
    """The failure goes to the loop, which calls again; it is counted as an interruption."""
    await swept.run()
    undisturbed = await outcome(admin, swept)
    await forget(admin)
    swept.frames.kept.clear()

    async def fail() -> None:
        raise ClusterError("503 Service Unavailable", status=503)

    with pytest.raises(ClusterError):
        await meddled(swept, fail).run()
    await swept.run()
    assert await outcome(admin, swept) == undisturbed
    assert document_of(swept).interruptions == 1
    assert swept.metric("sallyport_sweep_interruptions_total") == 1


@pytest.mark.parametrize(
    "change",
    [{"binaryData": {"cursor": "bm9uc2Vuc2U="}}, {"binaryData": {"cursor": None}}],
    ids=["damaged", "emptied"],
)
async def test_a_cursor_that_cannot_be_read_begins_a_new_sweep(
    admin: Client, swept: Swept, change: dict[str, Any]
) -> None:
    """Said aloud; a stranger's ConfigMap is no reason to skip what runs."""
    with pytest.raises(NotLeaderError):
        await swept.run(LostAfter(40))
    item = {"apiVersion": "v1", "kind": "ConfigMap"}
    metadata = {"name": "sallyport-sweep", "namespace": NAMESPACE}
    await admin.patch(item | {"metadata": metadata}, change)
    fresh = "019aa68f-4b3b-7000-8000-000000000003"
    with capture_logs() as logs:
        await swept.later(fresh).run()
    assert ("error", fresh) in {(log["log_level"], document_of(swept).id) for log in logs}
    assert document_of(swept).interruptions == 0
    assert swept.metric("sallyport_sweep_progress_objects") == PODS


async def test_two_that_sweep_do_not_overwrite_each_other(admin: Client, swept: Swept) -> None:
    """A write over a cursor that somebody else has stored meanwhile is a conflict."""

    async def other() -> None:
        item = {"apiVersion": "v1", "kind": "ConfigMap"}
        metadata = {"name": "sallyport-sweep", "namespace": NAMESPACE}
        await admin.patch(item | {"metadata": metadata}, {"data": {"about": "me"}})

    with pytest.raises(ClusterError) as raised:
        await meddled(swept, other).run()
    assert raised.value.status == 409
