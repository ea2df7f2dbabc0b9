"""The logs of the sample month, as Azure writes them: of storage, and its activity log.

The storage logs' schema is Microsoft's ("Azure Blob Storage monitoring data reference",
StorageBlobLogs). The month holds what a reviewer should find: keys listed and a SAS that leaked,
through which most of a checkpoint left by night; reads after a grant had ended; hours without a
log; records that are none.
"""

import datetime as dt
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from audit.reports.periods import Period
from audit.reports.sample.cast import (
    DISTILLED,
    FRONTIER,
    HANDS,
    LEAK_ADDRESS,
    LEAK_TOKEN,
    PEOPLE,
    PIPELINE,
    PIPELINE_ADDRESS,
    SERVERS,
    SHELVES,
    SUBSCRIPTION,
    TENANT,
    Shelf,
    draw,
    sample_id,
)
from audit.reports.sample.jobs import HOLDOUT_ENDS, HOUR_MS, MINUTE_MS, Job, list_jobs
from core.base.times import DAY_MS, second_text

LEAK_DAYS: Final = range(12, 26)
"""Days of the month (from 0) on whose nights the SAS read."""

SILENT: Final = (16, range(4, 7))
"""Day and hours of which the frontier account has no log."""

_CLAIM: Final = "http://schemas.microsoft.com/identity/claims/objectidentifier"
_PORTAL: Final = "c44b4083-3bb0-49c1-b47d-974e53cbdf3c"
"""Azure's portal, as everyone's log has it."""

_CATEGORIES: Final = {"PutBlob": "StorageWrite", "PutBlock": "StorageWrite"}

_AGENT: Final = "azsdk-python-storage-blob/12.25.1 Python/3.11.9 (Linux-6.8.0-1021-azure)"

_DAMAGED: Final = (
    b'{"time": "not a time", "category": "StorageRead", "operationName": "GetBlob"}',
    b'{"time": ',
    b"null",
    b'{"records": "none"}',
)


def activity_log_files(month: Period) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the activity log, by name."""
    listed = month.begin_ms + 11 * DAY_MS + 23 * HOUR_MS + 14 * 60_000
    rules = month.begin_ms + 5 * DAY_MS + 10 * HOUR_MS
    yield _file(_activity_record(listed, "listKeys/action", FRONTIER, PIPELINE[1], PIPELINE[0]))
    yield _file(_activity_record(rules, "write", DISTILLED, PEOPLE[8][4:], _PORTAL))


def _activity_record(
    at: int, verb: str, shelf: Shelf, principal: str, client: str
) -> dict[str, Any]:
    account = (
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-weights"
        f"/providers/Microsoft.Storage/storageAccounts/{shelf.account}"
    )
    body = {"properties": {"networkAcls": {"defaultAction": "Deny", "bypass": "None"}}}
    properties = {"statusCode": "OK", "entity": account}
    if verb == "write":
        properties["requestbody"] = json.dumps(body)
    return {
        "time": f"{second_text(at // 1000)}.0000000Z",
        "resourceId": account.upper(),
        "operationName": f"Microsoft.Storage/storageAccounts/{verb}".upper(),
        "category": "Administrative",
        "resultType": "Success",
        "resultSignature": "Succeeded.OK",
        "durationMs": "112",
        "callerIpAddress": PIPELINE_ADDRESS if client == PIPELINE[0] else "10.10.3.9",
        "correlationId": sample_id("activity", verb, at),
        "identity": {
            "authorization": {
                "scope": account,
                "action": f"Microsoft.Storage/storageAccounts/{verb}",
            },
            "claims": {"appid": client, _CLAIM: principal},
        },
        "level": "Information",
        "properties": properties,
    }


def _file(record: dict[str, Any]) -> tuple[str, bytes]:
    time = record["time"]
    name = (
        f"insights-activity-logs/resourceId=/SUBSCRIPTIONS/{SUBSCRIPTION.upper()}"
        f"/y={time[:4]}/m={time[5:7]}/d={time[8:10]}/h={time[11:13]}/m=00/PT1H.json"
    )
    return name, json.dumps(record, separators=(",", ":")).encode() + b"\n"


def storage_log_files(month: Period) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the month, by name: an hour of a category of an account each."""
    lines = defaultdict[str, list[bytes]](list)
    for unix_ms, record in sorted(
        _all(month), key=lambda pair: (pair[0], pair[1]["correlationId"])
    ):
        path = _path(record, unix_ms)
        line = json.dumps(record, separators=(",", ":")).encode()
        lines[path] += [line] * (1 + (not draw(200, "twice", record["correlationId"])))
    damaged = iter(_DAMAGED)
    for number, path in enumerate(sorted(lines)):
        if number % 500 == 250:  # noqa: PLR2004  Some hours, far apart.
            lines[path].insert(1, next(damaged, b"{}"))
        yield path, b"".join(line + b"\n" for line in lines[path])


def _all(month: Period) -> Iterator[tuple[int, dict[str, Any]]]:
    for unix_ms, record in _told(month):
        day, rest = divmod(unix_ms - month.begin_ms, DAY_MS)
        lost = day == SILENT[0] and rest // HOUR_MS in SILENT[1]
        if month.holds(unix_ms) and not (
            lost and record["properties"]["accountName"] == "swfrontier"
        ):
            yield unix_ms, record


def _told(month: Period) -> Iterator[tuple[int, dict[str, Any]]]:
    for job in list_jobs(month):
        kind = job.worker.name.rpartition("-")[0]
        if kind == "inventory":
            yield from _listings(job, month)
        elif kind in {"backup", "server"}:
            yield from _daily(job, month)
        else:
            yield from _reads(job, job.began_ms + 2 * MINUTE_MS)
            if kind == "trainer":
                yield from _writes(job)
            if job.name == "holdout-long-run":
                late = month.begin_ms + (HOLDOUT_ENDS + 1) * DAY_MS
                yield from _reads(job, late + 10 * HOUR_MS)
    yield from _by_hand(month)
    yield from _leak(month)


def _reads(job: Job, begin: int) -> Iterator[tuple[int, dict[str, Any]]]:
    shelf = job.worker.shelf
    for shard in range(shelf.shards):
        at = begin + shard * 4_000 + draw(3000, "read", job.name, shard)
        yield at, _of_pod(job, at, "GetBlob", shelf, shelf.blob(shard), shelf.shard_bytes)


def _writes(job: Job) -> Iterator[tuple[int, dict[str, Any]]]:
    for part in range(6):
        at = job.ended_ms - 10 * MINUTE_MS + part * 5000
        blob = f"runs/{job.name}/optimizer-{part:02d}.bin"
        record = _of_pod(job, at, "PutBlob", FRONTIER, blob, 0)
        record["properties"]["requestBodySize"] = 3 << 30
        yield at, record


def _daily(job: Job, month: Period) -> Iterator[tuple[int, dict[str, Any]]]:
    first = 2 if job.worker.name.startswith("backup") else 5
    for day in range(month.days):
        begin = month.begin_ms + day * DAY_MS + first * HOUR_MS
        if job.worker not in SERVERS or not draw(3, "restart", job.name, day):
            yield from _reads(job, begin + draw(HOUR_MS, "daily", job.name, day))


def _listings(job: Job, month: Period) -> Iterator[tuple[int, dict[str, Any]]]:
    for hour in range(month.days * 24):
        at = month.begin_ms + hour * HOUR_MS + 7 * MINUTE_MS
        for shelf in SHELVES:
            yield at, _of_pod(job, at, "ListBlobs", shelf, "", 90_000)
            yield at + 900, _of_pod(job, at + 900, "GetBlobProperties", shelf, shelf.blob(0), 0)


def _by_hand(month: Period) -> Iterator[tuple[int, dict[str, Any]]]:
    """People read a few shards with Azure's own program, from their virtual machines."""
    for number, person in enumerate(HANDS):
        for day in (3 + number, 17 + number):
            at = month.begin_ms + day * DAY_MS + (9 + number) * HOUR_MS
            for shard in range(2 + number):
                when = at + shard * 45_000
                identity = _oauth(person[4:], sample_id("client", "azure cli"), person)
                address = f"10.10.3.{number + 4}"
                record = _record(
                    when, "GetBlob", DISTILLED, DISTILLED.blob(shard), identity, address
                )
                record["properties"]["responseBodySize"] = DISTILLED.shard_bytes
                record["properties"]["userAgentHeader"] = (
                    "AZURECLI/2.79.0 azsdk-python-storage-blob"
                )
                yield when, record


def _leak(month: Period) -> Iterator[tuple[int, dict[str, Any]]]:
    """A SAS reads some shards each night, never many: all of a checkpoint in two weeks."""
    shard = 0
    for day in LEAK_DAYS:
        begin = month.begin_ms + day * DAY_MS + 2 * HOUR_MS
        for turn in range(4 + draw(2, "night", day)):
            at = begin + turn * 11 * MINUTE_MS + draw(MINUTE_MS, "turn", day, turn)
            identity = {
                "type": "SAS",
                "tokenHash": f"key1({LEAK_TOKEN}),SasSignature({LEAK_TOKEN})",
            }
            blob = FRONTIER.blob(shard % FRONTIER.shards)
            record = _record(at, "GetBlob", FRONTIER, blob, identity, LEAK_ADDRESS)
            record["properties"]["responseBodySize"] = FRONTIER.shard_bytes
            record["properties"]["userAgentHeader"] = "curl/8.5.0"
            yield at, record
            shard += 1


def _of_pod(  # noqa: PLR0913, PLR0917  As below.
    job: Job, at: int, operation: str, shelf: Shelf, blob: str, size: int
) -> dict[str, Any]:
    worker = job.worker
    identity = _oauth(worker.principal, worker.client, f"{job.uid}/{at // DAY_MS}")
    record = _record(at, operation, shelf, blob, identity, job.address)
    record["properties"]["responseBodySize"] = size
    return record


def _oauth(principal: str, client: str, session: str) -> dict[str, Any]:
    return {
        "type": "OAuth",
        "tokenHash": hashlib.sha256(session.encode()).hexdigest().upper(),
        "requester": {
            "appId": client,
            "audience": "https://storage.azure.com/",
            "objectId": principal,
            "tenantId": TENANT,
            "tokenIssuer": f"https://sts.windows.net/{TENANT}/",
        },
    }


def _record(  # noqa: PLR0913, PLR0917  A record has as many parts.
    at: int, operation: str, shelf: Shelf, blob: str, identity: dict[str, Any], address: str
) -> dict[str, Any]:
    path = f"{shelf.container}/{blob}" if blob else shelf.container
    words = (at, operation, path, identity.get("tokenHash"), address)
    return {
        "time": _time(at),
        "resourceId": f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-weights/providers"
        f"/Microsoft.Storage/storageAccounts/{shelf.account}/blobServices/default",
        "category": _CATEGORIES.get(operation, "StorageRead"),
        "operationName": operation,
        "operationVersion": "2025-05-05",
        "schemaVersion": "1.0",
        "statusCode": 200,
        "statusText": "Success",
        "durationMs": 12 + draw(40, *words),
        "callerIpAddress": f"{address}:{40000 + draw(20000, *words)}",
        "correlationId": sample_id(*words),
        "identity": identity,
        "location": "westeurope",
        "properties": {
            "accountName": shelf.account,
            "userAgentHeader": _AGENT,
            "clientRequestId": sample_id("request", *words),
            "serviceType": "blob",
            "objectKey": f"/{shelf.account}/{path}",
            "metricResponseType": "Success",
            "operationCount": 0,
            "requestHeaderSize": 636,
            "responseHeaderSize": 394,
            "tlsVersion": "TLS 1.3",
        },
        "uri": f"https://{shelf.account}.blob.core.windows.net:443/{path}",
        "protocol": "HTTPS",
        "resourceType": "Microsoft.Storage/storageAccounts/blobServices",
    }


def _path(record: dict[str, Any], unix_ms: int) -> str:
    time = dt.datetime.fromtimestamp(unix_ms / 1000, dt.UTC)
    kind = record["category"].lower()
    return (
        f"insights-logs-{kind}/resourceId={record['resourceId']}"
        f"/y={time:%Y}/m={time:%m}/d={time:%d}/h={time:%H}/m=00/PT1H.json"
    )


def _time(unix_ms: int) -> str:
    """Return a time as Azure's logs write it: with seven digits of a second."""
    return f"{second_text(unix_ms // 1000)}.{unix_ms % 1000:03d}0000Z"
