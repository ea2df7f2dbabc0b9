"""15: a role assignment that opens a store to somebody."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.detection import Detection, EventContext
from audit.access.model.findings import make_finding
from audit.access.model.scopes import stores_under
from audit.access.model.sightings import is_news
from audit.access.parsers.activity_facts import actor_text, fact_text, is_delete
from core.weights.documents.events import Activity, Finding, Severity, Topic

_OPENING: Final = {
    "b7e6dc6d-f1e8-4753-8033-0f276bb0955b": "Storage Blob Data Owner",
    "ba92f5b4-2d11-453d-a403-e96b0029c9fe": "Storage Blob Data Contributor",
    "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1": "Storage Blob Data Reader",
    "1e7ca9b1-60d1-4db8-a914-f2ca1ff27c40": "Defender for Storage Data Scanner",
    "db58b8e5-c6ad-4a2a-8342-4190687cbf4a": "Storage Blob Delegator",
    "81a9662b-bebf-436f-a333-f67b29880f12": "Storage Account Key Operator Service Role",
    "17d1049b-9a84-46fb-8f53-869881c3d3ab": "Storage Account Contributor",
    "8e3af657-a8ff-443c-a75c-2fe8c4bcb635": "Owner",
    "b24988ac-6180-42a0-ab88-20f7382dd24c": "Contributor",
    "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9": "User Access Administrator",
    "f58310d9-a9f6-439a-9e8d-f62e7b41a168": "Role Based Access Control Administrator",
}
"""Azure's built-in roles that read blobs, give keys or roles (Microsoft Learn, "Azure built-in
roles"). A role of the operator's own may do so as well."""

_HARMLESS: Final = {
    "acdd72a7-3385-48ef-bd42-f606fba81ae7": "Reader",
    "43d0d8ad-25c7-4714-9337-8ba259a9fe05": "Monitoring Reader",
    "749f88d5-cbae-40b8-bcfc-e573ddc772fa": "Monitoring Contributor",
    "73c42c96-874c-492b-b04d-ab87d138a893": "Log Analytics Reader",
}
"""Which read no blobs and no keys."""

_PART: Final = 36


class RoleAssignmentState(msgspec.Struct):
    """What this detection remembers."""

    raised: dict[str, int] = {}


def _see(event: Activity, state: RoleAssignmentState, known: EventContext) -> Sequence[Finding]:
    role = fact_text(event, "roleDefinitionId").rstrip("/")[-_PART:]
    if not known.done or is_delete(event) or role in _HARMLESS:
        return ()
    scope = fact_text(event, "scope") or event.resource.partition("/providers/microsoft.auth")[0]
    stores = list(stores_under(scope, event, known))
    if not stores:
        return ()
    principal = fact_text(event, "principalId")
    name = f"{scope} {role} {principal} {known.day}"
    if not is_news(state.raised, name):
        return ()
    listed = all(
        principal and principal in {one.object_id for one in store.spec.identities or ()}
        for store in stores
    )
    severity = Severity.LOW if listed else Severity.HIGH
    if not listed and role not in _OPENING:
        severity = Severity.MEDIUM
    names = ", ".join(store.name for store in stores[:5])
    what = _OPENING.get(role) or f"The role {role or 'that is not told'}"
    finding = make_finding(
        DETECTION,
        event,
        known,
        (name,),
        severity,
        f"A role was assigned that opens {names}",
        f"{what} at "
        f"{scope or 'a scope that is not told'} for {principal or 'a principal that is not told'}, "
        f"by {actor_text(event)}. The principal "
        + ("is" if listed else "is not")
        + " among the identities of the WeightStore.",
    )
    return [msgspec.structs.replace(finding, store=stores[0].name)]


DETECTION: Final = Detection(
    id="role-assignment",
    number=15,
    title="A role assignment that opens a store",
    about="A role was assigned at a storage account of a WeightStore or above it (resource group, "
    "subscription, management group) that reads blobs, gives keys or gives roles. High where the "
    "principal is not among the WeightStore's identities; low where it is; medium for roles that "
    "are not Azure's own, whose actions the log does not tell. Taking a role away is quiet, and so "
    "are roles that read no blobs and no keys. What Sallyport assigns for a grant belongs into "
    "weights.expected, by its principal's id.",
    severity=Severity.HIGH,
    techniques=("T1098.003", "AML.T0012"),
    needs=("Azure's Activity log", "resourceId of the WeightStore for scopes above the account"),
    blind=(
        "membership in a group that has the role: Entra's audit log has that",
        "a change of what a custom role may do",
        "eligible assignments until they are activated",
    ),
    remedy="Remove the assignment, or add the identity to the WeightStore and have a grant "
    "approved.",
    bound="4096 findings",
    begin=RoleAssignmentState,
    see=_see,
    topics=frozenset({Topic.ROLE_ASSIGNMENT}),
)
