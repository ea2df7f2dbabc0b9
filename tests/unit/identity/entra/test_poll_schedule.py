"""What is asked of Graph, and when: what changed first, everybody in between."""

from itertools import pairwise

import pytest

from core.base.times import time_text
from core.risk.snapshot import Coverage
from identity.entra.graph_answers import GraphPage
from identity.entra.graph_requests import PollIntervals, Resource
from tests.unit.identity.entra.simulated_graph import (
    ALL,
    KNOWN,
    ONE,
    REQUEST_S,
    WALL,
    Request,
    Simulated,
    item,
    known,
    link,
    many_pages,
    one_page,
)

USERS, SERVICE_PRINCIPALS = Resource.USERS, Resource.SERVICE_PRINCIPALS


def test_at_first_everything_is_read_levels_before_what_they_rest_on() -> None:
    """Users, service principals, then detections; all of it within a few requests."""
    simulated = Simulated()
    simulated.run(6 * REQUEST_S)
    first = [each.resource for each in simulated.requests[:4]]
    assert first == [
        *(USERS, SERVICE_PRINCIPALS),
        *(Resource.USER_EVENTS, Resource.SERVICE_PRINCIPAL_EVENTS),
    ]
    for resource in ALL:
        assert simulated.coverage(resource).as_of is not None


def test_a_pass_over_100_000_users_delays_no_look_at_what_changed() -> None:
    """200 pages: meanwhile it is asked every 8 seconds what changed, and it ends in 5 minutes."""
    simulated = Simulated(many_pages({USERS: 200}))
    simulated.run(300)
    for resource in (USERS, SERVICE_PRINCIPALS):
        gaps = [b - a for a, b in pairwise(simulated.times_of(resource, full=False))]
        assert len(gaps) > 30
        assert max(gaps) <= 8 + 2 * REQUEST_S
    assert len(simulated.times_of(USERS, full=True)) == 200
    assert simulated.coverage(USERS).full is not None


def test_passes_over_users_and_detections_take_turns() -> None:
    """A long one starves no other, and no client id waits for it."""
    simulated = Simulated(many_pages({USERS: 200, Resource.USER_EVENTS: 200}))
    simulated.run(60)
    simulated.plan.waiting.use([ONE], (), simulated.now)
    began = simulated.now
    simulated.run(20)
    asked = simulated.times_of(Resource.APPLICATIONS, full=True)
    assert asked
    assert asked[0] - began <= 6 * REQUEST_S
    users = len(simulated.times_of(USERS, full=True))
    events = len(simulated.times_of(Resource.USER_EVENTS, full=True))
    assert abs(users - events) <= 2


@pytest.mark.parametrize("pages", [1, 1000])
def test_however_often_what_changed_is_asked_for_the_rest_is_read(pages: int) -> None:
    """Looks at what changed that take all of the time leave one request of four to the others."""

    def reply(request: Request) -> GraphPage:
        more = not request.full and request.resource is USERS and request.page + 1 < pages
        return GraphPage((), link(USERS, request.page + 1) if more else "")

    simulated = Simulated(reply, times=PollIntervals(every_s=2.0))
    simulated.run(120)
    for resource in ALL:
        assert simulated.coverage(resource).full is not None, resource
    gaps = [b - a for a, b in pairwise(simulated.times_of(SERVICE_PRINCIPALS, full=False))]
    assert max(gaps) <= 2 + 3 * REQUEST_S


def test_when_all_is_known_two_requests_in_eight_seconds_are_enough() -> None:
    """And two more a minute for detections; everybody once a day."""
    simulated = Simulated(coverages=known())
    simulated.run(600)
    assert len(simulated.requests) <= 2 * 600 / 8 + 2 * 600 / 60 + 4
    assert not simulated.times_of(USERS, full=True)


def test_a_pass_over_everybody_comes_again_when_it_is_due() -> None:
    """Counted from the last one, whoever led then."""
    due = Coverage(as_of=WALL - 10, through=time_text(WALL), full=WALL - 86_400 + 30)
    simulated = Simulated(coverages={**known(), USERS: due})
    simulated.run(86_400 + 60)
    times = simulated.times_of(USERS, full=True)
    assert len(times) == 2
    assert 30 <= times[0] < 40
    assert abs(times[1] - times[0] - 86_400) < 10


def test_what_changed_is_asked_for_from_where_the_last_leader_was() -> None:
    """By Graph's time, and from a while before: an overlap for what it shows late."""
    simulated = Simulated(coverages=known(), times=PollIntervals(overlap_s=900))
    simulated.run(10)
    [first, *_] = [each for each in simulated.requests if each.resource is USERS]
    assert first.since == WALL - 200 - 900


def test_what_changed_is_asked_for_from_the_latest_that_was_seen() -> None:
    """Never by our clock; and what lies in the future does not lead past the present."""
    seen = [item(ONE, WALL + 5), item(ONE, WALL + 4), item(ONE, WALL + 100_000)]

    def reply(request: Request) -> GraphPage:
        return GraphPage(tuple(seen) if request.resource is USERS else ())

    simulated = Simulated(reply, coverages=known())
    simulated.run(20)
    last = [each for each in simulated.requests if each.resource is USERS][-1]
    assert last.since == WALL + 5 - simulated.times.overlap_s
    assert simulated.coverage(USERS).through == time_text(WALL + 5)


def test_all_pages_of_what_changed_are_read_before_it_is_known() -> None:
    """Neither `through` nor `as_of` moves while pages are missing."""

    def reply(request: Request) -> GraphPage:
        many = request.resource is USERS and request.page < 3
        page = link(USERS, request.page + 1) if many else ""
        return GraphPage((item(ONE, WALL + request.page),), page)

    simulated = Simulated(reply, coverages=known())
    simulated.run(4.5 * REQUEST_S)
    assert simulated.coverage(USERS) == KNOWN
    simulated.run(2 * REQUEST_S)
    pages = [each.page for each in simulated.requests if each.resource is USERS]
    assert pages == [0, 1, 2, 3], "four of seven: service principals and detections take turns"
    coverage = simulated.coverage(USERS)
    assert coverage.as_of == WALL, "when its first page was asked for"
    assert coverage.through == time_text(WALL + 3)


def test_before_everybody_was_read_once_nothing_is_known() -> None:
    """However much changed meanwhile; then it is known as of the last look at what changed."""
    simulated = Simulated(many_pages({USERS: 20}))
    simulated.run(24)
    assert simulated.coverage(USERS).as_of is None
    simulated.run(20)
    coverage = simulated.coverage(USERS)
    assert coverage.full == WALL
    assert coverage.as_of is not None
    assert WALL + simulated.now - coverage.as_of <= 8 + 2 * REQUEST_S


def test_somebody_at_risk_who_was_not_listed_is_looked_for_again_soon() -> None:
    """Not only tomorrow."""
    simulated = Simulated(coverages=known())
    simulated.run(10)
    simulated.plan.confirm(USERS, simulated.now)
    simulated.run(700)
    assert len(simulated.times_of(USERS, full=True)) == 1


def test_guests_are_read_where_they_are_asked_for() -> None:
    """Once an hour."""
    simulated = Simulated(coverages={**known(), Resource.GUESTS: Coverage()})
    simulated.run(2 * 3600)
    assert len(simulated.times_of(Resource.GUESTS, full=True)) in (2, 3)
    assert simulated.coverage(Resource.GUESTS).as_of is not None


def test_client_ids_are_known_once_none_waits() -> None:
    """New ones make that untrue until they are asked about."""
    simulated = Simulated(coverages=known())
    simulated.plan.waiting.use([ONE], (), 0.0)
    assert simulated.coverage(Resource.APPLICATIONS) == KNOWN
    simulated.run(30)
    assert simulated.coverage(Resource.APPLICATIONS).as_of == WALL + simulated.now


def test_a_plan_that_has_nothing_to_do_waits() -> None:
    """No request where all is known, and none is due."""
    simulated = Simulated(one_page, coverages=known())
    simulated.run(4 * REQUEST_S)
    assert simulated.plan.next(simulated.now) is None
    assert 0 < simulated.plan.wait_s(simulated.now) <= 8
