"""`sallyport auditor`: keeps what the gates of a cluster record."""

import asyncio
import datetime as dt
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Final

import uvloop
from prometheus_client import CollectorRegistry
from structlog.typing import FilteringBoundLogger

from audit.ledger.metrics import ReceiverCollector
from audit.ledger.receiver import Receiver
from audit.ledger.store.store import Store
from cli.ledger import ledger_url
from cli.settings import Settings
from cli.settings_errors import name_setting
from core.errors import LedgerError, SettingsError
from webhooks.logs import LogSettings, configure_logs, get_logger
from webhooks.metrics import process_registry
from webhooks.readiness import Readiness
from webhooks.server import ServerSettings, serve
from webhooks.status import build_status_app
from webhooks.tls import PairWatcher, TlsSettings

_OPEN_AGAIN_S: Final = 2.0
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
        async with open_kept_ledger(settings, logger) as ledger:
            receiver = Receiver(ledger.store, logger)
            readiness = Readiness({"certificate": pair.missing, "ledger": ledger.missing})
            return await serve(
                receiver,
                build_status_app(readiness, _registry(receiver)),
                _server_settings(settings),
                pair,
                readiness,
                logger,
            )
    finally:
        writer.flush()


class KeptLedger:
    """A store that is opened when it can be, and kept to its whole days."""

    def __init__(self, store: Store, keep_days: int, logger: FilteringBoundLogger) -> None:
        self.store = store
        self._keep_days = keep_days
        self._logger = logger
        self._problem = "it has not been opened yet"

    def missing(self) -> list[str]:
        """Say why nothing can be kept; empty when it can."""
        return [self._problem] if self._problem else []

    async def look_after(self) -> None:
        """Open the store, as often as that takes; then forget what is too old, each hour."""
        while self._problem:
            try:
                await self.store.open()
            except LedgerError as error:
                self._note(str(error))
                await asyncio.sleep(_OPEN_AGAIN_S)
            else:
                self._problem = ""
        while True:
            await self._retain()
            await asyncio.sleep(_RETAIN_EVERY_S)

    def _note(self, problem: str) -> None:
        if problem != self._problem:
            self._logger.error("ledger cannot be opened", problem=problem)
        self._problem = problem

    async def _retain(self) -> None:
        try:
            removed = await self.store.retain(self._keep_days, dt.datetime.now(dt.UTC).date())
        except LedgerError as error:
            self._logger.warning("retention failed; it is tried again", problem=str(error))
            return
        if removed.days:
            days = [day.isoformat() for day in removed.days]
            self._logger.info("days removed", days=days, projections=removed.projections)


@asynccontextmanager
async def open_kept_ledger(
    settings: Settings, logger: FilteringBoundLogger
) -> AsyncIterator[KeptLedger]:
    """Give the ledger of the settings, opened as soon as that can be.

    Raises:
        SettingsError: `ledger.url` is none.
    """
    ledger = KeptLedger(Store(ledger_url(settings)), settings.ledger.keep_days, logger)
    task = asyncio.create_task(ledger.look_after())
    try:
        yield ledger
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await ledger.store.close()


def _registry(receiver: Receiver) -> CollectorRegistry:
    registry = process_registry(version("sallyport"))
    registry.register(ReceiverCollector(lambda: receiver.received, lambda: receiver.answers))
    return registry


def _server_settings(settings: Settings) -> ServerSettings:
    return ServerSettings(
        host=settings.receive.host,
        port=settings.receive.port,
        status_host=settings.status.host,
        status_port=settings.status.port,
        drain_seconds=0.0,
    )
