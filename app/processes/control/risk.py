"""Builds what `sallyport control` learns of risk, and what it does about it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry
from structlog.typing import FilteringBoundLogger

from app.entra.clients import event_hub_of, federated_token, poll_settings_of, security_events_of
from app.records.recorder import Recording
from app.settings.messages import name_setting
from app.settings.root import Settings
from audit.clients.auditor import AuditorChannel
from audit.clients.behaviour import BehaviourClient
from audit.clients.look_back import AuditorActs, AuditorReads
from control.loop import Loop
from control.risk.applications import ApplicationsInUse, NotingJudge
from control.risk.behaviour import Behaviours
from control.risk.look_back.events import LookBackEvents
from control.risk.look_back.loop import LookBackMetrics, LookBacks
from control.risk.look_back.search import NAMES_KEPT, NO_RECORDS, Sources
from control.risk.look_back.store import MemoryStore
from control.risk.poll.loop import build_poller
from control.risk.push.event_hub import EventHubLoop
from control.risk.push.metrics import PushMetrics
from control.risk.push.receiver import SecurityEventReceiver
from control.risk.table import RiskTables
from control.sweep.judge import Judge
from identity.clients.event_hub import EventHub
from identity.clients.signing_keys import SigningKeys
from identity.clients.tokens import SignIn, Tokens
from kube.client.objects import Objects
from kube.cluster.live import LiveCluster
from kube.risk.store import RiskStore
from webhooks.server import ServedApp, serve_side_listener
from webhooks.tls import PairWatcher, TlsSettings

_SWEEPS: Final = 3.0
"""A client id that only Pods name counts for as many sweeps after it was seen last."""


@dataclass(frozen=True)
class ControlContext:
    """What the process has besides."""

    settings: Settings
    objects: Objects
    cluster: LiveCluster
    registry: CollectorRegistry
    logger: FilteringBoundLogger
    auditor: AuditorChannel | None
    """The way to the auditor; None without one."""


@dataclass
class RiskControl:
    """All that has to do with risk, where it decides."""

    around: ControlContext
    store: RiskStore
    in_use: ApplicationsInUse
    own: list[Loop]
    """Loops that need no more than this."""
    receiver: SecurityEventReceiver | None = None

    def loops(self, cluster_id: str, recording: Recording | None) -> list[Loop]:
        """Return all loops."""
        section, found = self.around.settings.identity, list(self.own)
        if section.behaviour.enabled and self.around.auditor is not None:
            client = BehaviourClient(self.around.auditor, cluster_id)
            registry, every_s = self.around.registry, section.behaviour.every
            found.append(Behaviours(client, self.store, registry, every_s).loop)
        if section.look_back.enabled:
            found.append(self._look_backs(cluster_id, recording).loop)
        return found

    def noting(self, judge: Judge) -> Judge:
        """Return a judge for the sweep that also takes note of what Pods sign in as."""
        return NotingJudge(judge, self.in_use.note)

    async def listen(self) -> None:
        """Take security events until cancelled, where there is a transmitter.

        Raises:
            CannotBindError: the address is taken or wrong.
        """
        events = self.around.settings.identity.security_events
        if self.receiver is None or events.cert is None or events.key is None:
            await asyncio.Event().wait()
            return
        served = ServedApp(
            self.receiver, "security events", name_setting("identity.security_events.port")
        )
        logger = self.around.logger
        pair = PairWatcher(TlsSettings(events.cert, events.key), logger)
        await serve_side_listener(served, events.host, events.port, pair, logger)

    def _look_backs(self, cluster_id: str, recording: Recording | None) -> LookBacks:
        around = self.around
        settings, auditor = around.settings, around.auditor
        acts = AuditorActs(auditor, cluster_id) if auditor else None
        gaps = [] if acts else [NO_RECORDS]
        if acts and settings.record.people == "name":
            gaps.append(NAMES_KEPT)
        spool = recording.spool if recording else None
        return LookBacks(
            around.cluster.risk,
            Sources(
                around.objects,
                acts,
                cluster_id,
                tuple(gaps),
                AuditorReads(auditor, cluster_id) if auditor else None,
                suspends=settings.identity.suspend_exceptions,
            ),
            MemoryStore(around.objects, settings.namespace),
            LookBackEvents(around.objects, settings.namespace),
            recording.recorder if recording and spool else None,
            (lambda: spool.settled) if spool else (lambda: True),
            LookBackMetrics(around.registry),
            time.time,
            settings.identity.look_back.days,
        )


@asynccontextmanager
async def open_risk(around: ControlContext) -> AsyncIterator[RiskControl | None]:
    """Yield what has to do with risk; None where it decides nothing.

    Raises:
        SettingsError: the section `identity` is incomplete, or contradicts itself.
    """
    section = around.settings.identity
    if not section.enabled:
        yield None
        return
    settings, cluster = around.settings, around.cluster
    polling = poll_settings_of(section, federated_token())
    store = RiskStore(around.objects, settings.namespace)
    in_use = ApplicationsInUse(
        cluster.client_ids, cluster.risk, settings.pipelines, _SWEEPS * settings.sweep.interval
    )
    async with AsyncExitStack() as stack:
        poller = build_poller(store, polling, around.registry, in_use)
        stack.push_async_callback(poller.close)
        tables = RiskTables(around.objects, store, settings.namespace, around.registry)
        control = RiskControl(around, store, in_use, [poller.loop, tables.loop])
        await _open_pushes(control, polling.sign_in, stack)
        yield control


async def _open_pushes(control: RiskControl, sign_in: SignIn, stack: AsyncExitStack) -> None:
    """Add what is told of risk by others."""
    around, section = control.around, control.around.settings.identity
    hub_settings, events = event_hub_of(section), security_events_of(section)
    hub = None
    if hub_settings is not None:
        tokens = None
        if hub_settings.connection_string_file is None:
            tokens = Tokens(sign_in)
            stack.callback(tokens.close)
        hub = EventHub(hub_settings, tokens)
    metrics = PushMetrics(around.registry, lambda: hub is not None and hub.is_open)
    if hub is not None:
        events_in = EventHubLoop(hub, control.store, section.tenant, metrics)
        stack.push_async_callback(events_in.close)
        control.own.append(events_in.loop)
    if events is not None:
        keys = SigningKeys(events)
        stack.push_async_callback(keys.close)
        control.receiver = SecurityEventReceiver(
            events, keys, control.store, metrics, around.logger
        )
