"""Takes logs of storage into the ledger, from the settings' sources or named files."""

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from functools import partial
from pathlib import Path, PurePath
from typing import Final

import structlog
from structlog.typing import FilteringBoundLogger

from app.entra.tokens import token_for
from app.settings.messages import name_setting
from app.settings.root import Settings
from app.settings.weights import networks_of, require_whole
from audit.access.attribution.rules import AttributionRules
from audit.access.detections.engine import DetectionEngine
from audit.access.ingest.parser_process import ParserProcess
from audit.access.ingest.pipeline import Ingest, slow_garbage_collection
from audit.access.ingest.state import IngestOptions
from audit.access.model.batch import LogSource, RecordBatch
from audit.access.parsers.caller_networks import CallerLocator, CallerNetworks
from audit.access.parsers.reader import RecordReader
from audit.access.sources.files import BlobFolder, LogFiles, StandardInput
from audit.access.sources.hourly_blobs import HourlyBlobs, HourlySettings
from audit.access.sources.merger import SourceMerger
from audit.clients.log_hub import LogHub, LogHubSettings
from audit.clients.storage_blobs import Containers, ContainerSettings
from audit.ledger.store.store import Store
from core.base.background import in_background
from core.base.errors import LedgerError, SettingsError, SourceError

_log = structlog.get_logger(__name__)

_STDIN: Final = "-"
_SIGNING_IN: Final = "signing in to read logs"

AGAIN_S: Final = 5.0
"""After which an ingest whose ledger failed is taken up again."""

_HOUR_S: Final = 3600.0


def make_failure_logger() -> Callable[[str, Exception], None]:
    """Return what tells of each detection once where it failed.

    Of the exception only its type: its text may quote what a caller chose. How often, the metric
    `sallyport_weight_failures_total` says.
    """
    told: set[tuple[str, str]] = set()

    def tell(detection: str, error: Exception) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        at = f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
        if (detection, at) not in told:
            told.add((detection, at))
            _log.error("a detection failed", detection=detection, error=type(error).__name__, at=at)

    return tell


def cluster_of(settings: Settings) -> str:
    """Return the cluster whose logs they are.

    Raises:
        SettingsError: nothing says it.
    """
    if not settings.cluster_id:
        name = name_setting("cluster_id")
        raise SettingsError(f"{name}: missing; name the cluster whose Pods read the weights")
    return settings.cluster_id


def named_sources(names: Sequence[str], cluster: str) -> list[LogSource]:
    """Return what a command line names: files, folders of exported logs, `-`. They end.

    Raises:
        SettingsError: something that is named is not there.
    """
    sources: list[LogSource] = []
    files: list[Path] = []
    for name in names:
        path = Path(name)
        if name == _STDIN:
            sources.append(StandardInput("stdin", cluster))
        elif path.is_dir():
            once = HourlySettings(follow=False)
            sources.append(HourlyBlobs(str(path.resolve()), cluster, BlobFolder(path), once))
        elif path.is_file():
            files.append(path)
        else:
            raise SettingsError(f"{name}: there is no such file or folder")
    return [*sources, *([LogFiles("files", cluster, files)] if files else [])]


def followed_sources(settings: Settings, stack: AsyncExitStack) -> list[LogSource]:
    """Return the sources of the settings, which never end; `stack` closes what they hold.

    Raises:
        SettingsError: one cannot be what it is said to be.
    """
    section, cluster = settings.weights, cluster_of(settings)
    require_whole(section)
    sources: list[LogSource] = []
    hourly = HourlySettings(poll_s=section.poll_every)
    if section.folder is not None:
        sources.append(HourlyBlobs("folder", cluster, BlobFolder(section.folder), hourly))
    if section.container.site:
        place = section.container
        wanted = ContainerSettings(place.site, tuple(place.containers), place.trust)
        containers = Containers(wanted, token_for(_SIGNING_IN, SourceError, settings, stack))
        stack.push_async_callback(containers.close)
        sources.append(HourlyBlobs("container", cluster, containers, hourly))
    hub = section.event_hub
    if hub.servers:
        wanted_hub = LogHubSettings(
            tuple(hub.servers), tuple(hub.topics), hub.connection_string_file, hub.trust
        )
        token = (
            None
            if hub.connection_string_file
            else token_for(_SIGNING_IN, SourceError, settings, stack)
        )
        sources.append(LogHub("event-hub", cluster, wanted_hub, token))
    return sources


def ingest_of(settings: Settings, store: Store, *, patience_s: float | None = None) -> Ingest:
    """Return an ingest as the settings say, into a store.

    Raises:
        SettingsError: naming what is missing or wrong.
    """
    section, cluster = settings.weights, cluster_of(settings)
    nets = section.networks
    shared = networks_of("shared", nets.shared)
    others = (*networks_of("others", nets.others), *shared)
    networks = CallerNetworks(
        networks_of("pods", nets.pods), networks_of("nodes", nets.nodes), others
    )
    rules = AttributionRules(
        lifetime_s=section.token_hours * _HOUR_S,
        leaves_as=nets.leaves_as,
        shared=shared,
        node_identities=frozenset(map(str.lower, section.node_identities)),
    )
    options = IngestOptions(
        rules=rules,
        patience_s=section.patience if patience_s is None else patience_s,
        delay_s=section.delay,
        most_pods=section.most_pods,
        tenants=frozenset(map(str.lower, section.tenants)),
        subscriptions=frozenset(map(str.lower, section.subscriptions)),
    )
    expected = {name: frozenset(who) for name, who in section.expected.items()}
    engine = partial(
        DetectionEngine, tuned=section.tuning, expected=expected, on_failure=make_failure_logger()
    )
    reader, beside = (
        RecordReader(cluster, CallerLocator(networks)),
        ParserProcess(cluster, networks),
    )
    return Ingest(store, cluster, reader, engine, options, beside=beside)


@asynccontextmanager
async def open_weights(
    settings: Settings, store: Store, logger: FilteringBoundLogger
) -> AsyncIterator[Ingest | None]:
    """Take in what the settings' sources bring, until the end; None where there are none.

    Raises:
        SettingsError: naming what is missing or wrong.
    """
    if not settings.weights.follows:
        yield None
        return
    slow_garbage_collection()
    async with AsyncExitStack() as stack:
        ingest = ingest_of(settings, store)
        merging = SourceMerger(followed_sources(settings, stack), ingest.places)
        try:
            async with in_background(_follow(ingest, merging, logger)):
                yield ingest
        finally:
            try:
                await ingest.save()
            except LedgerError as error:
                logger.warning("last checkpoint not saved", problem=str(error))


async def _follow(ingest: Ingest, merging: SourceMerger, logger: FilteringBoundLogger) -> None:
    """Take in stretches for ever; where the ledger fails, go on from what it has."""
    told: dict[str, str] = {}
    while True:
        problem = ""
        try:
            async with aclosing(merging.stretches()) as stretches:
                await ingest.run(_telling(stretches, ingest, merging, told, logger))
        except (LedgerError, SourceError) as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001  Nobody else would hear of it before the end.
            problem = f"unexpected {type(error).__name__}"
        if problem:
            logger.error("logs of storage are not taken in", problem=problem)
        await asyncio.sleep(AGAIN_S)


async def _telling(
    stretches: AsyncIterator[RecordBatch | None],
    ingest: Ingest,
    merging: SourceMerger,
    told: dict[str, str],
    logger: FilteringBoundLogger,
) -> AsyncIterator[RecordBatch | None]:
    async for stretch in stretches:
        yield stretch
        for problem in ingest.counts.problems:
            logger.error("what an ingest knew cannot be used", problem=problem)
        ingest.counts.problems.clear()
        for name in {*told, *merging.problems}:
            problem = merging.problems.get(name, "")
            if problem != told.get(name, ""):
                told[name] = problem
                if problem:
                    logger.error("logs of storage cannot be read", source=name, problem=problem)
                else:
                    logger.info("logs of storage are read again", source=name)
