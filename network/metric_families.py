"""Prometheus metric families that are made at each scrape, of what a part already knows."""

from collections.abc import Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric


def gauge_of(name: str, text: str, value: float) -> Metric:
    """Return a gauge without labels."""
    return GaugeMetricFamily(name, text, value=float(value))


def counter_of(name: str, text: str, label: str, totals: Mapping[str, int]) -> Metric:
    """Return a counter with one label; `totals` are by its value."""
    family = CounterMetricFamily(name, text, labels=[label])
    for value, total in totals.items():
        family.add_metric([value], total)
    return family


def gauge_where_known(name: str, text: str, value: float | None) -> Metric:
    """Return a gauge without labels, and without a value where it is not known."""
    family = GaugeMetricFamily(name, text)
    if value is not None:
        family.add_metric([], float(value))
    return family


def gauge_by(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    """Return a gauge with one label; `values` are by its value."""
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, number in values.items():
        family.add_metric([value], float(number))
    return family
