"""What `/metrics` of the control process shows of its loops."""

import time
from collections.abc import Callable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_LOOP = ("loop",)

# Seconds. Most runs ask a few objects; a sweep of 100,000 Pods takes minutes.
DURATION_BUCKETS = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600)


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
