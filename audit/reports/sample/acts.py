"""The activity log of Azure in the sample month, as it is exported: keys listed, and what else."""

import datetime as dt
import json
from collections.abc import Iterator
from typing import Any, Final

from audit.reports.periods import DAY_MS, Period
from audit.reports.sample.cast import (
    DISTILLED,
    FRONTIER,
    PEOPLE,
    PIPELINE,
    PIPELINE_ADDRESS,
    SUBSCRIPTION,
    Shelf,
    made_id,
)
from audit.reports.sample.jobs import HOUR_MS

_CLAIM: Final = "http://schemas.microsoft.com/identity/claims/objectidentifier"
_PORTAL: Final = "c44b4083-3bb0-49c1-b47d-974e53cbdf3c"
"""Azure's portal, as everyone's log has it."""


def act_files(month: Period) -> Iterator[tuple[str, bytes]]:
    """Give the files of the activity log, by name."""
    listed = month.begin_ms + 11 * DAY_MS + 23 * HOUR_MS + 14 * 60_000
    rules = month.begin_ms + 5 * DAY_MS + 10 * HOUR_MS
    yield _file(_record(listed, "listKeys/action", FRONTIER, PIPELINE[1], PIPELINE[0]))
    yield _file(_record(rules, "write", DISTILLED, PEOPLE[8][4:], _PORTAL))


def _record(at: int, verb: str, shelf: Shelf, principal: str, client: str) -> dict[str, Any]:
    account = (
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-weights"
        f"/providers/Microsoft.Storage/storageAccounts/{shelf.account}"
    )
    body = {"properties": {"networkAcls": {"defaultAction": "Deny", "bypass": "None"}}}
    properties = {"statusCode": "OK", "entity": account}
    if verb == "write":
        properties["requestbody"] = json.dumps(body)
    return {
        "time": dt.datetime.fromtimestamp(at / 1000, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.0000000Z"),
        "resourceId": account.upper(),
        "operationName": f"Microsoft.Storage/storageAccounts/{verb}".upper(),
        "category": "Administrative",
        "resultType": "Success",
        "resultSignature": "Succeeded.OK",
        "durationMs": "112",
        "callerIpAddress": PIPELINE_ADDRESS if client == PIPELINE[0] else "10.10.3.9",
        "correlationId": made_id("activity", verb, at),
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
