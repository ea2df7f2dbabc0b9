"""Joins spool, shipper and destination: what a process records, and where it goes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Final

from structlog.typing import FilteringBoundLogger

from audit.clients.auditor import AuditorClient
from audit.ledger.destination import Destination
from audit.ledger.recorder import LedgerRecorder
from audit.ledger.shipper import Shipper, ShipperStatus
from audit.ledger.spool import Spool, SpoolSettings
from cli.settings import Settings
from cli.settings_errors import name_setting
from core.cluster import Cluster
from core.errors import NotSyncedError, SettingsError
from core.subject import Subject

_DRAIN_S: Final = 5.0
_ASK_AGAIN_S: Final = 0.2


@dataclass
class Recording:
    """What a process records with."""

    spool: Spool
    recorder: LedgerRecorder
    shipper: Shipper | None = None
    """None until the cluster's id is known, and where nothing is shipped."""

    def shipping(self) -> ShipperStatus:
        """Give how shipping goes."""
        return self.shipper.status if self.shipper else ShipperStatus()


def cluster_id(settings: Settings, cluster: Cluster) -> Callable[[], str]:
    """Give what names the cluster; until its namespaces are loaded, it raises NotSyncedError."""
    return (lambda: settings.cluster_id) if settings.cluster_id else cluster.identity


def auditor_client(settings: Settings) -> AuditorClient | None:
    """Give the client of the auditor that the settings name, if they do.

    Raises:
        SettingsError: they name it by halves.
    """
    shipping = settings.shipping
    if shipping.url is None:
        return None
    files = {"ca": shipping.ca, "cert": shipping.cert, "key": shipping.key}
    if missing := [name for name, path in files.items() if path is None]:
        names = ", ".join(name_setting(f"shipping.{name}") for name in missing)
        raise SettingsError(f"{names}: the auditor is reached over mutual TLS only; give all three")
    ca, cert, key = (Path(path) for path in files.values() if path is not None)
    return AuditorClient(shipping.url, ca, cert, key)


@asynccontextmanager
async def open_recording(
    settings: Settings,
    cluster: Cluster,
    logger: FilteringBoundLogger,
    destination: Destination | None,
    write_line: Callable[[bytes], None] | None = None,
) -> AsyncIterator[Recording | None]:
    """Open the spool and ship from it; None, said aloud, where no spool is set.

    Raises:
        LedgerError: the folder cannot be used, or another process has it.
    """
    folder = settings.spool.folder
    if folder is None:
        logger.warning("decisions are logged only", fix=f"set {name_setting('spool.folder')}")
        yield None
        return
    limits = SpoolSettings(max_bytes=settings.spool.max_bytes)
    spool = Spool(folder, limits, _tell(logger), lambda what: logger.error("spool", damage=what))
    named = cluster_id(settings, cluster)
    recorder = LedgerRecorder(spool, named, _naming(settings), write_line)
    recording = Recording(spool, recorder)
    spool.open()
    task = asyncio.create_task(_ship(recording, destination, named, logger))
    try:
        yield recording
    finally:
        await _close(recording, task, logger)


def _tell(logger: FilteringBoundLogger) -> Callable[[str], None]:
    def tell(reason: str) -> None:
        if reason:
            logger.error("decisions cannot be recorded", reason=reason)
        else:
            logger.info("decisions are recorded again")

    return tell


def _naming(settings: Settings) -> Callable[[Subject], str]:
    return attrgetter("username" if settings.record.people == "name" else "label")


async def _ship(
    recording: Recording,
    destination: Destination | None,
    named: Callable[[], str],
    logger: FilteringBoundLogger,
) -> None:
    if destination is None:
        logger.warning("records stay in the spool", fix=f"set {name_setting('shipping.url')}")
        return
    while True:
        try:
            cluster = named()
        except NotSyncedError:
            await asyncio.sleep(_ASK_AGAIN_S)
            continue
        break
    recording.shipper = Shipper(recording.spool, destination, cluster, logger)
    await recording.shipper.run()


async def _close(
    recording: Recording, task: asyncio.Task[None], logger: FilteringBoundLogger
) -> None:
    """Stop shipping, ship what is left, and close: what stays is shipped by the next process."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    left = await recording.shipper.drain(_DRAIN_S) if recording.shipper else 0
    unwritten = await asyncio.to_thread(recording.spool.close)
    if left or unwritten:
        logger.warning("spool closed", waiting_bytes=left, lost_bytes=unwritten)
