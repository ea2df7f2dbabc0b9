"""The controller of egress beside a test, or in a process of its own that a test may kill.

`python -m tests.harness.programs.egress_control SETTINGS` takes the settings as JSON. It
leads from the start: who leads is tested elsewhere.
"""

import asyncio
import math
import resource
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
from prometheus_client import CollectorRegistry

from app.processes.control.egress import make_egress
from app.settings.root import Settings
from control.egress.loop import Egress
from control.loop import LoopMetrics, RunningLoop
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.client.settings import LiveSettings
from kube.cluster.access_reviews import AccessReviews
from kube.cluster.live import LiveCluster
from kube.egress.watch import EgressWatch
from kube.leader.lease import Leadership
from tests.harness.programs.process import ServerProcess

TIMEOUT_S: Final = 4.0
SAMPLE_S: Final = 0.25

Json = dict[str, Any]


@dataclass
class Controlled:
    """A controller that runs."""

    egress: Egress
    registry: CollectorRegistry

    def metric(self, name: str, **labels: str) -> float:
        """Return a metric's value."""
        found = self.registry.get_sample_value(name, labels)
        assert found is not None, name
        return found


def settings_of(kubeconfig: Path, namespace: str, egress: Json | None = None) -> Settings:
    """Return the settings of a controller that is installed in a namespace."""
    section = {
        "resolver": {"servers": ["127.0.0.1:9"], "timeout": 0.2, "tries": 1},
        "ranges": {"pods": ["10.9.0.0/16"]},
    }
    return Settings.model_validate(
        {
            "kubeconfig": kubeconfig,
            "namespace": namespace,
            "egress": {**section, **(egress or {})},
        }
    )


@asynccontextmanager
async def controlling(settings: Settings) -> AsyncIterator[Controlled]:
    """Run the loops of egress until left."""
    registry = CollectorRegistry()
    async with AsyncExitStack() as stack:
        connection = Connection(settings.kubeconfig)
        await connection.open()
        stack.push_async_callback(connection.close)
        cluster = LiveCluster(settings.kubeconfig)
        await cluster.start()
        stack.push_async_callback(cluster.stop)
        world = EgressWatch(connection, LiveSettings())
        objects = Objects(connection, TIMEOUT_S)
        ask = AccessReviews(connection, LiveSettings()).ask
        egress = make_egress(settings, objects, world, cluster, ask, registry)
        metrics = LoopMetrics(registry)
        leadership = Leadership(1, math.inf, time.monotonic)
        running = [RunningLoop(loop, metrics) for loop in egress.loops]
        tasks = [asyncio.create_task(world.run())]
        tasks += [asyncio.create_task(each.keep_running(leadership)) for each in running]
        try:
            yield Controlled(egress, registry)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class Sample(msgspec.Struct):
    """How the process fares; a JSON line a time."""

    at: float
    """Unix seconds."""
    cpu: float
    """Seconds of processor time so far."""
    rss: int
    """Bytes of memory now."""
    resync: float
    """Seconds of the last look at all namespaces; 0 before its end."""
    looks: float
    writes: float
    waiting: int
    """Namespaces that are due."""


def samples(log: Path) -> list[Sample]:
    """Return what a process has printed so far."""
    lines = [line for line in log.read_bytes().splitlines() if line.startswith(b'{"at":')]
    return [msgspec.json.decode(line, type=Sample) for line in lines]


def _sample(controlled: Controlled) -> Sample:
    resync = controlled.metric("sallyport_egress_resync_seconds")
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Sample(
        time.time(),
        time.process_time(),
        pages * resource.getpagesize(),
        0.0 if math.isnan(resync) else resync,
        controlled.metric("sallyport_egress_looks_total"),
        controlled.metric("sallyport_egress_writes_total"),
        len(controlled.egress.queue),
    )


async def _serve(text: str) -> None:
    async with controlling(Settings.model_validate(msgspec.json.decode(text))) as controlled:
        while True:
            sys.stdout.write(f"{msgspec.json.encode(_sample(controlled)).decode()}\n")
            sys.stdout.flush()
            await asyncio.sleep(SAMPLE_S)


def start_control(settings: Settings, log: Path) -> ServerProcess:
    """Start a controller in a process of its own."""
    text = settings.model_dump_json(include={"kubeconfig", "namespace", "egress"})
    command = [sys.executable, "-m", "tests.harness.programs.egress_control", text]
    return ServerProcess(log.stem, command, log)


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
