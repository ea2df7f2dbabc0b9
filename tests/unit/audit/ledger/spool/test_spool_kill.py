"""kill -9 at any time: what is acknowledged is kept once, and little of the rest is lost."""

import asyncio
import random
import statistics
import sys
import time
from asyncio.subprocess import PIPE
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from audit.ledger.records.destination import QuarantinedFrame, Receipt
from audit.ledger.records.frames import Frame
from audit.ledger.spool.queue import Spool
from audit.ledger.spool.shipper import Shipper
from audit.ledger.store.decisions import MOST_ROWS, DecisionQuery
from audit.ledger.store.store import Store
from core.decision.document import decode_document
from tests.harness.evidence import record
from tests.harness.sizes import PROOF, size
from tests.unit.audit.ledger.spool.recording_process import Progress, run_and_number
from tests.unit.audit.loopback_auditor import CLUSTER, Auditor, running_auditor
from webhooks.log import get_logger

ROOT: Final = Path(__file__).parents[5]
RATE: Final = 3000
"""Decisions a second, until the kill."""

WRITE_EVERY_MS: Final = 10.0
SLACK_MS: Final = 500.0
"""What a busy machine may take to run a thread."""


@dataclass
class Noting:
    """The store, and what the receiver has acknowledged."""

    store: Store
    acknowledged: set[bytes] = field(default_factory=set)
    again: int = 0

    async def deliver(
        self,
        cluster: str,
        frames: Sequence[Frame],
        quarantined: Sequence[QuarantinedFrame] = (),
    ) -> Receipt:
        """Keep frames: all that is sent is a record."""
        receipt = await self.store.deliver(cluster, frames, quarantined)
        self.acknowledged.update(frame.id for frame in frames)
        self.again += receipt.known
        assert receipt.quarantined == 0
        return receipt


@dataclass(frozen=True)
class Kill:
    """What one kill cost."""

    appended: int
    lost: int
    window_ms: float
    """From the first append that was lost to the kill."""
    sync_ms: float
    """How long a sync had been running."""


async def run_until_killed(auditor: Auditor, spool: Path, run: int, dice: random.Random) -> int:
    """Let a process record and ship, and kill it at some time; give that time."""
    files = (auditor.authority.certificate_path, auditor.pair.certificate, auditor.pair.key)
    arguments = [str(spool), auditor.url, *map(str, files), str(run), str(RATE)]
    command = (sys.executable, "-m", "tests.unit.audit.ledger.spool.recording_process", *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, cwd=ROOT)
    try:
        assert process.stdout
        if run % 5:
            assert await asyncio.wait_for(process.stdout.readline(), 60) == b"ready\n"
            await asyncio.sleep(dice.uniform(0, 1.0))
        else:  # While it starts, and recovers what the one before has left.
            await asyncio.sleep(dice.uniform(0.3, 2.0))
        assert process.returncode is None
    finally:
        killed = time.monotonic_ns()
        process.kill()
        await process.wait()
    return killed


async def numbers_in_store(store: Store) -> dict[int, list[int]]:
    """Return the numbers of all stored decisions by run, each as often as it is there."""
    numbers: dict[int, list[int]] = defaultdict(list)
    after = None
    while page := await store.find(
        DecisionQuery(cluster=CLUSTER, oldest_first=True, after=after, limit=MOST_ROWS)
    ):
        for document in page:
            after = decode_document(document).id
            run, number = run_and_number(after)
            numbers[run].append(number)
    return numbers


def cost(progress: Progress, killed: int, stored: list[int]) -> Kill:
    """Say what a kill cost: of a run's appends a first part is stored, and the rest is lost."""
    assert stored == list(range(len(stored)))
    lost = max(progress.appended - len(stored), 0)
    window = killed - progress.time_of(len(stored)) if lost else 0
    sync = killed - progress.sync_since if progress.sync_since else 0
    return Kill(progress.appended, lost, window / 1e6, sync / 1e6)


@pytest.mark.proof
async def test_a_killed_process_loses_only_what_it_says(tmp_path: Path) -> None:
    """Killed at random under load, many times over one spool.

    Each frame that was acknowledged is in the store once; of what was appended, the last
    `write_every_s` may be missing, and what came during the sync that was running.
    """
    dice = random.Random(7)  # noqa: S311  The same moments each time.
    spool, kills = tmp_path / "spool", []
    async with Store(f"sqlite:///{tmp_path / 'ledger.db'}") as store:
        noting = Noting(store)
        async with running_auditor(tmp_path, noting) as auditor:
            rounds = size(ci=5, proof=50)
            killed = [await run_until_killed(auditor, spool, run, dice) for run in range(rounds)]
            await ship_the_rest(auditor, spool)
            numbers = await numbers_in_store(store)
    assert sum(map(len, numbers.values())) == len(noting.acknowledged)
    for run, when in enumerate(killed):
        kills.append(cost(Progress.of(Path(f"{spool}-{run}")), when, numbers[run]))
    assert sum(kill.appended for kill in kills) > rounds * 100
    for kill in kills:
        assert kill.window_ms <= WRITE_EVERY_MS + kill.sync_ms + SLACK_MS
    if PROOF:
        record("spool-kill", evidence(kills, noting))


async def ship_the_rest(auditor: Auditor, folder: Path) -> None:
    """Ship what the last killed process left; nothing of it may be damaged."""
    damages: list[str] = []
    spool = Spool(folder, on_damage=damages.append)
    spool.open()
    client = auditor.client()
    try:
        shipper = Shipper(spool, client, CLUSTER, get_logger())
        left = await shipper.drain(60)
        assert left == 0, shipper.status.error
        assert spool.status().damaged == 0
    finally:
        await client.close()
        spool.close()


def evidence(kills: list[Kill], noting: Noting) -> list[str]:
    """Say what was measured."""
    windows = sorted(kill.window_ms for kill in kills)
    lost = sorted(kill.lost for kill in kills)
    syncing = [kill for kill in kills if kill.sync_ms]
    return [
        f"- Process: spool and shipper, {RATE} decisions of about 1.2 KB a second, over mutual TLS",
        "  to a receiver with an SQLite store; killed with SIGKILL at a random moment.",
        "",
        f"- Kills: {len(kills)}, {len(syncing)} of them during an fdatasync",
        f"- Decisions appended: {sum(kill.appended for kill in kills):,}",
        f"- Acknowledged, and each in the store exactly once: {len(noting.acknowledged):,}",
        f"- Sent again after a kill, and kept once: {noting.again:,}",
        f"- Lost per kill: median {statistics.median(lost):g}, most {lost[-1]}",
        f"- Age of the oldest that was lost: median {statistics.median(windows):.1f} ms, "
        f"longest {windows[-1]:.1f} ms",
        f"- Longest sync that a kill interrupted: {max(kill.sync_ms for kill in kills):.1f} ms",
        "- Stated window: 10 ms, and the sync that is running.",
    ]
