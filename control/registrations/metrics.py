"""What `/metrics` shows of what is registered with kube-apiserver."""

import math
from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge

_LABELS = ("kind", "name")

Key = tuple[str, str]
"""Kind of the object, and name of the webhook or policy."""


class RegistrationMetrics:
    """Only the leader shows them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._healthy = Gauge(
            "sallyport_registration_healthy",
            "1 where a webhook or policy is registered as the chart says it.",
            _LABELS,
            registry=registry,
        )
        self._changed = Counter(
            "sallyport_registration_changed",
            "Times that somebody changed or deleted a webhook or policy.",
            _LABELS,
            registry=registry,
        )
        self._reached = Gauge(
            "sallyport_gate_reached",
            "1 where kube-apiserver reaches a gate, by the webhook probe.sallyport.dev; NaN where "
            "that is not known, or another replica leads.",
            registry=registry,
        )
        self._reached.set(math.nan)
        self._expected: tuple[Key, ...] = ()

    def show(self, expected: Iterable[Key], problems: Mapping[Key, str]) -> None:
        """Show of each whether it is healthy."""
        self._healthy.clear()
        self._expected = tuple(expected)
        for key in self._expected:
            self._healthy.labels(*key).set(key not in problems)
            self._changed.labels(*key)

    def fail(self) -> None:
        """Show that none is known to be healthy: what it is compared with cannot be read."""
        for key in self._expected:
            self._healthy.labels(*key).set(0)

    def reach(self, reached: float) -> None:
        """Show whether kube-apiserver reaches a gate: 1 or 0; NaN where that is not known."""
        self._reached.set(reached)

    def change(self, key: Key) -> None:
        """Count that somebody changed or deleted one."""
        self._changed.labels(*key).inc()

    def forget(self) -> None:
        """Show nothing that only a leader knows."""
        self._healthy.clear()
        self._reached.set(math.nan)
