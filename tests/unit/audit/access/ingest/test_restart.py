"""Whatever ends an ingest, the next goes on: nothing lost, nothing twice, and the same found."""

import asyncio
import itertools
import os
import random
import signal
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest

from audit.access.detections.engine import DetectionEngine
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.delivery import Delivery, StoredDelivery
from audit.ledger.store.store import Store
from core.base.errors import LedgerError
from tests.harness.sizes import size
from tests.unit.audit.access.ingest.training_cluster import (
    CLUSTER,
    SOURCE,
    assert_log_is_whole,
    cluster,
    ids,
    ingest_of,
    stretches,
    take_all,
)

ROOT = Path(__file__).parents[5]
RECORDS = size(ci=3000, proof=60_000)
CHECKPOINT = 1000

INGESTS = """
import asyncio, sys
from audit.ledger.store.store import Store
from tests.unit.audit.access.ingest.training_cluster import SOURCE, ingest_of, stretches, take_all

async def main():
    async with Store(sys.argv[1]) as store:
        ingest = ingest_of(store, checkpoint_every=int(sys.argv[3]), most_held=1000)
        place = (await ingest.places()).get(f"{SOURCE}:PT1H.json", "0")
        print("begun", place, flush=True)
        await take_all(ingest, stretches(int(sys.argv[2]), begin=int(place), size=200))
        print("done", flush=True)

asyncio.run(main())
"""


async def uninterrupted(url: str) -> dict[int, list[bytes]]:
    """Return what a ledger has that nothing disturbed."""
    async with Store(url) as store:
        await store.deliver(CLUSTER, cluster())
        ingest = ingest_of(store, checkpoint_every=CHECKPOINT, most_held=1000)
        await take_all(ingest, stretches(RECORDS, size=200))
        found = await ids(store)
        assert len(found[FrameKind.FINDING]) > 10  # Else there is nothing to compare.
        return found


def assert_same(found: dict[int, list[bytes]], wanted: dict[int, list[bytes]]) -> None:
    """Every access and every finding is there, each once."""
    for kind in (FrameKind.ACCESS, FrameKind.FINDING, FrameKind.REFUSED):
        assert sorted(found.get(kind, [])) == sorted(wanted.get(kind, [])), kind
    assert len(found[FrameKind.ACCESS]) == RECORDS


@pytest.mark.proof
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
async def test_killed_at_random_points(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """SIGKILL again and again: in the end the ledger is as if nothing had happened."""
    if database == "sqlite":
        calm, url = (f"sqlite:///{tmp_path / name}" for name in ("calm.db", "killed.db"))
    else:
        server = request.getfixturevalue("postgres")
        calm, url = (server.url(server.new_database()) for _ in range(2))
    wanted = await uninterrupted(calm)
    async with Store(url) as store:
        await store.deliver(CLUSTER, cluster())
    drawn = random.Random(7)  # noqa: S311  Not a secret.
    kills, wanted_kills = 0, size(ci=3, proof=25)
    while True:
        arguments = (url, str(RECORDS), str(CHECKPOINT))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", INGESTS, *arguments, cwd=ROOT, stdout=PIPE
        )
        assert process.stdout is not None
        assert (await process.stdout.readline()).startswith(b"begun")
        if kills < wanted_kills:
            await asyncio.sleep(drawn.random() * size(ci=1, proof=4) / 2)
            if process.returncode is None:
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
        said = (await process.communicate())[0]
        if b"done" in said:
            break
    async with Store(url) as store:
        assert_same(await ids(store), wanted)
        await assert_log_is_whole(store)
        assert (await ingest_of(store).places())[f"{SOURCE}:PT1H.json"] == str(RECORDS)
    assert kills > 0


class Failing:
    """A store whose transactions fail now and then, before or after `then` was called."""

    def __init__(self, store: Store, seed: int) -> None:
        self._store = store
        self._drawn = random.Random(seed)  # noqa: S311  Not a secret.
        self.failures = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def ingest(self, cluster_id: str, delivery: Delivery, then: Any = None) -> StoredDelivery:
        """Fail one in six."""
        chance = self._drawn.random()
        if chance < 0.08:
            self.failures += 1
            raise LedgerError("the ledger is away")

        def failing(stored: StoredDelivery) -> Delivery:
            made: Delivery = then(stored)
            if chance < 0.16:
                self.failures += 1
                raise LedgerError("the ledger went away")
            return made

        return await self._store.ingest(cluster_id, delivery, failing if then else None)


@pytest.mark.parametrize("seed", [1])
async def test_failed_transactions_are_taken_up_again(tmp_path: Path, seed: int) -> None:
    """One process whose ledger fails goes on from the last checkpoint, and finds the same."""
    wanted = await uninterrupted(f"sqlite:///{tmp_path / 'calm.db'}")
    async with Store(f"sqlite:///{tmp_path / 'ledger.db'}") as store:
        await store.deliver(CLUSTER, cluster())
        failing = Failing(store, seed)
        ingest = ingest_of(failing, checkpoint_every=CHECKPOINT, most_held=1000)  # type: ignore[arg-type]
        for _ in itertools.repeat(None, 500):
            place = (await ingest.places()).get(f"{SOURCE}:PT1H.json", "0")
            try:
                await take_all(ingest, stretches(RECORDS, begin=int(place), size=200))
            except LedgerError:
                continue
            break
        assert failing.failures > 2
        assert_same(await ids(store), wanted)
        await assert_log_is_whole(store)


async def test_who_is_taken_over_from_ends(ledger: Store) -> None:
    """Two that ingest the same cluster would each see half: the first hears of the second."""
    first, second = ingest_of(ledger), ingest_of(ledger)
    await take_all(first, stretches(200, size=100))
    await take_all(second, stretches(400, begin=200, size=100))
    with pytest.raises(LedgerError, match="one of both must end"):
        await first.idle()
    with pytest.raises(LedgerError, match="one of both must end"):
        await first.idle()
    later = ingest_of(ledger)
    await take_all(later, stretches(600, begin=400, size=100))
    assert len((await ids(ledger))[FrameKind.ACCESS]) == 600


async def test_checkpoint_of_another_format_begins_anew_and_says_so(ledger: Store) -> None:
    """What a later release wrote is not guessed at: all is shown again, and nothing comes twice."""
    await take_all(ingest_of(ledger), stretches(600))
    before = await ids(ledger)
    await ledger.save_checkpoint(CLUSTER, "weights/detections", 0, b"nonsense")
    await ledger.save_checkpoint(CLUSTER, "weights/memory", 0, b"nonsense")
    ingest = ingest_of(ledger, engine=DetectionEngine)
    await ingest.idle()
    assert len(ingest.counts.problems) == 3
    assert "detections begin anew with the last 45 days" in ingest.counts.problems[-1]
    after = await ids(ledger)
    assert after.get(FrameKind.FINDING) == before.get(FrameKind.FINDING)
    assert after[FrameKind.ACCESS] == before[FrameKind.ACCESS]
