"""Kubernetes' RBAC authorizer, its ClusterRoles and their aggregation, as pure functions.

Sources: k8s.io/kubernetes plugin/pkg/auth/authorizer/rbac/rbac.go,
pkg/registry/rbac/validation/rule.go, pkg/apis/rbac/v1/evaluation_helpers.go and
pkg/controller/clusterroleaggregation; labels: apimachinery pkg/labels. The ClusterRoles that every
cluster has: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.people.subject import Subject, service_account_subject
from kube.rbac.objects import (
    GROUP,
    AggregationRule,
    Binding,
    BindingSubject,
    Meta,
    PolicyRule,
    RbacSelector,
    Role,
    SelectorRequirement,
)

MASTERS: Final = "system:masters"
"""The group that kube-apiserver lets do everything (its privileged-groups authorizer)."""

ALL: Final = "*"

_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_AGGREGATE: Final = "rbac.authorization.k8s.io/aggregate-to-"

_READ: Final = ["get", "list", "watch"]
_WRITE: Final = ["create", "update", "patch", "delete", "deletecollection"]

_VIEW: Final = [PolicyRule(_READ, [""], ["pods"])]
_ENTERED: Final = ["pods/attach", "pods/exec", "pods/portforward", "pods/proxy"]
_EDIT: Final = [
    PolicyRule([*_READ, *_WRITE], [""], _ENTERED),
    PolicyRule(["impersonate"], [""], ["serviceaccounts"]),
    PolicyRule(["create"], [""], ["serviceaccounts/token"]),
    PolicyRule([*_READ, *_WRITE], [""], ["secrets"]),
    PolicyRule(_WRITE, [""], ["pods", "replicationcontrollers"]),
    PolicyRule(_WRITE, ["apps"], ["daemonsets", "deployments", "replicasets", "statefulsets"]),
    PolicyRule(_WRITE, ["batch"], ["cronjobs", "jobs"]),
]
_ADMIN: Final = [
    PolicyRule(["create"], ["authorization.k8s.io"], ["localsubjectaccessreviews"]),
    PolicyRule([*_READ, *_WRITE], [GROUP], ["roles", "rolebindings"]),
]


def bootstrap_roles() -> Iterator[Role]:
    """Yield the ClusterRoles that can reach Sallyport's resources, and those they are made of.

    `admin`, `edit` and `view` have no rule for these resources but what is aggregated. Of the
    rules of the roles that they aggregate from the start, those are here that need privileges where
    they are bound (docs/operate/rights.md), among them those by which one holder becomes another,
    which `sallyport who-can` follows; each has some, which keeps a role that selects it from being
    empty. Roles of Kubernetes' controllers that may get, list or delete
    anything are left out: none has a verb that Sallyport asks for.
    """
    everything = [PolicyRule(["*"], ["*"], ["*"]), PolicyRule(["*"], non_resource_urls=["*"])]
    yield Role(Meta("cluster-admin", labels=_LABELS), everything, kind="ClusterRole")
    for name, feeds, rules in (
        ("admin", "", _ADMIN),
        ("edit", "admin", _EDIT),
        ("view", "edit", _VIEW),
    ):
        own = {_AGGREGATE + name: "true"}
        meta = Meta(f"system:aggregate-to-{name}", labels=_LABELS | own)
        yield Role(meta, rules, kind="ClusterRole")
        meta = Meta(name, labels=_LABELS | ({_AGGREGATE + feeds: "true"} if feeds else {}))
        selected = AggregationRule([RbacSelector(match_labels=own)])
        yield Role(meta, aggregation_rule=selected, kind="ClusterRole")


def aggregate(roles: Mapping[str, Role]) -> dict[str, tuple[PolicyRule, ...]]:
    """Return the rules of each ClusterRole, by name.

    The controller replaces the rules of a role that has an aggregationRule by those of the
    roles that it selects, which may be aggregated themselves. Where these have none, it applies
    no field at all, and the role keeps the rules that its author wrote.

    Roles that select one another in a circle get the same rules. Where they have none but
    their own, a cluster keeps those of the role that the controller came to last; here it is
    all of them, since no order is known.
    """
    selected = {
        name: [
            other
            for other, candidate in roles.items()
            if other != name and _selects_any(role.aggregation_rule, candidate.metadata)
        ]
        for name, role in roles.items()
        if role.aggregation_rule
    }
    reached = {name: _reached(name, selected) for name in roles}
    rules: dict[str, tuple[PolicyRule, ...]] = {}
    # What a role reaches reaches less than it, or is in a circle with it.
    for name in sorted(roles, key=lambda each: len(reached[each])):
        circle = {other for other in reached[name] if name in reached[other]}
        beyond = [other for other in roles if other in reached[name] - circle]
        collected = _union(rules[other] for other in beyond)
        own = (roles[other].rules or () for other in roles if other in circle)
        rules[name] = collected or _union(own)
    return rules


def _reached(name: str, selected: Mapping[str, list[str]]) -> set[str]:
    """Return a role and those that it selects, directly or through others."""
    found = {name}
    waiting = list(selected.get(name, ()))
    while waiting:
        other = waiting.pop()
        if other not in found:
            found.add(other)
            waiting += selected.get(other, ())
    return found


def _union(parts: Iterable[Iterable[PolicyRule]]) -> tuple[PolicyRule, ...]:
    """Return the rules of all parts, each once, in their order."""
    found: list[PolicyRule] = []
    for part in parts:
        found += [rule for rule in part if rule not in found]
    return tuple(found)


def _selects_any(aggregation: AggregationRule | None, meta: Meta) -> bool:
    selectors = aggregation.cluster_role_selectors if aggregation else []
    return any(selects(selector, meta.labels or {}) for selector in selectors)


def selects(selector: RbacSelector, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector selects these labels (apimachinery, pkg/labels)."""
    wanted = (selector.match_labels or {}).items()
    return all(labels.get(key) == value for key, value in wanted) and all(
        _meets(requirement, labels) for requirement in selector.match_expressions or ()
    )


def _meets(requirement: SelectorRequirement, labels: Mapping[str, str]) -> bool:
    present = requirement.key in labels
    if requirement.operator == "Exists":
        return present
    if requirement.operator == "DoesNotExist":
        return not present
    among = present and labels[requirement.key] in (requirement.values or ())
    return among if requirement.operator == "In" else not among


@dataclass(frozen=True, slots=True)
class RbacQuestion:
    """May it be done? `namespace` is empty for a question about the whole cluster."""

    verb: str
    group: str
    resource: str
    name: str = ""
    namespace: str = ""
    subresource: str = ""


def rule_allows(rule: PolicyRule, question: RbacQuestion) -> bool:
    """Return whether one rule allows what is asked."""
    return (
        _has(rule.verbs, question.verb)
        and _has(rule.api_groups, question.group)
        and _names_resource(rule.resources or (), question)
        and (not rule.resource_names or question.name in rule.resource_names)
    )


def _has(allowed: Sequence[str] | None, asked: str) -> bool:
    return allowed is not None and (ALL in allowed or asked in allowed)


def _names_resource(resources: Sequence[str], question: RbacQuestion) -> bool:
    if not question.subresource:
        return ALL in resources or question.resource in resources
    wanted = {
        ALL,
        f"{question.resource}/{question.subresource}",
        f"*/{question.subresource}",
    }
    return not wanted.isdisjoint(resources)


def applies_to(subject: BindingSubject, user: Subject, namespace: str) -> bool:
    """Return whether a binding's subject is this user; `namespace` is the binding's, or empty."""
    if subject.kind == "User":
        return user.username == subject.name
    if subject.kind == "Group":
        return subject.name in user.groups
    place = subject.namespace or namespace
    if subject.kind != "ServiceAccount" or not place:
        return False
    return user.username == service_account_subject(place, subject.name).username


class Rbac:
    """The roles and bindings of one cluster, ready to be asked."""

    def __init__(self, roles: Iterable[Role], bindings: Iterable[Binding]) -> None:
        """Take roles and bindings that were checked; aggregated ClusterRoles are filled."""
        given = list(roles)
        cluster = {role.metadata.name: role for role in bootstrap_roles()}
        cluster |= {role.metadata.name: role for role in given if not role.metadata.namespace}
        self._rules = {("", name): rules for name, rules in aggregate(cluster).items()}
        for role in given:
            if role.metadata.namespace:
                key = (role.metadata.namespace, role.metadata.name)
                self._rules[key] = tuple(role.rules or ())
        self._bindings: dict[str, list[Binding]] = {}
        for binding in bindings:
            self._bindings.setdefault(binding.metadata.namespace, []).append(binding)

    def allows(self, user: Subject, question: RbacQuestion) -> bool:
        """Return whether the user may do what is asked."""
        return MASTERS in user.groups or any(
            rule_allows(rule, question) for rule in self._rules_of(user, question.namespace)
        )

    def dangling(self) -> Iterator[Binding]:
        """Yield the bindings whose role does not exist: Kubernetes lets them give nothing."""
        for bindings in self._bindings.values():
            yield from (one for one in bindings if _role_key(one) not in self._rules)

    def grants(self) -> Iterator[tuple[Binding, tuple[PolicyRule, ...]]]:
        """Yield each binding with the rules that it gives: none where its role does not exist."""
        for bindings in self._bindings.values():
            yield from ((one, self._rules.get(_role_key(one), ())) for one in bindings)

    def rules(self, namespace: str, name: str) -> tuple[PolicyRule, ...] | None:
        """Return the rules of a role (of a ClusterRole without a namespace); None without one."""
        return self._rules.get((namespace, name))

    def roles(self) -> Iterator[tuple[str, str, tuple[PolicyRule, ...]]]:
        """Yield namespace (empty for a ClusterRole), name and rules of each role."""
        yield from ((place, name, rules) for (place, name), rules in self._rules.items())

    def _rules_of(self, user: Subject, namespace: str) -> Iterator[PolicyRule]:
        for place in {"", namespace}:
            for binding in self._bindings.get(place, ()):
                if any(applies_to(one, user, place) for one in binding.subjects or ()):
                    yield from self._rules.get(_role_key(binding), ())


def _role_key(binding: Binding) -> tuple[str, str]:
    place = binding.metadata.namespace if binding.role_ref.kind == "Role" else ""
    return place, binding.role_ref.name
