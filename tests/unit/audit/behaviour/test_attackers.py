"""What attackers of the counters themselves reach: ramps, poison, floods, clocks, repetition."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.behaviour.acts import Act, ActKind
from audit.behaviour.cluster_habits import ClusterHabits
from audit.behaviour.habits import MOST_NAMESPACES, MOST_PROFILES
from core.risk.model import Behaviour, identity_key
from tests.unit.audit.behaviour.acts_of_people import (
    AFTER,
    DAY,
    HOUR,
    MONDAY,
    WHO,
    act,
    learnt,
    used,
    weeks,
)

MORNING = AFTER + 10 * HOUR


def ramp(days: int, first: float, growth: float) -> list[Act]:
    """Return days on each of which somebody enters Pods more often."""
    return [
        act(MORNING + day * DAY + 5.0 * each, doing=ActKind.ENTER)
        for day in range(days)
        for each in range(int(first * growth**day))
    ]


def test_a_ramp_of_a_fifth_a_day_is_found_before_it_is_large() -> None:
    """What is usual follows by five in a hundred a day."""
    habits, found = used(), Behaviour(0)
    largest = 0
    for day in range(40):
        acts = ramp(40, 10, 1.2)
        today = [each for each in acts if int(each.at // DAY) == int(MORNING // DAY) + day]
        found |= learnt(*today, habits=habits)[1]
        if found & Behaviour.EXEC_BURST:
            break
        largest = len(today)
    assert found & Behaviour.EXEC_BURST
    assert largest < 60


def test_a_burst_does_not_teach_that_bursts_are_usual() -> None:
    """The second one, a few days later, counts as well."""
    habits = used()
    for day in (0, 3, 6):
        acts = [act(MORNING + day * DAY + each, doing=ActKind.ENTER) for each in range(200)]
        assert learnt(*acts, habits=habits)[1] & Behaviour.EXEC_BURST


def test_many_acts_of_one_night_do_not_make_the_night_usual() -> None:
    """An hour of a day teaches once, however much is done in it."""
    habits = used()
    night = AFTER + 2 * HOUR
    many = [act(night + each, doing=ActKind.OTHER) for each in range(3000)]
    assert learnt(*many, habits=habits)[1] == Behaviour.UNUSUAL_HOUR
    later = learnt(act(night + 2 * DAY, doing=ActKind.OTHER), habits=habits)[1]
    assert later == Behaviour.UNUSUAL_HOUR


def test_a_flood_of_new_identities_pushes_out_no_one_who_is_known() -> None:
    """Neither people nor, beyond the newcomers, machines; memory stays what it is."""
    habits = ClusterHabits(b"salt", people=50, machines=50)
    learnt(*weeks(3), *weeks(3, label="system:ci", is_machine=True), habits=habits)
    flood = [
        act(MORNING + n, label=f"user:{n}", is_machine=bool(n % 2), doing=ActKind.OTHER)
        for n in range(5000)
    ]
    learnt(*flood, habits=habits)
    assert (len(habits.people), len(habits.machines)) == (11, 11)
    assert habits.people.forgotten == 2490
    after = [act(MORNING + 2 * HOUR), act(MORNING + 2 * HOUR, label="system:ci", is_machine=True)]
    assert learnt(*after, habits=habits)[1] == Behaviour(0)


def test_a_flood_of_newcomers_leaves_room_for_who_does_more() -> None:
    """Those of whom no more is known than that they are new have a room of their own."""
    habits = used()
    learnt(*[act(MORNING + each, doing=ActKind.ENTER) for each in range(60)], habits=habits)
    flood = [act(MORNING + 60 + n / 10, label=f"user:{n}") for n in range(3000)]
    learnt(*flood, habits=habits)
    assert habits.acting.of(identity_key(WHO)).keys() == {Behaviour.EXEC_BURST}
    assert (len(habits.acting), habits.acting.dropped) == (1001, 2000)


@pytest.mark.parametrize("ahead", [301.0, DAY, 400 * DAY])
def test_an_act_from_the_future_teaches_nothing(ahead: float) -> None:
    """Whoever writes with a clock that is ahead would poison all that follows."""
    habits = used()
    before = habits.learnt
    assert habits.learn(act(MORNING + ahead, namespace="x"), MORNING) == Behaviour(0)
    assert habits.learnt == before


def test_an_act_of_long_ago_teaches_nothing() -> None:
    """It was sent before, or says nothing of now."""
    habits = used()
    before = habits.learnt
    assert habits.learn(act(MORNING - DAY - 1, namespace="x"), MORNING) == Behaviour(0)
    assert habits.learnt == before


def test_a_clock_that_jumps_ahead_and_back_ends_nothing() -> None:
    """The auditor's own clock is a year ahead for an hour: afterwards all is told as before."""
    habits = used()
    learnt(*[act(MORNING + 365 * DAY + n) for n in range(40)], habits=habits)
    back = AFTER + DAY
    learnt(*weeks(3, back), habits=habits)
    later = back + 21 * DAY
    enters = [act(later + 10 * HOUR + each, doing=ActKind.ENTER) for each in range(60)]
    found = learnt(act(later + 3 * HOUR, namespace="b"), *enters, habits=habits)[1]
    expected = Behaviour.UNUSUAL_HOUR | Behaviour.NEW_NAMESPACE | Behaviour.EXEC_BURST
    assert found == expected


def test_ordinary_work_after_a_clock_went_back_is_no_burst() -> None:
    """A count fades also where its last time lies ahead."""
    habits = used()
    learnt(*[act(MORNING + 30 * DAY + n) for n in range(20)], habits=habits)
    found = learnt(*weeks(1, AFTER + 7 * DAY), habits=habits)[1]
    assert not found & Behaviour.CREATE_BURST


def test_a_frame_that_comes_again_teaches_once() -> None:
    """Sent again after an acknowledgement was lost, a few acts are no burst."""
    habits = used()
    few = [act(MORNING + n) for n in range(10)]
    assert learnt(*few * 20, habits=habits)[1] == Behaviour(0)
    assert learnt(*few, habits=habits)[1] == Behaviour(0)


ACTS = st.builds(
    act,
    st.floats(MONDAY, MONDAY + 400 * DAY),
    label=st.sampled_from(["user:a", "user:b", "system:c"]),
    namespace=st.text(max_size=3),
    profile=st.text(max_size=2),
    doing=st.sampled_from(ActKind),
    refused=st.sampled_from(["", "", "x", "y"]),
    is_machine=st.booleans(),
)


@settings(max_examples=50, deadline=None)
@given(st.lists(ACTS, max_size=120))
def test_whatever_comes_in_whatever_order_records_stay_bounded(acts: list[Act]) -> None:
    """No sequence of times breaks a record or lets it grow; the first two weeks are silent."""
    habits, _ = learnt(*acts)
    for remembered in (habits.people, habits.machines):
        for _, one in remembered:
            assert len(one.namespaces) <= MOST_NAMESPACES
            assert len(one.profiles) <= MOST_PROFILES
            assert all(hour >= 0 for hour in one.hours)
            for rate in (one.creates, one.enters, one.refusals):
                assert 0 <= rate.count <= rate.peak + 1e-9 or rate.peak == 0
                assert rate.limit > 0
    early = [each for each in acts if habits.began is None or each.at < habits.began + 14 * DAY]
    assert learnt(*sorted(early, key=lambda each: each.at))[1] == Behaviour(0)
