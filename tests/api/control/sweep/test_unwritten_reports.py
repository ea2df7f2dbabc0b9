"""A Report that cannot be written keeps no outdated Report of another namespace alive."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any, Final

import pytest
from structlog.testing import capture_logs

from control.sweep import progress
from control.sweep.report_writer import ReportWriter
from core.base.errors import ClusterError
from kube.client.objects import Objects
from tests.api.control.sweep.conftest import SweptCluster
from tests.api.control.sweep.sweep_run import Swept, reports
from tests.harness.programs.client import Client, Json
from tests.harness.programs.etcd import delete_pods, put_pods
from tests.harness.worlds.running_pods import namespace_name, running_pods

PODS, PER_NAMESPACE = 120, 40
"""Three namespaces."""

MENDED, BROKEN, OTHER = map(namespace_name, range(PODS // PER_NAMESPACE))
ENDING: Final = "ending"
LATER: Final = "019aa68f-4b3b-7000-8000-000000000001"


@pytest.fixture(autouse=True)
async def pods(cluster: SweptCluster, admin: Client) -> None:
    """Pods in three namespaces."""
    for namespace in (MENDED, BROKEN, OTHER):
        await admin.create_namespace(namespace)
    await put_pods(cluster.server.etcd_url, running_pods(PODS, PER_NAMESPACE))


@pytest.fixture
async def ending(cluster: SweptCluster, admin: Client) -> AsyncIterator[None]:
    """A namespace with Pods that is being deleted, and does not come to its end."""
    await admin.create_namespace(ENDING)
    moved = [
        pod | {"metadata": pod["metadata"] | {"namespace": ENDING}}
        for pod in running_pods(PER_NAMESPACE)
    ]
    await put_pods(cluster.server.etcd_url, moved)
    path = f"/api/v1/namespaces/{ENDING}"
    _, namespace = await admin.request("DELETE", path)
    assert namespace["status"]["phase"] == "Terminating"
    yield
    await delete_pods(cluster.server.etcd_url, ENDING)
    status, _ = await admin.request("PUT", f"{path}/finalize", namespace | {"spec": {}})
    assert status == 200


async def namespaces(admin: Client) -> dict[str, str]:
    """Return the sweep that each namespace's Report is of."""
    return {
        report["metadata"]["namespace"]: report["metadata"]["annotations"]["sallyport.dev/sweep"]
        for report in await reports(admin)
    }


async def total(admin: Client) -> str:
    """Return what the ClusterReport says."""
    path = "/apis/openreports.io/v1alpha1/clusterreports/sallyport-sweep"
    _, report = await admin.request("GET", path)
    said: str = report["results"][0]["message"]
    return said


@pytest.mark.usefixtures("ending")
async def test_a_namespace_that_does_not_end_holds_nothing_up(
    cluster: SweptCluster, admin: Client, swept: Swept
) -> None:
    """It is called what it is, which is no lack of rights; other Reports come and go."""
    await swept.run()
    await delete_pods(cluster.server.etcd_url, MENDED)
    with capture_logs() as logs:
        await swept.at(2e9).later(LATER).run()
    assert await namespaces(admin) == {BROKEN: LATER, OTHER: LATER}
    (log,) = (log for log in logs if log["log_level"] in {"warning", "error"})
    assert log["namespace"] == ENDING
    assert "it is being deleted" in log["event"]
    assert "rbac" not in str(log).lower()
    assert swept.metric("sallyport_reports_written_total", result="error") == 0
    assert "1 Report could not be written" in await total(admin)


class RefusingIn(Objects):
    """Objects of a cluster that takes no Report in one namespace."""

    def __init__(self, objects: Objects, namespace: str) -> None:
        self.__dict__ |= objects.__dict__
        self._namespace = namespace

    async def apply(self, path: str, body: Mapping[str, Any], *manager: str) -> Json:
        """Set what is not there."""
        if body["metadata"].get("namespace") == self._namespace:
            raise ClusterError("422 Unprocessable Entity", status=422)
        return await super().apply(path, body, *manager)


def refusing(swept: Swept) -> Swept:
    """Return a sweep whose Report of one namespace is not taken."""
    writer = ReportWriter(RefusingIn(swept.parts.objects, BROKEN), swept.parts.metrics)
    return replace(swept, parts=replace(swept.parts, reports=writer)).at(2e9).later(LATER)


async def test_what_could_not_be_replaced_stays(
    cluster: SweptCluster, admin: Client, swept: Swept
) -> None:
    """What was found there is known from the sweep before only."""
    await swept.run()
    (before,) = set((await namespaces(admin)).values())
    await delete_pods(cluster.server.etcd_url, MENDED)
    await refusing(swept).run()
    assert await namespaces(admin) == {BROKEN: before, OTHER: LATER}
    assert swept.metric("sallyport_reports_written_total", result="error") == 1


async def test_more_than_can_be_remembered_keep_all_reports(
    cluster: SweptCluster, admin: Client, swept: Swept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which are outdated is not known then; it is said."""
    monkeypatch.setattr(progress, "MOST_UNWRITTEN", 0)
    await swept.run()
    (before,) = set((await namespaces(admin)).values())
    await delete_pods(cluster.server.etcd_url, MENDED)
    with capture_logs() as logs:
        await refusing(swept).run()
    assert await namespaces(admin) == {MENDED: before, BROKEN: before, OTHER: LATER}
    assert "outdated reports stay" in str(logs)
