"""Prometheus metrics of the ledger's log, its heads and its anchors."""

from collections.abc import Callable, Iterator
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from audit.ledger.log.head_publisher import HeadPublisher
from core.base.times import seconds_of
from network.metric_families import counter_of, gauge_by, gauge_where_known


class TimestampCounts(Protocol):
    """What is told of timestamps."""

    at: float
    failures: int

    @property
    def failing_s(self) -> float:
        """Seconds since the first failure after the last timestamp; 0 where none failed."""


class LogCollector(Collector):
    """Asks who signs the ledger's heads, where somebody does."""

    def __init__(
        self,
        publishing: Callable[[], HeadPublisher | None],
        outside: Callable[[], int | None],
        timestamps: Callable[[], TimestampCounts | None] = lambda: None,
    ) -> None:
        """Take who gives the signer, how many rows are not in the log, and who has timestamps."""
        self._timestamps = timestamps
        self._publishing = publishing
        self._outside = outside

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics (prometheus_client)."""
        publishing = self._publishing()
        state = publishing.state if publishing else None
        yield gauge_where_known(
            "sallyport_ledger_records",
            "Entries of the ledger's log.",
            state.tree.size if state else None,
        )
        head = publishing.head if publishing else None
        yield gauge_where_known(
            "sallyport_ledger_signed_records",
            "Entries that the last signed head covers.",
            head.size if head else None,
        )
        yield gauge_where_known(
            "sallyport_ledger_head_timestamp_seconds",
            "Unix time of the last signed head; one is signed when there is more to sign.",
            seconds_of(head.time) if head else None,
        )
        yield gauge_where_known(
            "sallyport_ledger_rows_outside",
            "Rows that are not in the ledger's log: somebody wrote them past the ledger.",
            self._outside(),
        )
        yield gauge_by(
            "sallyport_ledger_anchored_records",
            "Entries that each anchor vouches for.",
            "anchor",
            publishing.anchored if publishing else {},
        )
        yield gauge_by(
            "sallyport_ledger_anchored_timestamp_seconds",
            "Unix time at which each anchor last had the last head.",
            "anchor",
            publishing.anchored_at if publishing else {},
        )
        yield counter_of(
            "sallyport_ledger_anchor_failures",
            "Heads that an anchor did not take; `signing` is of those that were not signed.",
            "anchor",
            publishing.failures if publishing else {},
        )
        yield from _of_timestamps(self._timestamps())


def _of_timestamps(timestamps: TimestampCounts | None) -> Iterator[Metric]:
    yield gauge_where_known(
        "sallyport_ledger_timestamped_seconds",
        "Unix time of the last timestamp that an authority (RFC 3161) gave of a head.",
        (timestamps.at or None) if timestamps else None,
    )
    yield gauge_where_known(
        "sallyport_ledger_timestamp_failing_seconds",
        "Seconds for which the authority has given no timestamp that it was asked for; 0: it does.",
        timestamps.failing_s if timestamps else 0,
    )
    failures = CounterMetricFamily(
        "sallyport_ledger_timestamp_failures", "Heads that the authority did not timestamp."
    )
    failures.add_metric([], timestamps.failures if timestamps else 0)
    yield failures
