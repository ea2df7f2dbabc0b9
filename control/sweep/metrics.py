"""What Prometheus sees of the sweep: gauges of the leader, counters of each process.

The numbers of a finished sweep outlive a change of leader: the next one shows them.
"""

import math
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from control.sweep.progress import Progress
from core.base.times import seconds_of
from core.decision.decision import Verdict
from core.decision.sweep_document import SweepDocument

_SKIPPED: Final = ("deleting", "finished", "gone")


class SweepMetrics:
    """Gauges and counters of the sweep, in the registry of its process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        gauge, counter = partial(Gauge, registry=registry), partial(Counter, registry=registry)
        self._objects = gauge(
            "sallyport_sweep_objects", "Pods by verdict, in the last finished sweep.", ("verdict",)
        )
        self._sandbox_missing = gauge(
            "sallyport_sandbox_missing",
            "Pods that should run in a sandbox and do not, in the last finished sweep.",
        )
        self._progress = gauge(
            "sallyport_sweep_progress_objects", "Pods listed so far by the running sweep."
        )
        self._skipped = gauge(
            "sallyport_sweep_skipped_objects",
            "Pods that the running, or last, sweep did not judge, by reason.",
            ("reason",),
        )
        self._finished = gauge(
            "sallyport_sweep_last_finished_timestamp_seconds",
            "Unix time at which a sweep was last finished; 0 before the first. Where another "
            "replica leads, this and the other gauges of the sweep are NaN.",
        )
        self._duration = gauge(
            "sallyport_sweep_duration_seconds", "From beginning to end of the last finished sweep."
        )
        self._interval = gauge(
            "sallyport_sweep_interval_seconds", "From one sweep's beginning to the next's."
        )
        self._interruptions = counter(
            "sallyport_sweep_interruptions", "Sweeps taken up again where they had stopped."
        )
        self._reports = counter(
            "sallyport_reports_written", "OpenReports objects written.", ("result",)
        )
        self._unavailable = gauge(
            "sallyport_reports_unavailable", "1 when OpenReports' CRDs are not installed."
        )
        for result in ("ok", "error"):
            self._reports.labels(result)
        self.forget()

    def forget(self) -> None:
        """Show nothing of the sweep: this process does not lead."""
        for gauge in (
            self._sandbox_missing,
            self._progress,
            self._finished,
            self._duration,
            self._interval,
            self._unavailable,
        ):
            gauge.set(math.nan)
        for labelled in (self._objects, self._skipped):
            labelled.clear()

    def show_progress(self, progress: Progress) -> None:
        """Show how far a sweep has come."""
        self._progress.set(progress.seen)
        for reason in _SKIPPED:
            self._skipped.labels(reason).set(progress.passed_over.get(reason, 0))

    def show_last(self, document: SweepDocument | None, interval_s: float) -> None:
        """Show the last sweep that was finished, by whichever leader, and when the next is due."""
        self._interval.set(interval_s)
        if document is None:
            self._finished.set(0.0)
        else:
            self.show_finished(document)

    def show_finished(self, document: SweepDocument) -> None:
        """Show the last sweep that was finished."""
        for verdict in Verdict:
            self._objects.labels(verdict.value).set(document.verdicts.get(verdict.value, 0))
        self._sandbox_missing.set(document.sandbox_missing)
        started, finished = seconds_of(document.started), seconds_of(document.finished)
        self._finished.set(finished)
        self._duration.set(max(0.0, finished - started))

    def count_interruption(self) -> None:
        """Count one sweep that goes on where it had stopped."""
        self._interruptions.inc()

    def count_report(self, result: str) -> None:
        """Count one attempt to write a report: `ok` or `error`."""
        self._reports.labels(result).inc()

    def reports_unavailable(self, *, unavailable: bool) -> None:
        """Set whether the cluster lacks OpenReports, so that reports have nowhere to go."""
        self._unavailable.set(float(unavailable))
