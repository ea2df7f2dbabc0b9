"""By which rights one holder becomes another, so that all that the other may is its own.

Sources: k8s.io/apiserver pkg/endpoints/filters/impersonation/mode.go (1.36, with constrained
impersonation, KEP-5284); k8s.io/kubernetes pkg/registry/core/serviceaccount/storage/token.go and
pkg/controller/serviceaccount/tokens_controller.go.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from identity.rights.grants import (
    CLUSTER,
    EVERY,
    ClusterGrants,
    Grant,
    Held,
    holders_of_both,
    place_phrase,
    role_title,
)
from identity.rights.holders import (
    AUTHENTICATED,
    EVERY_ACCOUNT,
    UNAUTHENTICATED,
    Holder,
    accounts_of,
    groups_of,
)
from kube.rbac.authorizer import MASTERS, RbacQuestion

_AUTHENTICATION: Final = "authentication.k8s.io"
_USER_INFO: Final = "impersonate:user-info"

_WORKLOADS: Final = (
    ("apps", "daemonsets"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("batch", "cronjobs"),
    ("batch", "jobs"),
    ("", "replicationcontrollers"),
)
"""Kubernetes' own kinds whose controllers make Pods of any service account of the namespace."""


@dataclass(frozen=True)
class EscalationWay:
    """One who becomes another."""

    holder: Holder
    means: str
    """Completes a sentence that begins with the holder: `impersonates group researchers`."""
    by: str
    """What gives the right: `ClusterRoleBinding operators`."""


def ways_to_become(target: Holder, grants: ClusterGrants) -> Iterator[EscalationWay]:
    """Yield who becomes `target` in one step, and how. Everyone is in some groups anyway."""
    if target in {AUTHENTICATED, UNAUTHENTICATED}:
        return
    if target.aided_by:
        yield EscalationWay(target.aided_by, f"becomes {target} and gives it rights", "")
        return
    if target.kind == "User":
        yield from _user(target, grants)
    elif target.kind == "ServiceAccount":
        yield from _account(target.namespace, target.name, str(target), grants)
    else:
        yield from _group(target, grants)


def _user(target: Holder, grants: ClusterGrants) -> Iterator[EscalationWay]:
    for asked in (
        RbacQuestion("impersonate", "", "users", target.name),
        RbacQuestion(_USER_INFO, _AUTHENTICATION, "users", target.name),
    ):
        yield from _ways(grants.who(asked), f"impersonates {target}")


def _group(target: Holder, grants: ClusterGrants) -> Iterator[EscalationWay]:
    """Yield who impersonates a group, for which it must impersonate some user too."""
    means = f"impersonates {target}"
    if legacy := grants.who(RbacQuestion("impersonate", "", "groups", target.name)):
        some_one = grants.who(RbacQuestion("impersonate", "", "users"), any_name=True)
        some_one |= grants.who_anywhere(RbacQuestion("impersonate", "", "serviceaccounts"), legacy)
        yield from _ways(holders_of_both(legacy, some_one), means)
    if target.name != MASTERS:
        users = grants.who(RbacQuestion(_USER_INFO, _AUTHENTICATION, "users"), any_name=True)
        asked = RbacQuestion(_USER_INFO, _AUTHENTICATION, "groups", target.name)
        yield from _ways(holders_of_both(grants.who(asked), users), means)
    if namespace := accounts_of(target):
        yield from _account(namespace, None, f"a service account of {namespace}", grants)
    if target == EVERY_ACCOUNT:
        for place in (EVERY, *grants.namespaces):
            yield from _account(place, None, "a service account", grants)


def _account(
    namespace: str, name: str | None, who: str, grants: ClusterGrants
) -> Iterator[EscalationWay]:
    """Yield who becomes a service account, or with None any one of the namespace."""
    some, known = name is None, name or ""
    for verb, group, subresource, means in (
        ("impersonate", "", "", f"impersonates {who}"),
        ("impersonate:serviceaccount", _AUTHENTICATION, "", f"impersonates {who}"),
        ("create", "", "token", f"creates tokens of {who}"),
    ):
        asked = RbacQuestion(verb, group, "serviceaccounts", known, namespace, subresource)
        yield from _ways(grants.who(asked, any_name=some), means)
    yield from _ways(_by_secrets(namespace, grants), f"makes Secrets with tokens of {who}")
    pods = grants.who(RbacQuestion("create", "", "pods", "", namespace))
    yield from _ways(pods, f"creates Pods that run as {who}")
    yield from _ways(_by_workloads(namespace, grants), f"creates workloads that run as {who}")


def _by_secrets(namespace: str, grants: ClusterGrants) -> Held:
    """Return who may make a Secret that the token controller fills, and read it."""
    makes = grants.who(RbacQuestion("create", "", "secrets", "", namespace))
    reads: Held = {}
    for verb in ("get", "list", "watch"):
        reads |= grants.who(RbacQuestion(verb, "", "secrets", "", namespace), any_name=True)
    return holders_of_both(makes, reads)


def _by_workloads(namespace: str, grants: ClusterGrants) -> Held:
    found: Held = {}
    for group, resource in _WORKLOADS:
        for verb in ("create", "update", "patch"):
            asked = RbacQuestion(verb, group, resource, "", namespace)
            found |= grants.who(asked, any_name=verb != "create")
    return found


def _ways(held: Held, means: str) -> Iterator[EscalationWay]:
    for holder, by in held.items():
        yield EscalationWay(holder, means, by)


class Escalations:
    """Who becomes whom in the end, and what one who does so can pass to whom it becomes.

    It stands as the grants were when it was last cleared: they only grow, so it lacks at most.
    """

    def __init__(self, grants: ClusterGrants) -> None:
        self.grants = grants
        self._above: dict[Holder, list[Holder]] = {}
        self._ways: dict[Holder, list[Holder]] = {}

    def clear(self) -> None:
        """Forget who becomes whom, after grants were added."""
        self._above.clear()
        self._ways.clear()

    def upward(self, held: Held) -> Held:
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
                for other in self._next(waiting.pop()):
                    if other not in found and other != holder:
                        found[other] = None
                        waiting.append(other)
            self._above[holder] = list(found)
        return self._above[holder]

    def _next(self, holder: Holder) -> list[Holder]:
        if holder not in self._ways:
            ways = ways_to_become(holder, self.grants)
            self._ways[holder] = list(dict.fromkeys(way.holder for way in ways))
        return self._ways[holder]

    def lent(self, powerful: Held) -> Iterator[Grant]:
        """Yield what holders pass to those whom they become, where that adds to their rights."""
        passed = self._passed(powerful)
        near: dict[str, list[Holder]] = defaultdict(list)
        for holder, grants in passed.items():
            for place in {grant.place for grant in grants}:
                near[place].append(holder)
        for target in self.grants.holders if passed else ():
            if target.aided_by:
                continue
            own = [g for g in self.grants.of(target) if g.direct and self.grants.parts(g)]
            places = {CLUSTER, EVERY, *(grant.place for grant in own)}
            if not own or CLUSTER in {grant.place for grant in own}:
                places = set(near) if own else set()
            able = {h: None for p in sorted(places) for h in near[p] if self._adds(own, passed[h])}
            above = {*self._becoming(target)} if able else set()
            for holder in able:
                if holder != target and not above.isdisjoint({holder, *groups_of(holder)}):
                    yield from self._lend(holder, target, own, passed[holder])

    def _passed(self, powerful: Held) -> dict[Holder, list[Grant]]:
        """Return what each holder can pass on, of those that have not everything in the end."""
        strongest = self.upward(powerful)
        found: dict[Holder, list[Grant]] = {}
        for holder in self.grants.holders:
            if holder.aided_by or holder in strongest:
                continue
            mine = (
                grant for each in (holder, *groups_of(holder)) for grant in self.grants.of(each)
            )
            if grants := [
                grant for grant in mine if grant.can_be_passed and self.grants.parts(grant)
            ]:
                found[holder] = grants
        return found

    def _adds(self, own: list[Grant], passed: list[Grant]) -> bool:
        """Return whether some of what a holder has is not in what is passed to it."""
        for grant in own:
            places = {grant.place, CLUSTER} | ({EVERY} if grant.place else set())
            have = {p for g in passed if g.place in places for p in self.grants.parts(g)}
            if any(
                part not in have and (part[0], "") not in have for part in self.grants.parts(grant)
            ):
                return True
        return False

    def _lend(
        self, holder: Holder, target: Holder, own: list[Grant], passed: list[Grant]
    ) -> Iterator[Grant]:
        """Yield what `target` has once `holder` acts as it and has passed to it what it can."""
        aided = (msgspec.structs.replace(target, aided_by=holder),)
        for grant in own:
            yield replace(grant, holders=aided, lent=True)
        for grant in passed:
            what = role_title(*grant.role) if grant.role else "everything"
            means = f"is given {what} {place_phrase(grant.place)}"
            yield replace(
                grant, holders=aided, means=means, binding="", direct=False, joint=False, lent=True
            )
