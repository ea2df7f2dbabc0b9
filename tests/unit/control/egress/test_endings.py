"""That an allowlist ends is told beforehand, once at each time."""

import asyncio
from collections.abc import Iterable

import msgspec
from prometheus_client import CollectorRegistry

from control.egress.endings import Endings, count_endings, due_endings
from control.egress.metrics import EgressMetrics
from control.events import DueEvent, EventWriter
from core.base.times import DAY_S
from core.egress.allowlists import EgressAllowlist
from core.egress.enrolment import NOTHING_CLOSED, WHOLLY_CLOSED, Closure
from kube.egress.watch import Intent, IntentStatus
from kube.leader.lease import Leadership
from tests.unit.egress.allowlist_objects import allowlist

ENDS = 1_798_675_200.0
"""2026-12-31T00:00:00Z, when allowlists of these tests end."""


def _made(at: str, name: str = "pypi") -> EgressAllowlist:
    found = allowlist({"cidr": "192.0.2.0/24"}, name=name)
    meta = msgspec.structs.replace(found.meta, creation_timestamp=at)
    return msgspec.structs.replace(found, meta=meta)


def test_each_time_is_told_with_the_owner_and_the_end() -> None:
    """Fourteen days, three days and a day before."""
    events = list(due_endings([_made("2026-11-01T00:00:00Z")]))
    assert [(each.reason, (ENDS - each.at) / DAY_S) for each in events] == [
        ("EndsIn14Days", 14),
        ("EndsIn3Days", 3),
        ("EndsTomorrow", 1),
    ]
    assert len({each.name for each in events}) == 3
    for each in events:
        assert "Ends at 2026-12-31T00:00:00Z" in each.message
        assert "research-platform" in each.message


def test_what_was_made_for_less_is_not_told_of_before_it_was_made() -> None:
    """Whoever makes one for two days knows."""
    events = due_endings([_made("2026-12-29T00:00:00Z")])
    assert [each.reason for each in events] == ["EndsTomorrow"]


def test_those_that_end_soon_are_counted() -> None:
    """One that has ended is counted no more: it is Expired."""
    found = [_made("2026-11-01T00:00:00Z")]
    assert dict(count_endings(found, ENDS - 15 * DAY_S)) == {14: 0, 3: 0, 1: 0}
    assert dict(count_endings(found, ENDS - 2 * DAY_S)) == {14: 1, 3: 1, 1: 0}
    assert dict(count_endings(found, ENDS - 60)) == {14: 1, 3: 1, 1: 1}
    assert dict(count_endings(found, ENDS)) == {14: 0, 3: 0, 1: 0}


class _State:
    """Two namespaces, of which one is closed."""

    def __init__(self) -> None:
        self.intents = {
            place: {"pypi": _intent(_made("2026-11-01T00:00:00Z"))} for place in ("a", "b")
        }

    def closure_of(self, namespace: str) -> Closure:
        return WHOLLY_CLOSED if namespace == "a" else NOTHING_CLOSED


def _intent(found: EgressAllowlist) -> Intent:
    meta = found.meta
    return Intent(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        generation=1,
        deleting=False,
        finalizers=(),
        version="1",
        status=IntentStatus(),
        allowlist=found,
        problem="",
    )


class _Events(EventWriter):
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.due: list[DueEvent] = []

    async def tell(self, leadership: Leadership, moments: Iterable[DueEvent], now: float) -> None:
        """Note what is due."""
        del leadership
        self.due += [each for each in moments if each.is_due(now)]


class _Leads(Leadership):
    """That of a leader."""

    def __init__(self) -> None:
        pass

    def require(self) -> None:
        """Go on."""


def test_only_closed_namespaces_are_looked_at() -> None:
    """Where nothing is closed, nothing ends."""
    registry, events = CollectorRegistry(), _Events()
    state = _State()
    endings = Endings(
        state,  # type: ignore[arg-type]
        events,
        EgressMetrics(registry),
        clock=lambda: ENDS - 3 * DAY_S + 60,
    )
    asyncio.run(endings.run(_Leads()))
    assert [each.reason for each in events.due] == ["EndsIn3Days"]
    shown = registry.get_sample_value("sallyport_egress_allowlists_ending", {"days": "3"})
    assert shown == 1
