"""What a gate shows of the risk by which it judges."""

import msgspec
from prometheus_client import CollectorRegistry, generate_latest

from core.risk.snapshot import Coverage, RiskSnapshot, SnapshotDraft
from webhooks.risk_metrics import RiskCollector

NOW = 1_790_000_000.0


def shown(snapshot: RiskSnapshot | None) -> str:
    """What Prometheus gets."""
    registry = CollectorRegistry()
    registry.register(RiskCollector(lambda: snapshot, lambda: NOW))
    return generate_latest(registry).decode()


def test_ages_are_as_old_as_what_is_known() -> None:
    """Of users and of service principals, by the snapshot in force."""
    draft = SnapshotDraft.of(RiskSnapshot())
    draft.head = msgspec.structs.replace(
        draft.head,
        users=Coverage(as_of=NOW - 20),
        service_principals=Coverage(as_of=NOW - 4000),
    )
    text = shown(draft.finish(NOW))
    assert 'sallyport_risk_age_seconds{of="users"} 20.0\n' in text
    assert 'sallyport_risk_age_seconds{of="service-principals"} 4000.0\n' in text
    assert "sallyport_risk_version 1.0\n" in text


def test_what_was_never_known_is_infinitely_old() -> None:
    """So that an alert on an age also sees a gate that has nothing."""
    assert 'sallyport_risk_age_seconds{of="users"} +Inf\n' in shown(RiskSnapshot())


def test_nothing_is_shown_where_risk_decides_nothing() -> None:
    """An installation without Entra has no alert to silence."""
    assert "sallyport_risk" not in shown(None)
