"""Takes logs of storage into the ledger: with the auditor for as long as it lives, or by hand."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from functools import partial
from typing import Final

from structlog.typing import FilteringBoundLogger

from app.processes.auditor.detection_failures import telling_failures
from app.processes.auditor.weight_sources import cluster_of, followed_sources
from app.settings.root import Settings
from app.settings.weights import networks_of
from audit.access.attribution.rules import AttributionRules
from audit.access.detections.engine import DetectionEngine
from audit.access.ingest.parser_process import ParserProcess
from audit.access.ingest.pipeline import Ingest, slow_garbage_collection
from audit.access.ingest.state import IngestOptions
from audit.access.model.batch import RecordBatch
from audit.access.parsers.caller_networks import CallerNetworks, Callers
from audit.access.parsers.reader import RecordReader
from audit.access.sources.merger import SourceMerger
from audit.ledger.store.store import Store
from core.base.errors import LedgerError, SourceError

AGAIN_S: Final = 5.0
"""After which an ingest whose ledger failed is taken up again."""

_HOUR_S: Final = 3600.0


def ingest_of(settings: Settings, store: Store, *, patience_s: float | None = None) -> Ingest:
    """Give an ingest as the settings say, into a store.

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
        DetectionEngine, tuned=section.tuning, expected=expected, on_failure=telling_failures()
    )
    reader, beside = RecordReader(cluster, Callers(networks)), ParserProcess(cluster, networks)
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
        task = asyncio.create_task(_follow(ingest, merging, logger))
        try:
            yield ingest
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
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
