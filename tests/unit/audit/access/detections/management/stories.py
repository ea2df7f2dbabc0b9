"""Stories of changes of accounts and containers through Azure Resource Manager.

Operations and bodies are those of Microsoft's REST reference and of its list of permissions.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from audit.access.model.detection import Event
from core.weights.documents.access import Act
from core.weights.documents.events import Severity, Topic
from tests.unit.audit.access.detections.events import (
    BOB,
    OWN_SUBSCRIPTION,
    Around,
    access,
    activity,
    at,
    delete,
    make_store,
)
from tests.unit.audit.access.detections.examples import fires, quiet
from tests.unit.audit.access.detections.management_records import (
    ACCOUNT,
    ARCHIVE,
    CONTAINERS,
    DELETE_CONTAINER,
    DELETE_GROUP,
    GROUP,
    PROVIDERS,
    SETTINGS,
    STORAGE,
    TERRAFORM,
    changed,
    logged,
    sent_to,
    twice_a_day,
)
from tests.unit.audit.access.detections.storage_requests import LIFECYCLE

LOW, MEDIUM, HIGH, CRITICAL = Severity


fires("keys-and-logging", "keys listed", lambda: [changed(Topic.KEYS_LISTED)], HIGH)
fires("keys-and-logging", "a key regenerated", lambda: [changed(Topic.KEY_REGENERATED)], MEDIUM)
fires("keys-and-logging", "a SAS issued", lambda: [changed(Topic.SAS_ISSUED)], HIGH)
fires("keys-and-logging", "public", lambda: [changed(Topic.PUBLIC_ACCESS, public=True)], CRITICAL)
fires("keys-and-logging", "keys allowed", lambda: [changed(Topic.SHARED_KEY, allowed=True)], HIGH)
fires("keys-and-logging", "opened", lambda: [changed(Topic.NETWORK_RULES, open=True)], HIGH)
fires(
    "keys-and-logging", "unlogged", lambda: [changed(Topic.DIAGNOSTICS, change="delete")], CRITICAL
)
fires("keys-and-logging", "less logged", lambda: [changed(Topic.DIAGNOSTICS, off=["Read"])], HIGH)
fires(
    "keys-and-logging",
    "tried",
    lambda: [activity(at(1), Topic.KEYS_LISTED, succeeded=False)],
    LOW,
)
fires(
    "keys-and-logging",
    "listed again and again",
    lambda: [changed(Topic.KEYS_LISTED, day=1 + n / 100) for n in range(50)],
    HIGH,
)


def requested(operation: str, **over: Any) -> Event:
    """Make a request to storage's own interface about who may, or what is kept."""
    return access(at(1), operation=operation, act=Act.POLICY, bytes_out=0, **over)


fires("keys-and-logging", "a container's access", lambda: [requested("SetContainerACL")], MEDIUM)
fires("keys-and-logging", "in vain", lambda: [requested("SetContainerACL", status=403)], LOW)
quiet("keys-and-logging", "asked about", lambda: [requested("GetContainerACL")])
quiet("keys-and-logging", "made private", lambda: [changed(Topic.PUBLIC_ACCESS, public=False)])
quiet("keys-and-logging", "keys forbidden", lambda: [changed(Topic.SHARED_KEY, allowed=False)])
quiet("keys-and-logging", "closed", lambda: [changed(Topic.NETWORK_RULES, open=False)])


def connected(subscription: str, **over: Any) -> Event:
    """Make an approval of a connection."""
    facts = {"endpoint": f"/subscriptions/{subscription}/endpoints/e", "approved": True, **over}
    return changed(Topic.PRIVATE_ENDPOINT, subscription=subscription, **facts)


fires("private-endpoint", "of another subscription", lambda: [connected("b")], HIGH)
fires(
    "private-endpoint",
    "of who knows whom",
    lambda: [connected("b")],
    MEDIUM,
    around=lambda: Around(subscriptions=frozenset()),
)
fires(
    "private-endpoint",
    "of another tenant",
    lambda: [connected(OWN_SUBSCRIPTION, tenant="foreign")],
    HIGH,
    around=lambda: Around(tenants=frozenset({"own"})),
)
quiet("private-endpoint", "one's own", lambda: [connected(OWN_SUBSCRIPTION)])
quiet("private-endpoint", "rejected", lambda: [connected("b", approved=False)])


def replicated(source: str, destination: str, **over: Any) -> Event:
    """Make a replication policy."""
    return changed(Topic.REPLICATION, source=source, destination=destination, **over)


fires("object-replication", "away", lambda: [replicated("weightsa", "thief")], CRITICAL)
fires("object-replication", "to another store", lambda: [replicated("weightsa", "weightsb")], HIGH)
quiet("object-replication", "into it", lambda: [replicated("logs", "weightsa")])
quiet("object-replication", "deleted", lambda: [replicated("weightsa", "thief", change="delete")])

OFF = Topic.PROTECTION

fires("protection-off", "versioning", lambda: [changed(OFF, off=["isversioningenabled"])], MEDIUM)
fires("protection-off", "a legal hold", lambda: [changed(OFF, off=["legalhold"])], HIGH)
fires(
    "protection-off",
    "a lock",
    lambda: [changed(OFF, off=["locks"], which=["locks"], change="delete")],
    HIGH,
)
fires("protection-off", "asked", lambda: [requested("DeleteBlobImmutabilityPolicy")], MEDIUM)
fires("protection-off", "properties", lambda: [requested("SetBlobServiceProperties")], MEDIUM)
BACKUPS: Final = "Microsoft.DataProtection/backupVaults/backupInstances"
BACKUP: Final = f"{PROVIDERS}/Microsoft.DataProtection/backupVaults/bv/backupInstances"

fires(
    "protection-off",
    "a backup",
    lambda: logged(f"{BACKUPS}/delete", f"{BACKUP}/weightsa-weightsa-1b2c"),
    HIGH,
)
fires(
    "protection-off",
    "a backup that stops",
    lambda: logged(f"{BACKUPS}/stopProtection/action", f"{BACKUP}/weightsa-weightsa-1b2c"),
    HIGH,
)
quiet(
    "protection-off",
    "a backup of something else",
    lambda: logged(f"{BACKUPS}/delete", f"{BACKUP}/disk-disk-1b2c"),
)
quiet("protection-off", "in vain", lambda: [requested("SetBlobServiceProperties", status=403)])
quiet("protection-off", "on", lambda: [changed(OFF, which=["isversioningenabled"], off=[])])
quiet(
    "protection-off", "tried", lambda: [activity(at(1), OFF, succeeded=False, facts={"off": ["x"]})]
)


def without_ids() -> Around:
    """Return surroundings whose WeightStore does not say where its account lies."""
    store = make_store()
    spec = msgspec.structs.replace(store.spec, resource_id=None)
    return Around(stores={"frontier": msgspec.structs.replace(store, spec=spec)})


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
ROLLBACK: Final = f"{STORAGE}/restoreBlobRanges/action"

fires("storage-deleted", "rolled back", lambda: logged(ROLLBACK), MEDIUM)
quiet("storage-deleted", "rolled back elsewhere", lambda: logged(ROLLBACK, f"{ACCOUNT}x"))
quiet("storage-deleted", "not rolled back", lambda: logged(ROLLBACK, result="Failure"))
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


def scanned(*days: float) -> list[Event]:
    """Tell of blobs that Azure's scanner deletes, signed as a trusted service."""
    return [delete(at(day) + n, f"step-1/shard-{n}", **LIFECYCLE) for day in days for n in range(3)]


fires(
    LIFE,
    "a run under the rule, on two days",
    lambda: [*ruled(), *scanned(2, 3)],
    HIGH,
    HIGH,
    HIGH,
)
fires(
    LIFE,
    "a storage task",
    lambda: logged(
        f"{STORAGE}/storageTaskAssignments/write", f"{ACCOUNT}/storageTaskAssignments/t"
    ),
    MEDIUM,
)
quiet(LIFE, "a run under a rule of before the log", lambda: scanned(2, 3))
fires(LIFE, "runs a month later", lambda: [*ruled(), *scanned(31)], HIGH)
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
OWN_KEY: Final = {"encryption": kept_by("own")}
VAULTS: Final = f"{PROVIDERS}/Microsoft.KeyVault/vaults"
DELETED_VAULTS: Final = (
    f"/subscriptions/{OWN_SUBSCRIPTION}/providers/Microsoft.KeyVault/locations/westeurope"
    "/deletedVaults"
)
PURGE: Final = "Microsoft.KeyVault/locations/deletedVaults/purge/action"

fires(
    KEY,
    "the vault of the key deleted, then purged",
    lambda: [
        *written(answer=OWN_KEY),
        *logged("Microsoft.KeyVault/vaults/delete", f"{VAULTS}/own", day=2),
        *logged(PURGE, f"{DELETED_VAULTS}/own", day=3),
    ],
    HIGH,
    CRITICAL,
)
quiet(
    KEY,
    "a vault that is no store's",
    lambda: [
        *written(answer=OWN_KEY),
        *logged("Microsoft.KeyVault/vaults/delete", f"{VAULTS}/own-test", day=2),
        *logged(PURGE, f"{DELETED_VAULTS}/ow", day=3),
    ],
)
fires(
    KEY,
    "readers are refused",
    lambda: [
        access(at(1) + n, blob=f"s{n}", status=403, status_text="KeyVaultEncryptionKeyNotFound")
        for n in range(9)
    ],
    HIGH,
    CRITICAL,
)
quiet(
    KEY,
    "readers without a right",
    lambda: [access(at(1), status=403, status_text="AuthorizationPermissionMismatch")],
)
fires(
    KEY,
    "an encryption scope disabled",
    lambda: logged(
        f"{STORAGE}/encryptionScopes/write",
        f"{ACCOUNT}/encryptionScopes/weights",
        {"properties": {"state": "Disabled"}},
    ),
    MEDIUM,
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
LIST_KEYS: Final = f"{STORAGE}/listKeys/action"

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
