"""What takes long leaves the event loop, however small it is."""

import asyncio
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits, Instances
from policies.projection.model import Container, HostPath, Projection, Volume, encode

# Each part of the path needs a call of the host, which costs much and shows in no size.
SLOW = encode(
    Projection(
        containers=[Container("spec.containers[0]", "c", "container")],
        volumes=[Volume("spec.volumes[0]", ["hostPath"], HostPath("/\u00e9" * 1_300))],
    )
)
AS_LARGE = SLOW.replace("/\u00e9".encode(), b"aaa")
"""As many bytes, of which each is its own."""
QUICK = msgspec.json.encode({"containers": [], "hostPID": True})


async def test_a_small_projection_that_takes_long_holds_up_nobody(built: Path) -> None:
    """Its neighbours are answered meanwhile; it gets its own answer all the same."""
    engine = EmbeddedEngine(read_bundle(built), EvaluationLimits(seconds=5.0))
    alone = engine.evaluate(SLOW)
    slow = [asyncio.create_task(engine.ask(SLOW)) for _ in range(4)]
    longest = 0.0
    while not all(task.done() for task in slow):
        start = time.monotonic()
        await asyncio.sleep(0)
        assert [need.privilege for need in (await engine.ask(QUICK)).needs] == ["host/pid"]
        longest = max(longest, time.monotonic() - start)
        await asyncio.sleep(0.001)
    assert [await task for task in slow] == [alone] * 4
    engine.close()
    assert longest < 0.6


async def test_what_took_too_long_is_not_tried_in_the_loop_again(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is anything as large, until something of its size is quick in a thread."""
    in_loop: list[bool] = []
    evaluate = Instances.evaluate

    def noted(self: Instances, *arguments: Any) -> bytes:
        in_loop.append(threading.current_thread() is threading.main_thread())
        return evaluate(self, *arguments)

    engine = EmbeddedEngine(read_bundle(built), EvaluationLimits(seconds=5.0))
    monkeypatch.setattr(Instances, "evaluate", noted)
    for asked in (SLOW, SLOW, QUICK):
        await engine.ask(asked)
    assert in_loop == [True, False, False, True]
    async with asyncio.timeout(30):
        await engine.ask(AS_LARGE)
        while not in_loop[-1]:
            await engine.ask(AS_LARGE)
    engine.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives threads a niceness each")
async def test_threads_that_evaluate_large_inputs_go_behind_the_event_loop(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler prefers the loop's thread, whose own niceness stays."""
    evaluate = Instances.evaluate
    seen: list[int] = []

    def noted(self: Instances, *arguments: Any) -> bytes:
        seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return evaluate(self, *arguments)

    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    engine = EmbeddedEngine(read_bundle(built), EvaluationLimits(seconds=5.0))
    monkeypatch.setattr(Instances, "evaluate", noted)
    await engine.ask(AS_LARGE + b" " * 8 * 1024)
    engine.close()
    assert seen == [max(own, 10)]
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == own
