"""What controllers made is counted by whether its root says who asked for it."""

import pytest

from core.decision.decision import Evidence, TraceOutcome
from tests.unit.webhooks.judge import approval
from tests.unit.webhooks.test_review_encoder import request
from webhooks.metrics import Metrics


@pytest.mark.parametrize("traced", list(TraceOutcome))
def test_each_traced_decision_is_counted_once(traced: TraceOutcome) -> None:
    """By the validating pass alone; the mutating one sees the same object before."""
    metrics = Metrics("0")
    decision = approval(evidence=Evidence(traced=traced))
    metrics.count_decision("mutate", request(), decision, 0.0)
    metrics.count_decision("validate", request(), decision, 0.0)
    found = {
        each: metrics.registry.get_sample_value("sallyport_traced_total", {"result": each.value})
        for each in TraceOutcome
    }
    assert found == {each: float(each is traced) for each in TraceOutcome}


def test_what_was_not_traced_is_not_counted() -> None:
    """A person's own Pod."""
    metrics = Metrics("0")
    metrics.count_decision("validate", request(), approval(), 0.0)
    values = {
        metrics.registry.get_sample_value("sallyport_traced_total", {"result": each.value})
        for each in TraceOutcome
    }
    assert values == {0.0}
