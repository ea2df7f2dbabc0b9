"""What reads a real event hub into a real risk store; run as a program, it can be killed."""

import asyncio
import contextlib
import os
import signal
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
from prometheus_client import CollectorRegistry

from control.risk.push.event_hub import EventHubLoop
from control.risk.push.metrics import PushMetrics
from core.risk.model import RiskEntry, RiskSource, identity_key
from core.risk.snapshot_storage import HEAD_NAME
from identity.clients import event_hub
from identity.clients.event_hub import Batch, EventHub, EventHubSettings, TokenSource
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from kube.risk.store import RiskStore
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.kafka import CONNECTION_STRING, Kafka, TokenIssuer
from tests.harness.worlds.entra_records import TENANT, USER, changed

POINTS: Final = ("after reading", "after storing", "after committing")
"""Where a process may be killed."""


@dataclass
class Issued:
    """Gives tokens as Entra ID does, to whoever asks for a scope."""

    issuer: TokenIssuer
    asked: list[str] = field(default_factory=list)
    lasts_s: float = 3600.0

    async def get(self, scope: str) -> str:
        """Return a token for a scope."""
        self.asked.append(scope)
        return self.issuer.token(audience=scope.removesuffix("/.default"), lasts_s=self.lasts_s)


@dataclass
class Reading:
    """One process's reader of a hub."""

    events: EventHubLoop
    hub: EventHub
    store: RiskStore
    registry: CollectorRegistry
    leadership: Leadership
    connection: Connection

    async def until(self, done: Callable[[], Any], seconds: float = 90.0) -> None:
        """Run its loop as the leader until something is so (an awaitable, or not)."""
        running = asyncio.create_task(self._keep_running())
        try:
            async with asyncio.timeout(seconds):
                while not running.done():
                    found = done()
                    if await found if asyncio.iscoroutine(found) else found:
                        break
                    await asyncio.sleep(0.02)
            if running.done():
                running.result()
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    async def _keep_running(self) -> None:
        while True:
            await self.events.run(self.leadership)

    async def entry(self, person: str, family: RiskSource = RiskSource.ENTRA) -> RiskEntry | None:
        """Return what is stored of a person."""
        return (await self.store.read()).entry(family, identity_key(person))

    def counted(self, source: str = "event-hub") -> dict[str, int]:
        """Return how many records ended in which result."""
        return counted(self.registry, source)


async def known(reader: Reading, *numbers: int) -> bool:
    """Return whether all these people are in the stored snapshot."""
    snapshot = await reader.store.read()
    keys = {key for key, _ in snapshot.entries(RiskSource.ENTRA)}
    return {identity_key(person(number)) for number in numbers} <= keys


def counted(registry: CollectorRegistry, source: str) -> dict[str, int]:
    """Return how many events of a source ended in which result."""
    (events,) = (each for each in registry.collect() if each.name == "sallyport_risk_events")
    return {
        sample.labels["result"]: int(sample.value)
        for sample in events.samples
        if sample.name.endswith("_total") and sample.labels["source"] == source and sample.value
    }


def leading() -> Leadership:
    """Return a term that lasts until it is ended."""
    return Leadership(1, float("inf"), lambda: 0.0)


def hub_settings(kafka: Kafka, topic: str, **changes: Any) -> EventHubSettings:
    """Return settings for a topic of the broker, with a group of its own."""
    given: dict[str, Any] = {
        "servers": (kafka.server,),
        "topics": (topic,),
        "group": f"group-{topic}",
        "trust": kafka.authority.certificate_path,
    }
    return EventHubSettings(**given | changes)


@asynccontextmanager
async def reading(
    server: ApiServer, namespace: str, settings: EventHubSettings, tokens: TokenSource | None
) -> AsyncIterator[Reading]:
    """Yield a reader that has not begun."""
    before = _sockets()
    connection = Connection(server.kubeconfig())
    await connection.open()
    store = RiskStore(Objects(connection), namespace)
    hub, registry = EventHub(settings, tokens), CollectorRegistry()
    events = EventHubLoop(hub, store, TENANT, PushMetrics(registry, lambda: hub.is_open))
    try:
        yield Reading(events, hub, store, registry, leading(), connection)
    finally:
        await events.close()
        await connection.close()
        await _said_goodbye(before)


def _sockets() -> int:
    """Count what the event loop listens to."""
    return len(getattr(asyncio.get_running_loop(), "_selector").get_map())  # noqa: B009


async def _said_goodbye(before: int) -> None:
    """Wait for TLS to end: aiokafka does not, of connections that could not sign in."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(10):
            while _sockets() > before:  # noqa: ASYNC110  Nothing tells when a socket is closed.
                await asyncio.sleep(0.02)


async def new_topic(kafka: Kafka, partitions: int = 1) -> str:
    """Make a topic of a test's own."""
    name = f"risk-{uuid.uuid4().hex[:8]}"
    await kafka.make_topic(name, partitions)
    return name


def person(number: int) -> str:
    """Return an object id."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, str(number)))


def risky(number: int, level: str = "high", updated: str = "2022-08-22T18:11:52.702Z") -> Any:
    """Return the record of a person at risk."""
    return changed(USER, id=person(number), riskLevel=level, riskLastUpdatedDateTime=updated)


async def head_version(connection: Connection, namespace: str) -> str:
    """Return the resourceVersion of the stored head; empty where there is none."""
    path = f"/api/v1/namespaces/{namespace}/secrets/{HEAD_NAME}"
    found: Mapping[str, Any] | None = await Objects(connection).get(path)
    return str(found["metadata"]["resourceVersion"]) if found else ""


class Doomed(msgspec.Struct, frozen=True):
    """What the program is told, as JSON in its one argument."""

    kubeconfig: str
    namespace: str
    server: str
    trust: str
    topic: str
    group: str
    string_file: str
    point: str


class _MortalHub(EventHub):
    """Ends its process at a point of the first batch."""

    point = ""

    async def receive(self, wait_s: float) -> Batch | None:
        """Read, and perhaps die."""
        batch = await super().receive(wait_s)
        self._die(POINTS[0], batch)
        return batch

    async def commit(self, batch: Batch) -> None:
        """Commit, and perhaps die: before it is after storing."""
        self._die(POINTS[1], batch)
        await super().commit(batch)
        self._die(POINTS[2], batch)

    def _die(self, point: str, batch: Batch | None) -> None:
        if batch is not None and point == self.point:
            os.kill(os.getpid(), signal.SIGKILL)


async def _run(doomed: Doomed) -> None:
    event_hub.MOST_MESSAGES = 4  # type: ignore[misc]  # Else the first batch is all there is.
    settings = EventHubSettings(
        (doomed.server,),
        (doomed.topic,),
        doomed.group,
        Path(doomed.string_file),
        allow_connection_string=True,
        trust=Path(doomed.trust),
    )
    hub = _MortalHub(settings, None)
    hub.point = doomed.point
    connection = Connection(Path(doomed.kubeconfig))
    await connection.open()
    store = RiskStore(Objects(connection), doomed.namespace)
    events = EventHubLoop(hub, store, TENANT, PushMetrics(CollectorRegistry()))
    until = time.monotonic() + 120
    while time.monotonic() < until:
        await events.run(leading())


def connection_string_file(folder: Path) -> Path:
    """Write the broker's connection string into a file."""
    path = folder / "connection-string"
    path.write_text(CONNECTION_STRING + "\n")
    return path


if __name__ == "__main__":
    asyncio.run(_run(msgspec.json.decode(sys.argv[1], type=Doomed)))
