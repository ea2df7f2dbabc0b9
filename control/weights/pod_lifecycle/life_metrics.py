"""What `/metrics` shows of the record of Pods."""

import math
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge

from core.weights.pod_lifecycle import LifeEvent


class LifeMetrics:
    """Counters and gauges of the recorder of lives."""

    def __init__(self, registry: CollectorRegistry) -> None:
        gauge = partial(Gauge, registry=registry)
        self._pods = gauge(
            "sallyport_pods_followed",
            "Pods whose life is followed; NaN where another replica leads.",
        )
        self._reached = gauge(
            "sallyport_pods_recorded_timestamp_seconds",
            "Unix time up to which the life of Pods is recorded for good; NaN where another "
            "replica leads.",
        )
        self._documents = Counter(
            "sallyport_pod_lives",
            "Events of Pods that were recorded, by event.",
            ("event",),
            registry=registry,
        )
        self._gaps = Counter(
            "sallyport_pod_gaps",
            "Stretches of time of which the record of Pods may lack something.",
            registry=registry,
        )
        for event in LifeEvent:
            self._documents.labels(event.value)
        self.forget()

    def show(self, pods: int, reached: float) -> None:
        """Show how many are followed, and up to when (Unix seconds; 0 for not yet)."""
        self._pods.set(pods)
        self._reached.set(reached or math.nan)

    def count(self, event: LifeEvent) -> None:
        """Count a document."""
        self._documents.labels(event.value).inc()

    def count_gap(self) -> None:
        """Count a gap."""
        self._gaps.inc()

    def forget(self) -> None:
        """Show nothing that only a leader knows."""
        self._pods.set(math.nan)
        self._reached.set(math.nan)
