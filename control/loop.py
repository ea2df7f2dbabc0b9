"""Loops: work that the leader does again and again, each in a task of its own; their metrics."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from core.base.errors import NotLeaderError, SallyportError
from core.base.safe_text import traceback_places
from kube.leader.election import LeaseElection
from kube.leader.lease import Leadership

_LOOP = ("loop",)

# Seconds. Most runs ask a few objects; a sweep of 100,000 Pods takes minutes.
DURATION_BUCKETS = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600)

FIRST_RETRY_S: Final = 1.0
"""Seconds until a loop that failed is tried again; doubled each time, up to its interval."""

LAST_RETRY_S: Final = 300.0
"""The longest of these waits: the alert on failing loops looks back 15 minutes."""

_log = structlog.get_logger(__name__)


class LoopMetrics:
    """Counters of the loops. A loop's own metrics are added to `registry`."""

    def __init__(self, registry: CollectorRegistry, wall: Callable[[], float] = time.time) -> None:
        self.registry = registry
        self._wall = wall
        gauge = partial(Gauge, registry=self.registry)
        counter = partial(Counter, registry=self.registry)
        self._leader = gauge("sallyport_leader", "1 while this process leads.")
        self._interval = gauge("sallyport_loop_interval_seconds", "Time between runs.", _LOOP)
        self._success = gauge(
            "sallyport_loop_last_success_timestamp_seconds",
            "Unix time at which the loop last succeeded in this term; only the leader shows it.",
            _LOOP,
        )
        self._runs = counter("sallyport_loop_runs", "Runs begun.", _LOOP)
        self._errors = counter("sallyport_loop_errors", "Runs that failed.", _LOOP)
        self._duration = Histogram(
            "sallyport_loop_duration_seconds",
            "Time of each run.",
            _LOOP,
            registry=self.registry,
            buckets=DURATION_BUCKETS,
        )

    def watch(self, leads: Callable[[], bool]) -> None:
        """Ask at each scrape whether this process leads."""
        self._leader.set_function(lambda: float(leads()))

    def add(self, loop: str, interval_s: float) -> None:
        """Show a loop from the beginning, with zeros."""
        self._interval.labels(loop).set(interval_s)
        for metric in (self._runs, self._errors, self._duration):
            metric.labels(loop)

    def begin(self, loop: str) -> None:
        """Count a run."""
        self._runs.labels(loop).inc()

    def succeed(self, loop: str) -> None:
        """Note that a run has just succeeded."""
        self._success.labels(loop).set(self._wall())

    def forget(self, loop: str) -> None:
        """Show no success any more: the term is over, and the next leader has its own."""
        self._success.remove(loop)

    def fail(self, loop: str) -> None:
        """Count a run that failed."""
        self._errors.labels(loop).inc()

    def end(self, loop: str, seconds: float) -> None:
        """Note how long a run took."""
        self._duration.labels(loop).observe(seconds)


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


class Runner:
    """The loops of this process; run `run` as a task, and cancel it to stop.

    Stopping is harmless at any time: the loops are cancelled, then the Lease is given up, so that
    the next leader begins at once; each loop can be broken off anywhere.
    """

    def __init__(
        self, election: LeaseElection, loops: Iterable[Loop], metrics: LoopMetrics
    ) -> None:
        self._election = election
        self._loops = [RunningLoop(loop, metrics) for loop in loops]
        metrics.watch(election.leads)

    def missing(self) -> list[str]:
        """Say what is missing until this process does its work, for `/readyz`.

        One that waits to lead misses nothing as long as it can read the Lease.
        """
        if self._election.problem:
            return [f"lease: {self._election.problem}"]
        if not self._election.leads():
            return []
        return [what for loop in self._loops for what in loop.missing()]

    async def run(self) -> None:
        """Run the loops whenever this process leads, until cancelled."""
        await self._election.run(self._lead)

    async def _lead(self, leadership: Leadership) -> None:
        async with asyncio.TaskGroup() as group:
            for loop in self._loops:
                group.create_task(loop.keep_running(leadership))
