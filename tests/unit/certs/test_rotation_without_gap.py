"""Over any sequence of times, stops and losses: whoever reads in time trusts what is shown."""

import datetime as dt
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certs.authority import is_issued_by, is_valid, read_certificate, read_certificates
from certs.lifetimes import RotationSettings
from certs.rotation import Leaf, RotationState
from tests.harness.sizes import size
from tests.unit.certs.world import SETTINGS, START, World

MINUTE, DAY = dt.timedelta(minutes=1), dt.timedelta(days=1)
PAUSES = [MINUTE / 2, MINUTE * 5, SETTINGS.distribution, MINUTE * 11, DAY / 2, DAY * 3, DAY * 9]


@pytest.mark.proof
@settings(max_examples=size(ci=30, proof=400), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(PAUSES),
            st.sampled_from([99, 99, 99, 0, 1, 2, 3, 4]),
            st.sampled_from([False] * 9 + [True]),
        ),
        min_size=20,
        max_size=120,
    )
)
def test_there_is_never_a_gap(steps: list[tuple[dt.timedelta, int, bool]]) -> None:
    """Passes at odd times, some stopped midway, and the record of the CAs lost now and then.

    After each: every pair that is in use fits every bundle that somebody may still hold.
    """
    world = World()
    world.pass_()
    for pause, writes, loses in steps:
        world.now += min(pause, DAY) if writes < 99 else pause
        assert world.problems() == []
        if loses:
            world.state = RotationState((), world.state.leaves, world.state.bundles)
        world.pass_(writes)
        assert world.problems() == []
        if loses:
            world.pass_()
            for _ in range(2):  # A pass sees that the new CA is everywhere; one after that, long.
                world.now += SETTINGS.distribution
                world.pass_()
                assert world.problems() == []


@pytest.mark.proof
def test_years_of_passes_every_six_hours_never_have_a_gap() -> None:
    """CAs follow each other, former ones leave, and the bundle stays small."""
    world = World()
    most, seen = 0, set()
    for number in range(4 * 365 * size(ci=3, proof=10)):
        planned = world.pass_()
        most = max(most, len(planned.authorities))
        seen |= {each.certificate for each in planned.authorities}
        if world.leaves["gate"][-1][0] == world.now or number % 4 == 0:
            assert world.problems() == []
        world.now += dt.timedelta(hours=6)
    years = (world.now - START).days / 365
    assert most == 2
    assert years * 1.4 < len(seen) < years * 1.6 + 1
    assert len(world.leaves["gate"]) < years * 10


def test_a_new_authority_signs_only_once_it_was_everywhere_for_long_enough() -> None:
    """Made at two thirds; then shown; then, ten minutes later, it signs."""
    world = World()
    world.pass_()
    first = world.state.authorities[0].certificate
    for _week in range(34):
        world.now += DAY * 7
        world.pass_()
    world.now = START + DAY * 243
    world.pass_()
    assert [one.certificate == first for one in world.state.authorities] == [True]
    world.now = START + DAY * 244
    assert len(world.pass_().authorities) == 2
    made = world.state.authorities[1]
    assert made.distributed is None
    world.now += MINUTE
    world.pass_()
    assert world.state.authorities[1].distributed == world.now
    world.now += SETTINGS.distribution - MINUTE
    assert world.pass_().authorities[0].key is not None
    world.now += MINUTE
    assert [one.key is None for one in world.pass_().authorities] == [True, False]
    assert not any(
        is_issued_by(read_certificate(one.pair.certificate), [read_certificate(made.certificate)])
        for _, one in shown(world)
    )
    ends = max(
        read_certificate(one.pair.certificate).not_valid_after_utc for _, one in shown(world)
    )
    world.now = ends - MINUTE
    assert len(world.pass_().authorities) == 2
    world.now += MINUTE
    assert [one.certificate for one in world.pass_().authorities] == [made.certificate]


def shown(world: World) -> list[tuple[dt.datetime, Leaf]]:
    """Return every leaf that was ever shown."""
    return [each for leaves in world.leaves.values() for each in leaves]


@pytest.mark.parametrize("lifetime", [DAY * 8, DAY * 30, DAY * 180])
def test_a_gate_that_was_cut_off_is_trusted_as_long_as_its_leaf_is_valid(
    lifetime: dt.timedelta,
) -> None:
    """Also where an operator changes lifetimes meanwhile: nobody is asked what he has."""
    world = World()
    for _day in range(0, 500, 2):
        if world.now == START + DAY * 250:
            world.settings = replace(SETTINGS, leaf_lifetime=lifetime)
        world.pass_()
        trusted = read_certificates(world.state.bundles[0])
        for _, leaf in shown(world):
            certificate = read_certificate(leaf.pair.certificate)
            assert not is_valid(certificate, world.now) or is_issued_by(certificate, trusted)
        world.now += DAY * 2
    assert len(world.state.authorities) <= 2


def test_a_shorter_lifetime_counts_at_once_for_what_was_made_before() -> None:
    """Whoever shortens it does not wait for years; and there is no gap."""
    world = World(
        settings=replace(SETTINGS, authority_lifetime=DAY * 3650, leaf_lifetime=DAY * 398)
    )
    for _ in range(3):
        world.pass_()
        world.now += DAY * 20
    (old,) = world.state.authorities
    world.settings = replace(SETTINGS, authority_lifetime=DAY * 14, leaf_lifetime=DAY * 7)
    for _ in range(30):
        world.pass_()
        assert world.problems() == []
        world.now += SETTINGS.distribution
    assert world.state.authorities[0].certificate == old.certificate
    assert world.state.authorities[0].key is None
    ends = {
        read_certificate(one.pair.certificate).not_valid_after_utc
        for one in world.state.leaves.values()
    }
    assert max(ends) <= world.now + DAY * 7


@pytest.mark.parametrize(
    ("lifetimes", "what"),
    [
        (RotationSettings(leaf_lifetime=MINUTE * 59), "leaves .* would expire"),
        (RotationSettings(authority_lifetime=DAY * 179), "a CA .* short"),
        (SETTINGS, "^$"),
    ],
)
def test_lifetimes_that_cannot_work_together_are_told(
    lifetimes: RotationSettings, what: str
) -> None:
    """With what to do."""
    assert re.search(what, lifetimes.problem())


def test_an_authority_that_is_not_everywhere_does_not_sign() -> None:
    """One place cannot be written: the old one signs on, however long that takes."""
    world = World()
    world.pass_()
    world.now += MINUTE
    world.pass_()
    stale = world.state.bundles
    for _day in range(280):
        world.now += DAY
        world.pass_()
        world.state = RotationState(world.state.authorities, world.state.leaves, stale)
        world.bundles = world.bundles[:1]
        assert world.problems() == []
    assert len(world.state.authorities) == 2
    assert world.state.authorities[0].key is not None


def test_a_record_lost_just_after_a_leaf_was_replaced_costs_nobody_his_trust() -> None:
    """Parties show the former leaf for minutes: its CA must stay, though it signs none now."""
    world = World()
    world.pass_()
    for _day in range(400):
        world.now += DAY
        world.pass_()
        if len(world.state.authorities) == 2 and world.leaves["gate"][-1][0] == world.now:
            break
    former_leaf = read_certificate(world.leaves["gate"][-2][1].pair.certificate)
    former, current = (read_certificate(each.certificate) for each in world.state.authorities)
    assert is_issued_by(former_leaf, [former])
    assert not is_issued_by(former_leaf, [current])
    world.now += MINUTE
    world.state = RotationState((), world.state.leaves, world.state.bundles)
    world.pass_()
    assert world.problems() == []
