"""Kubernetes' RBAC, as pure functions over roles and bindings.

Sources: k8s.io/kubernetes plugin/pkg/auth/authorizer/rbac/rbac.go,
pkg/registry/rbac/validation/rule.go and pkg/apis/rbac/v1/evaluation_helpers.go.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from core.people.subject import Subject, service_account_subject
from kube.rbac.default_roles import bootstrap_roles
from kube.rbac.objects import Binding, BindingSubject, PolicyRule, Role
from kube.rbac.rbac_aggregation import aggregate

MASTERS: Final = "system:masters"
"""The group that kube-apiserver lets do everything (its privileged-groups authorizer)."""

ALL: Final = "*"


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

    def allows(self, user: Subject, question: Question) -> bool:
        """Say whether the user may do what is asked."""
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
        """Give the rules of a role (of a ClusterRole without a namespace); None without one."""
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
