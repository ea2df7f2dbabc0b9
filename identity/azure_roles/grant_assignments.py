"""Role assignments that exist only while a grant lives: which there should be, what to do. Pure.

Only what is of our own making is ever removed: an assignment is ours where its name is the UUIDv5
of cluster, grant, principal, role and scope, and its description names the grant. Whoever forges
both has made an assignment that ends with the grant, which is what it is for.
"""

import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from core.weights.access_grants import AccessGrant
from core.weights.stores import WeightStore
from identity.azure_roles.arm_responses import Assignment

READER: Final = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
CONTRIBUTOR: Final = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
"""Storage Blob Data Reader and Contributor (Learn, "Azure built-in roles for Storage")."""

_NAMES: Final = uuid.UUID("5a6c1f04-3d0e-5b7a-9a63-1b3f0f9a2c11")
_MARK: Final = "sallyport grant "
_PLAIN: Final = re.compile(r"[A-Za-z0-9._/=+-]+")
_BLOB: Final = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
_READS: Final = (f"ActionMatches{{'{_BLOB}/read'}} AND NOT SubOperationMatches{{'Blob.List'}}",)
_WRITES: Final = tuple(
    f"ActionMatches{{'{_BLOB}/{action}'}}" for action in ("write", "add/action", "delete")
)


@dataclass(frozen=True)
class Recipient:
    """Whom a grant is about, as Azure knows them."""

    principal: str
    """Object id, lower case."""
    kind: str = ""
    """`Group` or `ServicePrincipal`; empty where Azure is to look it up."""


@dataclass(frozen=True)
class WantedAssignment:
    """An assignment that a grant asks for."""

    grant: str
    """`namespace/name@uid`."""
    path: str
    """Of the assignment, from its scope on."""
    body: dict[str, Any]


@dataclass(frozen=True)
class ImpossibleAssignment:
    """What a grant asks for and cannot be made, and why, for a person."""

    grant: str
    why: str


@dataclass(frozen=True)
class _RoleScope:
    """What a role opens, and where."""

    scope: str
    role: str
    prefixes: Sequence[str] | None


@dataclass(frozen=True)
class AssignmentPlan:
    """What to do, the removals first: a right that has ended does not wait for one that begins."""

    remove: tuple[str, ...]
    """Ids of assignments."""
    make: tuple[WantedAssignment, ...]


def wanted_assignments(
    cluster: str, grant: AccessGrant, store: WeightStore, recipients: Iterable[Recipient]
) -> Iterator[WantedAssignment | ImpossibleAssignment]:
    """Yield the assignments that a live grant asks for: one for each recipient and container."""
    resource = store.spec.resource_id
    if resource is None:
        yield ImpossibleAssignment(grant.id, f"WeightStore {store.name} names no resourceId")
        return
    reads_only = set(grant.spec.rights) == {"read"}
    role = READER if reads_only else CONTRIBUTOR
    for held in store.spec.containers:
        if grant.spec.container not in {None, held.name}:
            continue
        prefixes = grant.spec.prefixes or held.prefixes
        odd = next((one for one in prefixes or () if not _PLAIN.fullmatch(one)), None)
        if odd is not None:
            yield ImpossibleAssignment(
                grant.id, f"the prefix {odd!r} cannot be written into a condition"
            )
            continue
        scope = f"{resource}/blobServices/default/containers/{held.name}"
        opened = _RoleScope(scope, role, prefixes)
        yield from (_wanted(cluster, grant, opened, one) for one in recipients)


def plan_assignments(
    cluster: str, wanted: Sequence[WantedAssignment], there: Iterable[Assignment], *, complete: bool
) -> AssignmentPlan:
    """Return what to do, with the assignments that are there.

    `complete` says whether all grants are known: without it nothing is removed.
    """
    names = {one.path.lower() for one in wanted}
    ours = {one.id.lower(): one for one in there if is_ours(cluster, one)}
    remove = sorted(ours.keys() - names) if complete else []
    changed = {one.path.lower() for one in wanted if _differs(one, ours.get(one.path.lower()))}
    return AssignmentPlan(
        tuple(ours[name].id for name in remove),
        tuple(one for one in wanted if one.path.lower() in changed),
    )


def is_ours(cluster: str, assignment: Assignment) -> bool:
    """Return whether an assignment is of our own making, for this cluster."""
    properties = assignment.properties
    grant = (properties.description or "").removeprefix(_MARK).partition(" ")[0]
    role = properties.role_definition_id.rpartition("/")[2]
    name = _name(cluster, grant, properties.principal_id, role, properties.scope)
    return (properties.description or "").startswith(_MARK) and assignment.name.lower() == name


def _wanted(
    cluster: str, grant: AccessGrant, opened: _RoleScope, to: Recipient
) -> WantedAssignment:
    scope, role = opened.scope, opened.role
    name = _name(cluster, grant.id, to.principal, role, scope)
    subscription = "/".join(scope.split("/")[:3])
    properties: dict[str, Any] = {
        "roleDefinitionId": (
            f"{subscription}/providers/Microsoft.Authorization/roleDefinitions/{role}"
        ),
        "principalId": to.principal,
        "description": f"{_MARK}{grant.id} until {grant.spec.expires_at}",
    }
    if to.kind:
        properties["principalType"] = to.kind
    if opened.prefixes:
        condition = condition_of(role, opened.prefixes)
        properties |= {"condition": condition, "conditionVersion": "2.0"}
    path = f"{scope}/providers/Microsoft.Authorization/roleAssignments/{name}"
    return WantedAssignment(grant.id, path, {"properties": properties})


def condition_of(role: str, prefixes: Sequence[str]) -> str:
    """Return the ABAC condition that opens only blobs of prefixes to a role; listing stays open.

    Learn, "Example Azure role assignment conditions for Blob Storage", blob path.
    """
    path = f"@Resource[{_BLOB}:path] StringStartsWith"
    within = " OR ".join(f"{path} '{prefix}'" for prefix in prefixes)
    actions = _READS if role == READER else (*_READS, *_WRITES)
    others = " AND ".join(f"!({action})" for action in actions)
    return f"(({others}) OR ({within}))"


def _differs(wanted: WantedAssignment, there: Assignment | None) -> bool:
    if there is None:
        return True
    asked = wanted.body["properties"]
    return (asked.get("condition"), asked["description"]) != (
        there.properties.condition,
        there.properties.description,
    )


def _name(cluster: str, grant: str, principal: str, role: str, scope: str) -> str:
    words = (cluster, grant, principal.lower(), role.lower(), scope.lower())
    return str(uuid.uuid5(_NAMES, "\n".join(words)))
