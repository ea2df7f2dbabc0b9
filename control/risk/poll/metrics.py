"""What `/metrics` of the control process shows of the poller."""

import time
from collections import Counter as Counts
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge

from core.risk.model import RiskLevel
from core.risk.snapshot import Coverage
from identity.entra.graph_requests import Resource
from identity.risk.entry_merge import MergeResult

_REFUSED = (MergeResult.FUTURE,)
_UNREADABLE = "unreadable"


class PollMetrics:
    """Counters, and gauges that only a leader shows."""

    def __init__(self, registry: CollectorRegistry, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._coverages: dict[Resource, Coverage] = {}
        gauge = partial(Gauge, registry=registry)
        counter = partial(Counter, registry=registry)
        self._requests = counter(
            "sallyport_risk_requests", "Requests to Graph, by their end.", ("resource", "result")
        )
        self._refused = counter(
            "sallyport_risk_refused",
            "Objects of Graph's that were refused: without an id, or of the future.",
            ("resource", "reason"),
        )
        self._age = gauge(
            "sallyport_risk_snapshot_age_seconds",
            "Seconds since what is known of these was complete; only the leader shows it, and "
            "infinite where it never was.",
            ("of",),
        )
        self._problem = gauge(
            "sallyport_risk_problem",
            "1 while these are not kept up; the log says why; only the leader shows it.",
            ("of",),
        )
        self._identities = gauge(
            "sallyport_risk_identities",
            "Identities that Entra says are at risk, by level; only the leader shows it.",
            ("level",),
        )
        self._skew = gauge(
            "sallyport_risk_clock_skew_seconds",
            "By how much this machine's clock is ahead of Graph's; only the leader shows it.",
            (),
        )

    def request(self, resource: Resource, result: str) -> None:
        """Count a request."""
        self._requests.labels(resource.value, result).inc()

    def refuse(
        self, resource: Resource, unreadable: int, counts: Mapping[MergeResult, int]
    ) -> None:
        """Count objects that were refused."""
        for reason in _REFUSED:
            if counts.get(reason):
                self._refused.labels(resource.value, reason.value).inc(counts[reason])
        if unreadable:
            self._refused.labels(resource.value, _UNREADABLE).inc(unreadable)

    def skew(self, seconds: float) -> None:
        """Show how far the clocks are apart."""
        self._skew.set(round(seconds))

    def cover(self, coverages: Mapping[Resource, Coverage]) -> None:
        """Show how far everything is known, from now on."""
        self._coverages = dict(coverages)
        for resource, coverage in coverages.items():
            self._age.labels(resource.value).set_function(partial(self._age_of, resource))
            self._problem.labels(resource.value).set(bool(coverage.problem))

    def count(self, levels: Iterable[RiskLevel]) -> None:
        """Show how many identities are at risk, each of the levels given."""
        counts = Counts(levels)
        for level in RiskLevel:
            self._identities.labels(level.value).set(counts[level])

    def forget(self) -> None:
        """Show nothing that only a leader knows."""
        self._coverages = {}
        for each in (self._age, self._problem, self._identities):
            each.clear()
        self._skew.set(0)

    def _age_of(self, resource: Resource) -> float:
        coverage = self._coverages.get(resource)
        if coverage is None or coverage.as_of is None:
            return float("inf")
        return max(0.0, self._clock() - coverage.as_of)
