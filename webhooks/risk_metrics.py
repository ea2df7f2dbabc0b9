"""The metrics of the risk snapshot that a process judges by."""

import math
import time
from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from core.risk.snapshot import RiskSnapshot
from network.metric_families import gauge_of


class RiskCollector(Collector):
    """Asks for the snapshot at each scrape; shows nothing where risk decides nothing."""

    def __init__(
        self, snapshot: Callable[[], RiskSnapshot | None], clock: Callable[[], float] = time.time
    ) -> None:
        """Take what gives the snapshot, from memory, and Unix seconds."""
        self._snapshot = snapshot
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics (prometheus_client)."""
        snapshot = self._snapshot()
        if snapshot is None:
            return
        head = snapshot.head
        now = self._clock()
        ages = GaugeMetricFamily(
            "sallyport_risk_age_seconds",
            "Since what Entra says was complete, as this process judges by it; infinite where it "
            "never was.",
            labels=["of"],
        )
        for of, coverage in (
            ("users", head.users),
            ("service-principals", head.service_principals),
        ):
            ages.add_metric([of], math.inf if coverage.as_of is None else now - coverage.as_of)
        yield ages
        yield gauge_of(
            "sallyport_risk_version", "Version of the risk snapshot in force.", head.version
        )
