"""Resource logs of harm that is done to weights, record by record, and of what only looks like it.

Written from Microsoft's pages of the records, not from the detections: "Azure Blob Storage
monitoring data reference" (fields), "Storage Analytics logged operations and status messages"
(names of operations), "Blob service error codes" (words of `statusText`), the pages of each REST
operation (status of success: 201 for writes, 202 for deletes), and "Monitor lifecycle management
policies" (user agents of the scanner).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.harness.worlds.storage_logs import BEGIN_MS, identity, storage_record

Record = dict[str, Any]

OUTSIDE: Final = "203.0.113.77:50412"
"""An address of documentation's (RFC 5737)."""
EXPLORER: Final = "Microsoft Azure Storage Explorer, 1.33.0, win32, azcopy-node, 2.0.0"
SCANNER: Final = "xAzure/1.0 AzureStorage/1.0 ObjectLifeCycleScanner/0.50"
SHARDS: Final = 16


@dataclass(frozen=True)
class HarmTrace:
    """Records in their order, and what comes of them."""

    name: str
    records: Sequence[Record]
    finds: tuple[str, ...] = ()
    """Detections, one of whose findings is high or critical; empty where none may be."""
    granted: bool = False
    """Whether the requests come from an admitted Pod under an AccessGrant."""


def shard(number: int, step: int = 1000) -> str:
    """Name a shard of a checkpoint."""
    return f"run-7/step-{step}/model-{number:05d}-of-{SHARDS:05d}.safetensors"


def request(  # noqa: PLR0913  One argument a field of the record.
    second: int,
    operation: str,
    category: str,
    status: int,
    *,
    agent: str = "",
    text: str = "Success",
    sent: int = 0,
    **fields: Any,
) -> Record:
    """Make the record of a request, so many seconds after the first."""
    properties = {"requestBodySize": sent, "contentLengthHeader": sent, "metricResponseType": text}
    told = {**properties, **({"userAgentHeader": agent} if agent else {})}
    return storage_record(
        operation=operation,
        unix_ms=BEGIN_MS + second * 1000,
        status=status,
        category=category,
        statusText=text,
        properties=told,
        **{"bytes_out": 0, "correlationId": f"{second:08x}-501e-0046-{operation[:8]}", **fields},
    )


def deleted(second: int, blob: str, **fields: Any) -> Record:
    """Make the record of a Delete Blob."""
    return request(second, "DeleteBlob", "StorageDelete", 202, blob=blob, **fields)


def put(second: int, blob: str, size: int = 5 << 30, **fields: Any) -> Record:
    """Make the record of a Put Blob."""
    told = {"sent": size, **fields}
    return request(second, "PutBlob", "StorageWrite", 201, blob=blob, **told)


def got(second: int, blob: str, size: int = 5 << 30, **fields: Any) -> Record:
    """Make the record of a Get Blob."""
    told = {"bytes_out": size, **fields}
    return request(second, "GetBlob", "StorageRead", 200, blob=blob, **told)


def in_tier(record: Record, tier: str = "Archive") -> Record:
    """Let a record name the access tier."""
    return record | {"properties": record["properties"] | {"accessTier": tier}}


_KEY: Final[dict[str, Any]] = {"signed_by": "AccountKey", "address": OUTSIDE, "agent": EXPLORER}
_SAS: Final[dict[str, Any]] = {"signed_by": "SAS", "address": OUTSIDE, "agent": "azcopy/10.24"}
_CHANGE: Final = "key-or-anonymous-change"

BY_KEY: Final = (
    HarmTrace(
        "16 shards deleted with the account key from a public address",
        [deleted(n, shard(n), **_KEY) for n in range(SHARDS)],
        (_CHANGE,),
    ),
    HarmTrace(
        "16 shards deleted with the account key inside the cluster",
        [deleted(n, shard(n), signed_by="AccountKey") for n in range(SHARDS)],
        (_CHANGE,),
    ),
    HarmTrace(
        "a container deleted with the account key",
        [request(0, "DeleteContainer", "StorageDelete", 202, blob="", **_KEY)],
        (_CHANGE,),
    ),
    HarmTrace("a shard overwritten with a SAS", [put(0, shard(0), **_SAS)], (_CHANGE,)),
    HarmTrace(
        "blocks put and committed with a SAS",
        [
            request(
                0,
                "PutBlock",
                "StorageWrite",
                201,
                blob=shard(0),
                sent=4 << 20,
                query="comp=block",
                **_SAS,
            ),
            request(1, "PutBlockList", "StorageWrite", 201, blob=shard(0), sent=900, **_SAS),
        ],
        (_CHANGE,),
    ),
    HarmTrace(
        "a directory deleted with the account key over the Data Lake endpoint",
        [
            request(
                0,
                "DeleteDirectory",
                "StorageDelete",
                200,
                blob="run-7/step-1000",
                query="recursive=true",
                **_KEY,
            )
        ],
        (_CHANGE,),
    ),
    HarmTrace(
        "deletes refused: the key was regenerated",
        [
            deleted(n, shard(n), **_KEY, text="AuthenticationFailed") | {"statusCode": 403}
            for n in range(5)
        ],
    ),
    HarmTrace(
        "lifecycle management deletes old checkpoints, by a SAS of Azure's own",
        [
            deleted(n, shard(n, 100), signed_by="SAS", address="10.74.16.5:443", agent=SCANNER)
            for n in range(300)
        ],
    ),
    HarmTrace(
        "lifecycle management deletes old checkpoints, as a trusted service",
        [
            deleted(n, shard(n, 100), address="10.74.16.5:443", agent=SCANNER)
            | {"identity": {"type": "TrustedAccess"}}
            for n in range(300)
        ],
    ),
)

_TRAINER: Final = identity("OAuth", objectId="0a000000-0000-4000-8000-000000000007")
_DELETE: Final = "mass-delete"

DELETES: Final = (
    HarmTrace(
        "1,200 blobs deleted by a granted identity in its Pod",
        [deleted(n, f"runs/old/{n:05d}.bin") for n in range(1200)],
        (_DELETE,),
        granted=True,
    ),
    HarmTrace(
        "a container deleted by a granted identity",
        [request(0, "DeleteContainer", "StorageDelete", 202, blob="")],
        (_DELETE,),
        granted=True,
    ),
    HarmTrace(
        "a file system deleted over the Data Lake endpoint by a person",
        [request(0, "DeleteFilesystem", "StorageDelete", 202, blob="", address=OUTSIDE)],
        (_DELETE,),
    ),
    HarmTrace(
        "a checkpoint in use deleted by one who did not write it",
        [
            *(put(n, shard(n), identity=_TRAINER) for n in range(SHARDS)),
            *(got(3600 + n, shard(n)) for n in range(SHARDS)),
            *(deleted(7200 + n, shard(n)) for n in range(SHARDS)),
        ],
        (_DELETE,),
        granted=True,
    ),
    HarmTrace(
        "1,200 blobs given an expiry",
        [
            request(n, "SetBlobExpiry", "StorageWrite", 200, blob=f"runs/{n}.bin")
            for n in range(1200)
        ],
        (_DELETE,),
        granted=True,
    ),
    HarmTrace(
        "a trainer deletes its own old checkpoints as it goes on",
        [
            record
            for step in range(40)
            for record in (
                *(put(step * 7200 + n, shard(n, step)) for n in range(SHARDS)),
                *(deleted(step * 7200 + 600 + n, shard(n, step - 3)) for n in range(SHARDS)),
            )
        ],
        granted=True,
    ),
    HarmTrace(
        "a job cleans up 300 temporary files",
        [deleted(n, f"tmp/{n}.bin") for n in range(300)],
        granted=True,
    ),
)

_DAY: Final = 86_400
_OVERWRITTEN: Final = "overwritten-weights"
_PUBLISHED: Final = (
    *(put(n, shard(n), identity=_TRAINER) for n in range(SHARDS)),
    *(got(3 * _DAY + n, shard(n)) for n in range(SHARDS)),
)

OVERWRITES: Final = (
    HarmTrace(
        "a published shard overwritten by a granted identity in its own Pod",
        [*_PUBLISHED, put(4 * _DAY, shard(0))],
        (_OVERWRITTEN,),
        granted=True,
    ),
    HarmTrace(
        "a published shard overwritten in blocks by its own writer",
        [
            *_PUBLISHED,
            *(
                request(4 * _DAY + n, name, "StorageWrite", 201, blob=shard(0), identity=_TRAINER)
                for n, name in enumerate(("PutBlock", "PutBlock", "PutBlockList"))
            ),
        ],
        (_OVERWRITTEN,),
        granted=True,
    ),
    HarmTrace(
        "a published shard flushed anew over the Data Lake endpoint",
        [
            *_PUBLISHED,
            *(
                request(4 * _DAY + n, name, "StorageWrite", status, blob=shard(0))
                for n, (name, status) in enumerate(
                    (("CreatePathFile", 201), ("AppendFile", 202), ("FlushFile", 200))
                )
            ),
        ],
        (_OVERWRITTEN,),
        granted=True,
    ),
    HarmTrace(
        "a published shard overwritten by a person from outside",
        [*_PUBLISHED, put(4 * _DAY, shard(0), address=OUTSIDE, agent=EXPLORER)],
        (_OVERWRITTEN,),
    ),
    HarmTrace(
        "an upload that is tried again",
        [put(n * 60, shard(0), identity=_TRAINER) for n in range(5)],
        granted=True,
    ),
    HarmTrace(
        "an overwrite that a lease refuses",
        [*_PUBLISHED, put(4 * _DAY, shard(0), text="LeaseIdMissing") | {"statusCode": 412}],
        granted=True,
    ),
)


def refused(second: int, blob: str, status: int, text: str, **fields: Any) -> Record:
    """Make the record of a Get Blob that was refused."""
    return request(second, "GetBlob", "StorageRead", status, blob=blob, text=text, **fields)


_BY_OTHER: Final = identity("OAuth", objectId="0a000000-0000-4000-8000-000000000009")
_SHUT: Final = (
    HarmTrace(
        "a checkpoint rewritten with a customer-provided key",
        [
            *_PUBLISHED,
            *(put(4 * _DAY + n, shard(n), identity=_BY_OTHER) for n in range(SHARDS)),
            *(
                refused(5 * _DAY + n, shard(n), 409, "BlobUsesCustomerSpecifiedEncryption")
                for n in range(SHARDS)
            ),
        ],
        ("customer-key", _OVERWRITTEN),
        granted=True,
    ),
    HarmTrace(
        "a checkpoint in use moved to Archive, as the record says",
        [
            *_PUBLISHED,
            *(
                in_tier(request(4 * _DAY + n, "SetBlobTier", "StorageWrite", 200, blob=shard(n)))
                for n in range(SHARDS)
            ),
        ],
        ("archived-weights",),
        granted=True,
    ),
    HarmTrace(
        "a checkpoint in use moved to Archive, as its readers find",
        [
            *_PUBLISHED,
            *(
                request(
                    4 * _DAY + n,
                    "SetBlobTier",
                    "StorageWrite",
                    202,
                    blob=shard(n),
                    query="comp=tier",
                    identity=_BY_OTHER,
                )
                for n in range(3)
            ),
            refused(5 * _DAY, shard(0), 409, "BlobArchived"),
        ],
        ("archived-weights",),
        granted=True,
    ),
    HarmTrace(
        "lifecycle management moves old checkpoints to Archive",
        [
            in_tier(
                request(n, "SetBlobTier", "StorageWrite", 200, blob=shard(n, 100), agent=SCANNER)
            )
            | {"identity": {"type": "TrustedAccess"}}
            for n in range(300)
        ],
    ),
    HarmTrace(
        "reads that a lease and a missing blob refuse",
        [
            *_PUBLISHED,
            refused(4 * _DAY, shard(0), 412, "LeaseIdMismatchWithBlobOperation"),
            refused(4 * _DAY + 1, shard(77), 404, "BlobNotFound"),
        ],
        granted=True,
    ),
)

_BURST: Final = "refused-burst"

REFUSALS: Final = (
    HarmTrace(
        "a regenerated key is tried, and then a SAS works",
        [
            *(
                refused(n, shard(n % SHARDS), 403, "AuthenticationFailed", **_SAS)
                for n in range(40)
            ),
            got(600, shard(0), **_SAS),
        ],
        (_BURST,),
    ),
    HarmTrace(
        "a person is refused, gets a role, and reads from outside",
        [
            *(
                refused(
                    n, shard(n % SHARDS), 403, "AuthorizationPermissionMismatch", address=OUTSIDE
                )
                for n in range(40)
            ),
            got(900, shard(0), address=OUTSIDE),
        ],
        (_BURST,),
    ),
    HarmTrace(
        "a Pod under a grant is refused until its role counts",
        [
            *(
                refused(n * 5, shard(n % SHARDS), 403, "AuthorizationPermissionMismatch")
                for n in range(60)
            ),
            got(600, shard(0)),
        ],
        granted=True,
    ),
    HarmTrace(
        "a mount looks for files that may be there",
        [refused(n, f"run-7/maybe-{n}.json", 404, "BlobNotFound") for n in range(200)],
        granted=True,
    ),
)

TRACES: Final[tuple[HarmTrace, ...]] = (*BY_KEY, *DELETES, *OVERWRITES, *_SHUT, *REFUSALS)
