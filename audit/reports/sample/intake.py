"""Takes the sample month into a ledger, by the way that real logs take."""

from collections.abc import AsyncIterator, Callable, Iterable
from itertools import groupby
from typing import Final

from audit.access.attribution.rules import AttributionRules
from audit.access.detections.engine import DetectionEngine
from audit.access.ingest.pipeline import Ingest
from audit.access.ingest.state import IngestOptions
from audit.access.model.batch import RecordBatch, SourceRecord
from audit.access.parsers.caller_networks import CallerLocator, CallerNetworks
from audit.access.parsers.reader import RecordReader
from audit.access.sources.hourly_blobs import HourlyBlobs, HourlySettings
from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.store.store import Store
from audit.reports.periods import Period
from audit.reports.sample.cast import CLUSTER, PIPELINE_ADDRESS, TENANT
from audit.reports.sample.cluster_history import sample_frames
from audit.reports.sample.logs import activity_log_files, storage_log_files
from core.base.networks import network_of
from core.base.times import DAY_MS
from core.weights.documents.events import LogGap

SOURCE: Final = "storage-logs"

_RECORDS: Final = 1000
_PODS: Final = (network_of("10.244.0.0/14"),)
_NODES: Final = (network_of("10.224.0.0/16"),)
_NETWORKS: Final = (network_of("10.10.0.0/16"), network_of(f"{PIPELINE_ADDRESS}/32"))


class _Files:
    """The month's files, as a container has them."""

    def __init__(self, month: Period) -> None:
        self._files = dict([*storage_log_files(month), *activity_log_files(month)])

    async def names(self, prefix: str) -> AsyncIterator[tuple[str, int]]:
        """Yield the names below a prefix, and their sizes."""
        for name in sorted(self._files):
            if name.startswith(prefix):
                yield name, len(self._files[name])

    async def read(self, name: str, begin: int, length: int) -> bytes:
        """Return bytes of a file."""
        return self._files.get(name, b"")[begin : begin + length]


async def take_sample(store: Store, month: Period, clock: Callable[[], float]) -> None:
    """Take the month in; what is there already is not there twice.

    Raises:
        LedgerError: the ledger does not take it.
    """
    await _deliver(store, sample_frames(month))
    options = IngestOptions(
        rules=AttributionRules(leaves_as="pod"), patience_s=0.0, tenants=frozenset({TENANT})
    )
    callers = CallerLocator(CallerNetworks(pods=_PODS, nodes=_NODES, networks=_NETWORKS))
    ingest = Ingest(
        store, CLUSTER, RecordReader(CLUSTER, callers), DetectionEngine, options, clock=clock
    )
    await ingest.begin()
    blobs = HourlyBlobs(SOURCE, CLUSTER, _Files(month), HourlySettings(follow=False), clock)
    await ingest.run(_joined(blobs.stretches({})))
    await ingest.idle()
    await ingest.save()


async def _joined(stretches: AsyncIterator[RecordBatch]) -> AsyncIterator[RecordBatch]:
    """Join many small hours to a few stretches: a transaction each would take a minute.

    Nobody goes on from their places: who is interrupted begins anew, and what came is known.
    """
    records: list[SourceRecord] = []
    gaps: list[LogGap] = []
    number = 0
    async for stretch in stretches:
        records += stretch.records
        gaps += stretch.gaps
        if len(records) >= _RECORDS:
            yield _stretch(number, records, gaps)
            number, records, gaps = number + 1, [], []
    yield _stretch(number, records, gaps)


def _stretch(number: int, records: list[SourceRecord], gaps: list[LogGap]) -> RecordBatch:
    begin = str(number) if number else ""
    return RecordBatch(SOURCE, "month", begin, str(number + 1), records, gaps)


async def _deliver(store: Store, all_frames: Iterable[Frame]) -> None:
    """Deliver day by day: what comes at once has no order of time in the log."""
    for _, some in groupby(all_frames, key=_day):
        await store.deliver(CLUSTER, list(some))


def _day(frame: Frame) -> int:
    is_projection = frame.kind == FrameKind.PROJECTION  # Named by its content.
    return 0 if is_projection else int.from_bytes(frame.id[:6]) // DAY_MS
