"""What is planted that harms stores by Azure Resource Manager; and what Terraform does each day."""

import json
from typing import Any, Final

import msgspec

from tests.harness.worlds.storage_logs import GROUP, SUBSCRIPTION, log_time
from tests.harness.worlds.weights_year.attacks import Attack, Planted
from tests.harness.worlds.weights_year.changes import activity
from tests.harness.worlds.weights_year.logs import Year
from tests.harness.worlds.weights_year.people import DAY, HOUR, LOG, START, Happening

TERRAFORM: Final = "0f000000-0000-4000-8000-0000000000bb"
"""Lists keys and reads settings at each plan; nobody named it in `weights.expected`."""

_STORAGE: Final = "Microsoft.Storage/storageAccounts"
_PROVIDERS: Final = f"/SUBSCRIPTIONS/{SUBSCRIPTION}/RESOURCEGROUPS/{GROUP}/PROVIDERS"
_FOREIGN: Final = "99999999-0000-4000-8000-000000000009"


def _when(year: Year, day: int) -> tuple[float, str]:
    return START + day * DAY + 10 * HOUR + year.draw.uniform(0, HOUR), year.people[0].store.account


def _planted(name: str, detection: str, *found: Happening) -> Planted:
    begin = min(one.at for one in found) - HOUR
    end = max(one.at for one in found) + 6 * HOUR
    return Planted(name, frozenset({detection}), "", begin, end, frozenset(), [*found])


def _at_resource(happening: Happening, resource: str) -> Happening:
    record = msgspec.json.decode(happening.content)
    record["resourceId"] = resource
    return Happening(happening.at, happening.kind, msgspec.json.encode(record))


def account_deleted(year: Year, day: int) -> Planted:
    """An account is deleted."""
    at, account = _when(year, day)
    happening = activity(at, f"{_STORAGE}/delete", account)
    return _planted("account deleted", "storage-deleted", happening)


def rule_added(year: Year, day: int) -> Planted:
    """A lifecycle rule deletes everything; somebody takes the policy away in the evening."""
    at, account = _when(year, day)
    actions = {"baseBlob": {"delete": {"daysAfterModificationGreaterThan": 0}}}
    filters = {"blobTypes": ["blockBlob"]}
    definition = {"actions": actions, "filters": filters}
    rule = {"name": "r", "enabled": True, "type": "Lifecycle", "definition": definition}
    body = {"properties": {"policy": {"rules": [rule]}}}
    below = "/MANAGEMENTPOLICIES/DEFAULT"
    found = (
        activity(at, f"{_STORAGE}/managementPolicies/write", account, body, below=below),
        activity(at + 5 * HOUR, f"{_STORAGE}/managementPolicies/delete", account, below=below),
    )
    return _planted("lifecycle rule", "lifecycle-deletion", *found)


def _set(year: Year, day: int, **properties: Any) -> Happening:
    at, account = _when(year, day)
    return activity(at, f"{_STORAGE}/write", account, {"properties": properties})


def key_moved(year: Year, day: int) -> Planted:
    """Encryption moves to a key in a vault of another tenant, each time another one."""
    vault = {"keyvaulturi": f"https://evil-{day}.vault.azure.net/", "keyname": "ransom"}
    encryption = {
        "keySource": "Microsoft.Keyvault",
        "keyvaultproperties": vault,
        "identity": {"federatedIdentityClientId": _FOREIGN},
    }
    return _planted("key moved", "encryption-key", _set(year, day, encryption=encryption))


def tenant_let_in(year: Year, day: int) -> Planted:
    """The firewall lets in a resource of another tenant."""
    rule = {"tenantId": _FOREIGN, "resourceId": f"/subscriptions/{_FOREIGN}/x/{day}"}
    acls = {"defaultAction": "Deny", "resourceAccessRules": [rule]}
    return _planted("tenant let in", "other-tenant", _set(year, day, networkAcls=acls))


def http_allowed(year: Year, day: int) -> Planted:
    """Requests without TLS are allowed for an afternoon."""
    begun = _set(year, day, supportsHttpsTrafficOnly=False)
    _, account = _when(year, day)
    body = {"properties": {"supportsHttpsTrafficOnly": True}}
    ended = activity(begun.at + 3 * HOUR, f"{_STORAGE}/write", account, body)
    return _planted("HTTP allowed", "transport-weakened", begun, ended)


def role_written(year: Year, day: int) -> Planted:
    """A custom role may do all with blobs."""
    at, account = _when(year, day)
    permissions = [{"actions": [], "dataActions": ["Microsoft.Storage/*"]}]
    scopes = [f"/subscriptions/{SUBSCRIPTION}"]
    body = {"properties": {"permissions": permissions, "assignableScopes": scopes}}
    happening = activity(at, "Microsoft.Authorization/roleDefinitions/write", account, body)
    role = f"/PROVIDERS/MICROSOFT.AUTHORIZATION/ROLEDEFINITIONS/{day:032X}"
    changed = _at_resource(happening, f"/SUBSCRIPTIONS/{SUBSCRIPTION}{role}")
    return _planted("custom role", "custom-role", changed)


def hub_deleted(year: Year, day: int) -> Planted:
    """The Event Hubs namespace to which the log goes is deleted."""
    at, account = _when(year, day)
    hub = f"{_PROVIDERS}/MICROSOFT.EVENTHUB/NAMESPACES/LOGS-{day}"
    properties = {
        "eventHubAuthorizationRuleId": f"{hub}/authorizationRules/Root",
        "logs": [{"categoryGroup": "audit", "enabled": True}],
    }
    below = "/BLOBSERVICES/DEFAULT/PROVIDERS/MICROSOFT.INSIGHTS/DIAGNOSTICSETTINGS/AUDIT"
    operation = "Microsoft.Insights/diagnosticSettings/write"
    found = (
        activity(at, operation, account, {"properties": properties}, below=below),
        _at_resource(activity(at + HOUR, "Microsoft.EventHub/namespaces/delete", account), hub),
    )
    return _planted("hub deleted", "log-target-deleted", *found)


def cluster_entered(year: Year, day: int) -> Planted:
    """The administrator's credential of the cluster is listed."""
    at, account = _when(year, day)
    operation = "Microsoft.ContainerService/managedClusters/listClusterAdminCredential/action"
    cluster = f"{_PROVIDERS}/MICROSOFT.CONTAINERSERVICE/MANAGEDCLUSTERS/TRAIN"
    happening = _at_resource(activity(at, operation, account), cluster)
    return _planted("credential listed", "cluster-credential", happening)


def vault_purged(year: Year, day: int) -> Planted:
    """The key of an account lies in a vault, which is deleted and purged a day later."""
    vault = f"weights-{day}"
    key = {"keyvaulturi": f"https://{vault}.vault.azure.net/", "keyname": "weights"}
    told = _set(
        year, day, encryption={"keySource": "Microsoft.Keyvault", "keyvaultproperties": key}
    )
    _, account = _when(year, day)
    away = f"/SUBSCRIPTIONS/{SUBSCRIPTION}/PROVIDERS/MICROSOFT.KEYVAULT/LOCATIONS/WESTEUROPE"
    deleted = activity(told.at + DAY, "Microsoft.KeyVault/vaults/delete", account)
    purge = "Microsoft.KeyVault/locations/deletedVaults/purge/action"
    purged = activity(told.at + DAY + HOUR, purge, account)
    found = (
        told,
        _at_resource(deleted, f"{_PROVIDERS}/MICROSOFT.KEYVAULT/VAULTS/{vault.upper()}"),
        _at_resource(purged, f"{away}/DELETEDVAULTS/{vault.upper()}"),
    )
    return _planted("vault purged", "encryption-key", *found)


def elevated(year: Year, day: int) -> Planted:
    """A Global Administrator takes the right to give roles; Entra ID's audit log has it."""
    at, _ = _when(year, day)
    name = "User has elevated their access to User Access Administrator for their Azure Resources"
    who = {"id": f"0f000000-0000-4000-8000-{day:012x}", "ipAddress": "198.51.100.20"}
    record = {
        "time": log_time(int(at * 1000)),
        "operationName": name,
        "category": "AuditLogs",
        "properties": {
            "id": f"RBAC_{day}",
            "category": "AzureRBACRoleManagementElevateAccess",
            "activityDisplayName": name,
            "loggedByService": "Azure RBAC (Elevated Access)",
            "result": "success",
            "initiatedBy": {"user": who},
            "targetResources": [],
        },
    }
    happening = Happening(at + 120, LOG, msgspec.json.encode(record))
    return _planted("access elevated", "custom-role", happening)


def plans(year: Year, day: int) -> list[Happening]:
    """What Terraform does twice a day: it lists keys and the cluster's credential, and sets tags.

    Azure's answer to the tags says how the whole account stands.
    """
    account = year.people[0].store.account
    cluster = f"{_PROVIDERS}/MICROSOFT.CONTAINERSERVICE/MANAGEDCLUSTERS/TRAIN"
    credential = "Microsoft.ContainerService/managedClusters/listClusterAdminCredential/action"
    stands = {
        "allowCrossTenantReplication": True,
        "minimumTlsVersion": "TLS1_2",
        "supportsHttpsTrafficOnly": True,
        "encryption": {"keySource": "Microsoft.Storage"},
        "networkAcls": {"defaultAction": "Deny", "resourceAccessRules": []},
    }
    found: list[Happening] = []
    for half in range(2):
        at = START + day * DAY + (6 + 12 * half) * HOUR
        keys = activity(at, f"{_STORAGE}/listKeys/action", account, who=TERRAFORM)
        tags = activity(
            at + 2, f"{_STORAGE}/write", account, {"tags": {"plan": str(day)}}, who=TERRAFORM
        )
        record = msgspec.json.decode(tags.content)
        record["properties"]["responseBody"] = json.dumps({"properties": stands})
        told = Happening(tags.at, tags.kind, msgspec.json.encode(record))
        listed = _at_resource(activity(at + 4, credential, account, who=TERRAFORM), cluster)
        found += [keys, told, listed]
    return found


MANAGING: Final[tuple[Attack, ...]] = (
    account_deleted,
    rule_added,
    key_moved,
    tenant_let_in,
    http_allowed,
    role_written,
    hub_deleted,
    cluster_entered,
    vault_purged,
    elevated,
)
