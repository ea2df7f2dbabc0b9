"""Prometheus metrics of sinks."""

import time
from collections.abc import Callable, Iterator, Sequence

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from audit.notifications.delivery import SinkDelivery
from network.metric_families import counter_of


class NotificationsCollector(Collector):
    """Reads what deliveries know."""

    def __init__(
        self,
        deliveries: Callable[[], Sequence[SinkDelivery]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Note where the deliveries are."""
        self._deliveries = deliveries
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as of now."""
        found = self._deliveries()
        cursors = {each.name: each.cursor for each in found if each.cursor is not None}
        sent = {name: cursor.sent for name, cursor in cursors.items()}
        yield counter_of("sallyport_notices_sent", "Notices that a sink took.", "sink", sent)
        dead = {name: cursor.dead for name, cursor in cursors.items()}
        text = "Notices that were given up: refused for good, or not told for too long."
        yield counter_of("sallyport_notices_dead", text, "sink", dead)
        failures = {each.name: each.failures for each in found}
        text = "Tries to tell a sink that failed; they are repeated."
        yield counter_of("sallyport_sink_failures", text, "sink", failures)
        yield self._failing(found)

    def _failing(self, found: Sequence[SinkDelivery]) -> Metric:
        family = GaugeMetricFamily(
            "sallyport_sink_failing_seconds",
            "For how long a sink has taken nothing; 0 where the last try succeeded.",
            labels=["sink"],
        )
        now = self._clock()
        for each in found:
            since = each.failing_since_ms / 1000
            family.add_metric([each.name], max(0.0, now - since) if since else 0.0)
        return family
