"""Queries as Sigma rules, version 2.1. Pure.

github.com/SigmaHQ/sigma-specification: a detection rule for the rows, and where rows are counted a
correlation rule beside it. Sigma knows no value that whoever installs it fills in: those stand as
placeholders (`expand`), which pySigma's pipelines fill.
"""

import uuid
from collections.abc import Iterator
from typing import Any, Final

import yaml

from audit.access.model.detection import Detection
from audit.siem.queries import PARAMETERS, Condition, Count, Match, SiemQuery, SiemRule, Table
from core.weights.documents.events import Severity

_SPACE: Final = uuid.UUID("4f1d3a52-1a4a-4bfb-8f0b-5d0c8a3f9e61")
"""Of the ids of these rules: the same rule always has the same."""

_SERVICES: Final = {
    Table.STORAGE: "storagebloblogs",
    Table.ACTIVITY: "activitylogs",
    Table.ENTRA: "auditlogs",
}
_MODIFIERS: Final = {
    Match.IS: "",
    Match.STARTS: "|startswith",
    Match.CONTAINS: "|contains",
}
_ADDRESS: Final = "CallerIpAddress"
_ATLAS: Final = "https://atlas.mitre.org/techniques/"
_LEVELS: Final = {each: each.value for each in Severity}

Json = dict[str, Any]


def can_say(query: SiemQuery) -> bool:
    """Return whether Sigma can say a query: it takes no port off an address."""
    return query.count is None or _ADDRESS not in {query.count.distinct, *query.count.by}


def render_sigma(rule: SiemRule, detection: Detection) -> str:
    """Return the file of a rule: YAML, one document for each Sigma rule; empty where none is."""
    documents = [
        one
        for number, query in enumerate(rule.queries)
        if can_say(query)
        for one in _rules(rule, detection, number)
    ]
    if not documents:
        return ""
    made: str = yaml.safe_dump_all(
        documents, sort_keys=False, allow_unicode=True, width=100, explicit_start=True
    )
    return made


def _rules(rule: SiemRule, detection: Detection, number: int) -> Iterator[Json]:
    query = rule.queries[number]
    name = f"sallyport_{rule.detection.replace('-', '_')}_{number + 1}"
    more = f": {query.says}" if len(rule.queries) > 1 and query.says else ""
    head: Json = {
        "title": f"{detection.title}{more}"[:256],
        "id": str(uuid.uuid5(_SPACE, name)),
        "name": name,
        "status": "experimental",
        "description": _description(rule, detection),
        "author": "Sallyport",
        **_tagged(detection),
        "level": _LEVELS[detection.severity],
    }
    selected: Json = {"selection": dict(_fields(query, negated=False))}
    condition = "selection"
    if apart := dict(_fields(query, negated=True)):
        selected["apart"] = apart
        condition = "selection and not apart"
    row = {
        "logsource": {"product": "azure", "service": _SERVICES[query.table]},
        "detection": {**selected, "condition": condition},
    }
    if query.count is None:
        yield head | row
        return
    base = {"title": f"{head['title']}: one row", "name": f"{name}_row", "status": "experimental"}
    yield base | {"id": str(uuid.uuid5(_SPACE, f"{name}_row"))} | row | {"level": "informational"}
    yield head | {"correlation": _correlation(query.count, f"{name}_row")}


def _correlation(count: Count, row: str) -> Json:
    condition: Json = {"gte": count.least}
    kind = "event_count"
    if count.total:
        kind, condition = "value_sum", condition | {"field": count.total}
    elif count.distinct:
        kind, condition = "value_count", condition | {"field": count.distinct}
    return {
        "type": kind,
        "rules": [row],
        "group-by": list(count.by),
        "timespan": f"{count.hours}h",
        "condition": condition,
    }


def _fields(query: SiemQuery, *, negated: bool) -> Iterator[tuple[str, Any]]:
    for each in query.conditions:
        if each.negated is negated:
            yield _key(each), list(each.values) if len(each.values) > 1 else _value(each)


def _key(condition: Condition) -> str:
    expand = "|expand" if set(condition.values) <= PARAMETERS else ""
    return f"{condition.column}{_MODIFIERS[condition.match]}{expand}"


def _value(condition: Condition) -> str:
    (value,) = condition.values
    return f"%{value}%" if value in PARAMETERS else value


def _tagged(detection: Detection) -> Json:
    """Return the techniques: Sigma has a namespace for ATT&CK, and none for ATLAS."""
    tags = [f"attack.{each.lower()}" for each in detection.techniques if each.startswith("T")]
    atlas = [f"{_ATLAS}{each}" for each in detection.techniques if not each.startswith("T")]
    return ({"references": atlas} if atlas else {}) | ({"tags": tags} if tags else {})


def _description(rule: SiemRule, detection: Detection) -> str:
    besides = f" The detection sees besides: {rule.leaves_out}" if rule.leaves_out else ""
    return f"As Sallyport's detection {rule.detection}.{besides} {detection.remedy}".strip()
