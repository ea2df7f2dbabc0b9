"""Stories of harm by Azure Resource Manager, as records of its activity log in an export's form.

Operations and bodies are those of Microsoft's REST reference and of its list of permissions.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from audit.access.model.detection import Event
from audit.access.model.findings import moment_text
from audit.access.parsers.activity_log import BegunOperations, activities_of
from audit.access.parsers.caller_networks import CallerLocator, CallerNetworks
from audit.access.parsers.store_index import WeightStores
from core.weights.documents.events import Severity
from tests.unit.audit.access.detections.events import BOB, OWN_SUBSCRIPTION, Around, at, make_store
from tests.unit.audit.access.detections.examples import fires, quiet
from tests.unit.audit.access.parsers.activity_records import exported

LOW, MEDIUM, HIGH, CRITICAL = Severity
GROUP: Final = f"/subscriptions/{OWN_SUBSCRIPTION}/resourceGroups/weights"
PROVIDERS: Final = f"{GROUP}/providers"
ACCOUNT: Final = f"{PROVIDERS}/Microsoft.Storage/storageAccounts/weightsa"
STORAGE: Final = "Microsoft.Storage/storageAccounts"
CONTAINERS: Final = "/blobServices/default/containers"
_OBJECT_ID: Final = "http://schemas.microsoft.com/identity/claims/objectidentifier"


def logged(
    operation: str,
    resource: str = ACCOUNT,
    body: Any = None,
    *,
    day: float = 1,
    who: str = BOB,
    **fields: Any,
) -> Sequence[Event]:
    """Return the activities of one exported record; `fields` are of `exported`."""
    record = exported(
        operation,
        resource=resource,
        body=body,
        time=moment_text(at(day)),
        correlationId=f"{day}-{operation}",
        identity={"claims": {_OBJECT_ID: who, "appid": who}},
        **fields,
    )
    stores = WeightStores(Around().stores.values())
    callers = CallerLocator(CallerNetworks())
    return activities_of(record, "east", "azure", stores, callers, BegunOperations())


def without_ids() -> Around:
    """Return surroundings whose WeightStore does not say where its account lies."""
    store = make_store()
    spec = msgspec.structs.replace(store.spec, resource_id=None)
    return Around(stores={"frontier": msgspec.structs.replace(store, spec=spec)})


DELETE_GROUP: Final = "Microsoft.Resources/subscriptions/resourceGroups/delete"
DELETE_CONTAINER: Final = f"{STORAGE}/blobServices/containers/delete"

fires("storage-deleted", "the account", lambda: logged(f"{STORAGE}/delete"), CRITICAL)
fires("storage-deleted", "its group", lambda: logged(DELETE_GROUP, GROUP), CRITICAL)
fires(
    "storage-deleted",
    "a container",
    lambda: logged(DELETE_CONTAINER, f"{ACCOUNT}{CONTAINERS}/checkpoints"),
    HIGH,
)
fires(
    "storage-deleted",
    "a lock stopped it, then it was taken away",
    lambda: [
        *logged(f"{STORAGE}/delete", result="Failure", resultSignature="Failed.Conflict"),
        *logged(f"{STORAGE}/delete", day=1.01),
    ],
    MEDIUM,
    CRITICAL,
)
fires(
    "storage-deleted",
    "a group of which nobody said whether the account is in it",
    lambda: logged(DELETE_GROUP, GROUP),
    MEDIUM,
    around=without_ids,
)
quiet(
    "storage-deleted",
    "a container of nobody's weights",
    lambda: logged(DELETE_CONTAINER, f"{ACCOUNT}{CONTAINERS}/scratch"),
)
quiet("storage-deleted", "another account", lambda: logged(f"{STORAGE}/delete", f"{ACCOUNT}x"))
quiet("storage-deleted", "another group", lambda: logged(DELETE_GROUP, f"{GROUP}-of-others"))
quiet("storage-deleted", "it began", lambda: logged(f"{STORAGE}/delete", result="Start"))


def ruled(
    action: str = "baseBlob",
    what: str = "delete",
    days: float = 30,
    *prefixes: str,
    enabled: bool = True,
    day: float = 1,
) -> Sequence[Event]:
    """Write a policy of one rule: "Management Policies - Create Or Update"."""
    age = "daysAfterModificationGreaterThan"
    age = age if action == "baseBlob" else "daysAfterCreationGreaterThan"
    definition = {
        "actions": {action: {what: {age: days}}},
        "filters": {"blobTypes": ["blockBlob"], "prefixMatch": list(prefixes)},
    }
    rule = {"enabled": enabled, "name": "tidy", "type": "Lifecycle", "definition": definition}
    body = {"properties": {"policy": {"rules": [rule]}}}
    return logged(POLICY, POLICY_ID, body, day=day)


POLICY: Final = f"{STORAGE}/managementPolicies/write"
POLICY_ID: Final = f"{ACCOUNT}/managementPolicies/default"
LIFE: Final = "lifecycle-deletion"

fires(LIFE, "checkpoints after a month", lambda: ruled("baseBlob", "delete", 30, "check"), HIGH)
fires(LIFE, "everything at once", lambda: ruled("baseBlob", "delete", 0), CRITICAL)
fires(LIFE, "one step", lambda: ruled("baseBlob", "delete", 7, "checkpoints/step-1"), HIGH)
fires(LIFE, "versions", lambda: ruled("version", "delete", 1), MEDIUM)
fires(LIFE, "snapshots", lambda: ruled("snapshot", "delete", 1), MEDIUM)
fires(LIFE, "to the archive", lambda: ruled("baseBlob", "tierToArchive", 1), MEDIUM)
fires(LIFE, "a body that is not told", lambda: logged(POLICY, POLICY_ID), MEDIUM)
fires(
    LIFE,
    "sooner than before",
    lambda: [*ruled(days=365), *ruled(days=365, day=2), *ruled(days=7, day=3)],
    HIGH,
    HIGH,
)
fires(
    LIFE,
    "added again after the policy was deleted",
    lambda: [
        *ruled(),
        *logged(f"{STORAGE}/managementPolicies/delete", POLICY_ID, day=2),
        *ruled(day=3),
    ],
    HIGH,
    HIGH,
)
fires(
    LIFE,
    "one of so many prefixes that the ledger keeps containers only",
    lambda: ruled("baseBlob", "delete", 30, "checkpoints/a", *(f"b/{n:064}" for n in range(40))),
    HIGH,
)
fires(
    LIFE,
    "one of so many containers that the ledger keeps one rule for all",
    lambda: ruled("baseBlob", "delete", 30, *(f"{n}/" for n in range(40)), "checkpoints/a"),
    HIGH,
)
quiet(
    LIFE,
    "many prefixes of another container",
    lambda: ruled("baseBlob", "delete", 30, *(f"scratch/{n:064}" for n in range(40))),
)
quiet(LIFE, "of another container", lambda: ruled("baseBlob", "delete", 1, "scratch/"))
quiet(LIFE, "off", lambda: ruled(enabled=False))
quiet(LIFE, "cooler", lambda: ruled("baseBlob", "tierToCool", 30))
quiet(LIFE, "deleted", lambda: logged(f"{STORAGE}/managementPolicies/delete", POLICY_ID))
quiet(LIFE, "refused", lambda: logged(POLICY, POLICY_ID, result="Failure"))
quiet("protection-off", "rules deleted", lambda: logged(f"{STORAGE}/managementPolicies/delete"))


def written(day: float = 1, answer: Any = None, **properties: Any) -> Sequence[Event]:
    """Update an account; `answer` is what Azure says that it has then."""
    body = {"properties": properties} if properties else {"tags": {"team": "weights"}}
    told = {"properties": answer} if answer else None
    return logged(f"{STORAGE}/write", body=body, day=day, answer=told)


def kept_by(vault: str, key: str = "weights", tenant: str = "", version: str = "1") -> Any:
    """Return the encryption of an account, by a key of a vault."""
    identity = {"userAssignedIdentity": f"{PROVIDERS}/Microsoft.ManagedIdentity/x"}
    return {
        "keySource": "Microsoft.Keyvault",
        "keyvaultproperties": {
            "keyvaulturi": f"https://{vault}.vault.azure.net/",
            "keyname": key,
            "keyversion": version,
        },
        "identity": identity | ({"federatedIdentityClientId": tenant} if tenant else {}),
    }


KEY: Final = "encryption-key"
MICROSOFTS: Final = {"encryption": {"keySource": "Microsoft.Storage"}}

fires(KEY, "another vault", lambda: written(encryption=kept_by("theirs")), HIGH)
fires(
    KEY,
    "a vault of another tenant",
    lambda: [*written(answer=MICROSOFTS), *written(2, encryption=kept_by("theirs", tenant=BOB))],
    CRITICAL,
)
fires(
    KEY,
    "another key of the same vault",
    lambda: [
        *written(answer={"encryption": kept_by("own")}),
        *written(2, None, encryption=kept_by("own", "new")),
    ],
    MEDIUM,
)
fires(
    KEY,
    "Azure's answer tells of a change whose request is not in the log",
    lambda: [*written(answer=MICROSOFTS), *written(2, {"encryption": kept_by("theirs")})],
    HIGH,
)
fires(
    KEY,
    "an encryption scope",
    lambda: logged(
        f"{STORAGE}/encryptionScopes/write",
        f"{ACCOUNT}/encryptionScopes/weights",
        {
            "properties": {
                "source": "Microsoft.KeyVault",
                "state": "Enabled",
                "keyVaultProperties": {"keyUri": "https://theirs.vault.azure.net/keys/k/1"},
            }
        },
    ),
    HIGH,
)
quiet(
    KEY,
    "a new version of the key",
    lambda: [
        *written(answer={"encryption": kept_by("own")}),
        *written(2, encryption=kept_by("own", version="2")),
    ],
)
quiet(
    KEY,
    "tags, twice a day",
    lambda: [
        *written(answer={"encryption": kept_by("own")}),
        *written(1.5, {"encryption": kept_by("own")}),
    ],
)
quiet(KEY, "keys of Microsoft's", lambda: written(encryption={"keySource": "Microsoft.Storage"}))

FOREIGN: Final = "99999999-0000-4000-8000-000000000009"
OWN_TENANT: Final = "77777777-0000-4000-8000-000000000007"
TENANT: Final = "other-tenant"


def let_in(tenant: str, subscription: str, day: float = 1) -> Sequence[Event]:
    """Set a resource access rule of the firewall."""
    resource = f"/subscriptions/{subscription}/resourceGroups/x/providers/Microsoft.Synapse/w"
    rules = [{"tenantId": tenant, "resourceId": resource}] if tenant else []
    acls = {"defaultAction": "Deny", "bypass": "None", "resourceAccessRules": rules}
    return written(day, networkAcls=acls)


def of_tenant() -> Around:
    """Return surroundings whose operator named a tenant."""
    return Around(tenants=frozenset({OWN_TENANT}))


fires(TENANT, "replication", lambda: written(allowCrossTenantReplication=True), HIGH)
fires(TENANT, "copies to anywhere", lambda: written(allowedCopyScope=None), HIGH)
fires(
    TENANT,
    "copies from private links to the tenant",
    lambda: [
        *written(answer={"allowedCopyScope": "PrivateLink"}),
        *written(2, allowedCopyScope="AAD"),
    ],
    MEDIUM,
)
fires(TENANT, "a resource of theirs", lambda: let_in(FOREIGN, FOREIGN), HIGH, around=of_tenant)
fires(
    TENANT,
    "one of very many",
    lambda: written(
        networkAcls={
            "resourceAccessRules": [
                *({"tenantId": OWN_TENANT, "resourceId": f"/subscriptions/{n}"} for n in range(64)),
                {"tenantId": FOREIGN, "resourceId": "/subscriptions/x"},
            ]
        }
    ),
    HIGH,
    around=of_tenant,
)
fires(TENANT, "their subscription", lambda: let_in(FOREIGN, FOREIGN), HIGH)
fires(
    TENANT,
    "nobody knows whose",
    lambda: let_in(FOREIGN, FOREIGN),
    MEDIUM,
    around=lambda: Around(subscriptions=frozenset()),
)
fires(
    TENANT,
    "removed and set again",
    lambda: [*let_in(FOREIGN, FOREIGN), *let_in("", "", 2), *let_in(FOREIGN, FOREIGN, 3)],
    HIGH,
    HIGH,
)
quiet(TENANT, "one's own", lambda: let_in(OWN_TENANT, OWN_SUBSCRIPTION), around=of_tenant)
quiet(TENANT, "how it stands", lambda: written(answer={"allowCrossTenantReplication": True}))
quiet(TENANT, "forbidden", lambda: written(allowCrossTenantReplication=False))
quiet(
    TENANT,
    "narrower",
    lambda: [*written(answer={"allowedCopyScope": "All"}), *written(2, allowedCopyScope="AAD")],
)
quiet(TENANT, "first known as the tenant", lambda: written(allowedCopyScope="AAD"))

PLAIN: Final = "transport-weakened"

fires(PLAIN, "HTTP", lambda: written(supportsHttpsTrafficOnly=False), HIGH)
fires(PLAIN, "TLS 1.0", lambda: written(minimumTlsVersion="TLS1_0"), MEDIUM)
fires(
    PLAIN,
    "both, then mended, then again",
    lambda: [
        *written(supportsHttpsTrafficOnly=False, minimumTlsVersion="TLS1_1"),
        *written(2, supportsHttpsTrafficOnly=True),
        *written(3, supportsHttpsTrafficOnly=False, minimumTlsVersion="TLS1_1"),
    ],
    HIGH,
    HIGH,
)
quiet(PLAIN, "TLS 1.2", lambda: written(supportsHttpsTrafficOnly=True, minimumTlsVersion="TLS1_2"))
quiet(PLAIN, "how it stands", lambda: written(answer={"minimumTlsVersion": "TLS1_0"}))

ROLES: Final = "Microsoft.Authorization/roleDefinitions"
BLOBS: Final = f"{STORAGE}/blobServices/containers/blobs"
ROLE: Final = "custom-role"


def allowed(
    *data: str,
    but: Sequence[str] = (),
    actions: Sequence[str] = (),
    day: float = 1,
    at_: str = GROUP,
) -> Sequence[Event]:
    """Write a custom role: "Role Definitions - Create Or Update"."""
    permissions = {
        "actions": list(actions),
        "notActions": [],
        "dataActions": list(data),
        "notDataActions": list(but),
    }
    body = {
        "name": BOB,
        "properties": {
            "roleName": "tidy",
            "type": "CustomRole",
            "assignableScopes": [at_],
            "permissions": [permissions],
        },
    }
    resource = f"/subscriptions/{OWN_SUBSCRIPTION}/providers/{ROLES}/{BOB}"
    return logged(f"{ROLES}/write", resource, body, day=day)


ELEVATE: Final = "Microsoft.Authorization/elevateAccess/action"
TENANT_ROOT: Final = "/providers/Microsoft.Authorization"

fires(ROLE, "all of storage", lambda: allowed("Microsoft.Storage/*"), HIGH)
fires(ROLE, "reads", lambda: allowed(f"{BLOBS}/read"), HIGH)
fires(ROLE, "an odd pattern", lambda: allowed("*/blobs/*"), HIGH)
fires(ROLE, "all but deletes", lambda: allowed("*", but=[f"{BLOBS}/delete"]), HIGH)
fires(ROLE, "keys", lambda: allowed(actions=[f"{STORAGE}/listKeys/action"]), MEDIUM)
fires(
    ROLE,
    "deletes added",
    lambda: [*allowed(f"{BLOBS}/read"), *allowed(f"{BLOBS}/read", f"{BLOBS}/delete", day=2)],
    HIGH,
    HIGH,
)
fires(ROLE, "not told", lambda: logged(f"{ROLES}/write", f"{GROUP}/providers/{ROLES}/x"), MEDIUM)
fires(ROLE, "elevated", lambda: logged(ELEVATE, TENANT_ROOT), HIGH)
fires(ROLE, "refused", lambda: logged(ELEVATE, TENANT_ROOT, result="Failure"), MEDIUM)
quiet(ROLE, "machines", lambda: allowed("Microsoft.Compute/virtualMachines/login/action"))
quiet(ROLE, "taken out again", lambda: allowed("*", but=["Microsoft.Storage/*"]))
quiet(ROLE, "elsewhere", lambda: allowed("*", at_=f"{GROUP}-of-others"))
quiet(ROLE, "deleted", lambda: logged(f"{ROLES}/delete", f"{GROUP}/providers/{ROLES}/x"))

fires(
    "role-assignment",
    "at the root of the tenant",
    lambda: logged(
        "Microsoft.Authorization/roleAssignments/write",
        f"{TENANT_ROOT}/roleAssignments/x",
        {
            "properties": {
                "principalId": BOB,
                "roleDefinitionId": f"{TENANT_ROOT}/roleDefinitions/"
                "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9",
            }
        },
    ),
    HIGH,
)

SETTINGS: Final = "Microsoft.Insights/diagnosticSettings"
HUBS: Final = f"{PROVIDERS}/Microsoft.EventHub/namespaces/logs"
WORKSPACE: Final = f"{PROVIDERS}/Microsoft.OperationalInsights/workspaces/sec"
ARCHIVE: Final = f"{PROVIDERS}/Microsoft.Storage/storageAccounts/logarchive"
TARGET: Final = "log-target-deleted"


def sent_to(
    account: str = "weightsa", day: float = 0, hub: str = "storage", **logs: bool
) -> Sequence[Event]:
    """Write a diagnostic setting that sends logs to each kind of target."""
    properties = {
        "eventHubAuthorizationRuleId": f"{HUBS}/authorizationRules/Root",
        **({"eventHubName": hub} if hub else {}),
        "workspaceId": WORKSPACE,
        "storageAccountId": ARCHIVE,
        "logs": [
            {("categoryGroup" if name in {"audit", "allLogs"} else "category"): name, "enabled": on}
            for name, on in (logs or {"audit": True}).items()
        ],
    }
    above = f"{PROVIDERS}/Microsoft.Storage/storageAccounts/{account}/blobServices/default"
    resource = f"{above}/providers/{SETTINGS}/all"
    return logged(f"{SETTINGS}/write", resource, {"properties": properties}, day=day)


def after_setting(operation: str, resource: str, **fields: Any) -> Sequence[Event]:
    """Do something once it is known where both stores send their logs."""
    return [*sent_to(), *sent_to("weightsb"), *logged(operation, resource, **fields)]


HUB: Final = "Microsoft.EventHub/namespaces"
SPACES: Final = "Microsoft.OperationalInsights/workspaces"

fires(TARGET, "the namespace", lambda: after_setting(f"{HUB}/delete", HUBS), CRITICAL)
fires(
    TARGET,
    "the hub",
    lambda: after_setting(f"{HUB}/eventhubs/delete", f"{HUBS}/eventhubs/storage"),
    CRITICAL,
)
fires(
    TARGET,
    "a hub that Azure named",
    lambda: [
        *sent_to(hub=""),
        *logged(f"{HUB}/eventhubs/delete", f"{HUBS}/eventhubs/insights-logs-storageread"),
    ],
    CRITICAL,
)
fires(
    TARGET,
    "the rule",
    lambda: after_setting(f"{HUB}/authorizationRules/delete", f"{HUBS}/authorizationRules/Root"),
    CRITICAL,
)
fires(TARGET, "the workspace", lambda: after_setting(f"{SPACES}/delete", WORKSPACE), CRITICAL)
fires(TARGET, "a purge", lambda: after_setting(f"{SPACES}/purge/action", WORKSPACE), CRITICAL)
fires(TARGET, "the account", lambda: after_setting(f"{STORAGE}/delete", ARCHIVE), CRITICAL)
fires(TARGET, "their group", lambda: after_setting(DELETE_GROUP, GROUP), CRITICAL)
fires(
    TARGET,
    "a container of logs",
    lambda: after_setting(DELETE_CONTAINER, f"{ARCHIVE}{CONTAINERS}/insights-logs-storageread"),
    CRITICAL,
)
fires(
    TARGET,
    "in vain",
    lambda: after_setting(f"{HUB}/delete", HUBS, result="Failure"),
    MEDIUM,
)
fires(TARGET, "while no setting is known", lambda: logged(f"{HUB}/delete", HUBS), MEDIUM)
quiet(TARGET, "another hub", lambda: after_setting(f"{HUB}/delete", f"{HUBS}-of-others"))
quiet(
    TARGET,
    "another container",
    lambda: after_setting(DELETE_CONTAINER, f"{ARCHIVE}{CONTAINERS}/scratch"),
)
quiet(TARGET, "another account", lambda: logged(f"{STORAGE}/delete", ARCHIVE))

AKS: Final = "Microsoft.ContainerService/managedClusters"
CLUSTER: Final = f"{PROVIDERS}/{AKS}/train"
CREDENTIAL: Final = "cluster-credential"
TERRAFORM: Final = "55555555-5555-5555-5555-555555555555"
LIST_ADMIN: Final = f"{AKS}/listClusterAdminCredential/action"
LIST_PROFILE: Final = f"{AKS}/accessProfiles/listCredential/action"
LIST_KEYS: Final = f"{STORAGE}/listKeys/action"


def twice_a_day(operation: str, resource: str, days: int, **fields: Any) -> Sequence[Event]:
    """Do as Terraform does at each plan."""
    return [
        one
        for half in range(2 * days)
        for one in logged(operation, resource, day=1 + half / 2, who=TERRAFORM, **fields)
    ]


fires(CREDENTIAL, "the administrator's", lambda: logged(LIST_ADMIN, CLUSTER), HIGH)
fires(
    CREDENTIAL,
    "the old way",
    lambda: logged(LIST_PROFILE, f"{CLUSTER}/accessProfiles/clusterAdmin"),
    HIGH,
)
fires(CREDENTIAL, "a command", lambda: logged(f"{AKS}/runCommand/action", CLUSTER), HIGH)
fires(CREDENTIAL, "failed", lambda: logged(LIST_ADMIN, CLUSTER, result="Failure"), LOW)
fires(
    CREDENTIAL,
    "Terraform, and then its secret from elsewhere",
    lambda: [
        *twice_a_day(LIST_ADMIN, CLUSTER, 3),
        *logged(LIST_ADMIN, CLUSTER, day=4, who=TERRAFORM, callerIpAddress="192.0.2.77"),
    ],
    HIGH,
    LOW,
    LOW,
    HIGH,
)
quiet(
    CREDENTIAL,
    "a user's",
    lambda: [
        *logged(f"{AKS}/listClusterUserCredential/action", CLUSTER),
        *logged(LIST_PROFILE, f"{CLUSTER}/accessProfiles/clusterUser"),
    ],
)

KEYS: Final = "keys-and-logging"

fires(
    KEYS,
    "Terraform, and then its secret from elsewhere",
    lambda: [
        *twice_a_day(LIST_KEYS, ACCOUNT, 3),
        *logged(LIST_KEYS, day=4, who=TERRAFORM, callerIpAddress="192.0.2.77"),
    ],
    HIGH,
    LOW,
    LOW,
    HIGH,
)
fires(
    KEYS,
    "Terraform on runners, each day from elsewhere",
    lambda: [
        one
        for day in range(1, 7)
        for one in logged(LIST_KEYS, day=day, who=TERRAFORM, callerIpAddress=f"192.0.{day}.1")
    ],
    *(HIGH, HIGH, HIGH, LOW),
)
fires(KEYS, "of an account without weights", lambda: logged(LIST_KEYS, ARCHIVE), MEDIUM)
fires(KEYS, "Azure Policy's", lambda: sent_to(audit=True, allLogs=False), MEDIUM)
fires(KEYS, "no reads", lambda: sent_to(StorageRead=False, StorageWrite=True), HIGH)
fires(KEYS, "nothing any more", lambda: sent_to(allLogs=False), HIGH)
fires(
    KEYS,
    "of a machine",
    lambda: logged(
        f"{SETTINGS}/delete",
        f"{PROVIDERS}/Microsoft.Compute/virtualMachines/v/providers/{SETTINGS}/a",
    ),
    MEDIUM,
)
fires(
    KEYS,
    "of the subscription",
    lambda: logged(
        f"{SETTINGS}/delete", f"/subscriptions/{OWN_SUBSCRIPTION}/providers/{SETTINGS}/a"
    ),
    CRITICAL,
)
