"""Those to whom RBAC gives rights: users, groups and service accounts, as bindings name them."""

from typing import Final

import msgspec

from core.people.subject import SERVICE_ACCOUNT_PREFIX, Subject, service_account_subject
from kube.rbac.objects import BindingSubject

_ACCOUNTS: Final = "system:serviceaccounts"


class Holder(msgspec.Struct, frozen=True, order=True):
    """A user, a group or a service account; only the last has a namespace."""

    kind: str
    name: str
    namespace: str = ""
    aided_by: "Holder | None" = None
    """Who acts as it and has given it rights of its own. It is then no longer itself alone."""

    def __str__(self) -> str:
        if self.kind == "ServiceAccount":
            return f"service account {self.namespace}/{self.name}"
        return f"{self.kind.lower()} {self.name}"


def group_holder(name: str) -> Holder:
    """Return the holder that a group is."""
    return Holder("Group", name)


AUTHENTICATED: Final = group_holder("system:authenticated")
UNAUTHENTICATED: Final = group_holder("system:unauthenticated")
EVERY_ACCOUNT: Final = group_holder(_ACCOUNTS)
ANONYMOUS: Final = Holder("User", "system:anonymous")


def holder_of(subject: BindingSubject, namespace: str) -> Holder | None:
    """Return who the subject of a binding is; `namespace` is the binding's, or empty.

    A user whose name is a service account's is that service account. None for who cannot be.
    """
    if subject.kind == "ServiceAccount":
        place = subject.namespace or namespace
        return Holder("ServiceAccount", subject.name, place) if place else None
    if subject.kind == "User":
        parts = subject.name.removeprefix(SERVICE_ACCOUNT_PREFIX).split(":")
        if subject.name.startswith(SERVICE_ACCOUNT_PREFIX) and len(parts) == 2 and all(parts):  # noqa: PLR2004 (a namespace and a name)
            return Holder("ServiceAccount", parts[1], parts[0])
        return Holder("User", subject.name)
    return group_holder(subject.name) if subject.kind == "Group" else None


def groups_of(holder: Holder) -> frozenset[Holder]:
    """Return the groups that a holder, or each member of a group, is in whatever else it is in.

    Source: k8s.io/apiserver pkg/authentication/serviceaccount and pkg/authentication/group.
    """
    if holder in (ANONYMOUS, UNAUTHENTICATED):
        return frozenset({UNAUTHENTICATED} - {holder})
    if holder.kind == "ServiceAccount":
        place = group_holder(f"{_ACCOUNTS}:{holder.namespace}")
        return frozenset({AUTHENTICATED, EVERY_ACCOUNT, place})
    if accounts_of(holder):
        return frozenset({AUTHENTICATED, EVERY_ACCOUNT})
    return frozenset({AUTHENTICATED} - {holder})


def accounts_of(holder: Holder) -> str:
    """Return the namespace whose service accounts a group is; empty for any other holder."""
    if holder.kind != "Group" or not holder.name.startswith(f"{_ACCOUNTS}:"):
        return ""
    return holder.name.removeprefix(f"{_ACCOUNTS}:")


def is_implied(holder: Holder) -> bool:
    """Return whether it is a group in which holders are whatever else they are in."""
    return holder in (AUTHENTICATED, UNAUTHENTICATED, EVERY_ACCOUNT) or bool(accounts_of(holder))


def as_subject(holder: Holder) -> Subject:
    """Return the user of a request that has what the holder has, and nothing more."""
    if holder.kind == "ServiceAccount":
        return service_account_subject(holder.namespace, holder.name)
    groups = sorted(each.name for each in groups_of(holder))
    if holder.kind == "Group":
        return Subject(f"sallyport:any-member-of:{holder.name}", groups=[holder.name, *groups])
    return Subject(holder.name, groups=groups)
