"""Who can use a profile, beside a simulation that does step after step what RBAC lets it."""

from hypothesis import given, settings

from identity.rights.holders import Holder, as_subject, groups_of
from identity.rights.who_can import ProfileUser, who_can_use
from kube.rbac.authorizer import Rbac, RbacQuestion
from kube.rbac.objects import Binding, Role
from tests.unit.identity.rights.rbac_worlds import (
    HOLDERS,
    PROFILE,
    SPACES,
    Attacker,
    combining_worlds,
    worlds,
)


def listed(found: list[ProfileUser], holder: Holder, space: str) -> bool:
    """Return whether a holder is there, itself or as a member of a group that it is always in."""
    among = {holder, *groups_of(holder)}
    return any(each.holder in among and each.namespace in {"", space} for each in found)


@given(worlds())
@settings(max_examples=300, deadline=None)
def test_direct_ones_are_those_whom_rbac_lets(world: tuple[list[Role], list[Binding]]) -> None:
    """Of every user, group and service account: named as direct where `Rbac` says yes, else not."""
    roles, bindings = world
    rbac = Rbac(roles, bindings)
    direct = [each for each in who_can_use(roles, bindings, PROFILE) if each.direct]
    for holder in HOLDERS:
        for space in SPACES:
            asked = RbacQuestion("use", "sallyport.dev", "containerprofiles", PROFILE, space)
            assert listed(direct, holder, space) is rbac.allows(as_subject(holder), asked)


@given(worlds())
@settings(max_examples=300, deadline=None)
def test_all_ones_are_those_who_come_to_it(world: tuple[list[Role], list[Binding]]) -> None:
    """Everyone named comes to use it step by step, and nobody else does alone."""
    roles, bindings = world
    found = who_can_use(roles, bindings, PROFILE)
    for holder in HOLDERS:
        for space in SPACES:
            comes = Attacker(holder, roles, bindings).uses(space)
            assert listed(found, holder, space) is comes, (holder, space)


@given(combining_worlds())
@settings(max_examples=300, deadline=None)
def test_all_ones_are_those_whose_identities_add_up(
    world: tuple[list[Role], list[Binding]],
) -> None:
    """One identity's rights count together with those of others that the same one comes to be."""
    roles, bindings = world
    found = who_can_use(roles, bindings, PROFILE)
    for holder in HOLDERS:
        for space in SPACES:
            comes = Attacker(holder, roles, bindings).uses(space)
            assert listed(found, holder, space) is comes, (holder, space)


@given(worlds())
@settings(max_examples=100, deadline=None)
def test_one_namespace_is_a_part_of_all(world: tuple[list[Role], list[Binding]]) -> None:
    """Asked for a namespace it names those whom it names for it among all."""
    roles, bindings = world
    whole = who_can_use(roles, bindings, PROFILE)
    for space in SPACES:
        part = who_can_use(roles, bindings, PROFILE, space)
        for holder in HOLDERS:
            assert listed(part, holder, space) is listed(whole, holder, space)
