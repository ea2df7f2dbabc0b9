"""Prometheus metrics of a spool and its shipping."""

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from audit.ledger.spool.queue import SpoolStatus
from audit.ledger.spool.shipper import ShipperStatus
from network.metric_families import counter_of, gauge_of, gauge_where_known


class RefusalCollector(Collector):
    """Asks at each scrape how many refusals were counted and not kept."""

    def __init__(self, aggregated: Callable[[], int]) -> None:
        self._aggregated = aggregated

    def collect(self) -> Iterator[Metric]:
        """Yield the metric (prometheus_client)."""
        counter = CounterMetricFamily(
            "sallyport_aggregated_refusals",
            "Refusals beyond `record.refusals_per_minute`: counted in aggregates, not kept.",
        )
        counter.add_metric([], self._aggregated())
        yield counter


class ShareCollector(Collector):
    """Asks at each scrape how many admissions were beyond their share of the spool."""

    def __init__(self, refused: Callable[[], int]) -> None:
        self._refused = refused

    def collect(self) -> Iterator[Metric]:
        """Yield the metric (prometheus_client)."""
        counter = CounterMetricFamily(
            "sallyport_admissions_over_share",
            "Admissions not recorded: their requester and namespace have their share of a spool "
            "that is more than half full.",
        )
        counter.add_metric([], self._refused())
        yield counter


class SpoolCollector(Collector):
    """Asks a spool and its shipper at each scrape."""

    def __init__(
        self, spool: Callable[[], SpoolStatus], shipping: Callable[[], ShipperStatus]
    ) -> None:
        self._spool = spool
        self._shipping = shipping

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics (prometheus_client)."""
        spool, shipping = self._spool(), self._shipping()
        yield gauge_of("sallyport_spool_bytes", "Held, on disk and in memory.", spool.bytes)
        yield gauge_of("sallyport_spool_max_bytes", "The most that is held.", spool.max_bytes)
        yield gauge_of(
            "sallyport_spool_oldest_seconds",
            "Age of the oldest record that the auditor has not acknowledged; 0 without one.",
            spool.oldest_age_s,
        )
        yield gauge_of(
            "sallyport_spool_full", "1 while no decision can be recorded.", bool(spool.full)
        )
        totals = {"taken": spool.appended, "refused": spool.refused, "shipped": spool.acknowledged}
        yield counter_of("sallyport_spool_records", "Records, by result.", "result", totals)
        taken = CounterMetricFamily("sallyport_spool_taken_bytes", "Bytes of all records taken.")
        taken.add_metric([], spool.taken_bytes)
        yield taken
        yield gauge_where_known(
            "sallyport_spool_seconds_left",
            "For how long there is room, at the rate of the last ten minutes, if the auditor takes "
            "nothing; without a value while nothing is recorded.",
            spool.seconds_left,
        )
        damages = CounterMetricFamily("sallyport_spool_damages", "Damages found on disk.")
        damages.add_metric([], spool.damaged)
        yield damages
        yield gauge_of(
            "sallyport_shipping_failures", "Failed attempts in a row.", shipping.failures
        )
        if shipping.last_success is not None:
            yield gauge_of(
                "sallyport_shipping_last_success_timestamp_seconds",
                "Unix time of the last acknowledgement.",
                shipping.last_success,
            )
