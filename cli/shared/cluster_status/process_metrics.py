"""What a process shows at `/metrics`, read from Prometheus' text format."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from core.base.errors import ClusterError

Sample = tuple[Mapping[str, str], float]
"""Labels and value."""


@dataclass(frozen=True)
class ProcessMetrics:
    """What a process showed at `/metrics`."""

    samples: Mapping[str, list[Sample]]

    def all(self, name: str) -> list[Sample]:
        """Return every sample of a metric, with its labels."""
        return self.samples.get(name, [])

    def value(self, name: str) -> float | None:
        """Return the value of a metric without labels; None where it is not shown, or NaN."""
        return next((value for _, value in self.all(name) if not math.isnan(value)), None)


def parse_metrics(text: str, what: str) -> ProcessMetrics:
    """Read Prometheus' text format.

    Raises:
        ClusterError: it is none.
    """
    samples: dict[str, list[Sample]] = {}
    try:
        for family in text_string_to_metric_families(text):
            for one in family.samples:
                samples.setdefault(one.name, []).append((one.labels, float(one.value)))
    except (ValueError, KeyError) as error:
        raise ClusterError(f"{what}: /metrics cannot be read: {error}") from None
    return ProcessMetrics(samples)


def largest(metrics: Mapping[str, ProcessMetrics], name: str) -> float | None:
    """Return the largest sample of a metric among Pods; None where none shows it."""
    values = [value for each in metrics.values() for _, value in each.all(name)]
    return max((each for each in values if not math.isnan(each)), default=None)


def smallest(metrics: ProcessMetrics, name: str) -> float | None:
    """Return the smallest sample of a metric of one process; None where it is not shown."""
    values = (value for _, value in metrics.all(name))
    return min((each for each in values if not math.isnan(each)), default=None)
