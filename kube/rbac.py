"""Kubernetes' RBAC, as pure functions over roles and bindings.

Sources: k8s.io/kubernetes plugin/pkg/auth/authorizer/rbac/rbac.go,
pkg/registry/rbac/validation/rule.go and pkg/apis/rbac/v1/evaluation_helpers.go; for
aggregation pkg/controller/clusterroleaggregation.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.subject import Subject, service_account
from kube.rbac_objects import (
    AggregationRule,
    Binding,
    BindingSubject,
    LabelSelector,
    Meta,
    PolicyRule,
    Role,
    SelectorRequirement,
)

MASTERS: Final = "system:masters"
"""The group that kube-apiserver lets do everything (its privileged-groups authorizer)."""

ALL: Final = "*"

_AGGREGATE: Final = "rbac.authorization.k8s.io/aggregate-to-"


@dataclass(frozen=True, slots=True)
class Question:
    """May it be done? `namespace` is empty for a question about the whole cluster."""

    verb: str
    group: str
    resource: str
    name: str = ""
    namespace: str = ""
    subresource: str = ""


def rule_allows(rule: PolicyRule, question: Question) -> bool:
    """Say whether one rule allows what is asked."""
    return (
        _has(rule.verbs, question.verb)
        and _has(rule.api_groups, question.group)
        and _names_resource(rule.resources or (), question)
        and (not rule.resource_names or question.name in rule.resource_names)
    )


def _has(allowed: Sequence[str] | None, asked: str) -> bool:
    return allowed is not None and (ALL in allowed or asked in allowed)


def _names_resource(resources: Sequence[str], question: Question) -> bool:
    if not question.subresource:
        return ALL in resources or question.resource in resources
    wanted = {
        ALL,
        f"{question.resource}/{question.subresource}",
        f"*/{question.subresource}",
    }
    return not wanted.isdisjoint(resources)


def applies_to(subject: BindingSubject, user: Subject, namespace: str) -> bool:
    """Say whether a binding's subject is this user; `namespace` is the binding's, or empty."""
    if subject.kind == "User":
        return user.username == subject.name
    if subject.kind == "Group":
        return subject.name in user.groups
    place = subject.namespace or namespace
    if subject.kind != "ServiceAccount" or not place:
        return False
    return user.username == service_account(place, subject.name).username


class Rbac:
    """The roles and bindings of one cluster, ready to be asked."""

    def __init__(self, roles: Iterable[Role], bindings: Iterable[Binding]) -> None:
        """Take roles and bindings that were checked; aggregated ClusterRoles are filled."""
        given = list(roles)
        cluster = {role.metadata.name: role for role in _bootstrap_roles()}
        cluster |= {role.metadata.name: role for role in given if not role.metadata.namespace}
        self._rules = {("", name): rules for name, rules in _aggregate(cluster).items()}
        for role in given:
            if role.metadata.namespace:
                key = (role.metadata.namespace, role.metadata.name)
                self._rules[key] = tuple(role.rules or ())
        self._bindings: dict[str, list[Binding]] = {}
        for binding in bindings:
            self._bindings.setdefault(binding.metadata.namespace, []).append(binding)

    def allows(self, user: Subject, question: Question) -> bool:
        """Say whether the user may do what is asked."""
        return MASTERS in user.groups or any(
            rule_allows(rule, question) for rule in self._rules_of(user, question.namespace)
        )

    def dangling(self) -> Iterator[Binding]:
        """Yield the bindings whose role does not exist: Kubernetes lets them give nothing."""
        for bindings in self._bindings.values():
            yield from (one for one in bindings if _role_key(one) not in self._rules)

    def _rules_of(self, user: Subject, namespace: str) -> Iterator[PolicyRule]:
        for place in {"", namespace}:
            for binding in self._bindings.get(place, ()):
                if any(applies_to(one, user, place) for one in binding.subjects or ()):
                    yield from self._rules.get(_role_key(binding), ())


def _role_key(binding: Binding) -> tuple[str, str]:
    place = binding.metadata.namespace if binding.role_ref.kind == "Role" else ""
    return place, binding.role_ref.name


def _aggregate(roles: Mapping[str, Role]) -> dict[str, tuple[PolicyRule, ...]]:
    """Give each ClusterRole's rules once the aggregation controller has come to rest.

    It replaces the rules of a role that has an aggregationRule; roles that it selects may be
    aggregated themselves, in a circle too, so this adds until nothing is new.
    """
    rules = {
        name: [] if role.aggregation_rule else list(role.rules or ())
        for name, role in roles.items()
    }
    selected = {
        name: [
            other
            for other, candidate in roles.items()
            if other != name and _selects_any(role.aggregation_rule, candidate.metadata)
        ]
        for name, role in roles.items()
        if role.aggregation_rule
    }
    changed = True
    while changed:
        changed = False
        for name, sources in selected.items():
            new = [rule for other in sources for rule in rules[other] if rule not in rules[name]]
            rules[name] += new
            changed = changed or bool(new)
    return {name: tuple(found) for name, found in rules.items()}


def _selects_any(aggregation: AggregationRule | None, meta: Meta) -> bool:
    selectors = aggregation.cluster_role_selectors if aggregation else []
    return any(selects(selector, meta.labels or {}) for selector in selectors)


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Say whether a label selector selects these labels (apimachinery, pkg/labels)."""
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


def _bootstrap_roles() -> Iterator[Role]:
    """Yield the ClusterRoles that every cluster has and that can reach Sallyport's resources.

    `admin`, `edit` and `view` have no rule for them but what is aggregated. Source:
    plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go.
    """
    everything = PolicyRule(verbs=[ALL], api_groups=[ALL], resources=[ALL])
    yield Role(Meta("cluster-admin"), rules=[everything], kind="ClusterRole")
    for name, feeds in (("admin", ""), ("edit", "admin"), ("view", "edit")):
        labels = {_AGGREGATE + feeds: "true"} if feeds else {}
        selector = LabelSelector(match_labels={_AGGREGATE + name: "true"})
        meta = Meta(name, labels=labels)
        yield Role(meta, aggregation_rule=AggregationRule([selector]), kind="ClusterRole")
