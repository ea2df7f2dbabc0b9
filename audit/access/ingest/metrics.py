"""Prometheus metrics of the ingest of weight logs."""

import math
import time
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from audit.access.ingest.pipeline import CONFIDENCES, Ingest, IngestCounts
from network.metric_families import counter_of, gauge_of


class WeightsCollector(Collector):
    """Reads what an ingest counts."""

    def __init__(
        self, ingest: Callable[[], Ingest | None], clock: Callable[[], float] = time.time
    ) -> None:
        """Note where the ingest is; without one all is 0."""
        self._ingest = ingest
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as of now."""
        ingest = self._ingest()
        counts = IngestCounts() if ingest is None else ingest.counts
        failures = {} if ingest is None else ingest.failures
        yield _pairs(
            "sallyport_weight_records",
            "Records of logs, by source and what became of them.",
            ("source", "outcome"),
            counts.records,
        )
        yield _pairs(
            "sallyport_weight_findings",
            "Findings of detections; after a crash some are counted again.",
            ("detection", "severity"),
            counts.findings,
        )
        sure = {word: counts.confidence[word] for word in CONFIDENCES}
        text = "New accesses to weights, by how sure it is from which Pod they came."
        yield counter_of("sallyport_weight_accesses", text, "confidence", sure)
        yield _counter(
            "sallyport_weight_ungranted",
            "New accesses to weights that no AccessGrant covered.",
            counts.ungranted,
        )
        yield _counter(
            "sallyport_weight_gap_accesses",
            "New accesses to weights that a gap in the record of Pods made less sure.",
            counts.gaps,
        )
        text = "How often a detection failed: it did not see what it should have."
        yield counter_of("sallyport_weight_failures", text, "detection", failures)
        yield from self._times(counts, -math.inf if ingest is None else ingest.watermark)

    def _times(self, counts: IngestCounts, watermark: float) -> Iterator[Metric]:
        now = self._clock()
        family = GaugeMetricFamily(
            "sallyport_weight_lag_seconds",
            "How long ago the latest record of a source was made.",
            labels=["source"],
        )
        for source, newest in counts.newest.items():
            family.add_metric([source], now - newest)
        yield family
        yield gauge_of(
            "sallyport_weight_watermark_timestamp_seconds",
            "What is older than this comes late to the detections; NaN before the first records.",
            watermark if math.isfinite(watermark) else math.nan,
        )


def _pairs(
    name: str, text: str, labels: tuple[str, str], totals: Mapping[tuple[str, str], int]
) -> Metric:
    family = CounterMetricFamily(name, text, labels=list(labels))
    for values, total in sorted(totals.items()):
        family.add_metric(list(values), total)
    return family


def _counter(name: str, text: str, total: int) -> Metric:
    return CounterMetricFamily(name, text, value=float(total))
