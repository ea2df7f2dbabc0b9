"""The projections of roles, bindings and service accounts: the rights that they give.

A binding gives what its role holds. The role is another object: until its rules are known
(`with_role`), the binding's projection says that it gives an unknown one.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from core.base.json_errors import decode_json_as
from core.kubernetes.roles import RoleReference, RoleRule
from policies.projection.pods import Object, Projection
from policies.projection.rights import (
    Binding,
    Rights,
    Role,
    ServiceAccount,
    aggregation_labels,
    aggregation_selectors,
    binding_subjects,
    federated_identities,
    granted_rules,
    is_foreign,
)

RBAC: Final = "rbac.authorization.k8s.io"

BINDINGS: Final = frozenset({"RoleBinding", "ClusterRoleBinding"})


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
