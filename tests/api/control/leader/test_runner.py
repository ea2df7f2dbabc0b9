"""Two runners: the leader's loops run, the other's wait, and each says how it fares."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from control.loop import Loop, LoopMetrics, Runner
from core.base.errors import ClusterError
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.leader.election import LeaseElection
from kube.leader.lease import Leadership, LeaseSettings
from tests.api.control.leader.field import Field, through
from tests.api.kube.objects import wait_for
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.ports import free_ports

SETTINGS = LeaseSettings(duration_s=6, deadline_s=3.5, retry_s=0.3, call_timeout_s=1.5)
TIMEOUT_S = 60.0


class Process:
    """A runner with a loop that works and one that fails until it is mended."""

    def __init__(self, connection: Connection, field: Field, identity: str) -> None:
        self.runs = 0
        self.broken = True
        self.registry = CollectorRegistry()
        objects = Objects(connection, SETTINGS.call_timeout_s)
        election = LeaseElection(objects, field.namespace, field.lease, identity, SETTINGS)
        loops = (Loop("works", 0.05, self._work), Loop("fails", 0.05, self._fail))
        self.runner = Runner(election, loops, LoopMetrics(self.registry))
        self._task = asyncio.create_task(self.runner.run())

    async def _work(self, leadership: Leadership) -> None:
        leadership.require()
        self.runs += 1

    async def _fail(self, _: Leadership) -> None:
        if self.broken:
            raise ClusterError("no answer")

    @property
    def leads(self) -> bool:
        """What the metric says."""
        return self.registry.get_sample_value("sallyport_leader") == 1

    @property
    def last_success(self) -> float | None:
        """What the metric of the loop that works says."""
        name = "sallyport_loop_last_success_timestamp_seconds"
        return self.registry.get_sample_value(name, {"loop": "works"})

    async def stop(self) -> None:
        """Stop cleanly."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


@pytest.fixture
async def connection(apiserver: ApiServer) -> AsyncIterator[Connection]:
    """The cluster."""
    made = Connection(apiserver.kubeconfig())
    await made.open()
    yield made
    await made.close()


async def test_the_leader_works_the_other_waits_and_takes_over(
    connection: Connection, contest: Field
) -> None:
    """The one that waits is ready; the leader is once each of its loops has succeeded."""
    first = Process(connection, contest, "first")
    await wait_for(lambda: first.runs > 2, TIMEOUT_S)
    second = Process(connection, contest, "second")
    await wait_for(lambda: second.runner.missing() == [], TIMEOUT_S)
    assert (first.leads, second.leads, second.runs) == (True, False, 0)
    assert first.runner.missing() == ["loop fails: no answer"]
    first.broken = False
    await wait_for(lambda: first.runner.missing() == [], TIMEOUT_S)
    await first.stop()
    done = first.runs
    await wait_for(lambda: second.runs > 2, TIMEOUT_S)
    assert (first.leads, second.leads, first.runs) == (False, True, done)
    assert second.runner.missing() == ["loop fails: no answer"]
    assert first.last_success is None, "it would set off an alert on its age for ever"
    assert second.last_success is not None
    await second.stop()


async def test_without_kube_apiserver_it_is_not_ready_and_says_why(
    apiserver: ApiServer, contest: Field, tmp_path: Path
) -> None:
    """Leading or not: nobody knows."""
    (port,) = free_ports(1)
    path = through(port, apiserver.kubeconfig(), tmp_path / "nowhere.kubeconfig")
    connection = Connection(path)
    await connection.open()
    process = Process(connection, contest, "alone")
    assert process.runner.missing() == ["lease: no answer yet"]
    await wait_for(lambda: "cannot connect" in process.runner.missing()[0], TIMEOUT_S)
    assert not process.leads
    await process.stop()
    await connection.close()
