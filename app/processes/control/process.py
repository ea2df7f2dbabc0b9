"""The process `sallyport control`: loops that look after a cluster, run by the leading replica."""

import asyncio
import platform
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Final

import uvloop
from structlog.typing import FilteringBoundLogger

from admission.bundles.watch import BundleWatch
from app.bundles.initial import load_initial_bundle
from app.cluster.live import open_live
from app.processes.control.bundle_source import announce_with_source, make_bundle_source
from app.processes.control.egress import make_egress
from app.processes.control.record import ClusterRecord
from app.processes.control.risk import ControlContext, RiskControl, open_risk
from app.processes.control.weights import WeightsControl, open_weights
from app.records.recorder import (
    Recording,
    cluster_id,
    open_auditor,
    open_recording,
    wait_for_cluster_id,
)
from app.settings.messages import name_setting
from app.settings.root import Settings
from app.wiring import make_judge, modes_of, runtimes_of, terms_of
from audit.clients.auditor import AuditorClient
from audit.ledger.records.recorder import LedgerRecorder
from audit.ledger.spool.queue import Spool
from control.approval_events import ApprovalEvents
from control.approvals.conditions import ApprovalJudge
from control.approvals.evaluation_cache import EvaluationCache
from control.approvals.loop import ApprovalStatuses
from control.backstop import Backstop
from control.bundles.activation import BundleActivation
from control.bundles.registry import RegistryImport
from control.certificates.loop import Certificates
from control.certificates.signing_keys import LedgerSigningKeys
from control.certificates.status import CertificateStatus
from control.discovery.loop import Discovery
from control.discovery.workload_kinds import DiscoveryChoices
from control.egress.loop import Egress
from control.filled_fields import FilledFields
from control.loop import Loop, LoopMetrics, Runner
from control.registrations.loop import Registrations
from control.required_crds import RequiredDefinitions
from control.sandbox_capacity.loop import CapacitySettings, SandboxCapacity
from control.sweep.cursor import CursorStore
from control.sweep.loop import Sweep, SweepParts
from control.sweep.metrics import SweepMetrics
from control.sweep.report_writer import ReportWriter
from control.sweep.settings import SweepSettings
from core.base.background import in_background
from core.base.errors import SettingsError
from core.base.process_names import CONTROL
from identity.subjects import parse_controllers
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.client.settings import LiveSettings
from kube.cluster.access_reviews import AccessReviews
from kube.cluster.live import LiveCluster
from kube.egress.watch import EgressWatch
from kube.leader.election import LeaseElection
from kube.leader.lease import LeaseSettings
from policies.engine.interface import Engine
from webhooks.bundle_metrics import BundleCollector
from webhooks.health import build_status_app
from webhooks.log import LogSettings, configure_logs, get_logger
from webhooks.metrics import process_registry
from webhooks.readiness import Readiness
from webhooks.server import serve_status

_LOOK_S: Final = 5.0
"""How often the sweep's loop asks whether one is due."""

_LONGEST_SWEEP_S: Final = 6 * 3600.0


def serve_control(settings: Settings) -> None:
    """Run until told to stop. Exits the process.

    Raises:
        SettingsError: there is no cluster to look after.
    """
    if settings.cluster is not None:
        raise SettingsError(f"{name_setting('cluster')}: control looks after real clusters only")
    sys.exit(uvloop.run(_serve(settings)))


@dataclass
class _Control:
    """The parts of the process."""

    settings: Settings
    logger: FilteringBoundLogger
    cluster: LiveCluster
    following: BundleWatch
    objects: Objects
    world: EgressWatch
    egress: Egress
    recording: Recording | None
    metrics: LoopMetrics
    risk: RiskControl | None
    record: ClusterRecord
    weights: WeightsControl
    taking: RegistryImport | None
    runner: Runner | None = field(default=None, init=False)

    def missing(self) -> list[str]:
        """Say what keeps the loops from their work."""
        if self.runner is None:
            return ["the cluster's id is not known yet"]
        return self.runner.missing()

    async def work(self) -> None:
        """Wait for the cluster's id, then take part in the election until cancelled."""
        cluster = await wait_for_cluster_id(cluster_id(self.settings, self.cluster))
        self.runner = Runner(self._election(), self._loops(cluster), self.metrics)
        work = [asyncio.create_task(self.runner.run())]
        if self.risk is not None:
            work.append(asyncio.create_task(self.risk.listen()))
        if self.recording is not None and self.recording.spool is not None:
            work.append(asyncio.create_task(self.record.follow()))
        try:
            # Not gather: cancelled twice, the runner does not give the Lease up.
            ended, _ = await asyncio.wait(work, return_when=asyncio.FIRST_EXCEPTION)
            for task in ended:
                task.result()
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)

    @property
    def _engine(self) -> Engine:
        return self.following.bundles.in_force.engine

    def _election(self) -> LeaseElection:
        return LeaseElection(self.objects, self.settings.namespace, CONTROL, platform.node())

    def _loops(self, cluster: str) -> list[Loop]:
        namespace = self.settings.namespace
        loops = [
            self._certificates(cluster),
            LedgerSigningKeys(self.objects, namespace).loop,
            RequiredDefinitions(self.objects, self.metrics.registry).loop,
            Registrations(
                self.objects, namespace, self.metrics.registry, release=version("sallyport")
            ).loop,
            Discovery(self.objects, self.metrics.registry, self._wanted()).loop,
            ApprovalEvents(
                self.objects,
                self.cluster.exceptions,
                self.cluster.break_glasses,
                self.metrics.registry,
            ).loop,
        ]
        questions = ApprovalJudge(self.cluster, terms_of(self.settings, self.cluster))
        evaluations = EvaluationCache(questions, self.cluster, self.world.approvable)
        loops.append(ApprovalStatuses(self.objects, evaluations, self.metrics.registry).loop)
        fields = FilledFields(self.objects, namespace, self.cluster.known_fields)
        loops += [self._backstop(), self._capacity(), self._bundles(), fields.loop]
        loops += self.egress.loops
        if self.taking is not None:
            loops.append(self.taking.loop)
        if self.risk is not None:
            loops += self.risk.loops(cluster, self.recording)
        recorder = self.recording.recorder if self.recording else None
        loops += self.weights.loops(cluster, recorder)
        if self.recording is None or self.recording.spool is None:
            fix = f"set {name_setting('spool.folder')}"
            self.logger.warning("nothing is swept, and nothing recorded of the cluster", fix=fix)
            return loops
        loops += self.record.loops(cluster, self.recording.recorder, self.recording.spool)
        sweep = Sweep(self._sweep_parts(cluster, self.recording.recorder, self.recording.spool))
        forget = sweep.parts.metrics.forget
        return [*loops, Loop("sweep", _LOOK_S, sweep.run, _LONGEST_SWEEP_S, forget)]

    def _certificates(self, cluster: str) -> Loop:
        section, namespace = self.settings.certificates, self.settings.namespace
        signs = CertificateStatus(self.objects, namespace, self.metrics.registry)
        return Certificates(
            self.objects,
            namespace,
            cluster,
            section.rotation(),
            signs=signs,
            writes=section.source == "sallyport",
        ).loop

    def _backstop(self) -> Loop:
        return Backstop(
            self.objects,
            self.settings.namespace,
            profiles=self.cluster.profiles,
            excepted=self.cluster.exceptions,
            sealed=self.cluster.break_glasses,
            modes=modes_of(self.settings.rollout, self.settings.default_mode),
            controllers=parse_controllers(self.settings.controllers).kinds,
            since=lambda: {rule.id: rule.since for rule in self._engine.rules.values()},
            registry=self.metrics.registry,
        ).loop

    def _bundles(self) -> Loop:
        standing = announce_with_source(self.following.announcement, self.taking)
        registry = self.metrics.registry
        return BundleActivation(self.objects, self.settings.namespace, standing, registry).loop

    def _capacity(self) -> Loop:
        section = self.settings.capacity
        return SandboxCapacity(
            self.objects,
            self.settings.namespace,
            runtimes_of(self.settings.sandbox),
            self.cluster.runtime_class,
            self.metrics.registry,
            CapacitySettings(section.interval, section.nodes_per_second),
        ).loop

    def _wanted(self) -> DiscoveryChoices:
        section = self.settings.discovery
        return DiscoveryChoices(frozenset(section.search), frozenset(section.skip))

    def _sweep_parts(self, cluster: str, recorder: LedgerRecorder, spool: Spool) -> SweepParts:
        metrics = SweepMetrics(self.metrics.registry)
        section = self.settings.sweep
        judge = self.following.bundles.in_force
        return SweepParts(
            objects=self.objects,
            judge=judge if self.risk is None else self.risk.noting(judge),
            recorder=recorder,
            cursors=CursorStore(self.objects, self.settings.namespace, cluster),
            reports=ReportWriter(self.objects, metrics),
            metrics=metrics,
            settings=SweepSettings(
                interval_s=section.interval, pods_per_second=section.pods_per_second
            ),
            severity_of=self._severity,
            settled=lambda: spool.settled,
        )

    def _severity(self, rule: str) -> str:
        known = self._engine.rules.get(rule)
        return known.severity if known else ""


@asynccontextmanager
async def _following(connection: Connection) -> AsyncIterator[EgressWatch]:
    """Yield what egress follows of the cluster, by replicas that do not lead too."""
    world = EgressWatch(connection, LiveSettings())
    async with in_background(world.run()):
        yield world


async def _serve(settings: Settings) -> int:
    writer = configure_logs(LogSettings(settings.log_format, settings.log_level))
    logger = get_logger()
    write_line = writer.msg if settings.record.lines else None
    metrics = LoopMetrics(process_registry(version("sallyport")))
    beginning = load_initial_bundle(settings)
    try:
        async with AsyncExitStack() as stack:
            cluster = await stack.enter_async_context(open_live(settings, statuses=True))
            following = await stack.enter_async_context(
                beginning.following(lambda engine: make_judge(cluster, engine, settings))
            )
            in_force = following.bundles.in_force
            metrics.registry.register(
                BundleCollector(following.announcement, lambda: following.bundles.counts)
            )
            connection = Connection(settings.kubeconfig)
            await connection.open()
            stack.push_async_callback(connection.close)
            auditor = await stack.enter_async_context(open_auditor(settings))
            recording = await stack.enter_async_context(
                open_recording(settings, cluster, logger, auditor, write_line)
            )
            if recording is not None:
                recording.show(metrics.registry)
            objects = Objects(connection, LeaseSettings().call_timeout_s)
            world = await stack.enter_async_context(_following(connection))
            reviews = AccessReviews(connection, LiveSettings())
            recorder = recording.recorder if recording is not None else None
            egress = make_egress(
                settings, objects, world, cluster, reviews.ask, metrics.registry, recorder
            )
            channel = auditor.channel if isinstance(auditor, AuditorClient) else None
            around = ControlContext(settings, objects, cluster, metrics.registry, logger, channel)
            risk = await stack.enter_async_context(open_risk(around))
            record = ClusterRecord(
                settings,
                connection,
                objects,
                cluster,
                lambda: in_force.engine.revision,
                metrics.registry,
            )
            weights = await stack.enter_async_context(open_weights(around))
            taking = make_bundle_source(settings, objects, metrics.registry)
            parts = (objects, world, egress, recording, metrics, risk, record, weights, taking)
            control = _Control(settings, logger, cluster, following, *parts)
            readiness = Readiness({"loops": control.missing, "policies": following.ended})
            status = build_status_app(readiness, metrics.registry)
            address = settings.status
            return await serve_status(
                status, address.host, address.port, readiness, logger, control.work()
            )
    finally:
        beginning.engine.close()
        writer.flush()
