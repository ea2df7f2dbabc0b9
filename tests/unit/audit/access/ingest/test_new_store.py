"""What is weights is known by the time a record is stored, and not by when it was read."""

import asyncio
import threading
from typing import Any

from audit.access.detections.engine import DetectionEngine
from audit.access.ingest.pipeline import Ingest
from audit.access.ingest.state import IngestOptions
from audit.access.parsers.caller_networks import CallerLocator, CallerNetworks
from audit.access.parsers.reader import RecordReader
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.store import Store
from core.weights.documents.access import decode_access
from tests.harness.worlds.storage_logs import BEGIN_MS, Life, lines
from tests.unit.audit.access.ingest.training_cluster import (
    CLUSTER,
    change,
    entries,
    stretch,
    take_all,
)

WAIT_S = 1.5


class Telling(RecordReader):
    """A reader that tells when it has read."""

    def __init__(self) -> None:
        super().__init__(CLUSTER, CallerLocator(CallerNetworks()))
        self.has_read = threading.Event()

    def read(self, *given: Any) -> Any:
        """Read a record."""
        found = super().read(*given)
        self.has_read.set()
        return found


async def test_a_store_that_is_made_while_a_record_waits(ledger: Store) -> None:
    """The record is of it: else the first reads of new weights would be of none."""
    reader = Telling()
    options = IngestOptions(patience_s=WAIT_S)
    ingest = Ingest(
        ledger, CLUSTER, reader, DetectionEngine, options, clock=lambda: BEGIN_MS / 1000
    )

    async def make() -> None:
        await asyncio.to_thread(reader.has_read.wait)
        held = {"account": "weightsprod", "containers": [{"name": "llama"}], "owner": "ml"}
        await ledger.deliver(CLUSTER, [change("WeightStore", "prod", "there", spec=held)])

    making = asyncio.create_task(make())
    one = Life(accounts=["weightsprod"], containers=["llama"], operations=("GetBlob",))
    await take_all(ingest, [stretch(list(lines(1, life=one)))])
    await making
    kept = [each for each in await entries(ledger) if each.kind == FrameKind.ACCESS]
    (access,) = [decode_access(each.payload or b"") for each in kept]
    assert access.store == "prod"
