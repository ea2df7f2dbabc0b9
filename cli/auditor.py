"""`sallyport auditor`: keeps what the gates of a cluster record."""

import asyncio
import datetime as dt
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Final

import uvloop
from prometheus_client import CollectorRegistry
from structlog.typing import FilteringBoundLogger

from audit.behaviour.learning import Learning
from audit.behaviour.metrics import BehaviourCollector
from audit.behaviour.wire import PATH as BEHAVIOUR_PATH
from audit.ledger.acts import acts_answering
from audit.ledger.acts_wire import PATH as ACTS_PATH
from audit.ledger.destination import Receipt
from audit.ledger.frames import Frame
from audit.ledger.metrics import ReceiverCollector
from audit.ledger.receiver import Receiver
from audit.ledger.serving import Serving
from audit.ledger.store.query import Query
from audit.ledger.store.store import Store
from cli.ledger import ledger_url
from cli.settings import Settings
from cli.settings_errors import name_setting
from core.errors import LedgerError, SettingsError
from webhooks.logs import LogSettings, configure_logs, get_logger
from webhooks.metrics import process_registry
from webhooks.readiness import Readiness
from webhooks.server import Served, ServerSettings, serve
from webhooks.status import build_status_app
from webhooks.tls import PairWatcher, TlsSettings

LOOK_EVERY_S: Final = 2.0
"""How often the ledger is asked whether it is there, and opened again where it was not."""

_RETAIN_EVERY_S: Final = 3600.0


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
    writer = configure_logs(LogSettings(form=settings.log_format))
    logger = get_logger()
    pair = PairWatcher(tls, logger)
    try:
        async with AsyncExitStack() as stack:
            ledger = await stack.enter_async_context(open_kept_ledger(settings, logger))
            learning = await stack.enter_async_context(open_learning(ledger, logger))
            receiver = Receiver(learning, logger)
            questions = {BEHAVIOUR_PATH: learning.answer, ACTS_PATH: acts_answering(ledger.find)}
            serving = Serving(receiver, questions, logger)
            readiness = Readiness({"certificate": pair.missing, "ledger": ledger.missing})
            return await serve(
                Served(serving, "auditor", name_setting("receive.port")),
                build_status_app(readiness, _registry(receiver, serving, learning)),
                _server_settings(settings),
                pair,
                readiness,
                logger,
            )
    finally:
        writer.flush()


class KeptLedger:
    """A store that is opened when it can be, and kept to its whole days (a `Destination`)."""

    def __init__(self, store: Store, keep_days: int, logger: FilteringBoundLogger) -> None:
        self.path = store.path
        """The ledger's file, where it is one."""
        self._store = store
        self._keep_days = keep_days
        self._logger = logger
        self._problem = "it has not been opened yet"
        self._retain_at = 0.0

    def missing(self) -> list[str]:
        """Say why nothing can be kept; empty when it can."""
        return [self._problem] if self._problem else []

    async def deliver(self, cluster: str, frames: Sequence[Frame]) -> Receipt:
        """Keep frames of a cluster, and note for `missing` whether that goes.

        Raises:
            LedgerError: they are not kept.
        """
        try:
            receipt = await self._store.deliver(cluster, frames)
        except Exception as error:
            if not self._problem:  # Else it is known, and better said.
                self._note(error)
            raise
        self._note(None)
        return receipt

    async def find(self, query: Query) -> list[bytes]:
        """Give the documents (JSON) that a query means, in its order.

        Raises:
            LedgerError: the database fails.
        """
        return await self._store.find(query)

    async def look_after(self) -> None:
        """Open the store, again whenever it failed, and forget each hour what is too old."""
        while True:
            try:
                await self._step()
            except Exception as error:  # noqa: BLE001  Nobody else would hear of it before the end.
                self._note(error)
            await asyncio.sleep(LOOK_EVERY_S)

    async def close(self) -> None:
        """Finish what was begun, and close."""
        await self._store.close()

    async def _step(self) -> None:
        await self._store.open(make=bool(self._problem))
        self._note(None)
        now = time.monotonic()
        if now >= self._retain_at:
            self._retain_at = now + _RETAIN_EVERY_S
            await self._retain()

    def _note(self, error: Exception | None) -> None:
        """Note how it goes, and say so when that changes."""
        known = isinstance(error, LedgerError)
        before, self._problem = self._problem, _describe(error)
        if self._problem == before:
            return
        if error is None:
            self._logger.info("ledger open")
        else:
            details = {} if known else {"exc_info": error}
            self._logger.error("ledger fails", problem=self._problem, **details)

    async def _retain(self) -> None:
        try:
            removed = await self._store.retain(self._keep_days, dt.datetime.now(dt.UTC).date())
        except LedgerError as error:
            self._logger.warning("retention failed; it is tried again", problem=str(error))
            return
        if removed.days:
            days = [day.isoformat() for day in removed.days]
            self._logger.info("days removed", days=days, projections=removed.projections)


def _describe(error: Exception | None) -> str:
    if error is None:
        return ""
    return str(error) if isinstance(error, LedgerError) else f"unexpected {type(error).__name__}"


@asynccontextmanager
async def open_kept_ledger(
    settings: Settings, logger: FilteringBoundLogger
) -> AsyncIterator[KeptLedger]:
    """Give the ledger of the settings, opened as soon as that can be.

    Raises:
        SettingsError: `ledger.url` is none.
    """
    keep_days = settings.ledger.keep_days
    ledger = KeptLedger(Store(ledger_url(settings), keep_days=keep_days), keep_days, logger)
    task = asyncio.create_task(ledger.look_after())
    try:
        yield ledger
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await ledger.close()


@asynccontextmanager
async def open_learning(
    ledger: KeptLedger, logger: FilteringBoundLogger
) -> AsyncIterator[Learning]:
    """Give what learns from a ledger; what it learnt is saved beside it, where it is a file."""
    path = ledger.path and ledger.path.with_name(f"{ledger.path.name}.behaviour")
    learning = Learning(ledger, ledger.find, logger, path)
    task = asyncio.create_task(learning.keep_learnt())
    try:
        yield learning
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _registry(receiver: Receiver, serving: Serving, learning: Learning) -> CollectorRegistry:
    registry = process_registry(version("sallyport"))
    registry.register(ReceiverCollector(lambda: receiver.received, lambda: receiver.answers))
    registry.register(BehaviourCollector(lambda: learning.clusters, lambda: serving.answers))
    return registry


def _server_settings(settings: Settings) -> ServerSettings:
    return ServerSettings(
        host=settings.receive.host,
        port=settings.receive.port,
        status_host=settings.status.host,
        status_port=settings.status.port,
        drain_seconds=0.0,
    )
