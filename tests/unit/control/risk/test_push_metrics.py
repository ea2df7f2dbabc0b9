"""Each pushed event ends in one count, and all counts are there from the beginning."""

from prometheus_client import CollectorRegistry

from control.risk.push.metrics import PushMetrics, PushOutcome, PushSource
from identity.push.event_hub_records import RecordRefusal
from identity.push.security_events import Reason
from identity.risk.entry_merge import MergeResult

NAME = "sallyport_risk_events_total"


def test_every_result_of_a_source_is_shown_with_zero() -> None:
    """An alert on what has never happened yet finds its metric."""
    registry = CollectorRegistry()
    PushMetrics(registry)
    for result in (*MergeResult, *RecordRefusal):
        labels = {"source": "event-hub", "result": result.value}
        assert registry.get_sample_value(NAME, labels) == 0
    for told in (*MergeResult, *Reason, *PushOutcome):
        labels = {"source": "security-events", "result": told.value}
        assert registry.get_sample_value(NAME, labels) == 0


def test_no_two_reasons_of_a_source_share_a_word() -> None:
    """Else one count would stand for both. `FUTURE` of both sorts means the same."""
    hub = [each.value for each in (*MergeResult, *RecordRefusal)]
    assert len(hub) == len(set(hub))
    words = [each.value for each in (*MergeResult, *Reason, *PushOutcome)]
    assert sorted({each for each in words if words.count(each) > 1}) == ["future"]


def test_the_last_change_and_who_reads_are_shown() -> None:
    """Only what changed something counts as the last event."""
    registry, reading = CollectorRegistry(), [False]
    metrics = PushMetrics(registry, lambda: reading[0])
    name, labels = "sallyport_risk_last_event_timestamp_seconds", {"source": "event-hub"}
    metrics.count(PushSource.EVENT_HUB, RecordRefusal.MALFORMED, 100.0)
    metrics.count(PushSource.EVENT_HUB, MergeResult.SAME, 101.0)
    assert registry.get_sample_value(name, labels) == 0
    metrics.count(PushSource.EVENT_HUB, MergeResult.CHANGED, 102.0)
    assert registry.get_sample_value(name, labels) == 102
    assert registry.get_sample_value("sallyport_event_hub_reading") == 0
    reading[0] = True
    assert registry.get_sample_value("sallyport_event_hub_reading") == 1
