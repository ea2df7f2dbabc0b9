"""The webhooks, as long as the process lives: `sallyport gate`, and what `run` starts."""

import gc
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.metadata import version

import uvloop

from audit.ledger.destination import Destination
from certs.selfsigned import PairFiles
from cli.egress_ground import default_deny_of
from cli.huge_pages import use_huge_pages
from cli.parts import make_engine, make_judge, open_cluster
from cli.recording import Recording, open_auditor, open_recording
from cli.settings import Settings
from cli.settings_errors import name_setting
from core.cluster import Cluster
from core.errors import NotSyncedError, SettingsError
from policies.engine.remembered import RememberingEngine
from webhooks.app import AdmissionApp, AppSettings
from webhooks.lines import LineWriter
from webhooks.logs import LogSettings, configure_logs, get_logger
from webhooks.metrics import Metrics, Sources
from webhooks.readiness import Readiness
from webhooks.risk_metrics import RiskCollector
from webhooks.server import Addresses, Served, ServerSettings, serve
from webhooks.status import build_status_app
from webhooks.tls import PairWatcher, TlsSettings

OpenDestination = Callable[[Settings], AbstractAsyncContextManager[Destination | None]]


@dataclass(frozen=True)
class Where:
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
    pair = PairFiles(ca=listen.cert, certificate=listen.cert, key=listen.key)
    log = LogSettings(form=settings.log_format)
    where = Where(pair, log, listen.drain_seconds)
    sys.exit(uvloop.run(serve_until_told(settings, where)))


async def serve_until_told(settings: Settings, where: Where) -> int:
    """Serve until a signal comes; give the exit code."""
    writer = configure_logs(where.log)
    logger = get_logger()
    metrics = Metrics(version("sallyport"))
    engine = make_engine(settings.bundle, settings.evaluation, metrics.observe_evaluation)
    tls = TlsSettings(where.pair.certificate, where.pair.key, settings.listen.client_ca)
    pair = PairWatcher(tls, logger)
    write_line = writer.msg if settings.record.lines else None
    try:
        async with (
            open_cluster(settings, default_deny=default_deny_of(settings.egress)) as cluster,
            where.open_destination(settings) as destination,
            open_recording(settings, cluster, logger, destination, write_line) as recording,
        ):
            readiness = Readiness({"certificate": pair.missing, "cluster": cluster.missing})
            _watch(metrics, readiness, cluster, engine, pair, writer, recording)
            app = AdmissionApp(
                make_judge(cluster, engine, settings),
                readiness,
                metrics,
                logger,
                _app_settings(settings),
                recording.recorder if recording else None,
            )
            # What is here now stays: a full collection looked at it all, for 40 ms and more.
            gc.collect()
            gc.freeze()
            use_huge_pages()
            return await serve(
                Served(
                    app,
                    "webhooks",
                    name_setting("listen.port"),
                    app.max_body_bytes,
                    app.count_dropped,
                    app.answer,
                ),
                build_status_app(readiness, metrics.registry),
                _server_settings(settings, where),
                pair,
                readiness,
                logger,
                on_started=where.on_started,
            )
    finally:
        engine.close()
        writer.flush()


def _watch(  # noqa: PLR0913, PLR0917  All that Prometheus hears of.
    metrics: Metrics,
    readiness: Readiness,
    cluster: Cluster,
    engine: RememberingEngine,
    pair: PairWatcher,
    writer: LineWriter,
    recording: Recording | None,
) -> None:
    metrics.watch(
        Sources(
            missing=readiness.missing,
            access_reviews=cluster.access_reviews,
            evaluations=lambda: {"remembered": engine.hits, "evaluated": engine.misses},
            policy_revision=lambda: engine.revision,
            profiles_revision=lambda: _revision(cluster),
            certificate_not_after=lambda: pair.not_after,
            certificate_reloads=lambda: pair.reloads,
            log_lines_dropped=lambda: writer.dropped,
        )
    )
    metrics.registry.register(RiskCollector(cluster.risk))
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
        listen.max_body_bytes, listen.max_held_bytes, log_recorded=not settings.record.lines
    )


def _server_settings(settings: Settings, where: Where) -> ServerSettings:
    return ServerSettings(
        host=settings.listen.host,
        port=settings.listen.port,
        status_host=settings.status.host,
        status_port=settings.status.port,
        drain_seconds=where.drain_seconds,
    )
