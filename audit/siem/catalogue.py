"""The query of each detection.

Operations and columns are those of Microsoft's reference (StorageBlobLogs, AzureActivity,
AuditLogs; the operations that Azure Storage logs; Azure resource provider operations). Thresholds
are the detections' own.
"""

from typing import Final

from audit.access.parsers.operations import OPERATIONS, OperationLevel
from audit.siem.queries import (
    ACCOUNTS,
    EXPECTED,
    PLACES,
    Condition,
    Count,
    Match,
    SiemQuery,
    SiemRule,
    Table,
)
from core.weights.documents.access import Act

_DAY: Final = 24
_GIB: Final = 1 << 30

_IN_ACCOUNTS: Final = Condition("AccountName", (ACCOUNTS,))
_IN_WEIGHTS: Final = Condition("ObjectKey", (PLACES,), Match.STARTS)
_DONE: Final = Condition("StatusCode", ("2",), Match.STARTS)
_UNSIGNED: Final = Condition(
    "AuthenticationType",
    (
        "AccountKey",
        "Account Key",
        "SAS",
        "SAS Key",
        "DelegationSas",
        "UserDelegationSas",
        "Anonymous",
    ),
)
"""As Azure's pages and logs write them: they differ."""
_BY_TOKEN: Final = Condition("AuthenticationType", ("OAuth",))
_UNEXPECTED: Final = Condition("RequesterObjectId", (EXPECTED,), negated=True)
_BY: Final = ("AccountName", "RequesterObjectId", "AuthenticationHash")

_CHANGES: Final = Condition("Category", ("StorageWrite", "StorageDelete"))
_READS: Final = Condition("Category", ("StorageRead",))


def _logged(*wanted: tuple[Act, OperationLevel]) -> tuple[str, ...]:
    """Return the operations of acts, as storage logs them."""
    return tuple(name for name, row in OPERATIONS.items() if (row.act, row.level) in wanted)


_LISTS: Final = Condition(
    "OperationName",
    (
        "ListBlobs",
        "ListContainers",
        "ListFilesystems",
        "ListFilesystemDir",
        "ListFilesystemFile",
        "ListPaths",
        "SftpList",
        "ReadDir",
        "ReadDirPlus",
    ),
)
_WRITTEN: Final = (
    "PutBlob",
    "PutBlockList",
    "PutPage",
    "AppendBlock",
    "AppendFile",
    "FlushFile",
    "SftpWrite",
    "SftpCommit",
    "Write",
    *_logged((Act.COPY, OperationLevel.BLOB), (Act.COPY, OperationLevel.FOLDER)),
)
_DELETED: Final = (*_logged((Act.DELETE, OperationLevel.BLOB)), "SetBlobExpiry")
_FOLDERS_DELETED: Final = _logged((Act.DELETE, OperationLevel.FOLDER))
_CONTAINERS_DELETED: Final = _logged((Act.DELETE, OperationLevel.CONTAINER))


def _stored(*conditions: Condition, count: Count | None = None, says: str = "") -> SiemQuery:
    """Return a query of storage's log, for what was done within the weights."""
    return SiemQuery(Table.STORAGE, (_IN_WEIGHTS, _DONE, *conditions), count, says)


def _in_accounts(*conditions: Condition, count: Count | None = None, says: str = "") -> SiemQuery:
    """Return a query of storage's log, for what was asked of accounts that hold weights."""
    return SiemQuery(Table.STORAGE, (_IN_ACCOUNTS, *conditions), count, says)


def _operations(*names: str) -> Condition:
    return Condition("OperationName", names)


def _acted(*operations: str, properties: tuple[str, ...] = (), says: str = "") -> SiemQuery:
    """Return a query of the activity log for operations that were done.

    One of `properties` stands in what was asked for: Azure writes that into the row of the start,
    and not always into that of the end. A JSON writer may put a space after a colon.
    """
    conditions = [
        Condition("OperationNameValue", operations),
        Condition("ActivityStatusValue", (*_SUCCESS, *(("Start",) if properties else ()))),
    ]
    if properties:
        spaced = [each.replace('":', '": ') for each in properties]
        values = tuple(dict.fromkeys([*properties, *spaced]))
        conditions.append(Condition("Properties", values, Match.CONTAINS))
    return SiemQuery(Table.ACTIVITY, tuple(conditions), says=says)


def _account(*properties: str, says: str = "") -> SiemQuery:
    return _acted("MICROSOFT.STORAGE/STORAGEACCOUNTS/WRITE", properties=properties, says=says)


def _refused(*codes: str, least: int, says: str, distinct: str = "") -> SiemQuery:
    count = Count(("AccountName", "CallerIpAddress"), _DAY, least, distinct=distinct)
    return _in_accounts(Condition("StatusCode", codes), count=count, says=says)


_SUCCESS: Final = ("Success", "Succeeded", "Accept", "Accepted")

_BLOBS: Final = "MICROSOFT.STORAGE/STORAGEACCOUNTS/BLOBSERVICES"

RULES: Final[tuple[SiemRule, ...]] = (
    SiemRule(
        "key-or-anonymous-read",
        (_in_accounts(_DONE, _READS, _UNSIGNED),),
        "How much of a checkpoint was read, by which its severity goes.",
    ),
    SiemRule(
        "volume-above-baseline",
        (_stored(_READS, count=Count(_BY, _DAY, 20 * _GIB, total="ResponseBodySize")),),
        "What each principal is used to: the query has one threshold for all.",
    ),
    SiemRule(
        "slow-exfiltration",
        (
            _stored(
                _READS,
                _UNEXPECTED,
                count=Count(_BY, 30 * _DAY, 100 * _GIB, total="ResponseBodySize"),
            ),
        ),
        "The size of a checkpoint, and which bytes were read before: the query adds them all.",
    ),
    SiemRule(
        "new-caller",
        (_stored(_READS, _BY_TOKEN, _UNEXPECTED),),
        "Whom it has seen before: the query goes by the list of those who are expected.",
    ),
    SiemRule(
        "enumeration",
        (
            _in_accounts(_DONE, _LISTS, count=Count(_BY, _DAY, 100), says="listings"),
            _in_accounts(
                _DONE,
                _READS,
                Condition("ObjectKey", ("/$blobchangefeed",), Match.CONTAINS),
                says="the change feed",
            ),
        ),
        "Looks at properties, against reads; and who lists every day.",
    ),
    SiemRule(
        "create-read-delete",
        leaves_out="The same blob is made, read once and deleted within hours: an order of rows by "
        "blob, which neither form can say of a table of millions.",
    ),
    SiemRule(
        "copy-out",
        (
            _stored(
                _READS,
                Condition("UserAgentHeader", ("(copy)",), Match.CONTAINS),
                says="read by a copy",
            ),
            _stored(
                _operations("CopyBlobSource", "CopyBlob", "CopyBlobFromURL", "PutBlobFromURL"),
                _UNEXPECTED,
                says="copied within the accounts of these logs",
            ),
        ),
        "Where the copy went, which only the log of the other account has.",
    ),
    SiemRule(
        "no-live-pod",
        leaves_out="Which Pods lived, and as whom: only the ledger has that.",
    ),
    SiemRule(
        "token-two-addresses",
        (
            _stored(
                _BY_TOKEN,
                count=Count(
                    ("AccountName", "AuthenticationHash"), _DAY, 2, distinct="CallerIpAddress"
                ),
            ),
        ),
        "Which addresses are of one network: nodes behind several gateways count as several.",
    ),
    SiemRule(
        "access-at-risk",
        leaves_out="Who was at risk at that time: join StorageBlobLogs with AADUserRiskEvents, "
        "where the workspace has it.",
    ),
    SiemRule(
        "ungranted",
        (_stored(_BY_TOKEN, _UNEXPECTED),),
        "Grants, with their ends and prefixes: the query goes by the list of those who are "
        "expected.",
    ),
    SiemRule(
        "keys-and-logging",
        (
            _acted(
                "MICROSOFT.STORAGE/STORAGEACCOUNTS/LISTKEYS/ACTION",
                "MICROSOFT.STORAGE/STORAGEACCOUNTS/REGENERATEKEY/ACTION",
                "MICROSOFT.STORAGE/STORAGEACCOUNTS/LISTACCOUNTSAS/ACTION",
                "MICROSOFT.STORAGE/STORAGEACCOUNTS/LISTSERVICESAS/ACTION",
                "MICROSOFT.INSIGHTS/DIAGNOSTICSETTINGS/DELETE",
                "MICROSOFT.INSIGHTS/DIAGNOSTICSETTINGS/WRITE",
                says="keys and logs",
            ),
            _account('allowSharedKeyAccess\\":true', says="shared keys allowed"),
            _account('allowBlobPublicAccess\\":true', says="public access allowed"),
            _account('defaultAction\\":\\"Allow', says="every network allowed"),
            SiemQuery(
                Table.STORAGE,
                (_operations("SetContainerACL"), _DONE),
                says="a container's access changed",
            ),
        ),
        "What the setting was before: the query tells of each write that has it.",
    ),
    SiemRule(
        "federated-credential",
        (
            _acted(
                "MICROSOFT.MANAGEDIDENTITY/USERASSIGNEDIDENTITIES/FEDERATEDIDENTITYCREDENTIALS/WRITE",
                says="of a managed identity",
            ),
            SiemQuery(
                Table.ENTRA,
                (
                    _operations("Update application"),
                    Condition("TargetResources", ("FederatedIdentityCredentials",), Match.CONTAINS),
                ),
                says="of an application",
            ),
        ),
        "Whether the identity opens a store.",
    ),
    SiemRule(
        "log-gap",
        leaves_out="Rows that are missing: no query of rows finds them. Alert on the age of the "
        "newest row of each account instead.",
    ),
    SiemRule(
        "role-assignment",
        (_acted("MICROSOFT.AUTHORIZATION/ROLEASSIGNMENTS/WRITE"),),
        "Which roles reach weights, and whether the scope holds a store.",
    ),
    SiemRule(
        "private-endpoint",
        (
            _acted(
                "MICROSOFT.STORAGE/STORAGEACCOUNTS/PRIVATEENDPOINTCONNECTIONS/WRITE",
                "MICROSOFT.STORAGE/STORAGEACCOUNTS/PRIVATEENDPOINTCONNECTIONSAPPROVAL/ACTION",
            ),
        ),
    ),
    SiemRule(
        "object-replication",
        (_acted("MICROSOFT.STORAGE/STORAGEACCOUNTS/OBJECTREPLICATIONPOLICIES/WRITE"),),
    ),
    SiemRule(
        "delegation-key",
        (
            SiemQuery(Table.STORAGE, (_operations("GetUserDelegationKey"), _DONE), says="made"),
            _acted(
                f"{_BLOBS}/GENERATEUSERDELEGATIONKEY/ACTION", says="made by the management plane"
            ),
        ),
        "Who makes one every day.",
    ),
    SiemRule(
        "sftp-or-local-users",
        (
            _acted(
                "MICROSOFT.STORAGE/STORAGEACCOUNTS/LOCALUSERS/WRITE",
                "MICROSOFT.STORAGE/STORAGEACCOUNTS/LOCALUSERS/REGENERATEPASSWORD/ACTION",
                "MICROSOFT.STORAGE/STORAGEACCOUNTS/LOCALUSERS/LISTKEYS/ACTION",
                says="local users",
            ),
            _account('isSftpEnabled\\":true', says="SFTP allowed"),
        ),
    ),
    SiemRule(
        "protection-off",
        (
            _acted(
                f"{_BLOBS}/WRITE",
                f"{_BLOBS}/CONTAINERS/IMMUTABILITYPOLICIES/DELETE",
                f"{_BLOBS}/CONTAINERS/CLEARLEGALHOLD/ACTION",
                "MICROSOFT.STORAGE/STORAGEACCOUNTS/RESTOREBLOBRANGES/ACTION",
                "MICROSOFT.AUTHORIZATION/LOCKS/DELETE",
                "MICROSOFT.DATAPROTECTION/BACKUPVAULTS/BACKUPINSTANCES/DELETE",
                says="by the management plane",
            ),
            SiemQuery(
                Table.STORAGE,
                (
                    _operations(
                        "SetBlobServiceProperties",
                        "SetContainerServiceMetadata",
                        "DeleteImmutabilityPolicy",
                        "DeleteBlobImmutabilityPolicy",
                        "SetBlobLegalHold",
                        "SetLegalHold",
                    ),
                    _DONE,
                ),
                says="by the data plane",
            ),
        ),
        "Whether the write takes protection away or adds it.",
    ),
    SiemRule(
        "key-or-anonymous-change",
        (_in_accounts(_DONE, _CHANGES, _UNSIGNED),),
        "How much was deleted, by which its severity goes.",
    ),
    SiemRule(
        "mass-delete",
        (
            _stored(_operations(*_DELETED), count=Count(_BY, _DAY, 100), says="many blobs"),
            SiemQuery(
                Table.STORAGE,
                (_operations(*_CONTAINERS_DELETED, *_FOLDERS_DELETED), _DONE),
                says="a container or a directory",
            ),
        ),
        "What others wrote, of which ten are many; and deletes that are spread over weeks.",
    ),
    SiemRule(
        "overwritten-weights",
        (_stored(_operations(*_WRITTEN), _UNEXPECTED),),
        "Whether the blob was there before, and is read by others: the query tells of each write "
        "by somebody who is not expected.",
    ),
    SiemRule(
        "customer-key",
        (
            _in_accounts(
                Condition("StatusCode", ("409",)),
                Condition("StatusText", ("BlobUsesCustomerSpecifiedEncryption",)),
            ),
        ),
        "Who rewrote the blob before: the rows are of the readers who are refused.",
    ),
    SiemRule(
        "archived-weights",
        (_stored(_operations("SetBlobTier"), count=Count(_BY, _DAY, 5)),),
        "Whether the blobs are in use, and which tier they were moved to.",
    ),
    SiemRule(
        "refused-burst",
        (
            _refused("401", "403", least=30, says="no right"),
            _refused("404", least=300, says="no such thing"),
            _in_accounts(
                Condition("StatusCode", ("404",)),
                _LISTS,
                count=Count(("AccountName", "CallerIpAddress"), _DAY, 30, distinct="ObjectKey"),
                says="containers guessed",
            ),
        ),
        "Addresses that are refused every day; and guesses of containers elsewhere.",
    ),
    SiemRule(
        "storage-deleted",
        (
            _acted(
                "MICROSOFT.STORAGE/STORAGEACCOUNTS/DELETE",
                f"{_BLOBS}/CONTAINERS/DELETE",
                "MICROSOFT.RESOURCES/SUBSCRIPTIONS/RESOURCEGROUPS/DELETE",
            ),
        ),
        "Whether weights lay there.",
    ),
    SiemRule(
        "lifecycle-deletion",
        (
            _acted(
                "MICROSOFT.STORAGE/STORAGEACCOUNTS/MANAGEMENTPOLICIES/WRITE",
                "MICROSOFT.STORAGE/STORAGEACCOUNTS/STORAGETASKASSIGNMENTS/WRITE",
            ),
        ),
        "What the rule does, and on which prefixes; and what the scanner deletes by it.",
    ),
    SiemRule(
        "encryption-key",
        (
            _account("Microsoft.Keyvault", says="moved to a key of a vault"),
            _acted(
                "MICROSOFT.STORAGE/STORAGEACCOUNTS/ENCRYPTIONSCOPES/WRITE",
                says="an encryption scope",
            ),
            _acted(
                "MICROSOFT.KEYVAULT/VAULTS/DELETE",
                "MICROSOFT.KEYVAULT/LOCATIONS/DELETEDVAULTS/PURGE/ACTION",
                says="a vault deleted",
            ),
            _in_accounts(
                Condition(
                    "StatusText",
                    (
                        "EncryptionScopeDisabled",
                        "KeyVaultAccessTokenCannotBeAcquired",
                        "KeyVaultEncryptionKeyNotFound",
                        "KeyVaultVaultNotFound",
                    ),
                ),
                says="readers refused for want of the key",
            ),
        ),
        "Whose vault it is, and whether readers are refused after it.",
    ),
    SiemRule(
        "other-tenant",
        (
            _account('allowCrossTenantReplication\\":true', says="replication"),
            _account("allowedCopyScope", says="the scope of copies"),
            _account("resourceAccessRules", says="resources of another tenant"),
        ),
        "What was allowed before, and which tenants are the operator's own.",
    ),
    SiemRule(
        "transport-weakened",
        (
            _account('supportsHttpsTrafficOnly\\":false', says="plain HTTP"),
            _account("TLS1_0", "TLS1_1", says="an old TLS"),
        ),
    ),
    SiemRule(
        "custom-role",
        (
            _acted("MICROSOFT.AUTHORIZATION/ROLEDEFINITIONS/WRITE", says="a role written"),
            _acted("MICROSOFT.AUTHORIZATION/ELEVATEACCESS/ACTION", says="access elevated"),
            SiemQuery(
                Table.ENTRA,
                (
                    Condition(
                        "OperationName",
                        ("User has elevated their access to User Access Administrator",),
                        Match.STARTS,
                    ),
                ),
                says="access elevated, as Entra has it",
            ),
        ),
        "Which actions the role has: the query tells of each role that is written.",
    ),
    SiemRule(
        "log-target-deleted",
        (
            _acted(
                "MICROSOFT.EVENTHUB/NAMESPACES/DELETE",
                "MICROSOFT.EVENTHUB/NAMESPACES/EVENTHUBS/DELETE",
                "MICROSOFT.OPERATIONALINSIGHTS/WORKSPACES/DELETE",
                "MICROSOFT.STORAGE/STORAGEACCOUNTS/DELETE",
                "MICROSOFT.INSIGHTS/DIAGNOSTICSETTINGS/DELETE",
            ),
        ),
        "Which of these a log was sent to.",
    ),
    SiemRule(
        "cluster-credential",
        (
            _acted(
                "MICROSOFT.CONTAINERSERVICE/MANAGEDCLUSTERS/LISTCLUSTERADMINCREDENTIAL/ACTION",
                "MICROSOFT.CONTAINERSERVICE/MANAGEDCLUSTERS/RUNCOMMAND/ACTION",
            ),
        ),
    ),
    SiemRule(
        "snapshot-read",
        (
            _stored(
                _READS,
                Condition("Uri", ("snapshot=", "versionid="), Match.CONTAINS),
                count=Count(_BY, _DAY, 10, distinct="ObjectKey"),
            ),
        ),
        "Who reads snapshots every day.",
    ),
)
