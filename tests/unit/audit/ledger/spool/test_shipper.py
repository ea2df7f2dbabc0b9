"""Shipping goes on through failures, cancellations and restarts, and holds up nobody."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from audit.ledger.records.destination import QuarantinedFrame, Receipt
from audit.ledger.records.frames import Frame
from audit.ledger.spool.queue import SpoolSettings
from audit.ledger.spool.shipper import Shipper, ShipperSettings
from tests.unit.audit.ledger.spool.spools import Opened, frame, frames, opened
from tests.unit.audit.loopback_auditor import CLUSTER, Memory

QUICK = ShipperSettings(
    max_bytes=4096, max_frames=20, pause_s=0.01, first_retry_s=0.01, last_retry_s=0.05
)


def shipper(
    made: Opened, memory: object, settings: ShipperSettings = QUICK
) -> tuple[Shipper, Mock]:
    """Return a shipper and its logger."""
    logger = Mock()
    return Shipper(made.spool, memory, CLUSTER, logger, settings), logger  # type: ignore[arg-type]


async def until(true: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110  What changes has no event.
            await asyncio.sleep(0.005)


async def cancel(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_what_is_appended_arrives_in_order(tmp_path: Path) -> None:
    """While it is shipped, in batches within their bounds; the spool is empty in the end."""
    memory = Memory()
    with opened(tmp_path) as made:
        made_shipper, _ = shipper(made, memory)
        running = asyncio.create_task(made_shipper.run())
        for one in frames(200):
            made.append(one)
            await asyncio.sleep(0)
        await until(lambda: made.spool.status().acknowledged == 200)
        await cancel(running)
        assert list(memory.kept.values()) == frames(200)
        assert max(memory.deliveries) <= 20
        assert sum(memory.deliveries) == 200
        assert made.spool.status().unacknowledged_bytes == 0
        assert made_shipper.status.failures == 0
        assert made_shipper.status.last_success == pytest.approx(time.time(), abs=60)


async def test_a_failure_is_told_once_and_outlived(tmp_path: Path) -> None:
    """However many there are in a row; then all arrives."""
    memory = Memory(failing=True)
    with opened(tmp_path) as made:
        made_shipper, logger = shipper(made, memory)
        made.append(*frames(10))
        running = asyncio.create_task(made_shipper.run())
        await until(lambda: made_shipper.status.failures >= 3)
        assert "No space left on device" in made_shipper.status.error
        assert made_shipper.status.last_success is None
        memory.failing = False
        await until(lambda: made.spool.status().acknowledged == 10)
        await cancel(running)
        assert logger.warning.call_count == 1
        assert logger.info.call_count == 1
        assert made_shipper.status.error == ""
        assert list(memory.kept.values()) == frames(10)


async def test_an_error_nobody_foresaw_stops_nothing(tmp_path: Path) -> None:
    """Its words stay out of the status: they may quote anything."""
    calls = []

    class Broken(Memory):
        async def deliver(
            self,
            cluster: str,
            frames: Sequence[Frame],
            quarantined: Sequence[QuarantinedFrame] = (),
        ) -> Receipt:
            calls.append(1)
            if len(calls) == 1:
                raise ValueError("secret")
            return await super().deliver(cluster, frames, quarantined)

    with opened(tmp_path) as made:
        made_shipper, logger = shipper(made, Broken())
        made.append(frame(0))
        running = asyncio.create_task(made_shipper.run())
        await until(lambda: made.spool.status().acknowledged == 1)
        await cancel(running)
        assert logger.warning.call_args.kwargs["problem"] == "unexpected ValueError"


async def test_attempts_become_rarer(tmp_path: Path) -> None:
    """Up to the longest wait, each time a little different: replicas must not knock in step."""
    memory = Memory(failing=True)
    settings = ShipperSettings(first_retry_s=0.5, last_retry_s=10)
    with opened(tmp_path) as made:
        made.write(frame(0))
        made_shipper, _ = shipper(made, memory, settings)
        waits = [await made_shipper._step() for _ in range(30)]  # noqa: SLF001  Not waited for.
        for number, wait in enumerate(waits):
            longest = min(0.5 * 2**number, 10)
            assert longest / 2 <= wait <= longest
        assert len(set(waits)) == 30


async def test_cancelled_at_any_time_nothing_is_lost(tmp_path: Path) -> None:
    """Another shipper goes on; what comes twice is kept once."""
    memory = Memory()
    with opened(tmp_path) as made:
        for round_ in range(40):
            made.write(*(frame(round_ * 10 + number) for number in range(10)))
            made_shipper, _ = shipper(made, memory)
            running = asyncio.create_task(made_shipper.run())
            await asyncio.sleep(round_ * 0.0002)
            await cancel(running)
        last, _ = shipper(made, memory)
        assert await last.drain(10) == 0
        assert sorted(memory.kept.values(), key=lambda one: one.id) == [
            frame(number) for number in range(400)
        ]


async def test_draining_ships_what_is_still_in_memory(tmp_path: Path) -> None:
    """What was appended a moment ago arrives; an auditor that fails is not waited for longer."""
    memory = Memory()
    slow = SpoolSettings(write_every_s=0.1)
    with opened(tmp_path, slow) as made:
        made_shipper, _ = shipper(made, memory)
        made.append(*frames(50))
        assert await made_shipper.drain(10) == 0
        assert list(memory.kept.values()) == frames(50)
        memory.failing = True
        made.append(*frames(5))
        began = time.monotonic()
        assert await made_shipper.drain(0.5) > 500
        assert time.monotonic() - began < 5


async def test_nothing_to_ship_asks_nobody(tmp_path: Path) -> None:
    """An idle gate sends nothing."""
    memory = Memory()
    with opened(tmp_path) as made:
        made_shipper, _ = shipper(made, memory)
        running = asyncio.create_task(made_shipper.run())
        await asyncio.sleep(0.1)
        await cancel(running)
        assert memory.deliveries == []
