"""`python -m bench.weight_ingest`: how many records of storage a second become evidence.

All of it: a file is read, its records are parsed, attributed, bound to grants, shown to all
detections and stored with their leaves, each transaction on the disk when it returns. In SQLite on
a file and in a PostgreSQL of its own, each round in a process of its own and an empty ledger. With
`--record` the medians become docs/evidence/weight-ingest.md.
"""

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from app.processes.auditor.weight_logs import named_sources
from audit.access.ingest.pipeline import slow_garbage_collection
from audit.access.sources.merger import SourceMerger
from audit.ledger.store.store import Store
from bench.servers import ROOT
from bench.weight_ingest_evidence import write_evidence
from tests.harness.postgres import Postgres, require_postgres
from tests.harness.storage_logs import lines
from tests.unit.audit.weights.ingest.world import CLUSTER, cluster, ingest_of

RECORDS: Final = 200_000
ROUNDS: Final = 3


async def prepare(url: str) -> None:
    """Make a ledger that knows the cluster."""
    async with Store(url) as store:
        await store.deliver(CLUSTER, cluster())


async def take_in(url: str, logs: str) -> dict[str, Any]:
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


def measure(name: str, urls: Sequence[str], logs: Path, records: int) -> dict[str, Any]:
    """Return the medians of rounds, and print them."""
    rounds = []
    for url in urls:
        asyncio.run(prepare(url))
        command = [sys.executable, "-m", "bench.weight_ingest", "--one", url, str(logs)]
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


def main() -> None:
    """Measure both databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--record", action="store_true", help="write docs/evidence/weight-ingest.md"
    )
    parser.add_argument("--one", nargs=2, metavar=("URL", "FILE"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(asyncio.run(take_in(*chosen.one))))
        return
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder) / "logs.json"
        with logs.open("wb") as file:
            file.writelines(line + b"\n" for line in lines(chosen.records))
        urls = [f"sqlite:///{Path(folder)}/{number}.db" for number in range(chosen.rounds)]
        found["SQLite"] = measure("sqlite", urls, logs, chosen.records)
        server = Postgres(require_postgres())
        try:
            made = [server.url(server.new_database()) for _ in range(chosen.rounds)]
            found["PostgreSQL"] = measure("postgresql", made, logs, chosen.records)
        finally:
            server.stop()
    if chosen.record:
        write_evidence(found, chosen.records, chosen.rounds)


if __name__ == "__main__":
    main()
