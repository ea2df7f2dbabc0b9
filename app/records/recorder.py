"""Joins recorder, spool, shipper and destination: what a process records, and where it goes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry
from structlog.typing import FilteringBoundLogger

from app.records.record_shares import make_share_of
from app.settings.messages import name_setting
from app.settings.root import Settings
from audit.clients.auditor import AuditorChannel, AuditorClient
from audit.ledger.records.admission_shares import AdmissionShares
from audit.ledger.records.destination import Destination
from audit.ledger.records.recorder import LedgerRecorder
from audit.ledger.records.refusal_budget import RefusalBudget
from audit.ledger.spool.metrics import RefusalCollector, ShareCollector, SpoolCollector
from audit.ledger.spool.queue import Spool, SpoolSettings
from audit.ledger.spool.shipper import Shipper, ShipperStatus
from core.base.background import in_background
from core.base.errors import NotSyncedError, SettingsError
from core.cluster import Cluster
from core.people.subject import Subject

_DRAIN_S: Final = 5.0
_ASK_AGAIN_S: Final = 0.2
_SHIP_AGAIN_S: Final = 5.0
_SEAL_S: Final = 5.0
"""How often it is looked whether aggregates are due."""


@dataclass
class Recording:
    """What a process records with."""

    recorder: LedgerRecorder
    spool: Spool | None
    """None where documents are lines of the log only."""
    shipper: Shipper | None = None
    """None until the cluster's id is known, and where nothing is shipped."""

    def shipping(self) -> ShipperStatus:
        """Return how shipping goes."""
        return self.shipper.status if self.shipper else ShipperStatus()

    def show(self, registry: CollectorRegistry) -> None:
        """Let Prometheus see the spool, if there is one, and what had no record of its own."""
        if (budget := self.recorder.budget) is not None:
            registry.register(RefusalCollector(lambda: budget.aggregated))
        if (shares := self.recorder.shares) is not None:
            registry.register(ShareCollector(lambda: shares.refused))
        if self.spool is not None:
            registry.register(SpoolCollector(self.spool.status, self.shipping))


def cluster_id(settings: Settings, cluster: Cluster) -> Callable[[], str]:
    """Return what names the cluster; until its namespaces are loaded, it raises NotSyncedError."""
    return (lambda: settings.cluster_id) if settings.cluster_id else cluster.identity


async def wait_for_cluster_id(cluster: Callable[[], str]) -> str:
    """Wait until the cluster's id (of `cluster_id`) is known, and give it."""
    while True:
        try:
            return cluster()
        except NotSyncedError:
            await asyncio.sleep(_ASK_AGAIN_S)


@asynccontextmanager
async def open_auditor(settings: Settings) -> AsyncIterator[Destination | None]:
    """Yield the auditor that the settings name, if they do.

    Raises:
        SettingsError: they name it by halves.
    """
    client = _auditor_client(settings)
    try:
        yield client
    finally:
        if client is not None:
            await client.close()


def _auditor_client(settings: Settings) -> AuditorClient | None:
    shipping = settings.shipping
    if shipping.url is None:
        return None
    files = {"ca": shipping.ca, "cert": shipping.cert, "key": shipping.key}
    if missing := [name for name, path in files.items() if path is None]:
        names = ", ".join(name_setting(f"shipping.{name}") for name in missing)
        raise SettingsError(f"{names}: the auditor is reached over mutual TLS only; give all three")
    ca, cert, key = (Path(path) for path in files.values() if path is not None)
    return AuditorClient(AuditorChannel(shipping.url, ca, cert, key, token=shipping.token))


@asynccontextmanager
async def open_recording(
    settings: Settings,
    cluster: Cluster,
    logger: FilteringBoundLogger,
    destination: Destination | None,
    write_line: Callable[[bytes], None] | None = None,
) -> AsyncIterator[Recording | None]:
    """Open the spool and ship from it.

    Where no spool is set, which is said aloud, documents go to `write_line` only; without that
    either, there is no recording.

    Raises:
        LedgerError: the folder cannot be used, or another process has it.
    """
    named = cluster_id(settings, cluster)
    folder = settings.spool.folder
    if folder is None:
        logger.warning("decisions are logged only", fix=f"set {name_setting('spool.folder')}")
        recorder = _make_recorder(settings, cluster, None, write_line)
        async with _sealing(recorder, logger):
            yield Recording(recorder, None) if write_line else None
        return
    limits = SpoolSettings(max_bytes=settings.spool.max_bytes)
    spool = Spool(folder, limits, _tell(logger), lambda what: logger.error("spool", damage=what))
    recording = Recording(_make_recorder(settings, cluster, spool, write_line), spool)
    spool.open()
    try:
        async with (
            in_background(_ship(recording, spool, destination, named, logger)),
            _sealing(recording.recorder, logger),
        ):
            yield recording
    finally:
        await _close(spool, recording.shipper, logger)


def _make_recorder(
    settings: Settings,
    cluster: Cluster,
    spool: Spool | None,
    write_line: Callable[[bytes], None] | None,
) -> LedgerRecorder:
    naming = _naming(settings)
    fill = (lambda: 0.0) if spool is None else (lambda: spool.fill)
    return LedgerRecorder(
        spool,
        cluster_id(settings, cluster),
        naming,
        write_line,
        RefusalBudget(settings.record.refusals_per_minute, fill),
        make_share_of(cluster, naming),
        instance=settings.instance,
        shares=None if spool is None else AdmissionShares(spool),
        check_spool=(lambda: None) if spool is None else spool.check,
    )


@asynccontextmanager
async def _sealing(recorder: LedgerRecorder, logger: FilteringBoundLogger) -> AsyncIterator[None]:
    """Keep what is counted of refusals as it is due, and at the end whatever ends it."""
    try:
        async with in_background(_seal(recorder, logger)):
            yield
    finally:
        _seal_once(recorder, logger, ends=True)


async def _seal(recorder: LedgerRecorder, logger: FilteringBoundLogger) -> None:
    """Keep what is counted of refusals, until cancelled."""
    while True:
        await asyncio.sleep(_SEAL_S)
        _seal_once(recorder, logger, ends=False)


def _seal_once(recorder: LedgerRecorder, logger: FilteringBoundLogger, *, ends: bool) -> None:
    """Keep what is due; what fails is logged, stays counted, and is tried again."""
    try:
        recorder.seal_aggregates(ends=ends)
    except Exception as error:  # Else nobody would hear of it, and no aggregate come any more.
        logger.exception("aggregates of refusals are not recorded", exc_info=error)


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
    spool: Spool,
    destination: Destination | None,
    named: Callable[[], str],
    logger: FilteringBoundLogger,
) -> None:
    """Ship until cancelled, whatever happens."""
    if destination is None:
        logger.warning("records stay in the spool", fix=f"set {name_setting('shipping.url')}")
        return
    while True:
        try:
            recording.shipper = Shipper(
                spool, destination, await wait_for_cluster_id(named), logger
            )
            await recording.shipper.run()
        except Exception as error:  # Nobody else would hear of it before the end.
            logger.exception("shipping ended; it begins again", exc_info=error)
            await asyncio.sleep(_SHIP_AGAIN_S)


async def _close(spool: Spool, shipper: Shipper | None, logger: FilteringBoundLogger) -> None:
    """Ship what is left, and close: what stays is shipped by the next process."""
    left = await shipper.drain(_DRAIN_S) if shipper else 0
    unwritten = await asyncio.to_thread(spool.close)
    if left or unwritten:
        logger.warning("spool closed", waiting_bytes=left, lost_bytes=unwritten)
