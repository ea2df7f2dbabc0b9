"""Reviews are counted by kind, and a caller cannot make up new names."""

import msgspec

from core.decision.request import Kind
from tests.unit.webhooks.judge import approval
from tests.unit.webhooks.test_review_encoder import request
from webhooks.metrics import MOST_DECLARED, Metrics, MetricSources

DECLARED = {"example.com/Tool", "Endpoints"}


def count(metrics: Metrics, kind: str, group: str = "") -> None:
    """Count a review of a kind."""
    asked = msgspec.structs.replace(request(), kind=Kind(kind=kind, version="v1", group=group))
    metrics.count_decision("validate", asked, approval(), 0.0)


def counted(metrics: Metrics) -> dict[str, float]:
    """Return how many reviews were counted, by kind."""
    return {
        sample.labels["kind"]: sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "sallyport_admissions_total"
    }


def test_kinds_that_rules_declare_have_their_names() -> None:
    """Of their group; others are one, as is everything before a bundle is there."""
    metrics = Metrics("0")
    count(metrics, "Endpoints")
    assert counted(metrics) == {"other": 1}
    metrics.watch(MetricSources(declared_kinds=lambda: DECLARED))
    count(metrics, "Pod")
    count(metrics, "Endpoints")
    count(metrics, "Tool", "example.com")
    count(metrics, "Tool", "example.org")
    assert counted(metrics) == {"other": 2, "Pod": 1, "Endpoints": 1, "Tool": 1}


def test_bundles_have_a_bounded_number_of_names() -> None:
    """All that came; the kinds of one that is in force later may be `other`."""
    metrics = Metrics("0")
    declared: set[str] = set()
    metrics.watch(MetricSources(declared_kinds=lambda: declared))
    for number in range(MOST_DECLARED + 10):
        declared.clear()
        declared.add(f"Kind{number}")
        count(metrics, f"Kind{number}")
    found = counted(metrics)
    assert found.pop("other") == 10
    assert found == {f"Kind{number}": 1 for number in range(MOST_DECLARED)}
