"""Why something of Entra's is not kept up: said once, of what it concerns, and until it is over."""

import pytest
from structlog.testing import capture_logs

from control.risk.poll.loop import PollProblems
from core.base.errors import EntraError
from core.risk.snapshot import Coverage
from identity.entra.graph_requests import Resource

USERS, THINGS = Resource.USERS, Resource.SERVICE_PRINCIPALS


def error(kind: str, text: str = "what is wrong") -> EntraError:
    """Return an error."""
    return EntraError(text, kind)


def told(problems: PollProblems, resource: Resource) -> str:
    """Return what is said of a resource."""
    return problems.told_in({resource: Coverage()})[resource].problem


@pytest.mark.parametrize("kind", ["permission", "licence", "rejected", "foreign-link", "too-large"])
def test_what_waiting_does_not_mend_is_said_at_once_of_its_resource(kind: str) -> None:
    """The others are kept up."""
    problems = PollProblems()
    problems.add(USERS, error(kind))
    assert told(problems, USERS) == "what is wrong"
    assert told(problems, THINGS) == ""
    problems.remove(THINGS)
    assert told(problems, USERS)
    problems.remove(USERS)
    assert told(problems, USERS) == ""


@pytest.mark.parametrize("kind", ["token", "unauthorized", "redirected"])
def test_what_concerns_all_is_said_of_all(kind: str) -> None:
    """Without a token nothing is read; with one again, all is well."""
    problems = PollProblems()
    problems.add(USERS, error(kind))
    assert told(problems, THINGS) == "what is wrong"
    problems.remove(THINGS)
    assert told(problems, USERS) == ""


@pytest.mark.parametrize("kind", ["throttled", "server-error", "cut", "timeout", "unreadable"])
def test_a_trouble_that_may_pass_is_said_when_it_comes_again(kind: str) -> None:
    """Of all, where nothing was answered in between; of one, where the others are answered."""
    problems = PollProblems()
    problems.add(USERS, error(kind))
    assert told(problems, USERS) == ""
    problems.add(THINGS, error(kind))
    assert told(problems, USERS) == told(problems, Resource.GUESTS) == "what is wrong"
    problems.clear()
    problems.add(USERS, error(kind))
    problems.remove(THINGS)
    problems.add(USERS, error(kind))
    assert told(problems, USERS) == "what is wrong"
    assert told(problems, THINGS) == ""


def test_a_missing_licence_is_told_as_such() -> None:
    """Nobody is assessed then: that is no clean record."""
    problems = PollProblems()
    problems.add(USERS, error("licence"))
    coverages = problems.told_in({USERS: Coverage(as_of=1.0), THINGS: Coverage(as_of=1.0)})
    assert coverages[USERS].unlicensed
    assert not coverages[THINGS].unlicensed
    assert coverages[USERS].as_of == 1.0


def test_objects_that_cannot_be_read_are_spoken_of() -> None:
    """Until a page has none."""
    problems = PollProblems()
    problems.remove(USERS, unreadable=2)
    assert "cannot be read" in told(problems, USERS)
    problems.remove(USERS)
    assert told(problems, USERS) == ""


def test_each_trouble_is_logged_once() -> None:
    """And that it is over."""
    problems = PollProblems()
    with capture_logs() as logs:
        for _ in range(5):
            problems.add(USERS, error("permission"))
        problems.add(USERS, error("permission", "something else"))
        problems.remove(USERS)
        problems.remove(USERS)
    assert [each["log_level"] for each in logs] == ["warning", "warning", "info"]
