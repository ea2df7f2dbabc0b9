"""A report as OCSF 1.6 events, a line each: findings, sums of accesses, entries of other logs.

Datastore Activity (6005) and API Activity (6003) have `count`, `start_time` and `end_time` where an
event stands for many; so a report of a million accesses has as many events as rows.
"""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from audit.reports.display_text import report_line
from audit.reports.model import ActivityCount, FindingRow, PrincipalRow, Report
from audit.reports.periods import unix_ms_of

VERSION: Final = "1.6.0"

_SEVERITIES: Final = MappingProxyType({"low": 2, "medium": 3, "high": 4, "critical": 5})
_INFORMATIONAL: Final = 1
_NOT_KNOWN: Final = "not recorded"
_BUCKET: Final = 99
_SAMPLE: Final = "sample: made up"
"""Label of what nobody did: `sallyport report --sample`."""

_STATUSES: Final = MappingProxyType(
    {"new": 1, "investigating": 2, "contained": 2, "falseAlarm": 3, "accepted": 3}
)
"""New; In Progress; Suppressed."""

_IP_ADDRESS, _USER_NAME, _RESOURCE = 2, 4, 10
"""Types of observables."""

_READ, _LIST = 1, 6
"""Activities of Datastore Activity: Read; List."""

Json = dict[str, Any]


def render_ocsf(report: Report) -> bytes:
    """Return the events, one a line."""
    lines = (
        json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in _events(report)
    )
    return "".join(f"{line}\n" for line in lines).encode()


def _events(report: Report) -> Iterator[Json]:
    for finding in report.findings:
        yield _finding(report, finding)
    for row in report.principals:
        if row.sums.reads:
            yield _access(report, row, _READ, row.sums.reads)
        if row.sums.lists:
            yield _access(report, row, _LIST, row.sums.lists)
    for activity in report.activities:
        yield _activity(report, activity)


def _event(report: Report, uid: int, activity: int, time: str, severity: int) -> Json:
    """Return what every event has; `uid` is its class, whose thousands are its category."""
    return {
        "activity_id": activity,
        "category_uid": uid // 1000,
        "class_uid": uid,
        "type_uid": uid * 100 + activity,
        "time": unix_ms_of(time) or unix_ms_of(report.scope.begin),
        "severity_id": severity,
        "metadata": {
            "version": VERSION,
            "product": {"name": "Sallyport", "vendor_name": "Sallyport"},
            "correlation_uid": report.digest,
        }
        | ({"labels": [_SAMPLE]} if report.scope.sample else {}),
    }


def _finding(report: Report, row: FindingRow) -> Json:
    event = _event(report, 2004, 1, row.time, _SEVERITIES[row.severity])
    event["metadata"]["uid"] = row.id
    event["message"] = report_line(row.title)
    event["count"] = max(row.events, 1)
    event["start_time"] = unix_ms_of(row.first)
    event["end_time"] = unix_ms_of(row.last)
    info: Json = {
        "uid": row.id,
        "title": report_line(row.title),
        "desc": report_line(row.detail),
        "types": [row.detection],
        "first_seen_time": unix_ms_of(row.first),
        "last_seen_time": unix_ms_of(row.last),
        "analytic": {"name": row.detection, "type_id": 1, "uid": row.detection},
    }
    if row.techniques:
        info["attacks"] = [{"technique": {"uid": each}} for each in row.techniques]
    event["finding_info"] = info
    event["remediation"] = {"desc": report_line(row.remedy)}
    seen = _evidence(report, row)
    records = [{"data": {"record": each}} for each in row.evidence]
    if seen or records:
        event["evidences"] = [*seen, *records]
    if row.store:
        event["resources"] = [
            {"uid": row.store, "name": row.store, "type": "WeightStore"}
            | ({"labels": [f"cluster:{each}" for each in report.scope.clusters]})
        ]
    if observed := list(_observables(row)):
        event["observables"] = observed
    progress = row.progress
    event["status_id"] = _STATUSES[progress.state]
    if progress.deciding_note:
        event["comment"] = report_line(progress.deciding_note)
    event["unmapped"] = {
        "state": progress.state,
        "owner": progress.owner,
        "accepted_until": progress.accepted_until,
        "bytes": row.bytes,
        "counted": row.counted,
        "more_evidence": row.more_evidence,
        "store": row.store,
        "who": row.who,
    }
    return event


def _evidence(report: Report, row: FindingRow) -> list[Json]:
    """Return who did it from where: an artifact for each address."""
    who = {"actor": _actor(report.people, row.who)} if row.who else {}
    place = {"databucket": _bucket(row.store)} if row.store else {}
    found = [who | place | {"src_endpoint": {"ip": each}} for each in row.addresses]
    return found or ([who | place] if who else [])


def _observables(row: FindingRow) -> Iterator[Json]:
    """Yield what a SIEM looks for in other logs."""
    for address in row.addresses:
        yield _observable("evidences.src_endpoint.ip", _IP_ADDRESS, address)
    for name in dict.fromkeys([*([row.who] if row.who else []), *row.requesters]):
        yield _observable("evidences.actor.user.uid", _USER_NAME, name)
    if row.store:
        yield _observable("resources.uid", _RESOURCE, row.store)


def _observable(name: str, kind: int, value: str) -> Json:
    return {"name": name, "type_id": kind, "value": report_line(value)}


def _bucket(store: str) -> Json:
    return {"name": store, "uid": store, "type_id": _BUCKET, "type": "WeightStore"}


def _access(report: Report, row: PrincipalRow, activity: int, count: int) -> Json:
    odd = row.ungranted > 0
    event = _event(report, 6005, activity, row.last, _SEVERITIES["high"] if odd else _INFORMATIONAL)
    event |= {
        "actor": _actor(report.people, row.who),
        "src_endpoint": _endpoint(row.addresses),
        "databucket": _bucket(row.store),
        "count": count,
        "start_time": unix_ms_of(row.first),
        "end_time": unix_ms_of(row.last),
        "status_id": 1,
        "unmapped": {
            "bytes_out": row.sums.bytes_out if activity == _READ else 0,
            "signed_by": row.signed_by,
            "grants": row.grants,
            "approvers": row.approvers,
            "humans": row.humans,
            "service_accounts": row.service_accounts,
            "ungranted": row.ungranted,
            "confidence": row.confidence,
        },
    }
    return event


def _activity(report: Report, row: ActivityCount) -> Json:
    event = _event(report, 6003, 99, row.last, _INFORMATIONAL)
    event |= {
        "activity_name": row.topic,
        "actor": _actor(report.people, row.principals[0] if row.principals else _NOT_KNOWN),
        "api": {"operation": row.topic, "service": {"name": row.log}},
        "src_endpoint": _endpoint(row.addresses),
        "count": row.succeeded + row.failed,
        "status_id": 1 if row.succeeded else 2,
        "unmapped": {"store": row.store, "principals": row.principals, "failed": row.failed},
    }
    return event


def _actor(people: Mapping[str, str], who: str) -> Json:
    user: Json = {"uid": report_line(who)}
    if who in people:
        user["name"] = report_line(people[who])
    return {"user": user}


def _endpoint(addresses: list[str]) -> Json:
    return {"ip": addresses[0]} if addresses else {"name": _NOT_KNOWN}
