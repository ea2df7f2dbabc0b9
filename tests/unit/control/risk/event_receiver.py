"""A receiver of security events on loopback, in the test's own event loop, and its transmitter."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from prometheus_client import CollectorRegistry

from control.risk.push.metrics import PushMetrics
from control.risk.push.receiver import PATH, SecurityEventReceiver
from core.base.errors import ClusterError
from core.risk.snapshot import RiskSnapshot, SnapshotDraft
from identity.clients.signing_keys import SigningKeys
from identity.push.security_events import SecurityEventSettings
from kube.leader.lease import Leadership
from kube.risk.store import RiskStore
from tests.harness.fakes.event_transmitter import AUDIENCE, ISSUER, Transmitter
from tests.unit.webhooks.connection import Answer, Connection
from webhooks.health import build_status_app
from webhooks.limits import ServerSettings
from webhooks.log import get_logger
from webhooks.readiness import Readiness
from webhooks.server import ServedApp, StopRequest, serve
from webhooks.tls import PairWatcher, TlsSettings

NOW = 1_790_000_000.0


@dataclass
class Memory:
    """A store that is no cluster: `update` as `kube.risk.store.RiskStore` has it."""

    snapshot: RiskSnapshot = field(default_factory=RiskSnapshot)
    failing: bool = False
    conflicts: int = 0
    """So many times the change is made on a draft that is thrown away."""
    held: asyncio.Event | None = None
    """Waited for before anything is stored."""
    writes: int = 0

    async def update(
        self, change: Callable[[SnapshotDraft], None], leadership: Leadership | None = None
    ) -> RiskSnapshot:
        """Store what a change makes; none of these is the leader's."""
        assert leadership is None
        if self.held is not None:
            await self.held.wait()
        if self.failing:
            raise ClusterError("kube-apiserver does not answer")
        for _ in range(self.conflicts):
            change(SnapshotDraft.of(self.snapshot))
        draft = SnapshotDraft.of(self.snapshot)
        change(draft)
        if draft.changed:
            self.snapshot = draft.finish(NOW)
            self.writes += 1
        return self.snapshot

    @property
    def store(self) -> RiskStore:
        """As the type that is asked for."""
        return cast("RiskStore", self)


@dataclass
class Receiving:
    """A running receiver."""

    transmitter: Transmitter
    memory: Memory
    registry: CollectorRegistry
    address: tuple[str, int]
    settings: SecurityEventSettings

    async def connect(self) -> Connection:
        """Open a connection over TLS."""
        ca = self.transmitter.authority.certificate_path
        context = ssl.create_default_context(cafile=ca)
        return Connection(*await asyncio.open_connection(*self.address, ssl=context))

    async def push(self, token: bytes, **changes: str | None) -> Answer:
        """Push a token; `changes` as of `request`."""
        return await self.send(request(token, "POST", PATH, **changes))

    async def send(self, raw: bytes) -> Answer:
        """Send a request on a connection of its own."""
        connection = await self.connect()
        try:
            return await connection.send(raw)
        finally:
            await connection.close()

    def counted(self) -> dict[str, int]:
        """Return how many tokens ended in which result."""
        (events,) = (
            each for each in self.registry.collect() if each.name == "sallyport_risk_events"
        )
        return {
            sample.labels["result"]: int(sample.value)
            for sample in events.samples
            if sample.name.endswith("_total")
            and sample.labels["source"] == "security-events"
            and sample.value
        }


def request(token: bytes, method: str = "POST", path: str = PATH, **changes: str | None) -> bytes:
    """Return a request; `changes` are headers with underscores, None to leave one out."""
    named = {name.replace("_", "-").title(): value for name, value in changes.items()}
    headers: Mapping[str, str | None] = {
        "Host": "sallyport",
        "Content-Type": "application/secevent+jwt",
        "Accept": "application/json",
        "Content-Length": str(len(token)),
        **named,
    }
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode() + token


@asynccontextmanager
async def receiving(
    folder: Path, memory: Memory | None = None, **changes: Any
) -> AsyncIterator[Receiving]:
    """Run a receiver on a free port; `changes` are of its settings."""
    memory = memory or Memory()
    with Transmitter(folder) as transmitter:
        async with receiving_from(transmitter, memory.store, **changes) as running:
            yield replace(running, memory=memory)


@asynccontextmanager
async def receiving_from(
    transmitter: Transmitter, store: RiskStore, **changes: Any
) -> AsyncIterator[Receiving]:
    """Run a receiver of a transmitter, with a store."""
    ca = transmitter.authority.certificate_path
    settings = SecurityEventSettings(ISSUER, AUDIENCE, transmitter.keys_url, trust=ca)
    settings = replace(settings, **changes)
    registry, keys = CollectorRegistry(), SigningKeys(settings)
    receiver = SecurityEventReceiver(settings, keys, store, PushMetrics(registry), get_logger())
    try:
        async with _served(receiver, transmitter) as address:
            yield Receiving(transmitter, Memory(), registry, address, settings)
    finally:
        await keys.close()


@asynccontextmanager
async def _served(
    receiver: SecurityEventReceiver, transmitter: Transmitter
) -> AsyncIterator[tuple[str, int]]:
    pair = transmitter.authority.issue_loopback_server("receiver")
    watcher = PairWatcher(TlsSettings(pair.certificate, pair.key), get_logger())
    readiness = Readiness({})
    started: asyncio.Future[tuple[str, int]] = asyncio.get_running_loop().create_future()
    stop = StopRequest()
    running = asyncio.create_task(
        serve(
            ServedApp(receiver, "security events", "identity.security_events.port"),
            build_status_app(readiness, CollectorRegistry()),
            ServerSettings(port=0, status_port=0, drain_seconds=0.0, finish_seconds=1.0),
            watcher,
            readiness,
            get_logger(),
            stop=stop,
            on_started=lambda addresses: started.set_result(addresses.served),
        )
    )
    try:
        async with asyncio.timeout(10):
            address = await started
        yield address
    finally:
        stop.ask()
        await running
