"""The process `sallyport gate`: the webhooks, and a shadow bundle where the settings name one."""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version

import uvloop
from prometheus_client import CollectorRegistry

from admission.bundles.shadow import ActiveBundle, Shadow
from admission.bundles.watch import BundleWatch
from admission.judge import Judge
from app.bundles.initial import load_initial_bundle
from app.cluster.default_deny import default_deny_of
from app.processes.gate.huge_pages import use_huge_pages
from app.records.recorder import Recording, open_auditor, open_recording
from app.settings.messages import name_setting
from app.settings.root import Settings
from app.wiring import load_embedded, make_judge, open_cluster
from audit.ledger.records.destination import Destination
from certs.self_signed_pair import PairFiles
from core.base.errors import NotSyncedError, SettingsError
from core.cluster import Cluster
from policies.bundle.format import Bundle, read_bundle
from policies.engine.cache import RememberingEngine
from policies.engine.interface import Engine
from webhooks.app import AdmissionApp
from webhooks.bundle_metrics import BundleCollector, ShadowCollector
from webhooks.health import build_status_app
from webhooks.limits import AppSettings, ServerSettings
from webhooks.log import LineWriter, LogSettings, configure_logs, get_logger
from webhooks.metrics import Metrics, MetricSources
from webhooks.readiness import Readiness
from webhooks.risk_metrics import RiskCollector
from webhooks.server import Addresses, ServedApp, serve
from webhooks.tls import PairWatcher, TlsSettings

OpenDestination = Callable[[Settings], AbstractAsyncContextManager[Destination | None]]


@contextmanager
def open_shadow(
    settings: Settings,
    cluster: Cluster,
    in_force: Callable[[], ActiveBundle],
    registry: CollectorRegistry,
) -> Iterator[Shadow | None]:
    """Yield the shadow, started, and show it to Prometheus.

    A candidate that cannot be loaded keeps no gate from starting: it is logged and shown.
    """
    path = settings.shadow.bundle
    if path is None:
        yield None
        return

    def load() -> tuple[Bundle, Engine]:
        bundle = read_bundle(path)
        return bundle, load_embedded(bundle, settings.evaluation, shadow.observe)

    budget, points = settings.shadow.budget, settings.sandbox.points
    shadow = Shadow(load, cluster.profiles, in_force, budget, points)
    registry.register(ShadowCollector(shadow))
    shadow.start()
    try:
        yield shadow
    finally:
        shadow.stop()


@dataclass(frozen=True)
class GateSetup:
    """What differs between a gate in a cluster and one on a laptop."""

    pair: PairFiles
    log: LogSettings
    drain_seconds: float
    on_started: Callable[[Addresses], None] | None = None
    open_destination: OpenDestination = open_auditor
    """Opens what the records go to."""


def serve_gate(settings: Settings) -> None:
    """Serve until told to stop. Exits the process."""
    listen = settings.listen
    if listen.cert is None or listen.key is None:
        names = " and ".join(map(name_setting, ("listen.cert", "listen.key")))
        raise SettingsError(f"{names}: kube-apiserver speaks TLS only; give both")
    if listen.client_names and listen.client_ca is None:
        names = " and ".join(map(name_setting, ("listen.client_names", "listen.client_ca")))
        raise SettingsError(f"{names}: nobody shows a certificate without a CA; give both")
    pair = PairFiles(ca=listen.cert, certificate=listen.cert, key=listen.key)
    log = LogSettings(settings.log_format, settings.log_level)
    where = GateSetup(pair, log, listen.drain_seconds)
    sys.exit(uvloop.run(serve_until_signal(settings, where)))


async def serve_until_signal(settings: Settings, where: GateSetup) -> int:
    """Serve until a signal comes; give the exit code."""
    writer = configure_logs(where.log)
    logger = get_logger()
    metrics = Metrics(version("sallyport"))
    beginning = load_initial_bundle(settings, metrics.observe_evaluation, announces=True)
    tls = TlsSettings(where.pair.certificate, where.pair.key, settings.listen.client_ca)
    pair = PairWatcher(tls, logger)
    write_line = writer.msg if settings.record.lines else None
    shadows = ExitStack()
    try:
        async with (
            open_cluster(settings, default_deny=default_deny_of(settings.egress)) as cluster,
            where.open_destination(settings) as destination,
            open_recording(settings, cluster, logger, destination, write_line) as recording,
            beginning.following(partial(_judge, cluster, settings)) as following,
        ):
            shadow = shadows.enter_context(
                open_shadow(settings, cluster, partial(_engine, following), metrics.registry)
            )
            readiness = Readiness(
                {
                    "certificate": pair.missing,
                    "cluster": cluster.missing,
                    "policies": following.missing,
                    "engine": partial(_engine_missing, following),
                }
            )
            _watch(metrics, readiness, cluster, following, pair, writer, recording)
            app = AdmissionApp(
                following.bundles.in_force,
                readiness,
                metrics,
                logger,
                _app_settings(settings),
                recording.recorder if recording else None,
                shadow,
            )
            # What is here now stays: a full collection looked at it all, for 40 ms and more.
            gc.collect()
            gc.freeze()
            use_huge_pages()
            return await serve(
                ServedApp(
                    app,
                    "webhooks",
                    name_setting("listen.port"),
                    app.max_body_bytes,
                    app.count_dropped,
                    app.answer,
                    frozenset(settings.listen.client_names),
                ),
                build_status_app(readiness, metrics.registry),
                _server_settings(settings, where),
                pair,
                readiness,
                logger,
                on_started=where.on_started,
            )
    finally:
        shadows.close()
        beginning.engine.close()
        writer.flush()


def _judge(cluster: Cluster, settings: Settings, engine: RememberingEngine) -> Judge:
    return make_judge(cluster, engine, settings)


def _engine(following: BundleWatch) -> RememberingEngine:
    return following.bundles.in_force.engine


def _engine_missing(following: BundleWatch) -> list[str]:
    return _engine(following).missing()


def _watch(  # noqa: PLR0913, PLR0917  All that Prometheus hears of.
    metrics: Metrics,
    readiness: Readiness,
    cluster: Cluster,
    following: BundleWatch,
    pair: PairWatcher,
    writer: LineWriter,
    recording: Recording | None,
) -> None:
    in_force = following.bundles.in_force
    metrics.watch(
        MetricSources(
            missing=readiness.missing,
            access_reviews=cluster.access_reviews,
            evaluations=in_force.evaluations,
            policy_revision=lambda: in_force.engine.revision,
            profiles_revision=lambda: _revision(cluster),
            certificate_not_after=lambda: pair.not_after,
            certificate_reloads=lambda: pair.reloads,
            log_lines_dropped=lambda: writer.dropped,
            declared_kinds=lambda: in_force.engine.reads.kinds,
        )
    )
    metrics.registry.register(RiskCollector(cluster.risk))
    metrics.registry.register(
        BundleCollector(following.announcement, lambda: following.bundles.counts)
    )
    if recording is not None:
        recording.show(metrics.registry)


def _revision(cluster: Cluster) -> str:
    try:
        return cluster.profiles().revision
    except NotSyncedError:
        return ""


def _app_settings(settings: Settings) -> AppSettings:
    listen = settings.listen
    return AppSettings(
        listen.max_body_bytes,
        listen.max_held_bytes,
        authenticates=listen.authenticates,
        has_other_gates=settings.record.other_gates,
        log_recorded=not settings.record.lines,
    )


def _server_settings(settings: Settings, where: GateSetup) -> ServerSettings:
    return ServerSettings(
        host=settings.listen.host,
        port=settings.listen.port,
        status_host=settings.status.host,
        status_port=settings.status.port,
        drain_seconds=where.drain_seconds,
    )
