"""Roles and bindings as people write them, typed and checked as kube-apiserver checks them.

Shapes: k8s.io/api/rbac/v1 types.go. Checks: k8s.io/kubernetes/pkg/apis/rbac/validation, and
what it calls of k8s.io/apimachinery (pkg/api/validation/path, pkg/util/validation).
"""

from collections.abc import Iterator

import msgspec

from core.base.errors import InvalidObjectError
from core.kubernetes.label_selectors import is_label_key, is_label_value
from core.kubernetes.names import is_subdomain

GROUP = "rbac.authorization.k8s.io"
API_VERSION = f"{GROUP}/v1"


class _Struct(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    rename={
        "api_groups": "apiGroups",
        "resource_names": "resourceNames",
        "non_resource_urls": "nonResourceURLs",
        "api_group": "apiGroup",
        "api_version": "apiVersion",
        "role_ref": "roleRef",
        "match_labels": "matchLabels",
        "match_expressions": "matchExpressions",
        "cluster_role_selectors": "clusterRoleSelectors",
        "aggregation_rule": "aggregationRule",
    },
    forbid_unknown_fields=True,
):
    """Frozen, strict: a field that Kubernetes would drop is a mistake to be told of."""


class Meta(msgspec.Struct, frozen=True):
    """What is read of `metadata`; the rest is for kube-apiserver."""

    name: str
    namespace: str = ""
    labels: dict[str, str] | None = None


class PolicyRule(_Struct, frozen=True):
    """One rule of a role: these verbs on these resources."""

    verbs: list[str]
    api_groups: list[str] | None = None
    resources: list[str] | None = None
    resource_names: list[str] | None = None
    non_resource_urls: list[str] | None = None


class SelectorRequirement(_Struct, frozen=True):
    """One of a label selector's `matchExpressions`."""

    key: str
    operator: str
    values: list[str] | None = None


class RbacSelector(_Struct, frozen=True):
    """A label selector; an empty one selects everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[SelectorRequirement] | None = None


class AggregationRule(_Struct, frozen=True):
    """Which ClusterRoles' rules a ClusterRole is made of."""

    cluster_role_selectors: list[RbacSelector]


class Role(_Struct, frozen=True):
    """A Role (`metadata.namespace` set) or a ClusterRole (empty)."""

    metadata: Meta
    rules: list[PolicyRule] | None = None
    aggregation_rule: AggregationRule | None = None
    api_version: str = API_VERSION
    kind: str = "Role"


class RoleRef(_Struct, frozen=True):
    """The role that a binding gives."""

    kind: str
    name: str
    api_group: str = ""


class BindingSubject(_Struct, frozen=True):
    """Someone to whom a binding gives its role."""

    kind: str
    name: str
    namespace: str = ""
    api_group: str = ""


class Binding(_Struct, frozen=True):
    """A RoleBinding (`metadata.namespace` set) or a ClusterRoleBinding (empty)."""

    metadata: Meta
    role_ref: RoleRef
    subjects: list[BindingSubject] | None = None
    api_version: str = API_VERSION
    kind: str = "RoleBinding"


def check_role(role: Role, what: str) -> None:
    """Raise InvalidObjectError unless kube-apiserver would take the role."""
    _check_meta(role.metadata, role.kind, what)
    namespaced = not role.kind.startswith("Cluster")
    for index, rule in enumerate(role.rules or ()):
        _check_rule(rule, f"rules[{index}]", what, namespaced=namespaced)
    if role.aggregation_rule is None:
        return
    if namespaced:
        raise InvalidObjectError(what, "aggregationRule", "only a ClusterRole can have one")
    selectors = role.aggregation_rule.cluster_role_selectors
    path = "aggregationRule.clusterRoleSelectors"
    if not selectors:
        raise InvalidObjectError(what, path, "must have at least one")
    for index, selector in enumerate(selectors):
        _check_labels(selector, f"{path}[{index}]", what)
        for position, one in enumerate(selector.match_expressions or ()):
            _check_requirement(one, f"{path}[{index}].matchExpressions[{position}]", what)


def _check_labels(selector: RbacSelector, path: str, what: str) -> None:
    for field, key, values in _labels(selector):
        if not is_label_key(key):
            message = (
                f"{key!r} is no label's key: at most 63 of A-Za-z0-9-_. after a DNS name and /"
            )
            raise InvalidObjectError(what, f"{path}.{field}", message)
        for value in values:
            if not is_label_value(value):
                message = f"{value!r} is no label's value: at most 63 of A-Za-z0-9-_."
                raise InvalidObjectError(what, f"{path}.{field}", message)


def _labels(selector: RbacSelector) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each key of a selector, where it stands and the values beside it."""
    for key, value in (selector.match_labels or {}).items():
        yield "matchLabels", key, [value]
    for index, one in enumerate(selector.match_expressions or ()):
        yield f"matchExpressions[{index}]", one.key, one.values or []


def _check_requirement(requirement: SelectorRequirement, path: str, what: str) -> None:
    operators = ("In", "NotIn", "Exists", "DoesNotExist")
    if requirement.operator not in operators:
        message = f"{requirement.operator!r} must be one of {', '.join(operators)}"
        raise InvalidObjectError(what, f"{path}.operator", message)
    if (requirement.operator in {"In", "NotIn"}) is not bool(requirement.values):
        message = "In and NotIn need values, Exists and DoesNotExist take none"
        raise InvalidObjectError(what, f"{path}.values", message)


def _check_rule(rule: PolicyRule, path: str, what: str, *, namespaced: bool) -> None:
    if not rule.verbs:
        raise InvalidObjectError(what, f"{path}.verbs", "must have at least one")
    if rule.non_resource_urls:
        if namespaced:
            raise InvalidObjectError(what, f"{path}.nonResourceURLs", "only in a ClusterRole")
        if rule.api_groups or rule.resources or rule.resource_names:
            message = "cannot stand beside apiGroups, resources or resourceNames"
            raise InvalidObjectError(what, f"{path}.nonResourceURLs", message)
        return
    if not rule.api_groups:
        message = 'must have at least one ("" is the core group)'
        raise InvalidObjectError(what, f"{path}.apiGroups", message)
    if not rule.resources:
        raise InvalidObjectError(what, f"{path}.resources", "must have at least one")


def check_binding(binding: Binding, what: str) -> None:
    """Raise InvalidObjectError unless kube-apiserver would take the binding."""
    _check_meta(binding.metadata, binding.kind, what)
    namespaced = not binding.kind.startswith("Cluster")
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if binding.role_ref.kind not in kinds:
        message = f"{binding.role_ref.kind!r} must be {' or '.join(kinds)}"
        raise InvalidObjectError(what, "roleRef.kind", message)
    if binding.role_ref.api_group not in {"", GROUP}:
        raise InvalidObjectError(what, "roleRef.apiGroup", f"must be {GROUP}")
    _check_name(binding.role_ref.name, "roleRef.name", what)
    for index, subject in enumerate(binding.subjects or ()):
        _check_subject(subject, f"subjects[{index}]", what, namespaced=namespaced)


def _check_subject(subject: BindingSubject, path: str, what: str, *, namespaced: bool) -> None:
    groups = {"User": GROUP, "Group": GROUP, "ServiceAccount": ""}
    if subject.kind not in groups:
        message = f"{subject.kind!r} must be one of {', '.join(groups)}"
        raise InvalidObjectError(what, f"{path}.kind", message)
    if not subject.name:
        raise InvalidObjectError(what, f"{path}.name", "is missing")
    if subject.api_group not in {"", groups[subject.kind]}:
        message = f"must be {groups[subject.kind]!r} for a {subject.kind}"
        raise InvalidObjectError(what, f"{path}.apiGroup", message)
    if subject.kind != "ServiceAccount":
        return
    if not namespaced and not subject.namespace:
        raise InvalidObjectError(what, f"{path}.namespace", "is missing")
    if not is_subdomain(subject.name):
        message = f"{subject.name!r} is no service account's name: must be a DNS name in lower case"
        raise InvalidObjectError(what, f"{path}.name", message)


def _check_name(name: str, field: str, what: str) -> None:
    """Refuse what could not be one segment of a URL's path."""
    if not name:
        raise InvalidObjectError(what, field, "is missing")
    if name in {".", ".."} or "/" in name or "%" in name:
        raise InvalidObjectError(what, field, f"{name!r} must not be . or .. or contain / or %")


def _check_meta(meta: Meta, kind: str, what: str) -> None:
    _check_name(meta.name, "metadata.name", what)
    if kind.startswith("Cluster") and meta.namespace:
        raise InvalidObjectError(what, "metadata.namespace", f"a {kind} has none")
    if not kind.startswith("Cluster") and not meta.namespace:
        raise InvalidObjectError(what, "metadata.namespace", f"is missing: a {kind} needs one")
