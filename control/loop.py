"""Loops: work that the leader does again and again, each in a task of its own."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import structlog

from control.metrics import LoopMetrics
from core.base.errors import NotLeaderError, SallyportError
from core.safe_text import traceback_places
from kube.leader.lease import Leadership

FIRST_RETRY_S: Final = 1.0
"""Seconds until a loop that failed is tried again; doubled each time, up to its interval."""

LAST_RETRY_S: Final = 300.0
"""The longest of these waits: the alert on failing loops looks back 15 minutes."""

_log = structlog.get_logger(__name__)


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Loop:
    """Work that is done again and again."""

    name: str
    """Value of the label `loop` of the metrics."""
    interval_s: float
    """From the end of one run to the beginning of the next; cut by up to a tenth."""
    run: Callable[[Leadership], Awaitable[None]]
    """Does it once. It is cancelled when leadership is lost, and calls `require` before writes."""
    longest_s: float = 300.0
    """A run that takes longer is cut off, and counts as failed."""
    forget: Callable[[], None] = _nothing
    """Takes back, when a term ends, what only a leader can know: gauges that would grow old."""


class RunningLoop:
    """One loop of this process, over all its terms."""

    def __init__(self, loop: Loop, metrics: LoopMetrics) -> None:
        self._loop = loop
        self._metrics = metrics
        self._failures = 0
        self._problem = "has not run yet"
        self._succeeded = False
        metrics.add(loop.name, loop.interval_s)

    def missing(self) -> list[str]:
        """Say why it has never succeeded, for a person; nothing once it has.

        Nothing either while its first run goes on: a sweep takes as long as the cluster is large.
        """
        if self._succeeded or not self._problem:
            return []
        return [f"loop {self._loop.name}: {self._problem}"]

    async def keep_running(self, leadership: Leadership) -> None:
        """Run it until cancelled, or until the leadership is over."""
        try:
            while leadership.holds():
                await self._run_once(leadership)
                await asyncio.sleep(self._pause())
        finally:
            self._metrics.forget(self._loop.name)
            self._loop.forget()

    async def _run_once(self, leadership: Leadership) -> None:
        name, began = self._loop.name, time.monotonic()
        self._metrics.begin(name)
        if not self._failures:
            self._problem = ""
        try:
            async with asyncio.timeout(self._loop.longest_s) as limit:
                await self._loop.run(leadership)
        except NotLeaderError:
            return
        except TimeoutError as error:
            cut = f"cut off after {self._loop.longest_s:g} s"
            self._fail(cut if limit.expired() else describe(error), error)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the other loops go on
            self._fail(describe(error), error)
        else:
            self._failures, self._succeeded, self._problem = 0, True, ""
            self._metrics.succeed(name)
        self._metrics.end(name, time.monotonic() - began)

    def _fail(self, problem: str, error: Exception) -> None:
        self._failures += 1
        self._metrics.fail(self._loop.name)
        if problem != self._problem or self._failures == 1:
            _log.warning(
                "loop failed: trying again",
                loop=self._loop.name,
                problem=problem,
                at=traceback_places(error),
            )
        self._problem = problem

    def _pause(self) -> float:
        interval = self._loop.interval_s
        if self._failures:
            retry = FIRST_RETRY_S * 2.0 ** min(self._failures - 1, 30)
            interval = min(interval, retry, LAST_RETRY_S)
        return interval * random.uniform(0.9, 1.0)  # noqa: S311 -- spreads load


def describe(error: Exception) -> str:
    """Say what went wrong without anything that may be secret: our own words, or a type."""
    return str(error) if isinstance(error, SallyportError) else f"defect: {type(error).__name__}"
