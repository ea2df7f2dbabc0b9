"""What is unusual, and what is not: each signal, and its warm-up."""

import pytest

from audit.behaviour.acts import Act, ActKind
from core.risk.model import Behaviour
from tests.unit.audit.behaviour.acts_of_people import (
    AFTER,
    DAY,
    HOUR,
    MONDAY,
    act,
    learnt,
    used,
    weeks,
)

MORNING = AFTER + 10 * HOUR


def burst(number: int, at: float = MORNING, every_s: float = 5.0, **changes: object) -> list[Act]:
    """Return acts that follow one another."""
    return [act(at + each * every_s, **changes) for each in range(number)]


def found(*acts: Act) -> Behaviour:
    """Return what begins to count when these follow six ordinary weeks."""
    return learnt(*acts, habits=used())[1]


def test_an_ordinary_day_is_not_unusual() -> None:
    """Neither is a seventh ordinary week."""
    assert found(*weeks(1, AFTER)) == Behaviour(0)


@pytest.mark.parametrize(
    ("unusual", "expected"),
    [
        ([act(MORNING, namespace="team-b")], Behaviour.NEW_NAMESPACE),
        ([act(MORNING, profile="node-debug")], Behaviour.NEW_PROFILE),
        ([act(AFTER + 3 * HOUR)], Behaviour.UNUSUAL_HOUR),
        ([act(MORNING, label="user:stranger")], Behaviour.NEW_CLUSTER),
        (burst(60), Behaviour.CREATE_BURST),
        (burst(40, doing=ActKind.ENTER), Behaviour.EXEC_BURST),
        (
            [one for n in range(20) for one in burst(1, MORNING + 5 * n, refused=f"r{n}")],
            Behaviour.DENIALS,
        ),
    ],
)
def test_each_signal_alone(unusual: list[Act], expected: Behaviour) -> None:
    """After ordinary weeks it is that which is found, and nothing else."""
    assert found(*unusual) == expected


@pytest.mark.parametrize(
    "usual",
    [
        [act(MORNING, namespace="")],
        [act(MORNING, profile="")],
        [act(AFTER + 8 * HOUR)],
        burst(20),
        burst(10, doing=ActKind.ENTER),
        burst(60, doing=ActKind.OTHER),
        burst(25, refused="the same again"),
        [one for n in range(5) for one in burst(1, MORNING + 60 * n, refused=f"r{n}")],
    ],
)
def test_ordinary_acts_give_no_signal(usual: list[Act]) -> None:
    """Objects of the cluster, an hour earlier, a few in a row, one refusal that comes again."""
    assert found(*usual) == Behaviour(0)


def test_nothing_is_unusual_in_the_first_weeks_of_a_cluster() -> None:
    """Everything is new then."""
    strange = [
        act(MONDAY + 13 * DAY + 3 * HOUR, namespace="b", profile="p", label="user:x"),
        *burst(200, MONDAY + 13 * DAY + 4 * HOUR),
    ]
    assert learnt(*weeks(1), *strange)[1] == Behaviour(0)


def test_a_newcomer_is_new_once_and_everything_else_is_not_told_yet() -> None:
    """Whoever began last week knows no namespace; a burst is one by what others do."""
    newcomer = "user:newcomer"
    habits, at_first = learnt(*weeks(1, AFTER, label=newcomer), habits=used())
    assert at_first == Behaviour.NEW_CLUSTER
    later = AFTER + 7 * DAY + 3 * HOUR
    strange = act(later, label=newcomer, namespace="b", profile="p")
    assert learnt(strange, habits=habits)[1] == Behaviour(0)
    fast = burst(60, later + HOUR, label=newcomer)
    assert learnt(*fast, habits=habits)[1] == Behaviour.CREATE_BURST


def test_what_was_refused_is_not_learnt() -> None:
    """A namespace where all was refused is new when something is let in."""
    tried = burst(4, refused="no", namespace="team-b")
    assert found(*tried, act(MORNING + HOUR, namespace="team-b")) == Behaviour.NEW_NAMESPACE


def test_what_is_used_again_stays_known_and_what_is_not_is_forgotten() -> None:
    """Of more namespaces than are remembered, the one used longest ago is new again."""
    habits = used()
    visits = [act(MORNING + n, namespace=f"n{n}") for n in range(40)]
    learnt(*visits, habits=habits)
    again = MORNING + DAY
    assert learnt(act(again, namespace="n39"), habits=habits)[1] == Behaviour(0)
    assert learnt(act(again, namespace="n1"), habits=habits)[1] == Behaviour.NEW_NAMESPACE


def test_a_machine_that_always_bursts_does_not_burst() -> None:
    """A pipeline's usual is its own; others' is only what it begins with."""
    runs = [
        one
        for day in range(42)
        for one in burst(120, MONDAY + day * DAY + 3 * HOUR, label="system:ci", is_machine=True)
    ]
    habits, _ = learnt(*runs)
    usual = burst(150, AFTER + 3 * HOUR, label="system:ci", is_machine=True)
    assert learnt(*usual, habits=habits)[1] == Behaviour(0)
    many = burst(3000, AFTER + DAY + 3 * HOUR, 0.2, label="system:ci", is_machine=True)
    assert learnt(*many, habits=habits)[1] == Behaviour.CREATE_BURST
