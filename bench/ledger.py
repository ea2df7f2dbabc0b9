"""What the ledger keeps in a second, in SQLite on a file and in a PostgreSQL of its own.

Once accesses alone, with their leaves; once all that comes of records of storage: a file is read,
its records are parsed, attributed, bound to grants, shown to all detections and stored with their
leaves. Each transaction is on the disk when the next begins.

    python -m bench.ledger URL FILE

takes in one file of records, and prints what that took as JSON.
"""

import argparse
import asyncio
import datetime as dt
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from app.processes.auditor.weight_logs import named_sources
from audit.access.ingest.pipeline import slow_garbage_collection
from audit.access.sources.merger import SourceMerger
from audit.ledger.store.delivery import Delivery
from audit.ledger.store.store import Store
from core.weights.documents.access import Access
from tests.harness.evidence import ROOT, put_between_marks
from tests.harness.programs.postgres import Postgres, require_postgres
from tests.harness.worlds.storage_logs import lines
from tests.unit.audit.access.ingest.training_cluster import CLUSTER, cluster, ingest_of
from tests.unit.audit.ledger.store.conftest import clock
from tests.unit.audit.ledger.store.documents import CLUSTER as LOG_CLUSTER
from tests.unit.audit.ledger.store.log_invariants import access

_EACH: Final = 4000
"""Accesses of a delivery."""

_EVIDENCE: Final = ROOT / "docs" / "evidence" / "weight-ingest.md"


async def _deliver(url: str, batches: Sequence[Sequence[Access]]) -> tuple[float, float]:
    """Return records a second by the clock on the wall, and by this process's own time."""
    async with Store(url, clock) as store:
        began, worked = time.perf_counter(), time.process_time()
        for batch in batches:
            await store.ingest(LOG_CLUSTER, Delivery(accesses=batch))
        took, work = time.perf_counter() - began, time.process_time() - worked
    count = sum(map(len, batches))
    return count / took, count / work


def _measure_log_in(name: str, urls: Sequence[str], count: int) -> None:
    """Print the medians of the rounds, each a delivery of many batches into an empty ledger."""
    batches = [[access(n) for n in range(at, at + _EACH)] for at in range(0, count, _EACH)]
    rounds = [asyncio.run(_deliver(url, batches)) for url in urls]
    wall, work = (statistics.median(column) for column in zip(*rounds, strict=True))
    spread = " ".join(f"{each:,.0f}" for each, _ in sorted(rounds))
    print(f"{name:11} {wall:>8,.0f}/s (rounds {spread}); of its own time {work:,.0f}/s", flush=True)


def measure_log(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Print how many accesses a second the ledger keeps, with their leaves, in both databases."""
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--accesses", type=int, default=100_000, help="of a round")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        files = [f"sqlite:///{Path(folder)}/{number}.db" for number in range(options.rounds)]
        _measure_log_in("sqlite", files, options.accesses)
    server = Postgres(require_postgres())
    try:
        urls = [server.url(server.new_database()) for _ in range(options.rounds)]
        _measure_log_in("postgresql", urls, options.accesses)
    finally:
        server.stop()


async def _prepare_ledger(url: str) -> None:
    """Make a ledger that knows the cluster."""
    async with Store(url) as store:
        await store.deliver(CLUSTER, cluster())


async def _take_in(url: str, logs: str) -> dict[str, Any]:
    """Take in a file; give what it took. PostgreSQL's own processes are not in it."""
    slow_garbage_collection()
    async with Store(url) as store:
        ingest = ingest_of(store)
        await ingest.begin()
        began, worked = time.perf_counter(), _cpu_s()
        merging = SourceMerger(named_sources([logs], CLUSTER), ingest.places, again_s=None)
        await ingest.run(merging.stretches())
        took, work = time.perf_counter() - began, _cpu_s() - worked
        await ingest.idle()
        await ingest.save()
        outcomes = sum(
            count for (_, word), count in ingest.counts.records.items() if word == "stored"
        )
    own, others = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {
        "stored": outcomes,
        "wall": outcomes / took,
        "cpu_us": work / outcomes * 1e6,
        "mib": (own.ru_maxrss + others.ru_maxrss) / 1024,
        "findings": sum(ingest.counts.findings.values()),
        "confidence": dict(ingest.counts.confidence),
    }


def _cpu_s() -> float:
    """Return the processor time of this process and of those that it started and that ended."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


def _measure_ingest_in(name: str, urls: Sequence[str], logs: Path, records: int) -> dict[str, Any]:
    """Return the medians of rounds, and print them."""
    rounds = []
    for url in urls:
        asyncio.run(_prepare_ledger(url))
        command = [sys.executable, "-m", "bench.ledger", url, str(logs)]
        said = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
        rounds.append(json.loads(said))
    if any(each["stored"] != records for each in rounds):
        message = f"{name}: not all of {records} records are in the ledger"
        raise RuntimeError(message)
    found = {
        key: statistics.median(each[key] for each in rounds) for key in ("wall", "cpu_us", "mib")
    }
    found["rounds"] = sorted(round(each["wall"]) for each in rounds)
    found["findings"] = rounds[0]["findings"]
    spread = " ".join(f"{each:,}" for each in found["rounds"])
    print(
        f"{name:11} {found['wall']:>8,.0f} records/s (rounds {spread}); "
        f"{found['cpu_us']:.0f} us of processor a record; at most {found['mib']:.0f} MiB",
        flush=True,
    )
    return found


def measure_ingest(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Measure how many records of storage a second become evidence, in both databases.

    Each round has a process of its own and an empty ledger. `--record` writes the medians into
    docs/evidence/weight-ingest.md.
    """
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--record", action="store_true", help="write its page of docs/evidence")
    chosen = parser.parse_args(arguments)
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder) / "logs.json"
        with logs.open("wb") as file:
            file.writelines(line + b"\n" for line in lines(chosen.records))
        urls = [f"sqlite:///{Path(folder)}/{number}.db" for number in range(chosen.rounds)]
        found["SQLite"] = _measure_ingest_in("sqlite", urls, logs, chosen.records)
        server = Postgres(require_postgres())
        try:
            made = [server.url(server.new_database()) for _ in range(chosen.rounds)]
            found["PostgreSQL"] = _measure_ingest_in("postgresql", made, logs, chosen.records)
        finally:
            server.stop()
    if chosen.record:
        table = _ingest_lines(found, chosen.records, chosen.rounds)
        put_between_marks(_EVIDENCE, "measured", table)


def _ingest_lines(found: Mapping[str, Mapping[str, Any]], records: int, rounds: int) -> list[str]:
    load = os.getloadavg()[2]
    now = dt.datetime.now(dt.UTC)
    rows = [
        f"- Date: {now:%Y-%m-%d %H:%M} UTC; load of the last 15 minutes {load:.1f}",
        f"- Machine: {os.cpu_count()} cores, {platform.machine()}, "
        f"Python {platform.python_version()}",
        f"- `make bench WHAT=ingest`: {records:,} records, median of {rounds} rounds",
        "",
        "| Ledger | Records a second, by the wall | Rounds | Processor a record | Memory at most |",
        "|---|---|---|---|---|",
    ]
    for name, each in found.items():
        spread = ", ".join(f"{rate:,}" for rate in each["rounds"])
        rows.append(
            f"| {name} | {each['wall']:,.0f} | {spread} | {each['cpu_us']:.0f} µs "
            f"| {each['mib']:.0f} MiB |"
        )
    return rows


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_take_in(*sys.argv[1:3]))))
