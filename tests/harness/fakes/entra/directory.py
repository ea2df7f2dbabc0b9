"""What the fake Entra knows, and how Graph gives it: `$filter`, `$select`, `$top`, next links."""

import base64
import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from identity.entra.graph_requests import Resource
from identity.entra.values import seconds_of

Record = dict[str, Any]
"""An object of Graph; it has names, mail and addresses as Graph's has, for a test to look for."""

MOST_TOP: Final = 999
_MOST_RISK_TOP: Final = 500
_DEFAULT_TOP: Final = 20
_MOST_IN: Final = 15

_GE: Final = re.compile(r"(\w+DateTime) ge (\S+)")
_IN: Final = re.compile(r"(appId|id) in \(((?:'[0-9a-f-]{36}',?)+)\)")
_EQ: Final = re.compile(r"(\w+) eq '(\w+)'")

PATHS: Final = {resource.path: resource for resource in Resource}


class RefusedQueryError(Exception):
    """Graph answers 400."""


def written(seconds: float) -> str:
    """Write a time as Graph does, with seven digits of a second."""
    at = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond:06d}0Z"


def canaries_of(object_id: str) -> dict[str, str]:
    """Return what must never be found anywhere.

    What the fake says of an identity beside its risk.
    """
    word = object_id[:8]
    return {
        "userDisplayName": f"Canary Person {word}",
        "userPrincipalName": f"canary.{word}@canary.example",
        "ipAddress": "203.0.113.77",
    }


@dataclass
class Directory:
    """The tenant's objects by resource and id."""

    objects: dict[Resource, dict[str, Record]] = field(
        default_factory=lambda: {each: {} for each in Resource}
    )
    unfiltered: set[Resource] = field(default_factory=set)
    """Resources that refuse to compare times, as some of Graph's do."""

    def page(self, resource: Resource, query: Mapping[str, str], address: str) -> Record:
        """Return a page as Graph does.

        Raises:
            RefusedQueryError: the query has what Graph does not take.
        """
        unknown = query.keys() - {"$filter", "$select", "$top", "$skiptoken"}
        if unknown:
            raise RefusedQueryError(f"unknown options {sorted(unknown)}")
        top = int(query.get("$top", str(_DEFAULT_TOP)))
        most = _MOST_RISK_TOP if resource.changed else MOST_TOP
        if not 1 <= top <= most:
            raise RefusedQueryError(f"$top beyond {most}")
        matches = self._filter(resource, query.get("$filter", ""))
        after = _read_token(query.get("$skiptoken", ""))
        found = sorted((each for each in self._objects(resource) if matches(each)), key=_id)
        left = [each for each in found if _id(each) > after]
        page: Record = {
            "@odata.context": f"{address}/v1.0/$metadata#x",
            "value": [_selected(each, query.get("$select", "")) for each in left[:top]],
        }
        if len(left) > top:
            token = base64.urlsafe_b64encode(_id(left[top - 1]).encode()).decode()
            kept = {name: value for name, value in query.items() if name != "$skiptoken"}
            options = "&".join(f"{k}={quote(v)}" for k, v in {**kept, "$skiptoken": token}.items())
            page["@odata.nextLink"] = f"{address}{resource.path}?{options}"
        return page

    def _objects(self, resource: Resource) -> Iterable[Record]:
        return self.objects[resource].values()

    def _filter(self, resource: Resource, text: str) -> Callable[[Record], bool]:
        if not text:
            return lambda _: True
        if found := _GE.fullmatch(text):
            name, since = found[1], seconds_of(found[2])
            if since is None or name != resource.changed or resource in self.unfiltered:
                raise RefusedQueryError("this filter is not supported")
            return lambda each: (seconds_of(each[name]) or 0) >= since
        if found := _IN.fullmatch(text):
            name, ids = found[1], found[2].replace("'", "").strip(",").split(",")
            if len(ids) > _MOST_IN:
                raise RefusedQueryError("too many child clauses specified in search filter")
            return lambda each: each[name] in ids
        if found := _EQ.fullmatch(text):
            name, value = found[1], found[2]
            return lambda each: each.get(name) == value
        raise RefusedQueryError("invalid filter clause")


def _id(record: Record) -> str:
    return str(record.get("id", ""))


def _selected(record: Record, select: str) -> Record:
    if not select:
        return record
    wanted = select.split(",")
    return {name: value for name, value in record.items() if name in wanted}


def _read_token(token: str) -> str:
    try:
        return base64.urlsafe_b64decode(token).decode()
    except ValueError as error:
        raise RefusedQueryError("skip token is not valid") from error


def encoded(value: Any) -> bytes:
    """Write JSON."""
    return json.dumps(value).encode()
