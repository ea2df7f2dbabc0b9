"""Two processes read what one reads; where the second fails, the first does all and says so."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.access.ingest.memory import IngestMemory
from audit.access.ingest.parser_process import LEAST, ParserProcess
from audit.access.model.batch import MOST_RECORD
from audit.access.parsers.caller_networks import CallerLocator, CallerNetworks
from audit.access.parsers.reader import RecordReader
from audit.access.parsers.store_index import WeightStores
from audit.access.sources.envelopes import LineRecords
from audit.access.sources.files import LogFiles
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.store import Store
from core.base.networks import network_of
from tests.harness.worlds.storage_logs import encoded, lines, storage_record
from tests.unit.audit.access.ingest.training_cluster import (
    CLUSTER,
    cluster,
    ids,
    ingest_of,
    stretch,
    take_all,
)

NETWORKS = CallerNetworks(nodes=(network_of("10.224.0.0/16"),))


@pytest.fixture
def stores() -> WeightStores:
    """The cluster's WeightStores."""
    memory = IngestMemory()
    for frame in cluster(1):
        memory.take(frame.kind, frame.payload)
    return memory.index


@pytest.fixture
def beside() -> Iterator[ParserProcess]:
    """A second process that ends with the test."""
    made = ParserProcess(CLUSTER, NETWORKS)
    yield made
    made.close()


def mixed() -> list[bytes]:
    """Return records of storage, and some that are none."""
    odd = [b"no record", encoded(storage_record(time="yesterday")), b"[" * 5000, b'{"time":1}']
    return [*lines(LEAST), *odd]


def test_parser_process_reads_the_same_records_as_the_ingest(
    beside: ParserProcess, stores: WeightStores
) -> None:
    """Record for record, with WeightStores that change; what is odd is left to the reader."""
    records = stretch(mixed()).records
    reader = RecordReader(CLUSTER, CallerLocator(NETWORKS))
    for known in (WeightStores(()), stores, stores):
        found = beside.read(records, "logs", known)
        assert not beside.problem
        wanted = [reader.read(each, "logs", known, 0) for each in records[:LEAST]]
        assert list(found) == [*wanted, None, None, None, None]
    assert any(each and each.store for each in found)


def test_small_batch_starts_no_parser_process(beside: ParserProcess, stores: WeightStores) -> None:
    """Nothing is started for them."""
    few = stretch(lines(LEAST - 1)).records
    assert beside.read(few, "logs", stores) == (None,) * len(few)
    assert beside.process is None


async def test_killed_parser_process_loses_no_record(
    ledger: Store, beside: ParserProcess, stores: WeightStores
) -> None:
    """All is read in spite of it, each once; and it is told."""
    beside.read(stretch(lines(LEAST)).records, "logs", stores)
    assert beside.process
    os.kill(beside.process.pid, signal.SIGKILL)
    ingest = ingest_of(ledger, beside=beside)
    await take_all(ingest, [stretch(mixed(), end="1")])
    (problem,) = ingest.counts.problems
    assert problem.startswith("records are read by one process")
    found = await ids(ledger)
    assert len(found[FrameKind.ACCESS]) == LEAST
    assert ingest.counts.records["logs", "refused"] == 4


def test_parser_process_ends_with_its_parent(beside: ParserProcess, stores: WeightStores) -> None:
    """Whose input ends, ends: so no process is left behind by one that was killed."""
    beside.read(stretch(lines(LEAST)).records, "logs", stores)
    process = beside.process
    assert process
    assert process.stdin
    process.stdin.close()
    began = time.monotonic()
    while process.poll() is None and time.monotonic() - began < 10:
        time.sleep(0.01)
    assert process.returncode == 0


async def test_lines_are_split_beside(
    ledger: Store, beside: ParserProcess, stores: WeightStores, tmp_path: Path
) -> None:
    """As those that are split here, record for record; a refused one still has its byte."""
    longer = storage_record(blob="x" * MOST_RECORD)
    content = b"\n".join([*lines(LEAST), encoded(longer).rstrip(), *mixed()]) + b"\n"
    both = LineRecords(content, "blob")
    for taken in (both, list(both)):
        found = beside.read(taken, "logs", stores)
        assert [each is None for each in found] == [
            not here.raw.startswith(b'{"time":"2') or bool(here.problem) for here in both
        ]
        assert list(found) == list(beside.read(both, "logs", stores))
    assert beside.process
    path = tmp_path / "logs.json"
    path.write_bytes(content)
    ingest = ingest_of(ledger, beside=beside)
    source = LogFiles("file", CLUSTER, [path])
    await take_all(ingest, [each async for each in source.stretches({})])
    assert ingest.counts.records["file", "stored"] == LEAST
    assert ingest.counts.records["file", "known"] == LEAST
    assert ingest.counts.records["file", "refused"] == 5
