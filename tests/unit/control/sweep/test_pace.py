"""The sweep keeps to its rate and to its share of a core."""

import asyncio
import time

import pytest

from control.sweep.loop import SweepPace, pause_s
from control.sweep.settings import SweepSettings
from core.base.errors import SettingsError


@pytest.mark.parametrize(
    ("wall", "cpu", "rest"),
    [
        (0.0, 0.0, 0.2),  # the rate: 100 Pods at 500 a second
        (0.05, 0.02, 0.15),
        (0.3, 0.01, 0.0),  # slower than the rate already
        (0.2, 0.2, 0.2),  # all of a core for 0.2 s: as long again without it
        (0.5, 0.2, 0.0),
    ],
)
def test_a_rest_is_as_long_as_rate_or_share_demand(wall: float, cpu: float, rest: float) -> None:
    """Whichever of the two wants the longer one."""
    settings = SweepSettings(3600, pods_per_second=500, core_share=0.5)
    assert pause_s(100, wall, cpu, settings) == pytest.approx(rest)


async def test_a_sweep_is_no_faster_than_its_rate() -> None:
    """320 steps at 1,000 a second take at least 0.3 s."""
    pace, began = (
        SweepPace(SweepSettings(3600, pods_per_second=1000, core_share=1.0)),
        time.monotonic(),
    )
    for _ in range(320):
        await pace.step()
    assert time.monotonic() - began >= 0.3


async def test_others_get_the_event_loop_at_each_step() -> None:
    """A lease is renewed, and a review answered, between any two Pods."""
    pace, turns = SweepPace(SweepSettings(3600, pods_per_second=1e9, core_share=1.0)), 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    for _ in range(100):
        await pace.step()
    task.cancel()
    assert turns >= 99


@pytest.mark.parametrize("wrong", [{"pods_per_second": 0}, {"core_share": 0}, {"core_share": 1.5}])
def test_what_cannot_be_kept_to_is_refused(wrong: dict[str, float]) -> None:
    """With a rate of 0 it would never end."""
    with pytest.raises(SettingsError, match="pods per second"):
        SweepSettings(**{"interval_s": 3600, "pods_per_second": 500} | wrong)  # type: ignore[arg-type]  # The test's own fields.
