"""Ends are announced a day before, once; breaking the glass when it happens."""

import datetime as dt
import math
import time
from collections.abc import Mapping
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from control.approval_events import BEFORE_S, ApprovalEvents
from control.events import LATE_S
from core.approvals.break_glass import parse_break_glass
from core.approvals.exceptions import parse_exception
from core.base.errors import ClusterError, NotLeaderError
from kube.approvals.watch import BreakGlasses, Exceptions
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from tests.unit.admission.approvals.test_break_glass import sealed
from tests.unit.admission.approvals.test_exceptions import END, written
from tests.unit.admission.world import raw

LEADER = Leadership(1, math.inf, time.monotonic)
ENDS = dt.datetime.fromisoformat(END)
"""Of the exception."""


class Written(Objects):
    """Keeps the Events that are created; a second one of a name is a conflict."""

    def __init__(self) -> None:
        super().__init__(Connection(None))
        self.events: dict[str, Mapping[str, Any]] = {}
        self.tries = 0

    async def create(self, collection: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Keep one."""
        self.tries += 1
        path = f"{collection}/{body['metadata']['name']}"
        if path in self.events:
            raise ClusterError("it is there already", 409)
        self.events[path] = body
        return dict(body)


class World:
    """An exception, a BreakGlass, a clock."""

    def __init__(self, objects: Written, *, began: str = "", **spec: Any) -> None:
        self.now = ENDS
        self.registry = CollectorRegistry()
        self.endings = ApprovalEvents(
            objects,
            Exceptions([parse_exception(raw(written()))]),
            BreakGlasses([parse_break_glass(raw(sealed(began, **spec)))]),
            self.registry,
            lambda: self.now,
        )

    async def at(self, seconds: float) -> None:
        """Run once at a time after the exception's end."""
        self.now = ENDS + dt.timedelta(seconds=seconds)
        await self.endings.run(LEADER)

    def metric(self, name: str) -> float:
        """Return a gauge."""
        value = self.registry.get_sample_value(name)
        assert value is not None
        return value


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(-BEFORE_S - 1, 0), (-BEFORE_S, 1), (-BEFORE_S + LATE_S - 1, 1), (-BEFORE_S + LATE_S, 0)],
)
async def test_an_end_is_announced_a_day_before(seconds: float, told: int) -> None:
    """Not before, and not when it is too late to know that nobody else did."""
    objects = Written()
    await World(objects).at(seconds)
    assert len(objects.events) == told
    for path, event in objects.events.items():
        assert path.startswith("/api/v1/namespaces/train/events/net.uid-1.")
        assert (event["reason"], event["involvedObject"]["uid"]) == ("EndsSoon", "uid-1")
        assert END in event["message"]


async def test_it_is_announced_once_whoever_leads() -> None:
    """The same name is a conflict, which is not a failure; who has told does not try again."""
    objects = Written()
    for _ in range(2):
        world = World(objects)
        for seconds in (0, 15, 30):
            await world.at(-BEFORE_S + seconds)
    assert (len(objects.events), objects.tries) == (1, 2)


async def test_the_glass_is_announced_when_it_breaks_and_when_it_is_over() -> None:
    """It lies in no namespace: its Events are in `default`; a metric says that it is open."""
    objects = Written()
    world = World(objects, began="2026-06-05T00:00:00Z")
    begin = 4 * 86_400 - 3600
    seen = []
    for seconds in (-1, 0, 3599, 3600):
        await world.at(begin + seconds)
        seen.append((world.metric("sallyport_break_glass_open"), len(objects.events)))
    assert seen == [(0, 0), (1, 1), (1, 1), (0, 2)]
    reasons = [event["reason"] for event in objects.events.values()]
    assert reasons == ["GlassBroken", "GlassOver"]
    assert all(path.startswith("/api/v1/namespaces/default/") for path in objects.events)


async def test_the_events_say_that_egress_opens_and_closes() -> None:
    """Only those of a BreakGlass for egress."""
    cases: list[tuple[dict[str, Any], list[bool]]]
    cases = [({}, [False, False]), ({"egress": {}}, [True, True])]
    for spec, told in cases:
        objects = Written()
        world = World(objects, began="2026-06-05T00:00:00Z", **spec)
        for seconds in (0, 3600):
            await world.at(4 * 86_400 - 3600 + seconds)
        events = list(objects.events.values())
        assert ["egress" in each["message"] for each in events] == told


async def test_what_ends_within_a_day_is_counted_by_the_leader_alone() -> None:
    """Others show that they do not know."""
    world = World(Written())
    assert math.isnan(world.metric("sallyport_exceptions_ending"))
    counted = []
    for seconds in (-BEFORE_S - 1, -BEFORE_S, -1, 0):
        await world.at(seconds)
        counted.append(world.metric("sallyport_exceptions_ending"))
    assert counted == [0, 1, 1, 0]
    world.endings.loop.forget()
    assert math.isnan(world.metric("sallyport_exceptions_ending"))


async def test_nothing_is_written_without_leadership() -> None:
    """It is asked for before anything else."""
    objects = Written()
    world = World(objects)
    world.now = ENDS - dt.timedelta(seconds=BEFORE_S)
    with pytest.raises(NotLeaderError):
        await world.endings.run(Leadership(1, -math.inf, time.monotonic))
    assert objects.tries == 0
