"""Who can use a profile, in one step or through others: what `sallyport who-can` answers.

From roles and bindings alone, by Kubernetes' RBAC. Errs towards naming someone: constrained
impersonation counts without its second right (`impersonate-on:…`).

One who becomes others can bind roles to them, so rights of several add up (`Escalations.lent` of
`identity.rights.escalation`). Not followed: a user and groups impersonated in one request that
suffice only together, and rights that one has, written without `escalate` into a role that another
whom one becomes holds.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from core.base import names
from identity.rights.escalation import ways_to_become
from identity.rights.grants import CLUSTER, EVERY, ClusterGrants, Grant, bound_grants, needs_another
from identity.rights.holders import Holder, groups_of
from identity.rights.self_grants import SelfGrants
from kube.rbac.authorizer import Rbac, RbacQuestion
from kube.rbac.objects import Binding, Role

EVERYWHERE: Final = ""
"""The namespace of who can use the profile in all namespaces."""


class Step(msgspec.Struct, frozen=True):
    """One link of a chain: who does what, by which right."""

    holder: Holder
    means: str
    by: str = ""


class ProfileUser(msgspec.Struct, frozen=True):
    """One who can use the profile, and why."""

    holder: Holder
    namespace: str
    """Where; EVERYWHERE in all namespaces."""
    direct: bool
    """Whether RBAC itself says yes to it; else it must do something first."""
    chain: tuple[Step, ...]

    @property
    def why(self) -> str:
        """Say why: `impersonates group researchers, which has RoleBinding train/x`."""
        return ", which ".join(step.means for step in self.chain)


def who_can_use(
    roles: Iterable[Role],
    bindings: Iterable[Binding],
    profile: str,
    namespace: str | None = None,
    aggregated: frozenset[str] = frozenset(),
) -> list[ProfileUser]:
    """Return everyone who can use the profile in the namespace, or with None in some, sorted.

    `aggregated` names ClusterRoles that are made of others although their `aggregationRule` is
    not in `roles`, since its result is.
    """
    roles = list(roles)
    made = frozenset(role.metadata.name for role in roles if role.aggregation_rule)
    rbac = Rbac(roles, bindings)
    grants = ClusterGrants(bound_grants(rbac))
    known = {(place, name): rules for place, name, rules in rbac.roles()}
    SelfGrants(grants, known, aggregated | made).run()
    question = RbacQuestion(names.USE_VERB, names.GROUP, names.PROFILES_RESOURCE, profile)
    reached = _Reached()
    permitting = list(grants.permitting(question, namespace))
    for joint in (False, True):  # A chain that can be followed step by step explains more.
        for grant in permitting:
            if grant.joint is joint and not grant.lent:
                reached.begin(grant)
        reached.spread(grants)
    return sorted(reached.all(), key=lambda r: (not r.direct, r.holder, r.namespace))


class _Reached:
    """Those found so far; each place of a holder by the first chain, which is the shortest."""

    def __init__(self) -> None:
        self._found: dict[Holder, dict[str, ProfileUser]] = {}
        self._waiting: list[ProfileUser] = []

    def all(self) -> list[ProfileUser]:
        return [
            reach
            for holder, places in self._found.items()
            for reach in (() if holder.aided_by else places.values())
        ]

    def begin(self, grant: Grant) -> None:
        """Take in the holders of a grant that allows it."""
        place = EVERYWHERE if grant.place in {CLUSTER, EVERY} else grant.place
        for holder in grant.holders:
            if not (grant.joint and self._covered(holder, place)):
                means = f"becomes another that {grant.means}" if grant.joint else grant.means
                self.add(ProfileUser(holder, place, grant.direct, (Step(holder, means),)))

    def add(self, reach: ProfileUser) -> None:
        """Take in one who is not there yet: whoever is there in all namespaces is in each."""
        places = self._found.setdefault(reach.holder, {})
        known = places.get(EVERYWHERE) or places.get(reach.namespace)
        if known is not None and (known.direct or not reach.direct):
            return
        if reach.namespace == EVERYWHERE:
            for place in [
                place for place, other in places.items() if reach.direct or not other.direct
            ]:
                del places[place]
        places[reach.namespace] = reach
        self._waiting.append(reach)

    def spread(self, grants: ClusterGrants) -> None:
        """Add whoever becomes one that is there, until nobody is new."""
        waiting, self._waiting = self._waiting, []
        while waiting:
            for reach in waiting:
                for way in ways_to_become(reach.holder, grants):
                    if not self._covered(way.holder, reach.namespace):
                        means = way.means
                        if needs_another(way.by):
                            means = f"is given the right by another that it becomes, and {means}"
                        step = Step(way.holder, means, way.by)
                        chain = (step, *reach.chain)
                        found = ProfileUser(way.holder, reach.namespace, direct=False, chain=chain)
                        self.add(found)
            waiting, self._waiting = self._waiting, []

    def _covered(self, holder: Holder, namespace: str) -> bool:
        """Return whether one has it already, itself or through a group that it is always in."""
        return any(
            EVERYWHERE in places or namespace in places
            for each in (holder, *groups_of(holder))
            if (places := self._found.get(each))
        )
