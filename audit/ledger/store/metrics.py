"""Prometheus metrics of the room that the ledger takes and has left."""

from collections.abc import Callable, Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from audit.ledger.store.room import RoomForecast
from network.metric_families import gauge_by, gauge_where_known


class RoomCollector(Collector):
    """Asks at each scrape what was last measured; what is not known has no value."""

    def __init__(self, forecast: Callable[[], RoomForecast]) -> None:
        self._forecast = forecast

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics (prometheus_client)."""
        forecast = self._forecast()
        room = forecast.room
        yield gauge_where_known(
            "sallyport_ledger_size_bytes",
            "What the ledger takes, with its indexes; room that it reuses is left out.",
            room.size.used if room else None,
        )
        yield gauge_where_known(
            "sallyport_ledger_refusal_bytes",
            "Documents of refusals in the ledger: what goes first for want of room.",
            room.refusals if room else None,
        )
        yield gauge_where_known(
            "sallyport_ledger_max_bytes",
            "The budget `ledger.max_mib`, or what its file system has where that is less; without "
            "one, 85 % of that.",
            room.limit if room else None,
        )
        yield gauge_where_known(
            "sallyport_ledger_free_bytes",
            "What more can be kept: of the budget, for which refusals go, else of the file system "
            "where the ledger lies.",
            room.free if room else None,
        )
        yield gauge_by(
            "sallyport_ledger_growth_bytes_per_second",
            "By how much what is kept grew, over the last hour or day; refusals that may go are "
            "left out where there is a budget.",
            "window",
            forecast.growth(),
        )
        yield gauge_by(
            "sallyport_ledger_seconds_left",
            "In how many seconds the ledger is full if it goes on growing so; without a value "
            "while it does not grow.",
            "window",
            forecast.left_s(),
        )
