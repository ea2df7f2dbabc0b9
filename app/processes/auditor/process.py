"""The process `sallyport auditor`: keeps what the gates of a cluster record."""

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from pathlib import Path

import uvloop
from prometheus_client import CollectorRegistry
from structlog.typing import FilteringBoundLogger

from app.processes.auditor.explanations import serving_explanations
from app.processes.auditor.ledger import KeptLedger, open_kept_ledger
from app.processes.auditor.notifications import open_notifications
from app.processes.auditor.weight_logs import open_weights
from app.settings.messages import name_setting
from app.settings.root import Settings
from audit.access.ingest.metrics import WeightsCollector
from audit.access.ingest.pipeline import Ingest
from audit.access.server.reads import make_reads_answerer
from audit.access.server.reads_protocol import PATH as READS_PATH
from audit.behaviour.learner import BehaviourLearner
from audit.behaviour.metrics import BehaviourCollector
from audit.behaviour.protocol import PATH as BEHAVIOUR_PATH
from audit.clients.gate_tokens import GateTokens
from audit.ledger.log.metrics import LogCollector
from audit.ledger.server.acts import make_acts_answerer
from audit.ledger.server.acts_protocol import PATH as ACTS_PATH
from audit.ledger.server.metrics import ReceiverCollector
from audit.ledger.server.receiver import Receiver, ReceiverSettings
from audit.ledger.server.service import AuditorService
from audit.ledger.store.metrics import RoomCollector
from audit.notifications.delivery import SinkDelivery
from audit.notifications.metrics import NotificationsCollector
from core.base.background import in_background
from core.base.errors import SettingsError
from webhooks.health import build_status_app
from webhooks.limits import ServerSettings
from webhooks.log import LogSettings, configure_logs, get_logger
from webhooks.metrics import process_registry
from webhooks.readiness import Readiness
from webhooks.server import ServedApp, serve
from webhooks.tls import PairWatcher, TlsSettings


def serve_auditor(settings: Settings) -> None:
    """Serve until told to stop. Exits the process.

    Raises:
        SettingsError: a certificate, or the CA of the clients, is not given.
    """
    sys.exit(uvloop.run(_serve(settings, _tls(settings))))


def _tls(settings: Settings) -> TlsSettings:
    receive = settings.receive
    files = {"cert": receive.cert, "key": receive.key, "client_ca": receive.client_ca}
    if missing := [name for name, path in files.items() if path is None]:
        names = ", ".join(name_setting(f"receive.{name}") for name in missing)
        raise SettingsError(f"{names}: records are taken over mutual TLS only; give all three")
    cert, key, client_ca = (Path(path) for path in files.values() if path is not None)
    return TlsSettings(cert, key, client_ca)


async def _serve(settings: Settings, tls: TlsSettings) -> int:
    writer = configure_logs(LogSettings(settings.log_format, settings.log_level))
    logger = get_logger()
    pair = PairWatcher(tls, logger)
    try:
        async with AsyncExitStack() as stack:
            ledger = await stack.enter_async_context(open_kept_ledger(settings, logger))
            learning = await stack.enter_async_context(open_learning(ledger, logger))
            weights = await stack.enter_async_context(open_weights(settings, ledger.store, logger))
            told = await stack.enter_async_context(
                open_notifications(settings, ledger.store, logger)
            )
            await stack.enter_async_context(
                serving_explanations(settings, ledger.store, tls, logger)
            )
            receiver = await open_receiver(settings, ledger, logger, stack)
            questions = {
                BEHAVIOUR_PATH: learning.answer,
                ACTS_PATH: make_acts_answerer(ledger.find),
                READS_PATH: make_reads_answerer(ledger.store),
            }
            serving = AuditorService(receiver, questions, logger)
            readiness = Readiness({"certificate": pair.missing, "ledger": ledger.missing})
            return await serve(
                ServedApp(serving, "auditor", name_setting("receive.port")),
                build_status_app(
                    readiness, _registry(ledger, receiver, serving, learning, weights, told)
                ),
                _server_settings(settings),
                pair,
                readiness,
                logger,
            )
    finally:
        writer.flush()


async def open_receiver(
    settings: Settings, ledger: KeptLedger, logger: FilteringBoundLogger, stack: AsyncExitStack
) -> Receiver:
    """Return what takes frames; `stack` closes what it asks kube-apiserver by."""
    receive = settings.receive
    wanted = ReceiverSettings(instances=receive.instances)
    if receive.instances == "off":
        return Receiver(ledger, logger, wanted)
    prover = GateTokens(settings.kubeconfig, receive.gate_account)
    stack.push_async_callback(prover.close)
    return Receiver(ledger, logger, wanted, prover)


@asynccontextmanager
async def open_learning(
    ledger: KeptLedger, logger: FilteringBoundLogger
) -> AsyncIterator[BehaviourLearner]:
    """Yield what learns from a ledger; what it learnt is saved beside it, where it is a file."""
    path = ledger.path and ledger.path.with_name(f"{ledger.path.name}.behaviour")
    learning = BehaviourLearner(ledger.store, logger, path)
    async with in_background(learning.keep_learnt()):
        yield learning


def _registry(  # noqa: PLR0913, PLR0917  What has metrics.
    ledger: KeptLedger,
    receiver: Receiver,
    serving: AuditorService,
    learning: BehaviourLearner,
    weights: Ingest | None,
    deliveries: Sequence[SinkDelivery],
) -> CollectorRegistry:
    registry = process_registry(version("sallyport"))
    registry.register(
        LogCollector(lambda: ledger.publishing, lambda: ledger.outside, lambda: ledger.timestamps)
    )
    registry.register(RoomCollector(lambda: ledger.room.forecast))
    registry.register(WeightsCollector(lambda: weights))
    registry.register(NotificationsCollector(lambda: deliveries))
    registry.register(
        ReceiverCollector(
            lambda: receiver.received, lambda: receiver.answers, lambda: receiver.unproved
        )
    )
    registry.register(
        BehaviourCollector(
            lambda: learning.clusters, lambda: learning.confirmed.results, lambda: serving.answers
        )
    )
    return registry


def _server_settings(settings: Settings) -> ServerSettings:
    return ServerSettings(
        host=settings.receive.host,
        port=settings.receive.port,
        status_host=settings.status.host,
        status_port=settings.status.port,
        drain_seconds=0.0,
    )
