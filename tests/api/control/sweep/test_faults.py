"""What the sweep cannot do holds up neither itself nor what it can do."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from audit.ledger.records.frames import FrameKind
from core.base.errors import NotRecordedError
from tests.api.control.sweep.conftest import FAST, SWEEP, SweptCluster
from tests.api.control.sweep.rights import rights
from tests.api.control.sweep.sweep_run import Frames, Swept, document_of, report_in, reports
from tests.harness.programs.client import Client, Json
from tests.harness.programs.etcd import put_pods
from tests.harness.programs.sweeper import NAMESPACE, open_parts
from tests.harness.published.openreports import crds, install_crds
from tests.harness.worlds.running_pods import namespace_name, running_pods

PODS = 40


@pytest.fixture(autouse=True)
async def pods(cluster: SweptCluster, admin: Client) -> None:
    """Pods in one namespace."""
    await admin.create_namespace(namespace_name(0))
    await put_pods(cluster.server.etcd_url, running_pods(PODS))


class FullAtTimes(Frames):
    """Takes no frame, each time, until it has been asked twice."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = 0
        self._takes = False

    def append(self, kind: int, frame_id: bytes, payload: bytes) -> None:
        """Keep a frame at the second attempt."""
        self._takes = not self._takes
        if self._takes:
            self.refused += 1
            raise NotRecordedError("the spool is full")
        super().append(kind, frame_id, payload)


async def test_nothing_is_lost_while_nothing_can_be_recorded(
    swept: Swept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep waits, says so, and records everything once that is possible again."""
    monkeypatch.setattr("control.sweep.loop._RECORD_AGAIN_S", 0.01)
    await swept.run()
    full = FullAtTimes()
    parts = replace(swept.parts, recorder=replace(swept.parts.recorder, spool=full, _sent={}))
    again = replace(swept, parts=parts, frames=full)
    with capture_logs() as logs:
        await again.at(2e9).run()
    for kind in FrameKind:
        assert full.of(kind).keys() == swept.frames.of(kind).keys()
    assert full.refused == len(full.kept) > 10
    assert "nothing can be recorded" in str(logs)


async def test_the_cursor_never_goes_further_than_what_is_kept(swept: Swept) -> None:
    """A spool that has not written everything yet is waited for before each store."""
    answers = iter([False, False, True, False, True])
    asked = []

    def settled() -> bool:
        asked.append(next(answers))
        return asked[-1]

    await replace(swept, parts=replace(swept.parts, settled=settled)).run()
    assert asked == [False, False, True, False, True]


async def test_without_openreports_the_sweep_goes_on(admin: Client, swept: Swept) -> None:
    """Said once; the ledger and the metrics have everything."""
    for crd in crds():
        await admin.delete(crd)
    try:
        await admin.wait_until_gone("/apis/openreports.io/v1alpha1")
        with capture_logs() as logs:
            await swept.run()
            await swept.at(2e9).later("019aa68f-4b3b-7000-8000-000000000001").run()
        assert [log["log_level"] for log in logs if "OpenReports" in log["event"]] == ["warning"]
        assert swept.metric("sallyport_reports_unavailable") == 1
        assert len(swept.frames.of(FrameKind.SWEEP)) == 2
    finally:
        await install_crds(admin)
    await swept.at(3e9).later("019aa68f-4b3b-7000-8000-000000000002").run()
    assert swept.metric("sallyport_reports_unavailable") == 0
    assert len(await reports(admin)) == 1


@asynccontextmanager
async def limited(
    cluster: SweptCluster, admin: Client, name: str, keep: Callable[[Json], bool]
) -> AsyncIterator[Swept]:
    """Yield a sweep as an account that lacks some of the rights."""
    await admin.create_service_account(name, NAMESPACE)
    await admin.apply(rights(name, keep))
    token = await admin.create_token(name, NAMESPACE)
    kubeconfig = cluster.server.kubeconfig_for_token(name, token)
    frames = Frames()
    async with open_parts(kubeconfig, frames, FAST, SWEEP) as (parts, registry):
        yield Swept(parts, registry, frames)


async def test_a_report_that_cannot_be_written_holds_nothing_up(
    cluster: SweptCluster, admin: Client, swept: Swept
) -> None:
    """It is counted and said, and the one of the last sweep stays."""
    await swept.run()
    before = await report_in(admin, namespace_name(0))

    def keep(rule: Json) -> bool:
        return bool(rule["resources"] != ["reports"])

    async with limited(cluster, admin, "no-reports", keep) as other:
        with capture_logs() as logs:
            await other.at(2e9).later("019aa68f-4b3b-7000-8000-000000000001").run()
    assert other.metric("sallyport_reports_written_total", result="error") == 1
    assert "a report cannot be written" in str(logs)
    assert await report_in(admin, namespace_name(0)) == before
    _, total = await admin.request(
        "GET", "/apis/openreports.io/v1alpha1/clusterreports/sallyport-sweep"
    )
    assert "1 Report could not be written" in total["results"][0]["message"]


async def test_what_nobody_can_judge_is_an_error_in_record_and_report(
    cluster: SweptCluster, admin: Client
) -> None:
    """Without the right to ask who may do what, no Pod that stands on a right has a verdict.

    One that nothing owns and that carries a note was its maker's: no right is in question.
    """
    noted = [
        pod
        for pod in running_pods(PODS)
        if "sallyport.dev/profile" in pod["metadata"]["annotations"]
        and pod["status"]["phase"] not in {"Succeeded", "Failed"}
        and "deletionTimestamp" not in pod["metadata"]
    ]

    def keep(rule: Json) -> bool:
        return bool(rule["apiGroups"] != ["authorization.k8s.io"])

    async with limited(cluster, admin, "no-reviews", keep) as other:
        await other.run()
        document = document_of(other)
    assert document.verdicts["error"] == document.objects - len(noted) > PODS // 2
    report = await report_in(admin, namespace_name(0))
    assert report["summary"]["error"] == document.verdicts["error"]
    assert report["results"][0]["rule"] == "error/access-review"
    assert report["results"][0]["result"] == "error"
