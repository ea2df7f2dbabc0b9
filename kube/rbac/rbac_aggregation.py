"""What ClusterRoles hold once Kubernetes' aggregation controller has come to rest.

Source: k8s.io/kubernetes pkg/controller/clusterroleaggregation; labels: apimachinery pkg/labels.
"""

from collections.abc import Iterable, Mapping

from kube.rbac.objects import (
    AggregationRule,
    LabelSelector,
    Meta,
    PolicyRule,
    Role,
    SelectorRequirement,
)


def aggregate(roles: Mapping[str, Role]) -> dict[str, tuple[PolicyRule, ...]]:
    """Give the rules of each ClusterRole, by name.

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
    """Give a role and those that it selects, directly or through others."""
    found = {name}
    waiting = list(selected.get(name, ()))
    while waiting:
        other = waiting.pop()
        if other not in found:
            found.add(other)
            waiting += selected.get(other, ())
    return found


def _union(parts: Iterable[Iterable[PolicyRule]]) -> tuple[PolicyRule, ...]:
    """Give the rules of all parts, each once, in their order."""
    found: list[PolicyRule] = []
    for part in parts:
        found += [rule for rule in part if rule not in found]
    return tuple(found)


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
