"""Records as Azure Storage's resource logs have them, for every category and identity type.

The schema is Microsoft's ("Azure Blob Storage monitoring data reference", StorageBlobLogs); names,
ids and hashes are made up. `storage_record` gives one record to change at will, `lines` very many.
"""

import json
import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

SUBSCRIPTION: Final = "8f7e6d5c-0001-4000-8000-000000000001"
GROUP: Final = "rg-training"
TENANT: Final = "5611623b-9128-461e-9d7f-a0d9c270ead2"
ACCOUNT: Final = "weightsprod"
CONTAINER: Final = "llama"
BLOB: Final = "run-7/step-1000/shard-00001.safetensors"
PRINCIPAL: Final = "0a000000-0000-4000-8000-000000000001"
APPLICATION: Final = "0b000000-0000-4000-8000-000000000001"
ROLE_ASSIGNMENT: Final = "0c000000-0000-4000-8000-000000000001"
READER: Final = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
"""The built-in role Storage Blob Data Reader."""
ADDRESS: Final = "10.224.0.17"
AGENT: Final = "azsdk-python-storage-blob/12.25.1 Python/3.11.9 (Linux-6.8.0-1021-azure)"
BEGIN_MS: Final = 1_777_626_000_000
"""2026-05-01T09:00:00Z."""

READS: Final = frozenset({"GetBlob", "ReadFile"})
CATEGORIES: Final = {
    "Put": "StorageWrite",
    "Set": "StorageWrite",
    "Copy": "StorageWrite",
    "Create": "StorageWrite",
    "Append": "StorageWrite",
    "Flush": "StorageWrite",
    "Rename": "StorageWrite",
    "Delete": "StorageDelete",
}


def resource_id(account: str = ACCOUNT) -> str:
    """Return the id of an account's blob service, as `resourceId` of its records."""
    return (
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{GROUP}/providers/Microsoft.Storage"
        f"/storageAccounts/{account}/blobServices/default"
    )


def category_of(operation: str) -> str:
    """Return the category that an operation is logged under."""
    return next((c for word, c in CATEGORIES.items() if operation.startswith(word)), "StorageRead")


def log_time(unix_ms: int) -> str:
    """Return a time as records have it: seven digits of a second."""
    moment = datetime.fromtimestamp(unix_ms / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{unix_ms % 1000:03d}0000Z"


def identity(kind: str = "OAuth", **requester: str) -> dict[str, Any]:
    """Return `identity` as records of its type have it; requester fields replace those of OAuth."""
    token = sha256(kind.encode()).hexdigest().upper()
    if kind in {"AccountKey", "Account Key"}:
        return {"type": kind, "tokenHash": f"key1({token})"}
    if kind in {"SAS", "SAS Key"}:
        return {"type": kind, "tokenHash": f"key1({token}),SasSignature({token[::-1]})"}
    if kind == "Anonymous":
        return {"type": kind}
    asked = {
        "appId": APPLICATION,
        "audience": "https://storage.azure.com/",
        "objectId": PRINCIPAL,
        "tenantId": TENANT,
        "tokenIssuer": f"https://sts.windows.net/{TENANT}/",
    }
    given: dict[str, Any] = {"type": kind, "requester": {**asked, **requester}}
    if kind == "OAuth":
        action = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read"
        given["tokenHash"] = token
        given["authorization"] = [
            {
                "action": action,
                "roleAssignmentId": ROLE_ASSIGNMENT,
                "roleDefinitionId": READER,
                "principals": [{"id": PRINCIPAL, "type": "ServicePrincipal"}],
                "denyAssignmentId": "",
                "reason": "Policy",
                "result": "Granted",
                "type": "RBAC",
            }
        ]
    return given


def _correlation(words: str) -> str:
    return f"{zlib.crc32(words.encode()):08x}-101e-004b-6365-90ca9c000000"


def storage_record(  # noqa: PLR0913  One argument a thing that tests change.
    *,
    operation: str = "GetBlob",
    account: str = ACCOUNT,
    container: str = CONTAINER,
    blob: str = BLOB,
    signed_by: str = "OAuth",
    unix_ms: int = BEGIN_MS,
    address: str = f"{ADDRESS}:41234",
    bytes_out: int = 4096,
    status: Any = 200,
    query: str = "",
    properties: Mapping[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Return a record; `fields` replace its top level, None leaves one out."""
    path = "/".join(part for part in (container, blob) if part)
    made: dict[str, Any] = {
        "time": log_time(unix_ms),
        "resourceId": resource_id(account),
        "category": category_of(operation),
        "operationName": operation,
        "operationVersion": "2025-05-05",
        "schemaVersion": "1.0",
        "statusCode": status,
        "statusText": "Success",
        "durationMs": 12,
        "callerIpAddress": address,
        "correlationId": _correlation(f"{unix_ms}{path}"),
        "identity": identity(signed_by),
        "location": "westeurope",
        "properties": {
            "accountName": account,
            "userAgentHeader": AGENT,
            "clientRequestId": "830f156c-fc5e-11ec-9f70-c8e26530e2c3",
            "etag": '"0x8DA5A9118CDE874"',
            "serviceType": "blob",
            "objectKey": "/" + "/".join(part for part in (account, path) if part),
            "lastModifiedTime": "6/30/2022 12:07:25 PM",
            "metricResponseType": "Success",
            "serverLatencyMs": 9,
            "operationCount": 0,
            "requestHeaderSize": 636,
            "responseHeaderSize": 394,
            "responseBodySize": bytes_out,
            "tlsVersion": "TLS 1.3",
            **(properties or {}),
        },
        "uri": f"https://{account}.blob.core.windows.net:443/{path}{query and '?' + query}",
        "protocol": "HTTPS",
        "resourceType": "Microsoft.Storage/storageAccounts/blobServices",
    }
    return {name: value for name, value in {**made, **fields}.items() if value is not None}


def encoded(*records: Any) -> bytes:
    """Return records as JSON lines, each with its line's end."""
    return b"".join(json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in records)


@dataclass(frozen=True)
class Life:
    """Who reads what from where in `lines`."""

    accounts: Sequence[str] = (ACCOUNT, "weightseval", "weightsarchive")
    containers: Sequence[str] = (CONTAINER, "datasets")
    principals: int = 200
    """`0a…` object ids and `0b…` application ids, numbered from 1."""
    addresses: int = 400
    """Of 10.224.0.0/16, numbered from 10.224.0.1; a principal has two of its own."""
    shards: int = 512
    step_ms: int = 10
    """From one record to the next."""
    operations: Sequence[str] = ("GetBlob",) * 14 + (
        "ReadFile",
        "GetBlobProperties",
        "ListBlobs",
        "PutBlob",
        "PutBlock",
        "DeleteBlob",
    )


DEFAULT_LIFE: Final = Life()


def principal(number: int) -> str:
    """Return the object id of a numbered principal of `lines`, from 1."""
    return f"0a000000-0000-4000-8000-{number:012x}"


def application(number: int) -> str:
    """Return its client id."""
    return f"0b000000-0000-4000-8000-{number:012x}"


def node_address(number: int) -> str:
    """Return a numbered address of `lines`, from 1."""
    return f"10.224.{number >> 8}.{number & 255}"


def lines(
    count: int, seed: int = 1, *, begin_ms: int = BEGIN_MS, life: Life = DEFAULT_LIFE
) -> Iterator[bytes]:
    """Yield so many records of an ordinary time as JSON, without line ends; more than 50,000/s.

    The same seed gives the same. Time goes on by `life.step_ms`; nothing comes twice.
    """
    drawn = random.Random(seed)  # noqa: S311  Not a secret.
    templates = {name: _template(name) for name in set(life.operations)}
    second, prefix = -1, b""
    for number in range(count):
        now = begin_ms + number * life.step_ms
        if now // 1000 != second:
            second = now // 1000
            prefix = log_time(second * 1000)[:20].encode()
        bits = drawn.getrandbits(60)
        who = bits % life.principals + 1
        account = life.accounts[(bits >> 8) % len(life.accounts)]
        container = life.containers[(bits >> 12) % len(life.containers)]
        yield templates[life.operations[(bits >> 16) % len(life.operations)]] % {
            b"time": b"%s%03d0000Z" % (prefix, now % 1000),
            b"account": account.encode(),
            b"container": container.encode(),
            b"blob": b"run-%d/shard-%05d.bin" % (who % 9, (bits >> 24) % life.shards),
            b"address": node_address((2 * who + (bits & 1)) % life.addresses + 1).encode(),
            b"correlation": b"%08x-%04x-0000-0000-%012x" % (seed & 0xFFFFFFFF, who, number),
            b"who": b"%012x" % who,
            b"token": b"%016X" % (who * 31 + (now // 3_600_000)),
            b"bytes": b"%d" % (1 << 20 | bits >> 40),
        }


def _template(operation: str) -> bytes:
    """Return a record whose changing parts are places for `%`."""
    record = storage_record(operation=operation)
    record["time"] = "%(time)s"
    record["correlationId"] = "%(correlation)s"
    record["callerIpAddress"] = "%(address)s:41234"
    listed = operation == "ListBlobs"
    path = "%(container)s" if listed else "%(container)s/%(blob)s"
    record["uri"] = f"https://%(account)s.blob.core.windows.net:443/{path}"
    record["resourceId"] = resource_id("%(account)s")
    properties = record["properties"]
    properties["accountName"] = "%(account)s"
    properties["objectKey"] = f"/%(account)s/{path}"
    size = "responseBodySize" if record["category"] == "StorageRead" else "requestBodySize"
    properties["responseBodySize"] = 0
    properties[size] = -1
    asked = record["identity"]["requester"]
    asked["objectId"] = "0a000000-0000-4000-8000-%(who)s"
    asked["appId"] = "0b000000-0000-4000-8000-%(who)s"
    record["identity"]["authorization"][0]["principals"][0]["id"] = asked["objectId"]
    record["identity"]["tokenHash"] = "%(token)s" * 4
    return encoded(record).strip().replace(b":-1", b":%(bytes)s")
