"""What is asked of Graph next when something fails, and what counts as known then."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.errors import EntraError
from core.base.times import time_text
from core.risk.snapshot import Coverage
from identity.entra.graph_answers import GraphPage
from identity.entra.graph_requests import Resource
from identity.entra.poll_schedule import MOST_TRIES, later_time
from identity.entra.values import seconds_of
from tests.unit.identity.entra.simulated_graph import (
    ALL,
    KNOWN,
    ONE,
    REQUEST_S,
    SITE,
    WALL,
    Request,
    Simulated,
    item,
    known,
    link,
)

USERS, SERVICE_PRINCIPALS = Resource.USERS, Resource.SERVICE_PRINCIPALS


def broken(kind: str) -> EntraError:
    """Return an error."""
    return EntraError("broken", kind)


@pytest.mark.parametrize("kind", ["server-error", "cut", "unreadable", "timeout", "throttled"])
def test_a_failure_in_the_middle_leaves_everything_as_it_was_and_the_page_is_asked_again(
    kind: str,
) -> None:
    """What was read before it stays read; the next page is the one that failed."""
    failing = {2}

    def reply(request: Request) -> GraphPage | EntraError:
        if request.resource is not USERS:
            return GraphPage(())
        if request.page in failing:
            failing.discard(request.page)
            return broken(kind)
        page = link(USERS, request.page + 1) if request.page < 3 else ""
        return GraphPage((item(ONE, WALL + request.page),), page)

    simulated = Simulated(reply, coverages=known())
    simulated.run(5 * REQUEST_S)
    assert simulated.coverage(USERS) == KNOWN
    simulated.run(4 * REQUEST_S)
    pages = [each.page for each in simulated.requests if each.resource is USERS]
    assert pages[:5] == [0, 1, 2, 2, 3]
    assert simulated.coverage(USERS).through == time_text(WALL + 3)


def test_a_pass_that_fails_again_and_again_begins_anew() -> None:
    """Its next link may be what is wrong."""

    def reply(request: Request) -> GraphPage | EntraError:
        if request.page == 1:
            return broken("server-error")
        return GraphPage((), link(USERS, 1) if request.resource is USERS else "")

    simulated = Simulated(reply, coverages=known())
    simulated.run(20 * REQUEST_S)
    pages = [each.page for each in simulated.requests if each.resource is USERS]
    assert pages[: MOST_TRIES + 3] == [0, *[1] * MOST_TRIES, 0, 1]
    assert simulated.coverage(USERS) == KNOWN


@pytest.mark.parametrize("kind", ["permission", "licence"])
def test_what_graph_refuses_rests_and_the_others_go_on(kind: str) -> None:
    """Once a minute; without Workload ID Premium the users are read all the same."""

    def reply(request: Request) -> GraphPage | EntraError:
        refused = request.resource is SERVICE_PRINCIPALS
        return broken(kind) if refused else GraphPage(())

    simulated = Simulated(reply)
    simulated.run(600)
    refused = [each for each in simulated.requests if each.resource is SERVICE_PRINCIPALS]
    assert 8 <= len(refused) <= 12
    assert simulated.coverage(SERVICE_PRINCIPALS).as_of is None
    gaps = [b - a for a, b in pairwise(simulated.times_of(USERS, full=False))]
    assert max(gaps) <= 8 + 2 * REQUEST_S


def test_where_graph_takes_no_filter_all_are_read_each_time() -> None:
    """Fewer times the more there are; what is known stays fresh."""

    def reply(request: Request) -> GraphPage | EntraError:
        filtered = request.resource is SERVICE_PRINCIPALS and request.since
        return broken("rejected") if filtered else GraphPage(())

    simulated = Simulated(reply)
    simulated.run(300)
    assert len(simulated.times_of(SERVICE_PRINCIPALS, full=False)) == 1
    times = simulated.times_of(SERVICE_PRINCIPALS, full=True)
    assert max(b - a for a, b in pairwise(times[1:])) <= 8 + 2 * REQUEST_S
    as_of = simulated.coverage(SERVICE_PRINCIPALS).as_of
    assert as_of is not None
    assert WALL + simulated.now - as_of <= 12


@pytest.mark.parametrize(
    "where",
    [
        "https://evil.example/v1.0/identityProtection/riskyUsers?$skiptoken=1",
        f"{SITE}/v1.0/users?$skiptoken=1",
    ],
)
def test_a_next_page_elsewhere_is_not_asked_for(where: str) -> None:
    """Nothing is complete then, and the resource rests."""

    def reply(request: Request) -> GraphPage:
        return GraphPage((), where if request.resource is USERS else "")

    simulated = Simulated(reply, coverages=known())
    simulated.run(30)
    assert [each.page for each in simulated.requests if each.resource is USERS] == [0]
    assert simulated.coverage(USERS) == KNOWN


def test_a_page_that_names_itself_as_the_next_is_not_asked_for_again() -> None:
    """It would go on for ever."""

    def reply(request: Request) -> GraphPage:
        return GraphPage((), link(USERS, 1) if request.resource is USERS else "")

    simulated = Simulated(reply, coverages=known())
    simulated.run(30)
    assert [each.page for each in simulated.requests if each.resource is USERS] == [0, 1]


KINDS = st.sampled_from(["", "", "", "server-error", "permission", "cut", "throttled", "rejected"])


@given(st.lists(KINDS, min_size=1, max_size=40), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_whatever_fails_nothing_is_called_known_that_was_not_read(
    kinds: list[str], pages: int
) -> None:
    """`as_of` is the beginning of a pass of which all pages came; it never goes back."""
    tries = iter(kinds * 50)

    def reply(request: Request) -> GraphPage | EntraError:
        kind = next(tries, "")
        if kind:
            return broken(kind)
        more = request.page + 1 < pages
        page = link(request.resource, request.page + 1) if more else ""
        return GraphPage((item(ONE, WALL + request.at),), page)

    simulated = Simulated(reply)
    before: dict[Resource, Coverage] = dict.fromkeys(ALL, Coverage())
    for _ in range(40):
        simulated.run(5)
        for resource in (USERS, SERVICE_PRINCIPALS):
            coverage = simulated.coverage(resource)
            began = {each.as_of for each in simulated.completed if each.resource is resource}
            assert coverage.as_of is None or coverage.as_of in began
            assert (coverage.as_of or 0) >= (before[resource].as_of or 0)
            assert later_time(coverage.through, before[resource].through) == coverage.through
            assert (seconds_of(coverage.through) or 0) <= WALL + simulated.now
            before[resource] = coverage
    for each in simulated.completed:
        assert each.pages == pages or each.asking
