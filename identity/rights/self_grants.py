"""What holders may give themselves: by binding a role, or by rewriting one that they have.

Sources: k8s.io/kubernetes pkg/registry/rbac/escalation_check.go and, beside it,
{role,clusterrole,rolebinding,clusterrolebinding}/policybased/storage.go.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Final

from identity.rights.escalation import Escalations
from identity.rights.grants import (
    CLUSTER,
    EVERY,
    EVERYTHING,
    ClusterGrants,
    Grant,
    Held,
    holders_of_both,
    needs_another,
    place_phrase,
    role_title,
)
from identity.rights.holders import AUTHENTICATED, Holder, groups_of, is_implied
from kube.rbac.authorizer import RbacQuestion
from kube.rbac.objects import GROUP, PolicyRule

_STRONGEST: Final = ("", "cluster-admin")
"""Tried first: who may bind it needs no other."""

Roles = dict[tuple[str, str], tuple[PolicyRule, ...]]
"""Rules by namespace (empty for ClusterRoles) and name."""


@dataclass(frozen=True)
class SelfGrants:
    """Adds to grants what their holders may give themselves, until nothing is new."""

    grants: ClusterGrants
    roles: Roles
    aggregated: frozenset[str]
    """The ClusterRoles that are made of others."""
    _becoming: Escalations = field(init=False)

    def __post_init__(self) -> None:
        """Begin with what is given."""
        object.__setattr__(self, "_becoming", Escalations(self.grants))

    @cached_property
    def _of(self) -> dict[str, list[tuple[str, str]]]:
        """Return the roles by their namespace, the strongest first."""
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for role in sorted(self.roles, key=lambda role: role != _STRONGEST):
            found[role[0]].append(role)
        return found

    def run(self) -> None:
        """Add everything."""
        namespaces = [*self.grants.namespaces, *(place for place in self._of if place)]
        places = list(dict.fromkeys((CLUSTER, EVERY, *namespaces)))
        added = True
        while added:
            added = False
            self._becoming.clear()
            for place in places:
                added |= self._take(self._bound(place))
                added |= self._take(self._shared(place))
                added |= self._take(self._written(place))
            added |= self._take(self._becoming.lent(self._powerful(CLUSTER)))

    def _take(self, found: Iterable[Grant]) -> bool:
        """Add what is new; say whether anything was."""
        added = False
        for grant in found:
            if not self._has(grant):
                self.grants.add(grant)
                added = True
        return added

    def _has(self, grant: Grant) -> bool:
        """Return whether the holder has the same already, or everything."""
        (holder,) = grant.holders
        places = {grant.place, CLUSTER} | ({EVERY} if grant.place != CLUSTER else set())
        return any(
            each.place in places
            and each.rules in (grant.rules, EVERYTHING)
            and (each.can_be_passed or each.direct is grant.direct)
            for each in self.grants.of(holder)
        )

    def _powerful(self, place: str) -> Held:
        return self._who("*", "*", "", place, group="*")

    def _who(  # noqa: PLR0913 (what a question is made of)
        self,
        verb: str,
        resource: str,
        name: str,
        place: str,
        *,
        any_name: bool = False,
        group: str = GROUP,
    ) -> Held:
        return self.grants.who(RbacQuestion(verb, group, resource, name, place), any_name=any_name)

    def _changes(self, resource: str, name: str, place: str, *, any_name: bool = False) -> Held:
        held = self._who("update", resource, name, place, any_name=any_name)
        return held | self._who("patch", resource, name, place, any_name=any_name)

    def _bound(self, place: str) -> Iterator[Grant]:
        """Yield the roles that holders may bind in a place: a right to write, and `bind`."""
        bindings = _bindings(place)
        writes = self._who("create", bindings, "", place)
        changes = self._changes(bindings, "", place, any_name=True)
        powerful = self._powerful(place)
        for namespace in _scopes(place):
            some = self._who("bind", _roles(namespace), "", place, any_name=True)
            able = _without(holders_of_both(some, writes | changes), powerful)
            if not (self._anew(able, changes, place) if namespace == CLUSTER else able):
                continue
            for role in self._of[namespace]:
                binds = _without(self._who("bind", _roles(namespace), role[1], place), powerful)
                able = (
                    holders_of_both(binds, writes | self._changing(changes, role, place))
                    if binds
                    else {}
                )
                yield from self._given(role, place, able)

    def _given(self, role: tuple[str, str], place: str, able: Held) -> Iterator[Grant]:
        means = f"may bind {role_title(*role)} {place_phrase(place)}"
        for holder in self._becoming.upward(able):
            joint = holder not in able or needs_another(able[holder])
            yield Grant(place, (holder,), self.roles[role], means, role, direct=False, joint=joint)

    def _shared(self, place: str) -> Iterator[Grant]:
        """Yield the roles that holders may bind in a place because they have them."""
        bindings = _bindings(place)
        writes = self._who("create", bindings, "", place)
        changes = self._changes(bindings, "", place, any_name=True)
        if not writes and not changes:
            return
        wide = place in {CLUSTER, EVERY}  # What counts more widely than here is found there.
        local = (
            writes if wide else self.grants.given(RbacQuestion("create", GROUP, bindings), place)
        )
        bound = {grant.role for grant in self.grants.at(place) if grant.binding}
        for grant in self._native(local | changes, place):
            role = grant.role
            if role is None or role not in self.roles:
                continue
            have = {h: grant.means for h in grant.holders if h != AUTHENTICATED}
            able = holders_of_both(have, writes if grant.place == place else local)
            if role in bound:
                able |= holders_of_both(have, self._changing(changes, role, place))
            yield from self._given(role, place, able)
        if some := _without(changes, writes):
            for role in sorted(filter(None, bound)):
                if able := self._changing(some, role, place):
                    yield from self._given(
                        role, place, holders_of_both(able, self._covering(role, place))
                    )

    def _covering(self, role: tuple[str, str], place: str) -> Held:
        """Return who has each right of a role in a place, by whatever gives it."""
        found: Held | None = None
        for rule in self.roles.get(role, ()):
            for verb, group, what, name in product(
                rule.verbs,
                rule.api_groups or (),
                rule.resources or (),
                rule.resource_names or [""],
            ):
                resource, _, sub = what.partition("/")
                held = self.grants.who(RbacQuestion(verb, group, resource, name, place, sub))
                found = held if found is None else holders_of_both(found, held)
        return found or {}

    def _native(self, holders: Held, place: str) -> list[Grant]:
        """Return what is given in a place, also to some of these everywhere, that is a part."""
        wide = self.grants.at(CLUSTER)
        if not any(map(is_implied, holders)):
            among = dict.fromkeys(e for holder in holders for e in (holder, *groups_of(holder)))
            some = (g for h in among if h != AUTHENTICATED for g in self.grants.of(h))
            wide = list({id(g): g for g in some if g.place == CLUSTER}.values())
        found = [*self.grants.at(place), *wide] if place else wide
        return [g for g in found if g.direct and self.grants.parts(g)]

    def _anew(self, able: Held, changes: Held, place: str) -> bool:
        """Return whether someone may bind a ClusterRole here that it may not bind everywhere."""
        if not able or place in {CLUSTER, EVERY}:
            return bool(able)
        binds = RbacQuestion("bind", GROUP, _roles(CLUSTER), "", place)
        writes = RbacQuestion("create", GROUP, _bindings(place), "", place)
        here = self.grants.gives(binds) or self.grants.gives(writes)
        return here or bool(holders_of_both(able, changes))

    def _changing(self, some: Held, role: tuple[str, str], place: str) -> Held:
        """Return who may add itself to a binding of the role that is there already."""
        found: Held = {}
        if some:
            for grant in self.grants.at(place):
                if grant.role == role and grant.binding:
                    found |= self._changes(_bindings(place), grant.binding, place)
        return found

    def _written(self, place: str) -> Iterator[Grant]:
        """Yield everything for who may write any rules into a role that it has, or may bind."""
        powerful = self._powerful(place)
        if place:
            local = {h for grant in self.grants.at(place) for h in grant.holders if h in powerful}
            yield from self._given(_STRONGEST, place, {h: powerful[h] for h in local})
        for namespace in _scopes(place):
            kind = _roles(namespace)
            escalates = self._who("escalate", kind, "", namespace, any_name=True)
            if not _without(escalates, powerful):
                continue
            fresh = holders_of_both(
                self._who("create", kind, "", namespace),
                self._who("escalate", kind, "", namespace),
            )
            binds = holders_of_both(
                self._who("create", _bindings(place), "", place),
                self._who("bind", kind, "", place, any_name=True),
            )
            able = holders_of_both(fresh, binds)
            means = f"may write and bind a {_kind(namespace)}"
            for holder in holders_of_both(
                self._becoming.upward(fresh), self._becoming.upward(binds)
            ):
                yield _everything(
                    place, holder, means, joint=holder not in able or needs_another(able[holder])
                )
            yield from self._rewritten(place, namespace, fresh)

    def _rewritten(self, place: str, namespace: str, fresh: Held) -> Iterator[Grant]:
        kind = _roles(namespace)
        some = holders_of_both(
            self._who("escalate", kind, "", namespace, any_name=True),
            self._changes(kind, "", namespace, any_name=True),
        )
        for grant in list(self.grants.at(place)):
            if grant.role is None or grant.role[0] != namespace:
                continue
            name = grant.role[1]
            able = holders_of_both(
                self._who("escalate", kind, name, namespace),
                self._changes(kind, name, namespace),
            )
            if not namespace and name in self.aggregated:
                able |= fresh | some
            means = f"may rewrite {role_title(*grant.role)}, and {grant.means}"
            have = dict.fromkeys(grant.holders, grant.means)
            alone = holders_of_both(able, have)
            for holder in holders_of_both(self._becoming.upward(able), self._becoming.upward(have)):
                yield _everything(
                    place, holder, means, joint=holder not in alone or needs_another(alone[holder])
                )


def _everything(place: str, holder: Holder, means: str, *, joint: bool) -> Grant:
    return Grant(place, (holder,), EVERYTHING, means, direct=False, joint=joint)


def _without(held: Held, others: Held) -> Held:
    return {holder: by for holder, by in held.items() if holder not in others}


def _scopes(place: str) -> list[str]:
    """Return the namespaces of the roles that can be bound in a place."""
    return [CLUSTER] if place in {CLUSTER, EVERY} else [CLUSTER, place]


def _bindings(place: str) -> str:
    return "rolebindings" if place else "clusterrolebindings"


def _roles(namespace: str) -> str:
    return "roles" if namespace else "clusterroles"


def _kind(namespace: str) -> str:
    return "Role" if namespace else "ClusterRole"
