"""Roles, assignments and stores to evaluate."""

from typing import Any

import msgspec

from core.base.sallyport_objects import read_object
from core.weights.documents.store_access import Ability, Holder
from core.weights.stores import WeightStore, store_of
from identity.azure_roles.arm_responses import Assignment, Definition, Denial
from identity.azure_roles.effective_access import AccountRules, holders_of

SUBSCRIPTION = "/subscriptions/11111111-1111-1111-1111-111111111111"
GROUP = f"{SUBSCRIPTION}/resourceGroups/models"
ACCOUNT = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/weights"
ALICE = "aaaaaaaa-0000-0000-0000-000000000001"
TRAINER = "bbbbbbbb-0000-0000-0000-000000000002"
TRAINER_CLIENT = "cccccccc-0000-0000-0000-000000000003"

READER = {"dataActions": ["Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read"]}
OWNER = {
    "actions": ["*"],
    "dataActions": [],
}
CONTRIBUTOR = {
    "actions": ["*"],
    "notActions": ["Microsoft.Authorization/*/Delete", "Microsoft.Authorization/*/Write"],
}
DATA_OWNER = {
    "actions": [
        "Microsoft.Storage/storageAccounts/blobServices/containers/*",
        "Microsoft.Storage/storageAccounts/blobServices/generateUserDelegationKey/action",
    ],
    "dataActions": ["Microsoft.Storage/storageAccounts/blobServices/containers/blobs/*"],
}


def assignment(principal: str, scope: str = ACCOUNT, **more: Any) -> Assignment:
    """Return an assignment of the role `role`."""
    properties = {"roleDefinitionId": "/role", "principalId": principal, "scope": scope, **more}
    raw = {"id": f"{scope}/a/{principal}", "name": "a", "properties": properties}
    return msgspec.convert(raw, Assignment)


def held(
    permission: dict[str, Any] | None, *assignments: Assignment, denials: tuple[Any, ...] = ()
) -> list[Holder]:
    """Return whom assignments of one role let do what; None: a role that cannot be read."""
    definitions = {}
    if permission is not None:
        raw = {"id": "/role", "properties": {"roleName": "R", "permissions": [permission]}}
        definitions["/role"] = msgspec.convert(raw, Definition)
    denied = [msgspec.convert({"id": "d", "properties": one}, Denial) for one in denials]
    return list(holders_of(AccountRules(ACCOUNT, assignments, definitions, denied)))


def abilities(permission: dict[str, Any] | None, **more: Any) -> set[Ability]:
    """Return what one assignment at the account lets its principal do."""
    found = held(permission, assignment(ALICE), **more)
    return set(found[0].abilities) if found else set()


def store(**spec: Any) -> WeightStore:
    """Return a WeightStore."""
    whole = {
        "account": "weights",
        "containers": [{"name": "checkpoints"}],
        "owner": "platform",
        "resourceId": ACCOUNT,
        **spec,
    }
    raw = {"kind": "WeightStore", "metadata": {"name": "big", "uid": "u"}, "spec": whole}
    return store_of(read_object(msgspec.json.encode(raw), "WeightStore"))
