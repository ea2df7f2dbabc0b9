"""How fast records are read, and in how much memory. Times are told in proofs, never asserted."""

import os
import statistics
import time
from collections import Counter
from pathlib import Path

import pytest

from audit.access.parsers.reader import RecordReader
from audit.access.sources.files import BlobFolder
from audit.access.sources.hourly_blobs import HourlyBlobs, HourlySettings
from core.weights.documents.access import Access
from tests.harness.evidence import record
from tests.harness.sizes import PROOF, size
from tests.harness.worlds.storage_logs import Life, lines
from tests.unit.audit.access.parsers.stores import CALLERS, STORES, line_read
from tests.unit.audit.access.sources.hourly_blobs import LONG_AFTER, READS, hour_name

RECORDS = size(20_000, 2_000_000)
HOURS = 4
CONTAINERS = (READS, "insights-logs-storagewrite")
MOST_GROWTH = 100 * 1024 * 1024
PAGE = 4096
ROUNDS = 7


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE


def _write(folder: Path) -> int:
    """Write the records as blobs of hours; give their bytes."""
    written = 0
    each = RECORDS // HOURS // len(CONTAINERS)
    for hour in range(HOURS):
        for seed, container in enumerate(CONTAINERS, 1):
            path = folder / hour_name(hour, container)
            path.parent.mkdir(parents=True)
            life = Life(step_ms=max(3_600_000 // each, 1))
            with path.open("wb") as file:
                file.writelines(line + b"\n" for line in lines(each, seed + 10 * hour, life=life))
            written += path.stat().st_size
    return written


def _parse_us() -> list[float]:
    """Return the CPU time of one record in each round, in µs, decoding included."""
    some = list(lines(size(2000, 40_000), seed=3))
    found: list[float] = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        for line in some:
            line_read(line)
        found.append((time.process_time() - begun) / len(some) * 1e6)
    return sorted(found)


@pytest.mark.proof
async def test_many_records_are_read_in_flat_memory(tmp_path: Path) -> None:
    """Every record becomes an access; memory does not grow with how many there are."""
    written = _write(tmp_path)
    settings = HourlySettings(follow=False)
    source = HourlyBlobs("logs", "aks-1", BlobFolder(tmp_path), settings, lambda: LONG_AFTER)
    reader, kinds = RecordReader("aks-1", CALLERS), Counter[str]()
    begun, cpu = time.perf_counter(), time.process_time()
    first = most = 0
    async for stretch in source.stretches({}):
        for one in stretch.records:
            kinds[type(reader.read(one, "logs", STORES, 1)).__name__] += 1
        most = max(most, _resident())
        first = first or most
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    assert kinds == {Access.__name__: RECORDS}
    assert most - first < MOST_GROWTH
    if PROOF:
        rounds = _parse_us()
        record(
            "weight-sources",
            [
                f"- {RECORDS:,} records of {written / RECORDS:,.0f} bytes in {HOURS} hours of two "
                "categories, read from a folder and parsed in one process",
                f"- **{RECORDS / cpu:,.0f} records/s** of CPU time, reading the folder included; "
                f"{RECORDS / seconds:,.0f} by the clock, at a load of {os.getloadavg()[1]:.1f}",
                f"- **A record is parsed in {statistics.median(rounds):.1f} µs** of CPU, median of "
                f"{ROUNDS} rounds of 40,000; sorted: {', '.join(f'{one:.1f}' for one in rounds)}",
                f"- Memory: {first / 2**20:.0f} MiB after the first stretch, at most "
                f"{most / 2**20:.0f} MiB",
            ],
        )
