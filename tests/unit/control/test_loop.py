"""Loops: one that fails, hangs or lasts holds up no other, and each shows how it fares."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import structlog
from prometheus_client import CollectorRegistry
from structlog.testing import CapturingLogger

from control import loop as loops
from control.loop import Loop, LoopMetrics, RunningLoop
from core.base.errors import ClusterError, NotLeaderError
from kube.leader.lease import Leadership

CANARY = "c4n4ry"


def leadership() -> Leadership:
    """Return one that holds."""
    return Leadership(1, 10.0, lambda: 0.0)


async def run_for(
    seconds: float, metrics: LoopMetrics, held: Leadership, *made: Loop
) -> list[RunningLoop]:
    """Run loops for a while, each in its task, as the runner does."""
    running = [RunningLoop(each, metrics) for each in made]
    tasks = [asyncio.create_task(each.keep_running(held)) for each in running]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    return running


def value(metrics: LoopMetrics, name: str, loop: str) -> float | None:
    """Return a metric's value for a loop."""
    return metrics.registry.get_sample_value(name, {"loop": loop})


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> CapturingLogger:
    """What the loops log."""
    capturing = CapturingLogger()
    monkeypatch.setattr(loops, "_log", structlog.wrap_logger(capturing, processors=[]))
    return capturing


async def fine(_: Leadership) -> None:
    """Succeed."""


async def hang(_: Leadership) -> None:
    """Never end."""
    await asyncio.sleep(3600)


def failing(error: Exception) -> Callable[[Leadership], Awaitable[None]]:
    """Return what fails so."""

    async def run(_: Leadership) -> None:
        raise error

    return run


async def test_a_loop_that_fails_or_hangs_holds_up_no_other() -> None:
    """The sound one runs at its interval, whatever the others do."""
    metrics = LoopMetrics(CollectorRegistry())
    sound, broken, stuck = await run_for(
        0.5,
        metrics,
        leadership(),
        Loop("sound", 0.02, fine),
        Loop("broken", 0.02, failing(ClusterError("kube-apiserver is away"))),
        Loop("stuck", 0.02, hang, longest_s=0.1),
    )
    assert (value(metrics, "sallyport_loop_runs_total", "sound") or 0) >= 5
    assert value(metrics, "sallyport_loop_errors_total", "sound") == 0
    assert (value(metrics, "sallyport_loop_errors_total", "broken") or 0) >= 1
    assert (value(metrics, "sallyport_loop_errors_total", "stuck") or 0) >= 1
    assert value(metrics, "sallyport_loop_interval_seconds", "stuck") == 0.02
    assert (value(metrics, "sallyport_loop_duration_seconds_count", "stuck") or 0) >= 1
    assert sound.missing() == []
    assert broken.missing() == ["loop broken: kube-apiserver is away"]
    assert stuck.missing() == ["loop stuck: cut off after 0.1 s"]


async def test_a_failure_is_tried_again_ever_more_slowly_up_to_the_interval(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And from the beginning after a success."""
    slept: list[float] = []
    held = leadership()
    outcomes = [True, True, True, True, True, False, True]

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 7:
            held.end()

    async def run(_: Leadership) -> None:
        if outcomes.pop(0):
            raise ClusterError("no")

    monkeypatch.setattr(asyncio, "sleep", sleep)
    await RunningLoop(Loop("loop", 10.0, run), LoopMetrics(CollectorRegistry())).keep_running(held)
    for seconds, longest in zip(slept, [1, 2, 4, 8, 10, 10, 1], strict=True):
        assert longest * 0.9 <= seconds <= longest


async def test_a_loop_that_runs_seldom_is_tried_again_within_five_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The alert on failing loops looks back 15 minutes, and must not miss one in between."""
    slept: list[float] = []
    held = leadership()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 12:
            held.end()

    monkeypatch.setattr(asyncio, "sleep", sleep)
    loop = Loop("loop", 3600.0, failing(ClusterError("no")))
    await RunningLoop(loop, LoopMetrics(CollectorRegistry())).keep_running(held)
    assert 270 <= slept[-1] <= 300


async def test_only_a_leader_shows_successes() -> None:
    """A success grows old when others lead: once the term is over, nothing is shown any more."""
    metrics = LoopMetrics(CollectorRegistry(), lambda: 1234.0)
    forgotten: list[str] = []
    loops = (
        Loop("sound", 60, fine, forget=lambda: forgotten.append("sound")),
        Loop("broken", 60, failing(ClusterError("no"))),
    )
    held, shown = leadership(), "sallyport_loop_last_success_timestamp_seconds"
    running = [RunningLoop(each, metrics) for each in loops]
    for term in (1, 2):
        tasks = [asyncio.create_task(each.keep_running(held)) for each in running]
        await asyncio.sleep(0.05)
        assert value(metrics, shown, "sound") == 1234
        assert value(metrics, shown, "broken") is None
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert value(metrics, shown, "sound") is None
        assert len(forgotten) == term


async def test_a_defect_is_logged_without_its_text(log: CapturingLogger) -> None:
    """It may quote an object; its type and place are enough. And once, not each time."""
    (broken,) = await run_for(
        0.2,
        LoopMetrics(CollectorRegistry()),
        leadership(),
        Loop("broken", 0.01, failing(ValueError(CANARY))),
    )
    assert broken.missing() == ["loop broken: defect: ValueError"]
    assert len(log.calls) == 1
    assert "test_loop.py" in repr(log.calls)
    assert CANARY not in repr(log.calls)


async def test_lost_leadership_is_no_failure() -> None:
    """The loop ends by itself."""
    metrics, held = LoopMetrics(CollectorRegistry()), leadership()

    async def run(given: Leadership) -> None:
        given.end()
        given.require()

    running = RunningLoop(Loop("loop", 0.0, run), metrics)
    async with asyncio.timeout(5):
        await running.keep_running(held)
    assert value(metrics, "sallyport_loop_errors_total", "loop") == 0
    with pytest.raises(NotLeaderError):
        held.require()


async def test_a_loop_that_has_not_run_says_so() -> None:
    """A new leader is not ready before its loops have begun."""
    running = RunningLoop(Loop("loop", 60, fine), LoopMetrics(CollectorRegistry()))
    assert running.missing() == ["loop loop: has not run yet"]


async def test_a_first_run_that_lasts_is_nothing_missing() -> None:
    """A sweep takes minutes; but a run after one that failed counts once it has succeeded."""
    outcomes, entered = ["fail", "last"], asyncio.Event()

    async def run(_: Leadership) -> None:
        if outcomes.pop(0) == "fail":
            raise ClusterError("no")
        entered.set()
        await asyncio.sleep(3600)

    for expected in (["loop loop: no"], []):
        entered.clear()
        running = RunningLoop(Loop("loop", 0.01, run), LoopMetrics(CollectorRegistry()))
        task = asyncio.create_task(running.keep_running(leadership()))
        async with asyncio.timeout(5):
            await entered.wait()
        assert running.missing() == expected
        task.cancel()
        await asyncio.wait([task])
        outcomes.append("last")
