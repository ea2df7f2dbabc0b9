"""What Prometheus sees of risk that is pushed: each record and each token ends in one count."""

from collections.abc import Callable
from enum import Enum
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from identity.push.event_hub_records import RecordRefusal
from identity.push.security_events import Reason
from identity.risk.entry_merge import MergeResult


class PushSource(Enum):
    """Where it comes from: value of the label `source`."""

    EVENT_HUB = "event-hub"
    SECURITY_EVENTS = "security-events"


class PushOutcome(Enum):
    """What becomes of a token, beside the `Reason` and the `MergeResult` that `identity` gives."""

    ACKNOWLEDGED = "acknowledged"
    """It is sound, and tells nothing of a person's risk."""
    REPLAYED = "replayed"
    """It was taken before."""
    REQUEST = "request"
    """It is no POST of a token."""
    SENDER = "sender"
    """Whoever sends it does not show the bearer token."""
    KEY = "key"
    """It is not signed, or not by a key of the issuer."""
    NO_KEYS = "no-keys"
    """The issuer's keys cannot be had: it is asked for again."""
    BUSY = "busy"
    NOT_STORED = "not-stored"
    FULL = "full"
    """Too many identities were told of."""


Result = MergeResult | RecordRefusal | Reason | PushOutcome

_RESULTS: Final[dict[PushSource, tuple[type[Enum], ...]]] = {
    PushSource.EVENT_HUB: (MergeResult, RecordRefusal),
    PushSource.SECURITY_EVENTS: (MergeResult, Reason, PushOutcome),
}


class PushMetrics:
    """Counters of this process, in its registry."""

    def __init__(
        self, registry: CollectorRegistry, is_open: Callable[[], bool] = lambda: False
    ) -> None:
        """Take what says whether this process reads the event hub now."""
        self._events = Counter(
            "sallyport_risk_events",
            "Records of the event hub and security events, by what became of them: `changed`, "
            "`same` or `older` than what is known, `acknowledged`, or why they are refused.",
            ("source", "result"),
            registry=registry,
        )
        self._last = Gauge(
            "sallyport_risk_last_event_timestamp_seconds",
            "Unix time at which a pushed event last changed the snapshot; 0 before the first.",
            ("source",),
            registry=registry,
        )
        reading = Gauge(
            "sallyport_event_hub_reading",
            "1 while this process reads the event hub; only the leader does.",
            registry=registry,
        )
        reading.set_function(lambda: float(is_open()))
        for source, kinds in _RESULTS.items():
            self._last.labels(source.value)
            for kind in kinds:
                for each in kind:
                    self._events.labels(source.value, each.value)

    def count(self, source: PushSource, result: Result, now: float) -> None:
        """Count what became of one record or token."""
        self._events.labels(source.value, result.value).inc()
        if result is MergeResult.CHANGED:
            self._last.labels(source.value).set(now)
