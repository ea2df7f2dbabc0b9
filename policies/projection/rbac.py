"""The projections of roles, bindings and service accounts: the rights that they give.

A binding gives what its role holds. The role is another object: until its rules are known
(`with_role`), the binding's projection says that it gives an unknown one.

Sources: k8s.io/api/rbac/v1 types.go; k8s.io/kubernetes pkg/apis/rbac/v1/evaluation_helpers.go for
what a rule matches; the annotations of azure-workload-identity, amazon-eks-pod-identity-webhook and
GKE's Workload Identity.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from core.base.json_errors import decode_json_as
from core.kubernetes.roles import RoleReference, RoleRule
from core.people.subject import pseudonymous_user
from policies.projection.model import (
    MAX_MARKS,
    AggregationLabel,
    AggregationSelector,
    BindingSubject,
    FederatedIdentity,
    GrantedRule,
    Object,
    Projection,
    Rights,
    bound,
    check_length,
)

MAX_RULES: Final = 1024
"""Rules of one role, and subjects of one binding; the largest published roles have about 300."""

MAX_WORDS: Final = 8192
"""Verbs, groups, resources and names of one role together."""

AGGREGATE_TO: Final = "aggregate-to-"
"""In the key of a label by which the rules of a ClusterRole become part of another's."""

PROVIDERS: Final[Mapping[str, tuple[str, str]]] = {
    "azure.workload.identity/": ("azure", "client-id"),
    "eks.amazonaws.com/": ("aws", "role-arn"),
    "iam.gke.io/": ("gcp", "gcp-service-account"),
}
"""Prefixes of the labels and annotations of a ServiceAccount that clouds act on: which cloud, and
the key that says who the Pods are there."""

_AUTHENTICATION: Final = frozenset({"", "authentication.k8s.io", "*"})
_PEOPLE: Final = frozenset({"*", "users", "uids", "userextras"})
"""Groups, and resources that stand for people, in rules with the verb `impersonate`
(k8s.io/apiserver pkg/endpoints/filters/impersonation)."""

_ACCOUNT: Final = "system:serviceaccount:"
_ACCOUNTS: Final = "system:serviceaccounts"

RBAC: Final = "rbac.authorization.k8s.io"

BINDINGS: Final = frozenset({"RoleBinding", "ClusterRoleBinding"})


class _Meta(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Requirement(msgspec.Struct, frozen=True):
    key: str = ""


class _Selector(msgspec.Struct, frozen=True, rename="camel"):
    match_labels: dict[str, str] | None = None
    match_expressions: list[_Requirement] | None = None


class _AggregationRule(msgspec.Struct, frozen=True, rename="camel"):
    cluster_role_selectors: list[_Selector] | None = None


class Role(msgspec.Struct, frozen=True, rename="camel"):
    """What is read of a Role or ClusterRole."""

    metadata: _Meta = _Meta()
    rules: list[RoleRule] | None = None
    aggregation_rule: _AggregationRule | None = None


class _Subject(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""
    namespace: str = ""


class Binding(msgspec.Struct, frozen=True, rename="camel"):
    """What is read of a RoleBinding or ClusterRoleBinding."""

    metadata: _Meta = _Meta()
    role_ref: RoleReference = RoleReference()
    subjects: list[_Subject] | None = None


class ServiceAccount(msgspec.Struct, frozen=True):
    """What is read of a ServiceAccount."""

    metadata: _Meta = _Meta()


def granted_rules(rules: Iterable[RoleRule], kind: str, path: str = "") -> list[GrantedRule]:
    """Return the rules of a role; all stand at `path`, where it is given: that of a binding's role.

    Raises:
        InvalidObjectError: there are more than any real role has.
    """
    given = list(rules)
    bound(len(given), "rules", kind, MAX_RULES)
    found = [_granted(rule, path or f"rules[{index}]") for index, rule in enumerate(given)]
    words = 0
    for rule in found:
        for each in (rule.verbs, rule.api_groups, rule.resources, rule.resource_names, rule.urls):
            words += len(each)
            for word in each:
                check_length(word, rule.path, kind)
    bound(words, "rules", kind, MAX_WORDS)
    return found


def _granted(rule: RoleRule, path: str) -> GrantedRule:
    names = rule.resource_names or []
    return GrantedRule(
        path,
        rule.verbs or [],
        rule.api_groups or [],
        rule.resources or [],
        list(map(pseudonymous_user, names)) if names and _names_people(rule) else names,
        rule.non_resource_urls or [],
    )


def _names_people(rule: RoleRule) -> bool:
    """Return whether the names of a rule are users', their uids or their extra fields' values.

    In a rule that also gives something else, of the same names, they are pseudonyms for that too:
    nobody can say which of them is a person's.
    """
    return (
        any(_impersonates(verb) for verb in rule.verbs or ())
        and not _AUTHENTICATION.isdisjoint(rule.api_groups or ())
        and any(
            resource in _PEOPLE or resource.startswith(("userextras/", "*/"))
            for resource in rule.resources or ()
        )
    )


def _impersonates(verb: str) -> bool:
    return verb in {"*", "impersonate"} or verb.startswith("impersonate:")


def binding_subjects(binding: Binding, kind: str) -> list[BindingSubject]:
    """Return the subjects of a binding, with the namespace of each service account.

    A service account that is named as the user that it is, is that service account.

    Raises:
        InvalidObjectError: there are more than any real binding has.
    """
    given = binding.subjects or []
    bound(len(given), "subjects", kind, MAX_RULES)
    found = []
    for index, subject in enumerate(given):
        path = f"subjects[{index}]"
        check_length(subject.name, path, kind)
        namespace, name, of = subject.namespace or binding.metadata.namespace, subject.name, ""
        if subject.kind == "User" and name.startswith(_ACCOUNT):
            of, _, account = name.removeprefix(_ACCOUNT).partition(":")
            found.append(BindingSubject(path, "ServiceAccount", account, of))
        elif subject.kind == "ServiceAccount":
            found.append(BindingSubject(path, subject.kind, name, namespace))
        else:
            found.append(BindingSubject(path, subject.kind, pseudonymous_user(name)))
    return found


def is_foreign(subject: BindingSubject, namespace: str) -> bool:
    """Return whether a subject lives in another namespace than the binding's.

    People live in none.
    """
    if subject.kind == "ServiceAccount":
        return subject.namespace != namespace
    within = subject.name.removeprefix(_ACCOUNTS)
    return subject.kind == "Group" and within not in {subject.name, f":{namespace}"}


def aggregation_selectors(rule: _AggregationRule | None) -> list[AggregationSelector]:
    """Return the selectors of an aggregationRule.

    Raises:
        InvalidObjectError: there are more than any real one has.
    """
    selectors = (rule.cluster_role_selectors if rule else None) or []
    path = "aggregationRule.clusterRoleSelectors"
    bound(len(selectors), path, "ClusterRole")
    found = []
    for index, selector in enumerate(selectors):
        labels = sorted((selector.match_labels or {}).items())
        text = ",".join(f"{key}={value}" for key, value in labels)
        check_length(text, f"{path}[{index}]", "ClusterRole")
        # An expression is not compared with others: it may select anything.
        found.append(
            AggregationSelector(f"{path}[{index}]", "" if selector.match_expressions else text)
        )
    return found


def aggregation_labels(metadata: _Meta) -> list[AggregationLabel]:
    """Return the labels of a ClusterRole by which another takes over its rules.

    The common ones alone: a cluster may have aggregationRules that select any other label, and
    then the rules count that the role itself has.
    """
    return [
        AggregationLabel(f"metadata.labels[{key}]", key)
        for key in sorted(metadata.labels or {})
        if AGGREGATE_TO in key
    ]


def federated_identities(metadata: _Meta) -> list[FederatedIdentity]:
    """Return the identities that a ServiceAccount's Pods have in clouds.

    Raises:
        InvalidObjectError: a value is longer than any.
    """
    for field, marks in (("annotations", metadata.annotations), ("labels", metadata.labels)):
        bound(len(marks or ()), f"metadata.{field}", "ServiceAccount", MAX_MARKS)
    return [
        *_federated(metadata.annotations or {}, "metadata.annotations"),
        *_federated(metadata.labels or {}, "metadata.labels"),
    ]


def _federated(marks: Mapping[str, str], path: str) -> Iterator[FederatedIdentity]:
    for key, value in sorted(marks.items()):
        for prefix, (cloud, main) in PROVIDERS.items():
            if key.startswith(prefix):
                place, setting = f"{path}[{key}]", key.removeprefix(prefix)
                check_length(value, place, "ServiceAccount")
                said = "" if setting == main else setting or "%00"
                yield FederatedIdentity(place, cloud, value, said)


def _role(read: Role, kind: str) -> Object:
    cluster = kind == "ClusterRole"
    rights = Rights(
        everywhere=cluster,
        rules=granted_rules(read.rules or (), kind),
        aggregated=aggregation_labels(read.metadata) if cluster else [],
        collected=aggregation_selectors(read.aggregation_rule),
    )
    return Object(kind, read.metadata.name, rights=rights)


def _binding(read: Binding, kind: str) -> Object:
    subjects = binding_subjects(read, kind)
    within = read.metadata.namespace
    cluster = kind == "ClusterRoleBinding"
    rights = Rights(
        everywhere=cluster,
        role=f"{read.role_ref.kind}/{read.role_ref.name}",
        unknown=True,
        subjects=subjects,
        foreign=not cluster and any(is_foreign(subject, within) for subject in subjects),
    )
    return Object(kind, read.metadata.name, rights=rights)


def _account(read: ServiceAccount) -> Object:
    return Object(
        "ServiceAccount", read.metadata.name, identities=federated_identities(read.metadata)
    )


KINDS: Final[Mapping[tuple[str, str], tuple[type[Any], Callable[[Any], Object]]]] = {
    (RBAC, "Role"): (Role, partial(_role, kind="Role")),
    (RBAC, "ClusterRole"): (Role, partial(_role, kind="ClusterRole")),
    (RBAC, "RoleBinding"): (Binding, partial(_binding, kind="RoleBinding")),
    (RBAC, "ClusterRoleBinding"): (Binding, partial(_binding, kind="ClusterRoleBinding")),
    ("", "ServiceAccount"): (ServiceAccount, _account),
}
"""Group and kind; the shape that is read, and what is seen of it."""


def role_of(kind: str, raw: msgspec.Raw) -> RoleReference:
    """Return the role that a binding gives.

    Raises:
        InvalidObjectError: it does not have the shape of a binding.
    """
    return decode_json_as(Binding, raw, kind).role_ref


def with_role(projection: Projection, rules: Iterable[RoleRule] | None) -> Projection:
    """Return a binding's projection with the rules of its role; None where there is no such role.

    Raises:
        InvalidObjectError: the role has more rules than any real one.
    """
    found = projection.object
    if found is None or found.rights is None or rules is None:
        return projection
    granted = granted_rules(rules, found.kind, "roleRef")
    put = msgspec.structs.replace
    known = put(found, rights=put(found.rights, rules=granted, unknown=False))
    return put(projection, object=known)
