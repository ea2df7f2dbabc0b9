"""What holders may give themselves: by binding a role, or by rewriting one that they have.

Sources: k8s.io/kubernetes pkg/registry/rbac/escalation_check.go and, beside it,
{role,clusterrole,rolebinding,clusterrolebinding}/policybased/storage.go.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from identity.becoming import ways_to_become
from identity.grants import CLUSTER, EVERY, EVERYTHING, Grant, Grants, Held, both
from identity.holders import Holder, groups_of
from kube.rbac import Question
from kube.rbac_objects import GROUP, PolicyRule

_STRONGEST: Final = ("", "cluster-admin")
"""Tried first: who may bind it needs no other."""

Roles = dict[tuple[str, str], tuple[PolicyRule, ...]]
"""Rules by namespace (empty for ClusterRoles) and name."""


@dataclass(frozen=True)
class Obtaining:
    """Adds to grants what their holders may give themselves, until nothing is new."""

    grants: Grants
    roles: Roles
    aggregated: frozenset[str]
    """The ClusterRoles that are made of others."""
    _above: dict[Holder, list[Holder]] = field(default_factory=dict)
    """Who becomes a holder, in one step or more, as the grants now are."""

    @cached_property
    def _of(self) -> dict[str, list[tuple[str, str]]]:
        """Give the roles by their namespace, the strongest first."""
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
            for place in places:
                added |= self._take(self._bound(place))
                added |= self._take(self._written(place))

    def _take(self, found: Iterable[Grant]) -> bool:
        """Add what is new; say whether anything was."""
        added = False
        for grant in found:
            if not self._has(grant):
                self.grants.add(grant)
                self._above.clear()
                added = True
        return added

    def _has(self, grant: Grant) -> bool:
        """Say whether the holder has the same already, or everything."""
        (holder,) = grant.holders
        if holder in self._powerful(grant.place):
            return True
        places = {grant.place, CLUSTER} | ({EVERY} if grant.place != CLUSTER else set())
        return any(
            holder in each.holders and each.rules == grant.rules
            for place in places
            for each in self.grants.at(place)
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
        return self.grants.who(Question(verb, group, resource, name, place), any_name=any_name)

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
            able = _without(both(some, writes | changes), powerful)
            if not (self._anew(able, changes, place) if namespace == CLUSTER else able):
                continue
            for role in self._of[namespace]:
                binds = _without(self._who("bind", _roles(namespace), role[1], place), powerful)
                able = both(binds, writes | self._changing(changes, role, place)) if binds else {}
                for holder in self._upward(able):
                    means = f"may bind {_named(*role)} {_in(place)}"
                    rules = self.roles[role]
                    yield Grant(
                        place, (holder,), rules, means, role, direct=False, joint=holder not in able
                    )

    def _upward(self, held: Held) -> Held:
        """Add whoever becomes one of the holders: what that one does, it can do for another."""
        found = dict(held)
        for holder, by in held.items():
            for other in self._becoming(holder):
                found.setdefault(other, f"{by}, as {holder}")
        return found

    def _becoming(self, holder: Holder) -> list[Holder]:
        if holder not in self._above:
            found: dict[Holder, None] = {}
            waiting = [holder]
            while waiting:
                for way in ways_to_become(waiting.pop(), self.grants):
                    if way.holder not in found and way.holder != holder:
                        found[way.holder] = None
                        waiting.append(way.holder)
            self._above[holder] = list(found)
        return self._above[holder]

    def _anew(self, able: Held, changes: Held, place: str) -> bool:
        """Say whether someone may bind a ClusterRole here that it may not bind everywhere."""
        if not able or place in {CLUSTER, EVERY}:
            return bool(able)
        binds = Question("bind", GROUP, _roles(CLUSTER), "", place)
        writes = Question("create", GROUP, _bindings(place), "", place)
        here = self.grants.gives(binds) or self.grants.gives(writes)
        return here or bool(both(able, changes))

    def _changing(self, some: Held, role: tuple[str, str], place: str) -> Held:
        """Give who may add itself to a binding of the role that is there already."""
        found: Held = {}
        if some:
            for grant in self.grants.at(place):
                if grant.role == role and grant.binding:
                    found |= self._changes(_bindings(place), grant.binding, place)
        return found

    def _written(self, place: str) -> Iterator[Grant]:
        """Yield everything for who may write any rules into a role that it has, or may bind."""
        powerful = self._powerful(place)
        for namespace in _scopes(place):
            kind = _roles(namespace)
            escalates = self._who("escalate", kind, "", namespace, any_name=True)
            if not _without(escalates, powerful):
                continue
            fresh = both(
                self._who("create", kind, "", namespace),
                self._who("escalate", kind, "", namespace),
            )
            binds = both(
                self._who("create", _bindings(place), "", place),
                self._who("bind", kind, "", place, any_name=True),
            )
            able = both(fresh, binds)
            means = f"may write and bind a {_kind(namespace)}"
            for holder in both(self._upward(fresh), self._upward(binds)):
                yield _everything(place, holder, means, joint=holder not in able)
            yield from self._rewritten(place, namespace, fresh)

    def _rewritten(self, place: str, namespace: str, fresh: Held) -> Iterator[Grant]:
        kind = _roles(namespace)
        some = both(
            self._who("escalate", kind, "", namespace, any_name=True),
            self._changes(kind, "", namespace, any_name=True),
        )
        for grant in list(self.grants.at(place)):
            if grant.role is None or grant.role[0] != namespace:
                continue
            name = grant.role[1]
            able = both(
                self._who("escalate", kind, name, namespace),
                self._changes(kind, name, namespace),
            )
            if not namespace and name in self.aggregated:
                able |= fresh | some
            for holder in self._upward(able):
                if holder in grant.holders or not groups_of(holder).isdisjoint(grant.holders):
                    means = f"may rewrite {_named(*grant.role)}, and {grant.means}"
                    yield _everything(place, holder, means, joint=holder not in able)


def _everything(place: str, holder: Holder, means: str, *, joint: bool) -> Grant:
    return Grant(place, (holder,), EVERYTHING, means, direct=False, joint=joint)


def _without(held: Held, others: Held) -> Held:
    return {holder: by for holder, by in held.items() if holder not in others}


def _scopes(place: str) -> list[str]:
    """Give the namespaces of the roles that can be bound in a place."""
    return [CLUSTER] if place in {CLUSTER, EVERY} else [CLUSTER, place]


def _bindings(place: str) -> str:
    return "rolebindings" if place else "clusterrolebindings"


def _roles(namespace: str) -> str:
    return "roles" if namespace else "clusterroles"


def _kind(namespace: str) -> str:
    return "Role" if namespace else "ClusterRole"


def _named(namespace: str, name: str) -> str:
    return f"Role {namespace}/{name}" if namespace else f"ClusterRole {name}"


def _in(place: str) -> str:
    if place == EVERY:
        return "in every namespace"
    return f"in namespace {place}" if place else "in the whole cluster"
