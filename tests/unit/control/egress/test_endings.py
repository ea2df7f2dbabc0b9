"""That an allowlist ends is told beforehand, once at each time."""

import asyncio
from collections.abc import Iterable

import msgspec
from prometheus_client import CollectorRegistry

from control.egress.endings import (
    Endings,
    count_endings,
    describe_left,
    due_endings,
    in_use_change,
    is_ended,
)
from control.egress.metrics import EgressMetrics
from control.events import LATE_S, DueEvent, EventWriter
from core.base import names
from core.base.times import DAY_S, time_text
from core.egress.allowlists import EgressAllowlist, EgressDestinations
from core.egress.enrolment import NOTHING_CLOSED, WHOLLY_CLOSED, Closure
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.egress.watch import Intent, IntentStatus
from kube.leader.lease import Leadership
from tests.unit.egress.allowlist_objects import allowlist, destinations

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
        self.sets: dict[str, EgressDestinations] = {}
        self.used: frozenset[str] = frozenset()

    def referring(self, kind: str, name: str) -> frozenset[str]:
        assert kind == "set"
        return frozenset({"a"}) if name in self.used else frozenset()

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
        Objects(Connection(None)),
        clock=lambda: ENDS - 3 * DAY_S + 60,
    )
    asyncio.run(endings.run(_Leads()))
    assert [each.reason for each in events.due] == ["EndsIn3Days"]
    shown = registry.get_sample_value("sallyport_egress_allowlists_ending", {"days": "3"})
    assert shown == 1


def test_the_end_of_a_set_is_told_where_an_allowlist_names_it() -> None:
    """Of one without an end, or that nobody uses, nothing is."""
    events, state = _Events(), _State()
    ends = time_text(ENDS)
    for name, end in (("used", ends), ("unused", ends), ("endless", None)):
        found = destinations({"cidr": "192.0.2.0/24"}, name=name)
        meta = msgspec.structs.replace(found.meta, creation_timestamp="2026-11-01T00:00:00Z")
        expires = ENDS if end else None
        state.sets[name] = msgspec.structs.replace(found, meta=meta, expires=expires)
    state.used = frozenset({"used", "endless"})
    endings = Endings(
        state,  # type: ignore[arg-type]
        events,
        EgressMetrics(CollectorRegistry()),
        Objects(Connection(None)),
        clock=lambda: ENDS - DAY_S,
    )
    asyncio.run(endings.run(_Leads()))
    told = [(each.kind, each.meta.name, each.reason) for each in events.due]
    assert told == [
        ("EgressAllowlist", "pypi", "EndsTomorrow"),
        ("EgressDestinations", "used", "EndsTomorrow"),
    ]


def _opened(**changes: object) -> Intent:
    made = _intent(_made("2026-11-01T00:00:00Z"))
    return msgspec.structs.replace(made, finalizers=(names.EGRESS_FINALIZER,), **changes)


def test_use_at_the_end_is_looked_for_once_something_was_open() -> None:
    """Neither of one that never opened anything, nor whose Pods are evicted, nor long after."""
    made = _made("2026-11-01T00:00:00Z")
    assert is_ended(_opened(), made, ENDS)
    assert not is_ended(_opened(), made, ENDS - 1)
    assert not is_ended(_opened(), made, ENDS + LATE_S)
    assert not is_ended(_opened(deleting=True), made, ENDS)
    assert not is_ended(_intent(made), made, ENDS)
    spec = msgspec.structs.replace(made.spec, when_expired="Evict")
    assert not is_ended(_opened(), msgspec.structs.replace(made, spec=spec), ENDS)


def test_what_a_break_glass_opens_is_closed_once_it_is_over() -> None:
    """The Event and the record say the same."""
    closed = "2 Pods that it was for still run: what only it opened is closed to them"
    assert describe_left(2, "") == closed
    glass = "open by BreakGlass fire until 2027-01-01T00:00:00Z"
    assert describe_left(2, glass) == f"{closed} once this is over: {glass}"
    assert describe_left(1, "").startswith("a Pod that it was for still runs: ")


def test_the_record_of_use_has_the_same_id_whoever_makes_it() -> None:
    """It is kept once; it names the allowlist, and says how many."""
    made = _made("2026-11-01T00:00:00Z")
    one, other = (in_use_change(made, "prod", left) for left in ("2 Pods", "3 Pods"))
    assert one.id == other.id
    assert (one.event, one.kind, one.name) == ("ended-in-use", "EgressAllowlist", "pypi")
    assert (one.time, one.why) == ("2026-12-31T00:00:00.000Z", "2 Pods")
