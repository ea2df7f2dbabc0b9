"""A poller that runs against a fake Entra and the real kube-apiserver."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from prometheus_client import CollectorRegistry

from control.loop import LoopMetrics, RunningLoop
from control.risk.poll.loop import PollSettings, RiskPoller, build_poller
from core.risk.model import RiskEntry, RiskSource, identity_key
from core.risk.snapshot import Coverage, RiskSnapshot
from identity.entra.graph_requests import PollIntervals
from kube.client.objects import Objects
from kube.leader.lease import Leadership, boot_time
from kube.risk.store import RiskStore
from tests.harness.fakes.entra.entra import FakeEntra

QUICK: Final = PollIntervals(every_s=4.0, events_s=8.0, heartbeat_s=1.0, rest_s=2.0)
"""Times by which a test need not wait long; Graph is asked once a second all the same."""


@dataclass
class Polled:
    """One poller of this process, which leads."""

    entra: FakeEntra
    store: RiskStore
    polling: RiskPoller
    registry: CollectorRegistry
    leadership: Leadership

    async def snapshot(self) -> RiskSnapshot:
        """Return what is stored."""
        return await self.store.read()

    async def users(self) -> Coverage:
        """Return how far users are known."""
        return (await self.snapshot()).head.users

    async def entry(self, object_id: str) -> RiskEntry | None:
        """Return what is stored of an identity."""
        return (await self.snapshot()).entry(RiskSource.ENTRA, identity_key(object_id))

    def metric(self, name: str, **labels: str) -> float:
        """Return a metric's value; 0 where it is not shown."""
        return self.registry.get_sample_value(name, labels) or 0.0

    async def until(
        self, what: str, holds: Callable[[RiskSnapshot], Any], seconds: float = 90.0
    ) -> RiskSnapshot:
        """Wait for something to hold of what is stored, and give that."""
        found = await self.snapshot()

        async def stored() -> Any:
            nonlocal found
            found = await self.snapshot()
            return holds(found)

        await until(what, stored, seconds)
        return found


async def until(what: str, holds: Callable[[], Awaitable[Any]], seconds: float = 90.0) -> None:
    """Wait for something to hold."""
    end = time.monotonic() + seconds
    while not await holds():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        await asyncio.sleep(0.05)


def leading() -> Leadership:
    """Return a term that does not end by itself."""
    return Leadership(1, boot_time() + 3600, boot_time)


def quick(entra: FakeEntra, timeout_s: float = 10.0) -> PollSettings:
    """Return settings for a test that need not wait long."""
    settings = entra.poller_settings()
    return replace(settings, times=QUICK, graph=replace(settings.graph, timeout_s=timeout_s))


@asynccontextmanager
async def polled(
    objects: Objects,
    namespace: str,
    entra: FakeEntra,
    settings: PollSettings | None = None,
    in_use: frozenset[str] = frozenset(),
) -> AsyncIterator[Polled]:
    """Run a poller for a while; its loop is the real one."""
    settings = settings or quick(entra)
    registry = CollectorRegistry()
    store = RiskStore(objects, namespace)
    polling = build_poller(store, settings, registry, lambda: in_use)
    leadership = leading()
    loop = RunningLoop(polling.loop, LoopMetrics(registry))
    running = asyncio.create_task(loop.keep_running(leadership))
    try:
        yield Polled(entra, RiskStore(objects, namespace), polling, registry, leadership)
        failed = registry.get_sample_value("sallyport_loop_errors_total", {"loop": "risk"})
        assert failed == 0, loop.missing()
    finally:
        leadership.end()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await polling.close()
