"""Rights as they are given: by bindings, and by what their holders may give themselves."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from identity.rights.holders import Holder, group_holder, groups_of, holder_of, is_implied
from kube.rbac.authorizer import MASTERS, Rbac, RbacQuestion, rule_allows
from kube.rbac.objects import GROUP, Binding, PolicyRule

CLUSTER: Final = ""
"""The place of a ClusterRoleBinding: all namespaces, and what lies in none."""

EVERY: Final = "*"
"""The place of who could have a RoleBinding in every namespace."""

EVERYTHING: Final = (PolicyRule(verbs=["*"], api_groups=["*"], resources=["*"]),)

Held = dict[Holder, str]
"""Who may do something, each with what gives the right."""

_ANOTHER: Final = "another that "

_Asked = tuple[str, str, str, str]
"""Verb, group, resource and subresource: a question but for its name and namespace."""

Part = tuple[_Asked, str]
"""A right of which one holder needs two for something, and the name that it is for, or empty."""

_ALL_RIGHTS: Final = ("*", "*", "*", "")

_PARTS: Final[tuple[_Asked, ...]] = (
    ("impersonate", "", "users", ""),
    ("impersonate", "", "groups", ""),
    ("impersonate", "", "serviceaccounts", ""),
    ("impersonate:user-info", "authentication.k8s.io", "users", ""),
    ("impersonate:user-info", "authentication.k8s.io", "groups", ""),
    *((verb, "", "secrets", "") for verb in ("create", "get", "list", "watch")),
    *(
        (verb, GROUP, resource, "")
        for verb in ("create", "update", "patch", "bind", "escalate")
        for resource in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
    ),
)
"""The rights of which one holder needs two for something: to one alone another may be lent."""


@dataclass(frozen=True)
class Grant:
    """These rules, in this place, for these holders."""

    place: str
    holders: tuple[Holder, ...]
    rules: tuple[PolicyRule, ...]
    means: str
    """Completes a sentence that begins with the holder: `has RoleBinding train/x`."""
    role: tuple[str, str] | None = None
    """Namespace (empty for a ClusterRole) and name of the role that it gives, if it is one."""
    binding: str = ""
    """The binding's name; empty where the holder must first give it to itself."""
    direct: bool = True
    """Whether the holder has it now."""
    joint: bool = False
    """Whether it must first become another, who then gives it to it."""
    lent: bool = False
    """Whether it is one that another has too, and stands here for a holder that is aided."""

    @property
    def can_be_passed(self) -> bool:
        """Return whether the holder can give it to whomever it becomes.

        What it may give itself it may give to others; who may do everything may bind everything.
        """
        return not self.direct or any(_allows_some(rule, _ALL_RIGHTS) for rule in self.rules)


def bound_grants(rbac: Rbac) -> Iterator[Grant]:
    """Yield what bindings give, and what kube-apiserver gives without one."""
    means = "is let through by kube-apiserver without any binding"
    yield Grant(CLUSTER, (group_holder(MASTERS),), EVERYTHING, means)
    for binding, rules in rbac.grants():
        place, name = binding.metadata.namespace, binding.metadata.name
        found = (holder_of(subject, place) for subject in binding.subjects or ())
        holders = tuple(dict.fromkeys(holder for holder in found if holder))
        reference = binding.role_ref
        role = (place if reference.kind == "Role" else "", reference.name)
        yield Grant(place, holders, rules, f"has {_name(binding)}", role, name)


def _name(binding: Binding) -> str:
    place, name = binding.metadata.namespace, binding.metadata.name
    return f"RoleBinding {place}/{name}" if place else f"ClusterRoleBinding {name}"


_Match = tuple[Grant, tuple[PolicyRule, ...]]
"""A grant, and those of its rules that allow what is asked for some name."""


class ClusterGrants:
    """All grants of a cluster, ready to be asked who may do what.

    What was found in a place is kept until something is added there: in a cluster of 2,000
    namespaces the same is asked of each, and every time of the ClusterRoleBindings too.
    """

    def __init__(self, grants: Iterable[Grant]) -> None:
        self._at: dict[str, list[Grant]] = {CLUSTER: [], EVERY: []}
        self._of: dict[Holder, list[Grant]] = {}
        self._held: dict[str, dict[tuple[object, ...], Held]] = {}
        self._parts: dict[int, frozenset[Part]] = {}
        self._found: dict[str, dict[_Asked, list[_Match]]] = {}
        self._rules: dict[tuple[int, _Asked], tuple[PolicyRule, ...]] = {}
        for grant in grants:
            self.add(grant)

    def add(self, grant: Grant) -> None:
        """Take in one more."""
        self._at.setdefault(grant.place, []).append(grant)
        for holder in grant.holders:
            self._of.setdefault(holder, []).append(grant)
        self._found.pop(grant.place, None)
        self._held.pop(grant.place, None)

    @property
    def namespaces(self) -> list[str]:
        """The namespaces in which something is given."""
        return [place for place in self._at if place not in {CLUSTER, EVERY}]

    def at(self, place: str) -> list[Grant]:
        """Return what is given in this place, and not what counts there as well."""
        return self._at.get(place, [])

    @property
    def holders(self) -> list[Holder]:
        """Everyone who has something."""
        return list(self._of)

    def of(self, holder: Holder) -> list[Grant]:
        """Return what a holder has itself, and not as a member of groups."""
        return self._of.get(holder, [])

    def parts(self, grant: Grant) -> frozenset[Part]:
        """Return the rights of a grant that are worth something together with another right."""
        key = id(grant.rules)
        if key not in self._parts:
            self._parts[key] = frozenset(
                (asked, name)
                for asked in _PARTS
                for rule in grant.rules
                if _allows_some(rule, asked)
                for name in rule.resource_names or [""]
            )
        return self._parts[key]

    def who(self, question: RbacQuestion, *, any_name: bool = False) -> Held:
        """Say who may do what is asked; with `any_name` also who may for some name alone.

        The question's namespace may be EVERY: who may in each of them.
        """
        place = question.namespace
        places = [CLUSTER] if place == CLUSTER else list(dict.fromkeys((CLUSTER, EVERY, place)))
        held: Held = {}
        for each in places:
            for holder, by in self._held_at(each, question, any_name=any_name).items():
                held.setdefault(holder, by)
        return held

    def _held_at(self, place: str, question: RbacQuestion, *, any_name: bool) -> Held:
        """Return who may by what is given in one place; kept, as what `_matching` finds is."""
        q = question
        key = (q.verb, q.group, q.resource, q.subresource, q.name, any_name)
        kept = self._held.setdefault(place, {})
        if key not in kept:
            kept[key] = _held(self._allowing([place], question, any_name=any_name))
        return kept[key]

    def gives(self, question: RbacQuestion) -> bool:
        """Return whether what is given in the question's place itself allows it for some name."""
        return bool(self._matching(question.namespace, question))

    def given(self, question: RbacQuestion, place: str) -> Held:
        """Say who may do it by what is given in this place itself."""
        return dict(self._held_at(place, question, any_name=False))

    def who_anywhere(self, question: RbacQuestion, among: Held) -> Held:
        """Say who of some may do it in some namespace, or for some name alone."""
        if any(map(is_implied, among)):
            return _held(self._allowing(list(self._at), question, any_name=True))
        asked = (question.verb, question.group, question.resource, question.subresource)
        return {
            each: _by(grant)
            for holder in among
            for each in (holder, *groups_of(holder))
            for grant in self.of(each)
            if self._for_some_name(grant.rules, asked)
        }

    def permitting(self, question: RbacQuestion, namespace: str | None) -> Iterator[Grant]:
        """Yield the grants that allow it in the namespace; None is any."""
        places = list(self._at) if namespace is None else [CLUSTER, EVERY, namespace]
        return self._allowing(places, question, any_name=False)

    def _allowing(
        self, places: Iterable[str], question: RbacQuestion, *, any_name: bool
    ) -> Iterator[Grant]:
        for place in places:
            for grant, rules in self._matching(place, question):
                if any_name or any(rule_allows(rule, question) for rule in rules):
                    yield grant

    def _matching(self, place: str, question: RbacQuestion) -> list[_Match]:
        asked = (question.verb, question.group, question.resource, question.subresource)
        found = self._found.setdefault(place, {})
        if asked not in found:
            matches = ((grant, self._for_some_name(grant.rules, asked)) for grant in self.at(place))
            found[asked] = [match for match in matches if match[1]]
        return found[asked]

    def _for_some_name(
        self, rules: tuple[PolicyRule, ...], asked: _Asked
    ) -> tuple[PolicyRule, ...]:
        key = (id(rules), asked)  # Those of a role are one object, which its grants keep alive.
        if (found := self._rules.get(key)) is None:
            found = tuple(rule for rule in rules if _allows_some(rule, asked))
            self._rules[key] = found
        return found


def _allows_some(rule: PolicyRule, asked: _Asked) -> bool:
    verb, group, resource, subresource = asked
    return any(
        rule_allows(rule, RbacQuestion(verb, group, resource, name, "", subresource))
        for name in rule.resource_names or [""]
    )


def _by(grant: Grant) -> str:
    return f"{_ANOTHER}{grant.means}" if grant.joint else grant.means.removeprefix("has ")


def needs_another(by: str) -> bool:
    """Return whether what gives a right is first had through another whom the holder becomes."""
    return _ANOTHER in by


def _held(grants: Iterable[Grant]) -> Held:
    held: Held = {}
    for grant in grants:
        for holder in grant.holders:
            held.setdefault(holder, _by(grant))
    return held


def holders_of_both(one: Held, other: Held) -> Held:
    """Return who has both, itself or through a group that it is always in."""
    found: Held = {}
    few, many = sorted((one, other), key=len)
    for holder in (few | many) if any(map(is_implied, few)) else few:
        first, second = _of(holder, one), _of(holder, other)
        if first and second:
            found[holder] = first if first == second else f"{first} and {second}"
    return found


def _of(holder: Holder, held: Held) -> str:
    if holder in held:
        return held[holder]
    return next((held[group] for group in sorted(groups_of(holder)) if group in held), "")


def role_title(namespace: str, name: str) -> str:
    """Return a role with its kind."""
    return f"Role {namespace}/{name}" if namespace else f"ClusterRole {name}"


def place_phrase(place: str) -> str:
    """Return a place as the end of a sentence."""
    if place == EVERY:
        return "in every namespace"
    return f"in namespace {place}" if place else "in the whole cluster"
