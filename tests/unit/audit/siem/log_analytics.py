"""Rows of Log Analytics as Azure makes them of records, and what a query finds among them.

The columns are those of the tables' reference; records of a diagnostic setting have the same values
under other names ("Azure Monitor resource log schema", "Azure activity log event schema").
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from audit.access.parsers.caller_networks import CallerLocator
from audit.siem.queries import PARAMETERS, Condition, Count, Match, SiemQuery, Table

Row = dict[str, Any]

LOCATOR = CallerLocator()
"""Takes ports off addresses."""


def row_of(record: Row) -> tuple[Table, Row]:
    """Return the row that a record becomes; one that is a row already stays."""
    if (table := record.get("Type") or (record.get("SourceSystem") and "AzureActivity")) in {
        each.value for each in Table
    }:
        return Table(table), record
    if str(record.get("category", "")).startswith("Storage"):
        return Table.STORAGE, _stored(record)
    if record.get("category") == "AuditLogs" or "OperationName" in record:
        return Table.ENTRA, _audited(record)
    return Table.ACTIVITY, _acted(record)


def _stored(record: Row) -> Row:
    identity = record.get("identity") or {}
    properties = record.get("properties") or {}
    return {
        "TimeGenerated": record["time"],
        "Category": record["category"],
        "OperationName": record["operationName"],
        "StatusCode": str(record["statusCode"]),
        "StatusText": record.get("statusText", ""),
        "CallerIpAddress": record.get("callerIpAddress", ""),
        "AuthenticationType": identity.get("type", ""),
        "AuthenticationHash": identity.get("tokenHash", ""),
        "RequesterObjectId": (identity.get("requester") or {}).get("objectId", ""),
        "AccountName": str(properties.get("objectKey", "")).split("/")[1],
        "Uri": record.get("uri", ""),
        "UserAgentHeader": properties.get("userAgentHeader", ""),
        "ObjectKey": properties.get("objectKey", ""),
        "ResponseBodySize": properties.get("responseBodySize", 0),
    }


def _acted(record: Row) -> Row:
    operation, status = record["operationName"], record.get("resultType") or record["status"]
    if isinstance(operation, dict):  # As the REST API and the command line list it.
        operation, status = operation["value"], status["value"]
    return {
        "TimeGenerated": record.get("time") or record["eventTimestamp"],
        "OperationNameValue": operation,
        "ActivityStatusValue": status,
        "Properties": json.dumps(record.get("properties") or {}, separators=(",", ":")),
    }


def _audited(record: Row) -> Row:
    properties = record.get("properties") or record
    return {
        "TimeGenerated": record.get("time") or record.get("TimeGenerated"),
        "OperationName": record.get("operationName") or record.get("OperationName"),
        "TargetResources": json.dumps(properties.get("targetResources", "")),
    }


Filled = Mapping[str, Sequence[str]]
"""What whoever installs a query fills in, by the parameter's name."""


def is_alerted(query: SiemQuery, rows: Iterable[tuple[Table, Row]], filled: Filled) -> bool:
    """Return whether a query finds something."""
    found = [
        row
        for table, row in rows
        if table is query.table and all(_holds(each, row, filled) for each in query.conditions)
    ]
    count = query.count
    if count is None:
        return bool(found)
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in found:
        groups[tuple(_told(row, column) for column in count.by)].append(row)
    return any(_value(count, each) >= count.least for each in groups.values())


def _value(count: Count, rows: Sequence[Row]) -> int:
    if count.total:
        return sum(int(row[count.total]) for row in rows)
    return len({_told(row, count.distinct) for row in rows}) if count.distinct else len(rows)


def _told(row: Row, column: str) -> str:
    text = str(row.get(column, ""))
    return LOCATOR.of(text)[0] if column == "CallerIpAddress" else text


def _holds(condition: Condition, row: Row, filled: Filled) -> bool:
    text = str(row.get(condition.column, "")).lower()
    values = [
        each.lower()
        for value in condition.values
        for each in (filled[value] if value in PARAMETERS else [value])
    ]
    return any(_is(condition.match, text, each) for each in values) is not condition.negated


def _is(match: Match, text: str, value: str) -> bool:
    if match is Match.IS:
        return text == value
    return text.startswith(value) if match is Match.STARTS else value in text
