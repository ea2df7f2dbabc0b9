"""What each operation of blob storage does to weights, and to what: one table. Pure.

Names as they are logged: "Map each REST operation to a price" (Azure Blob Storage; blob and Data
Lake endpoints), "Storage Analytics logged operations", and those of SFTP and NFS 3.0.
"""

import enum
from typing import Final, NamedTuple

from core.weights.access import Act


class Level(enum.Enum):
    """What an operation is about."""

    ACCOUNT = "account"
    CONTAINER = "container"
    BLOB = "blob"
    FOLDER = "folder"
    """A directory, and all that lies below it."""


class Operation(NamedTuple):
    """One row of the table."""

    act: Act
    level: Level


_ROWS: Final = {
    (Act.READ, Level.BLOB): (
        "GetBlob QueryBlobContents ReadFile SftpRead SftpOpen Read "
        "GetPageRegions GetPageRegionsDiff"
    ),
    (Act.LIST, Level.ACCOUNT): (
        "ListContainers ListFilesystems FindBlobsByTags GetAccountInformation "
        "GetBlobServiceProperties GetBlobServiceStats SftpConnect SftpDisconnect Mount Umount"
    ),
    (Act.LIST, Level.CONTAINER): (
        "ListBlobs GetContainerMetadata GetContainerProperties GetFilesystemProperties "
        "GetContainerServiceMetadata ListPaths ListDeletedPaths"
    ),
    (Act.LIST, Level.FOLDER): "ListFilesystemDir ListFilesystemFile SftpList ReadDir ReadDirPlus",
    (Act.LIST, Level.BLOB): (
        "GetBlobMetadata GetBlobProperties GetBlobTags GetBlockList GetBlobLeaseInfo GetLeaseInfo "
        "GetFileProperties GetPathProperties GetPathStatus GetPathStatusOnly "
        "SftpGetAttributes SftpStat SftpResolvePath GetAttr Lookup Access "
        "FsInfo FsStat PathConf"
    ),
    (Act.WRITE, Level.ACCOUNT): "SubmitBatch BlobBatch BlobPreflightRequest",
    (Act.WRITE, Level.CONTAINER): (
        "CreateContainer CreateFilesystem SetContainerMetadata SetFilesystemProperties "
        "RestoreContainer UndeleteContainer AcquireContainerLease ReleaseContainerLease "
        "RenewContainerLease BreakContainerLease ChangeContainerLease"
    ),
    (Act.WRITE, Level.BLOB): (
        "PutBlob PutBlock PutBlockList PutPage ClearPage AppendBlock SealBlob SnapshotBlob "
        "SetBlobMetadata SetBlobProperties SetBlobTags SetBlobTier SetBlobExpiry UndeleteBlob "
        "AbortCopyBlob AcquireBlobLease ReleaseBlobLease RenewBlobLease BreakBlobLease "
        "ChangeBlobLease LeaseBlob LeaseFile LeasePath AppendFile FlushFile CreatePathFile "
        "CreatePathDir SetFileProperties SetPathProperties UndeletePath "
        "SftpWrite SftpCreate SftpMakeDirectory SftpCommit Write Create MkDir SymLink MkNod "
        "SetAttr Commit"
    ),
    (Act.DELETE, Level.CONTAINER): "DeleteContainer DeleteFilesystem",
    (Act.DELETE, Level.FOLDER): "DeleteDirectory SftpRemoveDirectory RmDir",
    (Act.DELETE, Level.BLOB): "DeleteBlob DeleteFile DeletePath SftpRemove Remove",
    (Act.COPY, Level.BLOB): (
        "CopyBlob CopyBlobSource CopyBlobDestination CopyBlobFromURL PutBlobFromURL "
        "PutBlockFromURL PutPageFromURL AppendBlockThroughCopy AppendBlockFromURL "
        "IncrementalCopyBlob RenameFile RenamePathFile RenameBlob Link"
    ),
    (Act.COPY, Level.FOLDER): "RenamePathDir RenamePath RenameDirectory SftpRename Rename",
    (Act.COPY, Level.CONTAINER): "RenameContainer",
    (Act.POLICY, Level.ACCOUNT): "GetUserDelegationKey SetBlobServiceProperties",
    (Act.POLICY, Level.CONTAINER): ("GetContainerACL SetContainerACL SetContainerServiceMetadata"),
    (Act.POLICY, Level.FOLDER): "SetPathAccessControlRecursive",
    (Act.POLICY, Level.BLOB): (
        "GetPathAccessControl SetPathAccessControl CheckPathAccess "
        "SetBlobImmutabilityPolicy SetImmutabilityPolicy DeleteBlobImmutabilityPolicy "
        "DeleteImmutabilityPolicy SetBlobLegalHold SetLegalHold"
    ),
}

OPERATIONS: Final = {
    name: Operation(act, level) for (act, level), names in _ROWS.items() for name in names.split()
}
"""By `operationName`. `SetContainerServiceMetadata` is how immutability and legal holds are logged.

Leases count as writes: whoever holds one can keep others from writing."""

UNKNOWN: Final = Operation(Act.OTHER, Level.BLOB)
"""One that no release knew: kept, and no act is guessed."""

SOURCES: Final = frozenset({"CopyBlobSource"})
"""Their uri is of what is copied, in whatever account; the record stands in the target's log."""

_BY_LOWER: Final = {name.lower(): row for name, row in OPERATIONS.items()}


def operation(name: str) -> Operation:
    """Give the row of an operation, whatever its case."""
    return OPERATIONS.get(name) or _BY_LOWER.get(name.lower(), UNKNOWN)
