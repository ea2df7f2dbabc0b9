"""What each operation of blob storage does to weights, and to what: one table. Pure.

Names as they are logged: "Map each REST operation to a price" (Azure Blob Storage; blob and Data
Lake endpoints), "Storage Analytics logged operations", and those of SFTP and NFS 3.0.
"""

from typing import Final, NamedTuple

from core.base.identity_enum import IdentityEnum
from core.weights.documents.access import Act


class OperationLevel(IdentityEnum):
    """What an operation is about."""

    ACCOUNT = "account"
    CONTAINER = "container"
    BLOB = "blob"
    FOLDER = "folder"
    """A directory, and all that lies below it."""
    UNKNOWN = "unknown"
    """Whatever its path names, and all that lies below that."""


class StorageOperation(NamedTuple):
    """One row of the table."""

    act: Act
    level: OperationLevel


_ROWS: Final = {
    (Act.READ, OperationLevel.BLOB): (
        "GetBlob QueryBlobContents ReadFile SftpRead SftpOpen Read "
        "GetPageRegions GetPageRegionsDiff"
    ),
    (Act.LIST, OperationLevel.ACCOUNT): (
        "ListContainers ListFilesystems FindBlobsByTags GetAccountInformation "
        "GetBlobServiceProperties GetBlobServiceStats SftpConnect SftpDisconnect Mount Umount"
    ),
    (Act.LIST, OperationLevel.CONTAINER): (
        "ListBlobs GetContainerMetadata GetContainerProperties GetFilesystemProperties "
        "GetContainerServiceMetadata ListPaths ListDeletedPaths"
    ),
    (
        Act.LIST,
        OperationLevel.FOLDER,
    ): "ListFilesystemDir ListFilesystemFile SftpList ReadDir ReadDirPlus",
    (Act.LIST, OperationLevel.BLOB): (
        "GetBlobMetadata GetBlobProperties GetBlobTags GetBlockList GetBlobLeaseInfo GetLeaseInfo "
        "GetFileProperties GetPathProperties GetPathStatus GetPathStatusOnly "
        "SftpGetAttributes SftpStat SftpResolvePath GetAttr Lookup Access "
        "FsInfo FsStat PathConf"
    ),
    (Act.WRITE, OperationLevel.ACCOUNT): "SubmitBatch BlobBatch BlobPreflightRequest",
    (Act.WRITE, OperationLevel.CONTAINER): (
        "CreateContainer CreateFilesystem SetContainerMetadata SetFilesystemProperties "
        "RestoreContainer UndeleteContainer AcquireContainerLease ReleaseContainerLease "
        "RenewContainerLease BreakContainerLease ChangeContainerLease"
    ),
    (Act.WRITE, OperationLevel.BLOB): (
        "PutBlob PutBlock PutBlockList PutPage ClearPage AppendBlock SealBlob SnapshotBlob "
        "SetBlobMetadata SetBlobProperties SetBlobTags SetBlobTier SetBlobExpiry UndeleteBlob "
        "AbortCopyBlob AcquireBlobLease ReleaseBlobLease RenewBlobLease BreakBlobLease "
        "ChangeBlobLease LeaseBlob LeaseFile LeasePath AppendFile FlushFile CreatePathFile "
        "CreatePathDir SetFileProperties SetPathProperties UndeletePath "
        "SftpWrite SftpCreate SftpMakeDirectory SftpCommit Write Create MkDir SymLink MkNod "
        "SetAttr Commit"
    ),
    (Act.DELETE, OperationLevel.CONTAINER): "DeleteContainer DeleteFilesystem",
    (Act.DELETE, OperationLevel.FOLDER): "DeleteDirectory SftpRemoveDirectory RmDir",
    (Act.DELETE, OperationLevel.BLOB): "DeleteBlob DeleteFile DeletePath SftpRemove Remove",
    (Act.COPY, OperationLevel.BLOB): (
        "CopyBlob CopyBlobSource CopyBlobDestination CopyBlobFromURL PutBlobFromURL "
        "PutBlockFromURL PutPageFromURL AppendBlockThroughCopy AppendBlockFromURL "
        "IncrementalCopyBlob RenameFile RenamePathFile RenameBlob Link"
    ),
    (Act.COPY, OperationLevel.FOLDER): "RenamePathDir RenamePath RenameDirectory SftpRename Rename",
    (Act.COPY, OperationLevel.CONTAINER): "RenameContainer",
    (Act.POLICY, OperationLevel.ACCOUNT): "GetUserDelegationKey SetBlobServiceProperties",
    (Act.POLICY, OperationLevel.CONTAINER): (
        "GetContainerACL SetContainerACL SetContainerServiceMetadata"
    ),
    (Act.POLICY, OperationLevel.FOLDER): "SetPathAccessControlRecursive",
    (Act.POLICY, OperationLevel.BLOB): (
        "GetPathAccessControl SetPathAccessControl CheckPathAccess "
        "SetBlobImmutabilityPolicy SetImmutabilityPolicy DeleteBlobImmutabilityPolicy "
        "DeleteImmutabilityPolicy SetBlobLegalHold SetLegalHold"
    ),
}

OPERATIONS: Final = {
    name: StorageOperation(act, level)
    for (act, level), names in _ROWS.items()
    for name in names.split()
}
"""By `operationName`. `SetContainerServiceMetadata` is how immutability and legal holds are logged.

Leases count as writes: whoever holds one can keep others from writing."""

UNKNOWN: Final = StorageOperation(Act.OTHER, OperationLevel.UNKNOWN)
"""One that no release knew: kept, and neither its act nor what it is about is guessed."""

SOURCES: Final = frozenset({"CopyBlobSource"})
"""Their uri is of what is copied, in whatever account; the record stands in the target's log."""

_BY_LOWER: Final = {name.lower(): row for name, row in OPERATIONS.items()}


def find_operation(name: str) -> StorageOperation:
    """Return the row of an operation, whatever its case."""
    return OPERATIONS.get(name) or _BY_LOWER.get(name.lower(), UNKNOWN)
