"""What Prometheus sees of the sweep, and where: on the leader, and nowhere else."""

import math

from prometheus_client import CollectorRegistry

from control.sweep.metrics import SweepMetrics
from control.sweep.progress import Progress, document_of
from core.decision.decision import Verdict
from tests.unit.control.sweep.sample_pods import SWEEP

FINISHED = "sallyport_sweep_last_finished_timestamp_seconds"
INTERVAL = "sallyport_sweep_interval_seconds"
SKIPPED = ("sallyport_sweep_skipped_objects", {"reason": "gone"})
DENIED = ("sallyport_sweep_objects", {"verdict": "deny"})

MISSING = "sallyport_sandbox_missing"

PROGRESS = Progress(
    sweep=SWEEP, verdicts={Verdict.DENY: 3}, passed_over={"gone": 2}, sandbox_missing=2
)


def gauges(registry: CollectorRegistry) -> dict[str, float]:
    """Return the values of all gauges."""
    return {
        sample.name: sample.value
        for metric in registry.collect()
        if metric.type == "gauge"
        for sample in metric.samples
    }


def test_a_process_that_never_led_shows_no_number() -> None:
    """Neither does one whose term is over: an old time would set off an alert for ever."""
    registry = CollectorRegistry()
    metrics = SweepMetrics(registry)
    never = gauges(registry)
    assert FINISHED in never
    assert all(math.isnan(value) for value in never.values())
    metrics.show_last(document_of(PROGRESS, "test", 1763731100.5), 3600.0)
    metrics.show_progress(PROGRESS)
    metrics.reports_unavailable(unavailable=True)
    assert not any(math.isnan(value) for value in gauges(registry).values())
    assert registry.get_sample_value(*SKIPPED) == 2
    assert registry.get_sample_value(*DENIED) == 3
    assert registry.get_sample_value(MISSING) == 2
    metrics.forget()
    assert gauges(registry).keys() == never.keys()
    assert all(math.isnan(value) for value in gauges(registry).values())


def test_the_last_sweep_is_shown_by_whoever_leads() -> None:
    """Whoever finished it; before the first of a cluster, the time is 0."""
    registry = CollectorRegistry()
    metrics = SweepMetrics(registry)
    metrics.show_last(None, 60.0)
    assert registry.get_sample_value(FINISHED) == 0
    assert registry.get_sample_value(INTERVAL) == 60
    metrics.show_last(document_of(PROGRESS, "test", 1763731100.5), 60.0)
    assert registry.get_sample_value(FINISHED) == 1763731100.5
