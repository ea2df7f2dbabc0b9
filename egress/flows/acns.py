"""Reads the table `ContainerNetworkLogs` of Azure Monitor, which stores what ACNS logs. Pure.

Columns: https://learn.microsoft.com/azure/azure-monitor/reference/tables/containernetworklogs (its
name before was `RetinaNetworkFlowLogs`), and as Microsoft's queries use them:
https://learn.microsoft.com/azure/aks/container-network-observability-guide. A row has the fields of
Hubble's flow, the nested ones as JSON or as its text. Aggregated rows stand for many flows, have
workloads and no Pods, and neither addresses nor names of the DNS
(https://learn.microsoft.com/azure/aks/container-network-observability-logs#flow-log-aggregation).

Read are a query's rows as an array of objects (`az monitor log-analytics query`), as `tables` (the
REST API), as lines of JSON (export to storage), and as CSV (the portal).
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS
from core.base.times import seconds_of
from egress.flows.hubble import HubbleFlow, flow_of
from egress.flows.pieces import TOO_LONG, BrokenArrayError, lines_of, peek, records_of
from egress.flows.records import DnsAnswer, Flow, FlowRecord, SkippedRecord, UnreadableRecord

_UTC: Final = " [UTC]"
"""After the names of columns that hold times, in the portal's CSV."""
_COUNTS: Final = ("EgressFlowCount", "UnknownDirectionFlowCount")
_ARRIVED: Final = "IngressFlowCount"
_NEEDED: Final = frozenset({"Verdict", "SourceNamespace", "Layer4"})
_MARK: Final = "\ufeff"


def read_acns(pieces: Iterable[str]) -> Iterator[FlowRecord]:
    """Read rows, in any of the forms above; `line` of what could not be read is the row's place."""
    first, whole = peek(pieces)
    head = first.lstrip(f" \t\r\n{_MARK}")
    if head.startswith("["):
        yield from _of_array(whole, ())
    elif "".join(head[:40].split()).startswith('{"tables":'):
        yield from _of_array(whole, ("tables",))
    elif head.startswith("{"):
        yield from _of_lines(whole)
    else:
        yield from _of_csv(whole)


def _of_array(pieces: Iterable[str], fields: tuple[str, ...]) -> Iterator[FlowRecord]:
    number = 0
    try:
        for found in records_of(pieces, fields or ("value",)):
            for row in _rows(found):
                number += 1
                yield _read(row, number)
    except BrokenArrayError as error:
        yield UnreadableRecord(number, f"the file {error}")


def _rows(found: Any) -> Iterator[Any]:
    """Yield the rows of a table; a row by itself is one."""
    if not (isinstance(found, dict) and isinstance(found.get("rows"), list)):
        yield found
        return
    columns = found.get("columns")
    names = [each.get("name") for each in columns] if isinstance(columns, list) else []
    for row in found["rows"]:
        yield dict(zip(names, row, strict=False)) if isinstance(row, list) else row


def _of_lines(pieces: Iterable[str]) -> Iterator[FlowRecord]:
    for number, line in lines_of(pieces):
        if line is None:
            yield UnreadableRecord(number, TOO_LONG)
        elif line.strip():
            try:
                yield _read(msgspec.json.decode(line), number)
            except DECODE_ERRORS as error:
                yield UnreadableRecord(number, str(error))


def _of_csv(pieces: Iterable[str]) -> Iterator[FlowRecord]:
    reader = csv.DictReader(f"{line or ''}\n" for _, line in lines_of(pieces))
    try:
        for row in reader:
            found = {str(key).removesuffix(_UTC): value for key, value in row.items() if value}
            yield _read(found, reader.line_num)
    except csv.Error as error:
        yield UnreadableRecord(reader.line_num, str(error))


def _read(row: Any, number: int) -> FlowRecord:
    if not isinstance(row, dict) or not row.keys() >= _NEEDED:
        return UnreadableRecord(number, f"has not the columns {', '.join(sorted(_NEEDED))}")
    try:
        count = _count(row)
        if count == 0:
            return SkippedRecord("seen where it arrives")
        found = flow_of(msgspec.convert(_hubble(row), HubbleFlow), number)
    except DECODE_ERRORS as error:
        return UnreadableRecord(number, str(error))
    except (ValueError, InvalidObjectError) as error:
        return UnreadableRecord(number, str(error))
    if isinstance(found, DnsAnswer) or not isinstance(found, Flow):
        return found
    time = _time(row.get("TimeGenerated"))
    return msgspec.structs.replace(found, count=count, first=time, last=time)


def _count(row: Mapping[str, Any]) -> int:
    """Return how many flows a row stands for; 0 where it was seen only where they arrive."""
    return sum(_number(row.get(each)) for each in _COUNTS) if _is_counted(row) else 1


def _is_counted(row: Mapping[str, Any]) -> bool:
    """Return whether a row is aggregated, so that its direction is that of any of its flows."""
    return any(_number(row.get(each)) for each in (*_COUNTS, _ARRIVED))


def _number(value: Any) -> int:
    if value is None or value == "":
        return 0
    if not isinstance(value, int | str):
        raise ValueError(f"counts {value!r} flows")  # noqa: TRY004 (a value, not a caller)
    number = int(value)
    if number < 0:
        raise ValueError(f"counts {number} flows")
    return number


def _hubble(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row by Hubble's names of its fields."""
    layer7 = _nested(row.get("Layer7"))
    return {
        "verdict": row.get("Verdict") or "",
        "IP": _nested(row.get("IP")) or {},
        "l4": _nested(row.get("Layer4")) or {},
        "source": _end(row, "Source"),
        "destination": _end(row, "Destination"),
        "destination_service": _nested(row.get("Service")) or None,
        "traffic_direction": "" if _is_counted(row) else row.get("TrafficDirection") or "",
        "is_reply": _is_true(row.get("Reply")),
        "l7": layer7 or None,
    }


def _end(row: Mapping[str, Any], which: str) -> dict[str, Any]:
    listed = _nested(row.get(f"{which}Workloads"))
    found = listed if isinstance(listed, list) else []
    workloads = [each for each in found if isinstance(each, dict)]
    return {
        "namespace": row.get(f"{which}Namespace") or "",
        "pod_name": row.get(f"{which}PodName") or "",
        "workloads": workloads,
    }


def _nested(value: Any) -> Any:
    """Return a dynamic column: JSON, or its text."""
    if not isinstance(value, str):
        return value
    return json.loads(value) if value.strip() else None


def _is_true(value: Any) -> bool:
    return value is True or (isinstance(value, str) and value.strip().lower() == "true")


def _time(value: Any) -> float | None:
    try:
        return seconds_of(value) if isinstance(value, str) else None
    except ValueError:
        return None
