"""How long it takes to learn what the ledger holds, and to save what was learnt."""

import asyncio
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from audit.behaviour.acts import decided_act_of
from audit.behaviour.cluster_habits import ClusterHabits
from audit.behaviour.learner import BehaviourLearner
from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.store.store import Store
from tests.harness.evidence import record
from tests.harness.sizes import PROOF, size
from tests.unit.audit.behaviour.acts_of_people import AFTER, DAY, MONDAY, act, document
from tests.unit.audit.behaviour.learner import event, event_frame
from webhooks.log import get_logger

DECISIONS = size(ci=3_000, proof=1_000_000)
IDENTITIES = size(ci=500, proof=20_000)
BATCH = 2000
NOW = AFTER
MOST_S = size(ci=60, proof=300)


def frames() -> Iterator[Frame]:
    """Yield decisions of the last 25 days, of 2,000 people, of some 1.4 KiB each."""
    start, padding = NOW - 25 * DAY, [{"rule": "privileges/host/network", "x": "y" * 90}] * 8
    for number in range(DECISIONS):
        made = document(
            start + number * 25 * DAY / DECISIONS,
            requester=f"user:{number * 7919 % 2000:016x}",
            request={"namespace": f"team-{number % 300}"},
            needs=[],
            tried=[],
        )
        made["findings"] = [
            {"action": "warn", "path": "spec", "message": each["x"], "remedy": "", **each}
            for each in padding
        ]
        yield Frame(FrameKind.DECISION, decision_frame_id(made["id"]), msgspec.json.encode(made))
        yield event_frame(event(made))


@pytest.mark.proof
async def test_the_ledgers_last_days_are_learnt_and_saved(tmp_path: Path) -> None:
    """All of them, within minutes, without a long stop of the event loop."""
    lines: list[str] = []
    async with Store(f"sqlite:///{tmp_path / 'ledger.db'}", lambda: NOW) as store:
        batch: list[Frame] = []
        for frame in frames():
            batch.append(frame)
            if len(batch) == BATCH:
                await store.deliver("prod-1", batch)
                batch = []
        await store.deliver("prod-1", batch)
        learning = BehaviourLearner(store, get_logger(), tmp_path / "saved", lambda: NOW)
        stops = asyncio.create_task(longest_stop())
        began, cpu = time.perf_counter(), time.process_time()
        task = asyncio.create_task(learning.keep_learnt())
        while not learning.is_ready:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        took, cpu = time.perf_counter() - began, time.process_time() - cpu
        stops.cancel()
        (stop,) = await asyncio.gather(stops)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert learning.clusters["prod-1"].learnt == DECISIONS
    assert took < MOST_S
    lines.append(
        f"- {DECISIONS:,} decisions of the ledger (SQLite) learnt in {took:.1f} s, {cpu:.1f} s "
        f"of CPU; the longest stop of the event loop {stop * 1000:.0f} ms"
    )
    lines += await saving(tmp_path / "full")
    lines.append(f"- Reading one decision: {reading():.1f} µs of CPU")
    if PROOF:
        record("behaviour-learning", lines)


async def saving(path: Path) -> list[str]:
    """Save and read as many identities as are remembered, with full records."""
    tracemalloc.start()
    habits = ClusterHabits(b"salt")
    for number in range(IDENTITIES):
        is_machine = number % 4 == 0
        label = f"user:{number}"
        for day in range(4):
            for each in range(8):
                one = act(
                    MONDAY + day * DAY + each, label=label, namespace=f"n{number % 97}-{day}-{each}"
                )
                one = msgspec.structs.replace(one, is_machine=is_machine, profile=f"p{each}")
                habits.learn(one, one.at)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    async with Store(f"sqlite:///{path}.db", lambda: NOW) as store:
        learning = BehaviourLearner(store, get_logger(), path, lambda: NOW)
        await begin(learning)
        learning.clusters["prod-1"] = habits
        began = time.perf_counter()
        await learning.save()
        saved = time.perf_counter() - began
        again = BehaviourLearner(store, get_logger(), path, lambda: NOW)
        began = time.perf_counter()
        await begin(again)
        read = time.perf_counter() - began
    megabytes = len(await asyncio.to_thread(path.read_bytes)) / 1e6
    known = len(again.clusters["prod-1"].people) + len(again.clusters["prod-1"].machines)
    assert known == len(habits.people) + len(habits.machines)
    return [
        f"- {known:,} identities with full records: {held / 1e6:.1f} MB in memory, "
        f"{held / known / 1e3:.2f} KB each",
        f"- The same as a file: {megabytes:.1f} MB saved in {saved:.2f} s, read in {read:.2f} s",
    ]


async def begin(learning: BehaviourLearner) -> None:
    """Have it take up what was saved, and stop."""
    task = asyncio.create_task(learning.keep_learnt())
    while not learning.is_ready:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def longest_stop() -> float:
    """Measure until cancelled; give the longest time in which the event loop had no turn."""
    longest = 0.0
    try:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0)
            longest = max(longest, time.perf_counter() - began)
    except asyncio.CancelledError:
        return longest


def reading() -> float:
    """Return the µs that it takes to read one decision."""
    content = next(frames()).payload
    began = time.thread_time()
    for _ in range(2000):
        decided_act_of(content)
    return (time.thread_time() - began) / 2000 * 1e6
