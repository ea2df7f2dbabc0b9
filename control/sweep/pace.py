"""Keeps the sweep to its rate, and to its share of one core."""

import asyncio
import time
from typing import Final

from control.sweep.settings import SweepSettings

_BATCH: Final = 16
"""Pods between two looks at the clocks."""


def pause_s(pods: int, wall_s: float, cpu_s: float, settings: SweepSettings) -> float:
    """Give how long to rest after `pods` Pods that took so many seconds. Pure."""
    due = max(pods / settings.pods_per_second, cpu_s / settings.core_share)
    return max(0.0, due - wall_s)


class Pace:
    """Counts Pods as they are judged, and rests as needed."""

    def __init__(self, settings: SweepSettings) -> None:
        self._settings = settings
        self._begin()

    async def step(self) -> None:
        """Call after each Pod: others get the event loop, and a rest is taken when one is due."""
        self._pods += 1
        rest = 0.0
        if self._pods == _BATCH:
            wall, cpu = time.monotonic() - self._wall, time.thread_time() - self._cpu
            rest = pause_s(self._pods, wall, cpu, self._settings)
        await asyncio.sleep(rest)
        if self._pods == _BATCH:
            self._begin()

    def _begin(self) -> None:
        self._pods, self._wall, self._cpu = 0, time.monotonic(), time.thread_time()
