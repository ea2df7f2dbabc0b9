"""What role assignments let somebody do to a storage account, as Azure evaluates them.

Learn, "Understand Azure role assignments" and "role definitions": a permission gives
`actions - notActions` and `dataActions - notDataActions`; the permissions of a role and the roles
of a principal add up; a deny assignment takes away whatever it matches. Names are compared without
case, `*` stands for any text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.base.short_text_cache import cache_short_text
from core.weights.documents.store_access import Ability, Holder
from identity.azure_roles.arm_responses import Assignment, Definition, Denial, Permission

_BLOB: Final = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
_ACCOUNT: Final = "Microsoft.Storage/storageAccounts"

DATA_ACTIONS: Final[Mapping[str, Ability]] = {
    f"{_BLOB}/read": Ability.READ,
    f"{_BLOB}/write": Ability.WRITE,
    f"{_BLOB}/add/action": Ability.WRITE,
    f"{_BLOB}/move/action": Ability.DELETE,
    f"{_BLOB}/delete": Ability.DELETE,
    f"{_BLOB}/deleteBlobVersion/action": Ability.DELETE,
    f"{_BLOB}/permanentDelete/action": Ability.DELETE,
    f"{_BLOB}/manageOwnership/action": Ability.READ,
    f"{_BLOB}/modifyPermissions/action": Ability.READ,
    f"{_BLOB}/runAsSuperUser/action": Ability.READ,
    f"{_BLOB}/filter/action": Ability.LIST,
}
"""Data actions of blobs that matter, and the least that each opens. Whoever may change ownership or
permissions, or is the super user, may give themselves reading."""

ACTIONS: Final[Mapping[str, Ability]] = {
    f"{_ACCOUNT}/listKeys/action": Ability.KEYS,
    f"{_ACCOUNT}/regenerateKey/action": Ability.KEYS,
    f"{_ACCOUNT}/listAccountSas/action": Ability.KEYS,
    f"{_ACCOUNT}/listServiceSas/action": Ability.KEYS,
    f"{_ACCOUNT}/localUsers/listKeys/action": Ability.KEYS,
    f"{_ACCOUNT}/localUsers/regeneratePassword/action": Ability.KEYS,
    f"{_ACCOUNT}/blobServices/generateUserDelegationKey/action": Ability.DELEGATE,
    f"{_ACCOUNT}/write": Ability.CONFIGURE,
    f"{_ACCOUNT}/blobServices/write": Ability.CONFIGURE,
    f"{_ACCOUNT}/blobServices/containers/write": Ability.CONFIGURE,
    f"{_ACCOUNT}/blobServices/containers/immutabilityPolicies/delete": Ability.CONFIGURE,
    f"{_ACCOUNT}/privateEndpointConnectionsApproval/action": Ability.CONFIGURE,
    f"{_ACCOUNT}/privateEndpointConnections/write": Ability.CONFIGURE,
    f"{_ACCOUNT}/objectReplicationPolicies/write": Ability.CONFIGURE,
    f"{_ACCOUNT}/localUsers/write": Ability.CONFIGURE,
    "Microsoft.Insights/diagnosticSettings/write": Ability.CONFIGURE,
    "Microsoft.Insights/diagnosticSettings/delete": Ability.CONFIGURE,
    "Microsoft.Authorization/roleAssignments/write": Ability.ASSIGN,
    f"{_ACCOUNT}/blobServices/containers/read": Ability.LIST,
}
"""Actions of the control plane that lead to weights, or list what there is."""

_LEADS: Final = {**DATA_ACTIONS, **ACTIONS}

EVERYONE: Final = "00000000-0000-0000-0000-000000000000"
_CONTAINERS: Final = "/blobservices/default/containers/"


@dataclass(frozen=True)
class AccountRules:
    """What was read of one account."""

    resource: str
    """Id of the storage account."""
    assignments: Sequence[Assignment]
    definitions: Mapping[str, Definition]
    """By id, lower case; one that cannot be read is absent."""
    denials: Sequence[Denial] = ()


def holders_of(rules: AccountRules) -> Iterator[Holder]:
    """Yield whom each assignment lets do something; those of no concern are left out.

    An assignment whose role cannot be read is taken to give every ability.
    """
    for assignment in sorted(rules.assignments, key=lambda one: one.id.lower()):
        properties = assignment.properties
        reached = _reached(properties.scope, rules.resource)
        if reached is None:
            continue
        role = rules.definitions.get(properties.role_definition_id.lower())
        given = _actions(role.properties.permissions if role else [_ALL])
        left = given - _denied(properties.principal_id, rules, reached)
        abilities = {_LEADS[action] for action in left}
        if not abilities:
            continue
        name = role.properties.role_name if role else ""
        yield Holder(
            principal=properties.principal_id.lower(),
            kind=properties.principal_type or "",
            abilities=sorted(abilities, key=list(Ability).index),
            role=name or properties.role_definition_id.lower().rpartition("/")[2],
            assignment=assignment.id.lower(),
            scope=properties.scope.lower(),
            container=reached,
            conditional=bool(properties.condition),
            denied=left != given,
        )


def matches(pattern: str, action: str) -> bool:
    """Return whether a pattern of a role has an action."""
    return _compiled(pattern.lower()).fullmatch(action.lower()) is not None


def applies(scope: str, resource: str) -> bool:
    """Return whether what is assigned at a scope counts for a resource in it."""
    outer, inner = scope.lower().rstrip("/"), resource.lower().rstrip("/")
    return not outer or inner == outer or inner.startswith(f"{outer}/") or _is_above(outer)


_ALL: Final = Permission(actions=["*"], data_actions=["*"])


def _is_above(scope: str) -> bool:
    """Return whether a scope is a management group.

    ARM gave it for this resource, so it is above.
    """
    return scope.startswith("/providers/microsoft.management/managementgroups/")


def _reached(scope: str, resource: str) -> str | None:
    """Return the container that a scope is about, empty for all; None where it is about neither."""
    if applies(scope, resource):
        return ""
    below = f"{resource.lower().rstrip('/')}{_CONTAINERS}"
    place = scope.lower().rstrip("/")
    return place.removeprefix(below).split("/")[0] if place.startswith(below) else None


def _denied(principal: str, rules: AccountRules, container: str) -> set[str]:
    """Return the actions that deny assignments take from a principal.

    Those of groups are not followed: what is denied to a group of theirs they seem to keep, which
    shows too much, and never too little.
    """
    taken: set[str] = set()
    for denial in rules.denials:
        properties = denial.properties
        place = _reached(properties.scope, rules.resource)
        if place is None or place not in {"", container}:
            continue
        own = applies(rules.resource, properties.scope)
        if properties.do_not_apply_to_child_scopes and not own:
            continue
        named = {one.id.lower() for one in properties.principals}
        spared = {one.id.lower() for one in properties.exclude_principals}
        if principal.lower() in spared or not named & {principal.lower(), EVERYONE}:
            continue
        taken |= _actions(properties.permissions)
    return taken


def _actions(permissions: Iterable[Permission]) -> set[str]:
    return {
        action
        for one in permissions
        for table, given, without in (
            (DATA_ACTIONS, one.data_actions, one.not_data_actions),
            (ACTIONS, one.actions, one.not_actions),
        )
        for action in table
        if _has(given, action) and not _has(without, action)
    }


def _has(patterns: Iterable[str], action: str) -> bool:
    return any(matches(pattern, action) for pattern in patterns)


@cache_short_text(4096, longest=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
