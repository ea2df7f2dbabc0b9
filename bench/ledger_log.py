"""How many accesses a second the ledger keeps, with their leaves: `python -m bench.ledger_log`.

In SQLite on a file, and in a PostgreSQL of its own. Each round is a delivery of many batches into
an empty ledger, with all that the log demands, each batch on the disk when the next begins.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from audit.ledger.store.delivery import Delivery
from audit.ledger.store.store import Store
from core.weights.access import Access
from tests.harness.postgres import Postgres, require_postgres
from tests.unit.audit.store.conftest import clock
from tests.unit.audit.store.documents import CLUSTER
from tests.unit.audit.store.logs import access

ROUNDS = 5
BATCHES = 25
EACH = 4000


async def run_round(url: str, batches: Sequence[Sequence[Access]]) -> tuple[float, float]:
    """Return records a second by the clock on the wall, and by this process's own time."""
    async with Store(url, clock) as store:
        began, worked = time.perf_counter(), time.process_time()
        for batch in batches:
            await store.ingest(CLUSTER, Delivery(accesses=batch))
        took, work = time.perf_counter() - began, time.process_time() - worked
    count = sum(map(len, batches))
    return count / took, count / work


def measure(name: str, urls: Sequence[str]) -> None:
    """Print the medians of the rounds."""
    batches = [[access(n) for n in range(at, at + EACH)] for at in range(0, BATCHES * EACH, EACH)]
    rounds = [asyncio.run(run_round(url, batches)) for url in urls]
    wall, work = (statistics.median(column) for column in zip(*rounds, strict=True))
    spread = " ".join(f"{each:,.0f}" for each, _ in sorted(rounds))
    print(f"{name:11} {wall:>8,.0f}/s (rounds {spread}); of its own time {work:,.0f}/s", flush=True)


def main() -> None:
    """Measure both."""
    with tempfile.TemporaryDirectory() as folder:
        measure("sqlite", [f"sqlite:///{Path(folder)}/{n}.db" for n in range(ROUNDS)])
    server = Postgres(require_postgres())
    try:
        measure("postgresql", [server.url(server.new_database()) for _ in range(ROUNDS)])
    finally:
        server.stop()


if __name__ == "__main__":
    main()
