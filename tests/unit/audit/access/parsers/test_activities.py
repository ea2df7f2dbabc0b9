"""Records of Azure's activity log become activities: one for what was done, once it is done."""

import json
from typing import Any

import pytest

from audit.access.parsers.activity_log import BegunOperations, activities_of
from core.base.errors import UnreadableRecordError
from core.weights.documents.events import Activity, Topic, decode_activity, encode_event
from tests.harness.worlds.storage_logs import ACCOUNT, PRINCIPAL, SUBSCRIPTION, TENANT, encoded
from tests.unit.audit.access.parsers.activity_records import ACCOUNT_ID, TOOL, exported, from_rest
from tests.unit.audit.access.parsers.stores import CALLERS, STORES

STORAGE = "Microsoft.Storage/storageAccounts"


def read(record: dict[str, Any], begun: BegunOperations | None = None) -> tuple[Activity, ...]:
    """Return the activities of a record."""
    return activities_of(
        json.loads(encoded(record)), "aks-1", "azure", STORES, CALLERS, begun or BegunOperations()
    )


def one(record: dict[str, Any]) -> Activity:
    """Return the only activity of a record."""
    (found,) = read(record)
    return found


@pytest.mark.parametrize("record", [exported(), from_rest()])
def test_both_shapes_say_who_did_what_to_which_store(record: dict[str, Any]) -> None:
    """Names of people are left; ids stay."""
    activity = one(record)
    assert (activity.topic, activity.account, activity.store) == (
        Topic.KEYS_LISTED,
        ACCOUNT,
        "llama",
    )
    assert (activity.principal, activity.application) == (PRINCIPAL, TOOL)
    assert (activity.address, activity.succeeded) == ("203.0.113.7", True)
    assert activity.resource == ACCOUNT_ID.lower()
    assert activity.facts == {"change": "action", "body": False, "callerTenant": TENANT}
    assert b"race" not in encode_event(activity)
    assert decode_activity(encode_event(activity)) == activity


@pytest.mark.parametrize("result", ["Start", "Started", "Accept", "Accepted"])
def test_what_has_begun_counts_once_it_has_ended(result: str) -> None:
    """What was asked for stands in the first record, how it ended in the last."""
    begun = BegunOperations()
    operation = "Microsoft.Authorization/roleAssignments/write"
    resource = f"{ACCOUNT_ID}/providers/Microsoft.Authorization/roleAssignments/ra-1"
    role = "/subscriptions/x/providers/Microsoft.Authorization/roleDefinitions/2A2B"
    body = {"Properties": {"PrincipalId": "P-1", "PrincipalType": "User", "RoleDefinitionId": role}}
    assert read(exported(operation, resource=resource, body=body, result=result), begun) == ()
    (ended,) = read(exported(operation, resource=resource), begun)
    assert ended.topic is Topic.ROLE_ASSIGNMENT
    assert ended.facts["principalId"] == "p-1"
    assert ended.facts["roleDefinitionId"] == "2a2b"
    assert ended.facts["scope"] == ACCOUNT_ID.lower()
    assert (ended.facts["assignment"], ended.facts["body"]) == ("ra-1", True)
    (alone,) = read(exported(operation, resource=resource))
    assert (alone.facts["body"], "principalId" in alone.facts) == (False, False)


def test_what_failed_is_kept_as_failed() -> None:
    """Somebody tried; that it has an id of its own keeps it from hiding a success."""
    failed, done = one(exported(result="Failure")), one(exported())
    assert (failed.succeeded, done.succeeded) == (False, True)
    assert failed.id != done.id == one(exported(result="Success")).id


def test_a_write_that_sets_several_things_is_one_activity_for_each() -> None:
    """Detections see each by its topic; ids differ."""
    body = {
        "properties": {
            "allowBlobPublicAccess": True,
            "allowSharedKeyAccess": True,
            "networkAcls": {"defaultAction": "Allow", "bypass": "AzureServices", "ipRules": [{}]},
            "publicNetworkAccess": "Enabled",
            "isSftpEnabled": True,
        }
    }
    found = {each.topic: each for each in read(exported(f"{STORAGE}/write", body=body))}
    assert found.keys() == {
        Topic.PUBLIC_ACCESS,
        Topic.NETWORK_RULES,
        Topic.SFTP_OR_LOCAL_USERS,
        Topic.SHARED_KEY,
    }
    assert len({each.id for each in found.values()}) == 4
    assert found[Topic.PUBLIC_ACCESS].facts["public"] is True
    network = found[Topic.NETWORK_RULES].facts
    assert (network["open"], network["defaultAction"], network["addresses"]) == (True, "Allow", 1)
    assert found[Topic.SFTP_OR_LOCAL_USERS].facts["sftp"] is True
    assert found[Topic.SHARED_KEY].facts["allowed"] is True


CASES: list[tuple[str, str, Any, Topic, dict[str, Any]]] = [
    ("regenerateKey/action", "", {"keyName": "key1"}, Topic.KEY_REGENERATED, {"keyRef": "key1"}),
    (
        "listAccountSas/action",
        "",
        {"signedPermission": "rl", "signedExpiry": "2027"},
        Topic.SAS_ISSUED,
        {"permissions": "rl", "expires": "2027"},
    ),
    (
        "blobServices/containers/write",
        "/blobServices/default/containers/llama",
        {"properties": {"publicAccess": "Blob"}},
        Topic.PUBLIC_ACCESS,
        {"public": True, "value": "Blob"},
    ),
    (
        "blobServices/containers/write",
        "/blobServices/default/containers/llama",
        {"properties": {"publicAccess": "None"}},
        Topic.PUBLIC_ACCESS,
        {"public": False},
    ),
    (
        "privateEndpointConnections/write",
        "/privateEndpointConnections/pe-1",
        {
            "properties": {
                "privateEndpoint": {"id": f"/subscriptions/{SUBSCRIPTION}X/resourceGroups/g"},
                "privateLinkServiceConnectionState": {"status": "Approved"},
            }
        },
        Topic.PRIVATE_ENDPOINT,
        {"connection": "pe-1", "subscription": f"{SUBSCRIPTION}x", "approved": True},
    ),
    (
        "objectReplicationPolicies/write",
        "/objectReplicationPolicies/orp-1",
        {
            "properties": {
                "sourceAccount": ACCOUNT_ID,
                "destinationAccount": "elsewhere",
                "rules": [{"sourceContainer": "llama", "destinationContainer": "x"}],
            }
        },
        Topic.REPLICATION,
        {"source": ACCOUNT, "destination": "elsewhere", "containers": ["llama>x"]},
    ),
    (
        "blobServices/write",
        "/blobServices/default",
        {"properties": {"isVersioningEnabled": False, "deleteRetentionPolicy": {"enabled": True}}},
        Topic.PROTECTION,
        {"which": ["deleteretentionpolicy", "isversioningenabled"], "off": ["isversioningenabled"]},
    ),
    (
        "blobServices/containers/immutabilityPolicies/delete",
        "/blobServices/default/containers/llama/immutabilityPolicies/default",
        None,
        Topic.PROTECTION,
        {"change": "delete", "which": ["immutabilitypolicies"], "off": ["immutabilitypolicies"]},
    ),
    (
        "blobServices/containers/clearLegalHold/action",
        "/blobServices/default/containers/llama",
        {"tags": ["case"]},
        Topic.PROTECTION,
        {"off": ["legalhold"]},
    ),
    ("localUsers/write", "/localUsers/grace", {}, Topic.SFTP_OR_LOCAL_USERS, {"change": "write"}),
    (
        "blobServices/generateUserDelegationKey/action",
        "/blobServices/default",
        None,
        Topic.DELEGATION_KEY_ISSUED,
        {"change": "action"},
    ),
    ("delete", "", None, Topic.DELETION, {"change": "delete", "kind": "account"}),
    ("failover/action", "", None, Topic.OTHER, {"change": "action"}),
    ("write", "", None, Topic.OTHER, {"change": "write", "body": False}),
]


@pytest.mark.parametrize(("operation", "below", "body", "topic", "facts"), CASES)
def test_each_change_to_an_account_says_what_was_set(
    operation: str, below: str, body: Any, topic: Topic, facts: dict[str, Any]
) -> None:
    """Facts are read from what was asked for, in whatever case its fields are written."""
    activity = one(exported(f"{STORAGE}/{operation}", resource=ACCOUNT_ID + below, body=body))
    assert activity.topic is topic
    assert activity.facts.items() >= facts.items()
    assert (activity.account, activity.store) == (ACCOUNT, "llama")
    assert b"grace" not in encode_event(activity)


def test_a_federated_credential_says_whom_it_trusts() -> None:
    """Issuer, subject and the identity that they become."""
    provider = "Microsoft.ManagedIdentity/userAssignedIdentities"
    identity = f"/subscriptions/{SUBSCRIPTION}/providers/{provider}/id"
    activity = one(
        exported(
            "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials/write",
            resource=f"{identity}/federatedIdentityCredentials/fic",
            body={
                "properties": {"issuer": "https://Evil/", "subject": "system:serviceaccount:a:b"}
            },
        )
    )
    assert activity.topic is Topic.FEDERATED_CREDENTIAL
    assert (
        activity.facts.items()
        >= {
            "identity": identity.lower(),
            "credential": "fic",
            "issuer": "https://Evil/",
            "subject": "system:serviceaccount:a:b",
        }.items()
    )


def test_diagnostic_settings_say_what_is_logged_no_more() -> None:
    """Deleting the setting, and switching one category off, are told apart."""
    resource = (
        f"{ACCOUNT_ID}/blobServices/default/providers/Microsoft.Insights/diagnosticSettings/all"
    )
    logs = [
        {"category": "StorageRead", "enabled": False},
        {"category": "StorageWrite", "enabled": True},
    ]
    changed = one(
        exported(
            "Microsoft.Insights/diagnosticSettings/write",
            resource=resource,
            body={"properties": {"logs": logs}},
        )
    )
    assert (changed.facts["off"], changed.facts["categories"]) == (
        ["StorageRead"],
        ["StorageWrite"],
    )
    gone = one(exported("Microsoft.Insights/diagnosticSettings/delete", resource=resource))
    assert (gone.topic, gone.facts["change"]) == (Topic.DIAGNOSTICS, "delete")
    assert gone.account == ACCOUNT


ELSEWHERE = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Any/things/one"


@pytest.mark.parametrize(
    "operation",
    [
        "Microsoft.Compute/virtualMachines/start/action",
        "Microsoft.KeyVault/vaults/read",
        "Microsoft.Authorization/policies/auditIfNotExists/action",
        f"{STORAGE}/read",
    ],
)
def test_what_concerns_no_weights_gives_nothing(operation: str) -> None:
    """It is read, and counted by whoever asked."""
    assert read(exported(operation, resource=ELSEWHERE)) == ()


@pytest.mark.parametrize(
    "operation",
    [
        "Microsoft.KeyVault/vaults/write",
        "Microsoft.KeyVault/vaults/delete",
        "Microsoft.EventHub/namespaces/authorizationRules/listKeys/action",
        "Microsoft.Search/searchServices/listAdminKeys/action",
        "Microsoft.Authorization/elevateAccess/action",
        "Microsoft.Authorization/roleDefinitions/write",
        "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action",
        "Microsoft.ContainerService/managedClusters/runCommand/action",
        "Microsoft.Storage/storageAccounts/inventoryPolicies/write",
    ],
)
def test_what_names_a_store_key_role_credential_or_cluster_is_kept(operation: str) -> None:
    """Also of providers that nobody listed, and of operations that no release knows."""
    activity = one(exported(operation, resource=ELSEWHERE))
    assert activity.operation.lower() == operation.lower()


@pytest.mark.parametrize(
    "fields",
    [
        {"resource": ACCOUNT_ID},
        {"resource": ELSEWHERE, "body": {"Properties": {"Target": ACCOUNT_ID.upper()}}},
    ],
)
def test_whatever_names_the_account_of_a_store_is_kept(fields: dict[str, Any]) -> None:
    """In its resource or anywhere else; it is of that store."""
    activity = one(exported("Microsoft.Compute/snapshots/write", **fields))
    assert (activity.topic, activity.store) == (Topic.OTHER, "llama")


@pytest.mark.parametrize("record", [{}, {"operationName": 7}, exported(time="soon")])
def test_what_is_no_record_is_refused(record: Any) -> None:
    """Never silently."""
    with pytest.raises(UnreadableRecordError):
        read(record)


def test_what_has_begun_is_forgotten_in_time() -> None:
    """Memory is bounded: the oldest goes first."""
    begun = BegunOperations(most=2)
    for number in range(3):
        begun.note((str(number), "", ""), {"n": number})
    assert [begun.of((str(n), "", "")) for n in range(3)] == [{}, {"n": 1}, {"n": 2}]


def test_a_caller_who_is_known_by_name_alone_becomes_a_mark() -> None:
    """Two people stay two, and neither is named."""
    record = from_rest()
    del record["claims"]
    mark = one(record).principal
    assert mark.startswith("user:")
    assert one({**record, "caller": "ada@example.com"}).principal != mark
