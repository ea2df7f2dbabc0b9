"""Memory stays flat however much is taken in, and no time is asserted."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from audit.ledger.store.store import Store
from tests.harness.sizes import size
from tests.unit.audit.access.ingest.training_cluster import CLUSTER, cluster

ROOT = Path(__file__).parents[5]
RECORDS = size(ci=50_000, proof=5_000_000)
MOST_MIB = 500
MOST_GROWTH_MIB = 64
"""From the half to the end: buffers and caches are full before."""

INGESTS = """
import asyncio, json, sys
from pathlib import Path
from audit.ledger.store.store import Store
from tests.unit.audit.access.ingest.training_cluster import given, ingest_of, stretches

def of(process):
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096 / 2**20

def resident(ingest):
    beside = ingest._beside and ingest._beside.process
    return of("self") + (of(beside.pid) if beside else 0)

async def counted(made, told, every, ingest):
    for number, each in enumerate(made):
        if number % every == 0:
            told.append(resident(ingest))
        yield each
    told.append(resident(ingest))

async def main():
    records, size = int(sys.argv[2]), 2500
    told = []
    async with Store(sys.argv[1]) as store:
        ingest = ingest_of(store)
        made = stretches(records, size=size)
        await ingest.run(counted(made, told, max(records // size // 10, 1), ingest))
        await ingest.idle()
        await ingest.save()
    stored = ingest.counts.records["logs", "stored"]
    print(json.dumps({"told": told, "stored": stored, "problems": ingest.counts.problems}))

asyncio.run(main())
"""


@pytest.mark.proof
@pytest.mark.parametrize("database", ["sqlite", "postgresql"] if RECORDS > 10**6 else ["sqlite"])
async def test_memory_is_flat(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Under the bound at every point, and no larger at the end than it was at the half."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    if database == "postgresql":
        server = request.getfixturevalue("postgres")
        url = server.url(server.new_database())
    async with Store(url) as store:
        await store.deliver(CLUSTER, cluster())
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", INGESTS, url, str(RECORDS), cwd=ROOT, stdout=PIPE
    )
    said = json.loads((await process.communicate())[0])
    assert (said["stored"], said["problems"]) == (RECORDS, [])
    told = said["told"]
    assert max(told) < MOST_MIB
    assert told[-1] - told[len(told) // 2] < MOST_GROWTH_MIB
