"""Reads records of Azure's activity log, as exports and as the REST API write them. Pure.

One operation has several records: that it began, perhaps that it was accepted, how it ended. Only
the last counts; what was asked for often stands only in the first, so `Begun` remembers it for a
while. What `facts` has is written in `audit.access.parsers.activity_facts`.
"""

import re
from collections import OrderedDict
from hashlib import sha256
from itertools import islice
from typing import Any, Final

import msgspec

from audit.access.parsers.activity_facts import facts_of, topics_of
from audit.access.parsers.caller_networks import CallerLocator
from audit.access.parsers.log_times import parse_log_time
from audit.access.parsers.redaction import scrub, scrub_document
from audit.access.parsers.setting_facts import ASKED
from audit.access.parsers.storage_paths import account_of
from audit.access.parsers.store_index import WeightStores
from core.base.errors import UnreadableRecordError
from core.base.ids import stable_id
from core.people.subject import pseudonymous_user
from core.weights.documents.events import FORMAT, Activity, Log, Topic

_MOST_BEGUN: Final = 4096

MOST_KEPT: Final = 256
"""Operations that a restart does not forget: an operation of Azure's ends within minutes."""

MOST_KEPT_BYTES: Final = 1024 * 1024

_Row = tuple[tuple[str, str, str], dict[str, Any]]
_MOST_BODY: Final = 64 * 1024
_MOST_WORD: Final = 1024
_BACKUPS: Final = "/backupinstances/"
"""A backup's name begins with that of the account that it is of."""

_MOST_DEPTH: Final = 12
"""As deep as a rule of lifecycle management, and some more."""

_UNFINISHED: Final = frozenset({"start", "started", "accept", "accepted", "begin", "inprogress"})
_FAILED: Final = frozenset(
    {"failure", "failed", "fail", "error", "canceled", "cancelled", "timeout"}
)
_OBJECT_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_CLAIMS: Final = "http://schemas.microsoft.com/identity/claims/"
_NO_BODY: Final[dict[str, Any]] = {}


class BegunOperations:
    """What operations asked for that have begun and not ended; the oldest are forgotten first."""

    def __init__(self, most: int = _MOST_BEGUN) -> None:
        self._most = most
        self._bodies: OrderedDict[tuple[str, str, str], dict[str, Any]] = OrderedDict()
        self.noted = 0
        """How often something was."""

    def note(self, key: tuple[str, str, str], body: dict[str, Any]) -> None:
        """Remember what an operation asked for."""
        self.noted += 1
        self._bodies[key] = body
        self._bodies.move_to_end(key)
        if len(self._bodies) > self._most:
            self._bodies.popitem(last=False)

    def of(self, key: tuple[str, str, str]) -> dict[str, Any]:
        """Return what an operation asked for; nothing where it is not known."""
        return self._bodies.get(key, _NO_BODY)

    def saved(self) -> bytes:
        """Return those that began last as MessagePack.

        No more than MOST_KEPT, or MOST_KEPT_BYTES.
        """
        rows: list[bytes] = []
        room = MOST_KEPT_BYTES
        for key, body in islice(reversed(self._bodies.items()), MOST_KEPT):
            rows.append(msgspec.msgpack.encode((key, body)))
            room -= len(rows[-1])
            if room < 0:
                break
        return msgspec.msgpack.encode(rows[::-1])

    def restore(self, content: bytes) -> None:
        """Take back what `saved` gave, and forget all else.

        Raises:
            ValueError: it is none.
        """
        self._bodies.clear()
        for row in msgspec.msgpack.decode(content, type=list[bytes]):
            key, body = msgspec.msgpack.decode(row, type=_Row)
            self._bodies[key] = body


def activity_kind(low: dict[str, Any]) -> str:
    """Say which kind of record one is that gave no activity; its keys are in lower case."""
    operation = _word(low, "operationname", "operationnamevalue").lower()
    unfinished = _status(low) in _UNFINISHED
    return f"azure-activity{', not ended' if unfinished else ''}: {operation}"


def _status(record: dict[str, Any]) -> str:
    return _word(record, "resulttype", "status", "activitystatusvalue").lower()


def activities_of(  # noqa: PLR0913, PLR0917  As other logs, and what has begun.
    found: dict[str, Any],
    cluster: str,
    source: str,
    stores: WeightStores,
    callers: CallerLocator,
    begun: BegunOperations,
) -> tuple[Activity, ...]:
    """Return the activities of a record; nothing where it is of no concern here, or of no end.

    One that sets several things gives one activity for each. One that names the account of a
    WeightStore is never of no concern.

    Raises:
        UnreadableRecordError: it is none; with the reason and the field.
    """
    record = {name.lower(): value for name, value in found.items()}
    logged = _word(record, "operationname", "operationnamevalue")
    if not logged:
        raise UnreadableRecordError("is missing", "operationName")
    operation, resource = logged.lower(), _word(record, "resourceid", "_resourceid").lower()
    key = (_word(record, "correlationid"), operation, resource)
    body = _body(record)
    status = _status(record)
    if status in _UNFINISHED:
        if body and topics_of(operation, body):
            begun.note(key, body)
        return ()
    body = {**begun.of(key), **body}
    topics = topics_of(operation, body)
    named = ""
    if not topics:
        named = stores.named_in(msgspec.json.encode(found).decode().lower())
        if not named:
            return ()
        topics = (Topic.OTHER,)
    unix_ms, time = parse_log_time(_word(record, "time", "eventtimestamp", "timegenerated"))
    asked = _Asker(record, callers)
    account, container = (
        account_of(resource),
        resource.partition("/containers/")[2].partition("/")[0],
    )
    if _BACKUPS in resource:
        named = stores.named_in(resource.rpartition("/")[2])
    told = "/".join(key) if key[0] else sha256(msgspec.json.encode(found)).hexdigest()

    def of(topic: Topic) -> Activity:
        facts = facts_of(topic, operation, resource, body)
        if asked.tenant:
            facts["callerTenant"] = asked.tenant
        activity = Activity(
            format=FORMAT,
            id=stable_id(unix_ms, "activity", told, status, topic.value),
            time=time,
            cluster=cluster,
            log=Log.AZURE,
            topic=topic,
            operation=logged[:_MOST_WORD],
            succeeded=status not in _FAILED,
            resource=_unnamed(resource)[:_MOST_WORD],
            account=account,
            container=container[:_MOST_WORD],
            store=stores.find(account, container) if account else named,
            principal=asked.principal,
            application=asked.application,
            address=asked.address,
            facts=facts,
            source=source,
        )
        return scrub_document(activity)

    return tuple(map(of, topics))


class _Asker:
    """Who asked for an operation, by the claims of the token; no name of a person stays."""

    def __init__(self, record: dict[str, Any], callers: CallerLocator) -> None:
        identity = _object(record.get("identity"))
        claims = _object(record.get("claims") or record.get("claims_d") or identity.get("claims"))
        request = _object(record.get("httprequest"))
        caller = _word(record, "caller")
        own = claims.get(f"{_CLAIMS}objectidentifier") or claims.get("oid")
        principal = own.lower() if isinstance(own, str) else caller.lower()
        self.principal = (
            principal if _OBJECT_ID.fullmatch(principal) else pseudonymous_user(principal)
        )
        application = claims.get("appid") or claims.get("azp")
        self.application = _id(application)
        self.tenant = _id(claims.get(f"{_CLAIMS}tenantid") or claims.get("tid"))
        address = _word(record, "calleripaddress") or request.get("clientIpAddress")
        address = address or claims.get("ipaddr")
        self.address = callers.of(address)[0] if isinstance(address, str) else ""


def _unnamed(resource: str) -> str:
    """Return a resource id without the name of a local user."""
    head, found, rest = resource.partition("/localusers/")
    user, _, below = rest.partition("/")
    return f"{head}{found}{pseudonymous_user(user)}/{below}".rstrip("/") if found else resource


def _id(value: Any) -> str:
    """Return an id of Entra's; nothing where it is none."""
    low = value.lower() if isinstance(value, str) else ""
    return low if _OBJECT_ID.fullmatch(low) else ""


def _word(record: dict[str, Any], *names: str) -> str:
    """Return the first of these fields; the REST API writes `{"value": …, "localizedValue": …}`."""
    for name in names:
        value = record.get(name)
        if isinstance(value, dict):
            value = value.get("value")
        if isinstance(value, str) and value:
            return scrub(value) if name != "caller" else value
    return ""


def _object(value: Any) -> dict[str, Any]:
    """Return an object, also one that is written as JSON in a text; nothing where it is none."""
    if isinstance(value, str) and len(value) <= _MOST_BODY:
        try:
            value = msgspec.json.decode(value)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _body(record: dict[str, Any]) -> dict[str, Any]:
    """Return what was asked for, else what came of it.

    Keys in lower case, `properties` taken out.
    """
    properties = _object(record.get("properties") or record.get("properties_d"))
    low = {name.lower(): value for name, value in properties.items()}
    found: dict[str, Any] = {}
    for name in ("responsebody", "requestbody"):
        body = _lowered(_object(low.get(name)), _MOST_DEPTH)
        inner = body.pop("properties", None)
        body |= inner if isinstance(inner, dict) else {}
        found |= body
        if name == "requestbody" and body:
            found[ASKED] = sorted(body)
    return found


def _lowered(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return {
            str(name).lower(): _lowered(item, depth - 1) for name, item in value.items() if depth
        }
    if isinstance(value, list):
        return [_lowered(item, depth - 1) for item in value if depth]
    return value
