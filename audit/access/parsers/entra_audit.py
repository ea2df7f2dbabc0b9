"""Reads records of Entra ID's audit log that tell of credentials, keys, roles and owners. Pure.

Federated credentials of managed identities stand in Azure's activity log; those of app
registrations here, as a changed property of the application: `FederatedIdentityCredentials`, the
whole list before and after. `facts` are those of FEDERATED_CREDENTIAL
(`audit.access.parsers.activity_facts`), and `before`: `issuer subject` of the credential of that
name, where there was one. Other changes that name a credential, key, role, owner or consent are
OTHER, and say what changed by the names of the properties: `changed`, `targets`, `service`.
That a Global Administrator took the right to give roles on all subscriptions is ELEVATED_ACCESS
(category `AzureRBACRoleManagementElevateAccess`; Microsoft Learn, "Elevate access to manage all
Azure subscriptions and management groups").

The log has three shapes: a diagnostic setting's (category `AuditLogs`, the entry in `properties`),
the table `AuditLogs` of Log Analytics (flat, `TimeGenerated`, columns of type dynamic as objects or
as JSON in a text), and Microsoft Graph's `directoryAudit` (flat, without `operationName`).
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from audit.access.parsers.caller_networks import CallerLocator
from audit.access.parsers.log_times import parse_log_time
from audit.access.parsers.redaction import scrub_document, scrub_fields
from core.base.errors import UnreadableRecordError
from core.base.ids import stable_id
from core.weights.documents.events import FORMAT, Activity, Log, Topic

CATEGORY: Final = "auditlogs"
"""Of a diagnostic setting, and the `Type` of the table; in lower case."""

_OF_CONCERN: Final = re.compile(
    r"credential|certificate|secret|password|\bkeys?\b|key ?description|key ?credential|\brole|"
    r"permission|consent|grant|\bowner|elevat|service principal|federat|application",
    re.IGNORECASE,
)
"""What names a credential, key or role. Of `Update application` the changed properties decide."""

_ORDINARY: Final = re.compile(
    r"user (changed|reset|registered)|self-service|"
    r"password (reset|change|writeback)|update (application|service principal)$",
    re.IGNORECASE,
)
"""Activities whose name says too much: people's own passwords; updates of whatever property."""

_MOST_TARGETS: Final = 8
_MOST_TEXT: Final = 1024 * 1024
_DYNAMIC: Final = frozenset({"initiatedby", "targetresources"})
"""Columns of type dynamic: their value may be JSON in a text."""

_ELEVATED: Final = re.compile(r"has elevated their access", re.IGNORECASE)
_ELEVATION_CATEGORY: Final = "azurerbacrolemanagementelevateaccess"
_ROOT: Final = "/providers/microsoft.authorization"

_PROPERTY: Final = "federatedidentitycredentials"
_MOST_CREDENTIALS: Final = 64
_MOST_WORD: Final = 256

_Change = tuple[Topic, str, dict[str, Any], str]
"""Topic, resource, facts, and the id of the target."""


def is_entra_audit(low: dict[str, Any]) -> bool:
    """Return whether a record, its keys in lower case, is of Entra ID's audit log, in any shape."""
    words = (low.get("category"), low.get("type"))
    known = {CATEGORY, _ELEVATION_CATEGORY}
    if any(isinstance(word, str) and word.lower() in known for word in words):
        return True
    return "targetresources" in low and ("initiatedby" in low or "activitydisplayname" in low)


def parse_entra(
    low: dict[str, Any], cluster: str, source: str, callers: CallerLocator
) -> tuple[Activity, ...]:
    """Return an activity for each credential that changed, else one of all that is of concern.

    `low` is the record, its keys in lower case.

    Raises:
        UnreadableRecordError: it is no record of Entra ID's audit log.
    """
    entry = _entry(low)
    operation = str(low.get("operationname") or entry.get("activitydisplayname") or "")
    changes = [
        (Topic.FEDERATED_CREDENTIAL, f"application/{target}/{facts['credential']}", facts, target)
        for target, facts in _changes(entry)
    ] or _elevations(operation)
    changes = changes or _others(entry, operation)
    if not changes:
        return ()
    unix_ms, time = parse_log_time(_first(low, entry, "time", "timegenerated", "activitydatetime"))
    succeeded = str(entry.get("result") or "success").lower() == "success"
    record = _first(entry, entry, "id", "correlationid")
    principal, application, address = _asker(entry)
    return tuple(
        scrub_document(
            Activity(
                format=FORMAT,
                id=stable_id(unix_ms, "activity", "entra", record, told, str(facts)),
                time=time,
                cluster=cluster,
                log=Log.AZURE,
                topic=topic,
                operation=operation[:_MOST_WORD],
                succeeded=succeeded,
                resource=resource,
                principal=principal,
                application=application,
                address=callers.of(address)[0],
                facts=facts,
                source=source,
            )
        )
        for topic, resource, facts, told in changes
    )


def entra_kind(low: dict[str, Any]) -> str:
    """Say which kind of record one is that gave no activity; its keys are in lower case."""
    entry = _entry(low)
    return f"entra-audit: {low.get('operationname') or entry.get('activitydisplayname') or ''}"


def _entry(low: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of the audit log, its own keys in lower case: `properties`, or the record.

    Raises:
        UnreadableRecordError: there is none.
    """
    properties = _decoded(low.get("properties"))
    entry = low
    if isinstance(properties, dict):
        entry = {str(name).lower(): value for name, value in properties.items()}
    elif "properties" in low or not ({"targetresources", "initiatedby"} & low.keys()):
        raise UnreadableRecordError("is no object", "properties")
    shaped = {name: _decoded(entry[name]) for name in _DYNAMIC & entry.keys()}
    for name, value in shaped.items():
        if not isinstance(value, dict | list | None):
            raise UnreadableRecordError("is neither an object nor a list", name)
    return entry | shaped


def _decoded(value: Any) -> Any:
    """Return what a text holds as JSON, whatever else as it is; a text that is none stays one."""
    if not isinstance(value, str) or len(value) > _MOST_TEXT:
        return value
    if not value.strip():
        return None
    try:
        return msgspec.json.decode(value)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return value


def _first(one: dict[str, Any], other: dict[str, Any], *names: str) -> str:
    return next((str(each[name]) for name in names for each in (one, other) if each.get(name)), "")


def _elevations(operation: str) -> list[_Change]:
    """Return that access was elevated over all subscriptions; taking that back is another entry."""
    if not _ELEVATED.search(operation):
        return []
    return [(Topic.ELEVATED_ACCESS, _ROOT, {"change": "action", "body": True}, "elevated")]


def _others(entry: dict[str, Any], operation: str) -> list[_Change]:
    """Return what a record says of credentials, keys, roles and owners; nothing where it is none.

    Their values are left: of a key or password the log has a hint, of people the names.
    """
    targets = _objects(entry.get("targetresources"))[:_MOST_TARGETS]
    changed = sorted(
        {
            str(each.get("displayName", ""))[:_MOST_WORD]
            for target in targets
            for each in _objects(target.get("modifiedProperties"))
            if each.get("oldValue") != each.get("newValue")
        }
    )
    told = " ".join(changed) if _ORDINARY.search(operation) else f"{operation} {' '.join(changed)}"
    if not _OF_CONCERN.search(told):
        return []
    marks = [
        f"{target.get('type', '')} {str(target.get('id', '')).lower()}"[:_MOST_WORD].strip()
        for target in targets
    ]
    said = {
        "change": "delete" if operation.lower().startswith(("remove", "delete")) else "write",
        "body": True,
        "changed": changed,
        "targets": marks,
        "service": str(entry.get("loggedbyservice") or "")[:_MOST_WORD],
    }
    first = marks[0].rpartition(" ")[2] if marks else ""
    return [(Topic.OTHER, f"directory/{first}", scrub_fields(said), first)]


def _changes(entry: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the application and the facts of each credential that is not what it was."""
    for target in _objects(entry.get("targetresources")):
        application = str(target.get("id", "")).lower()[:_MOST_WORD]
        for changed in _objects(target.get("modifiedProperties")):
            if str(changed.get("displayName", "")).lower() != _PROPERTY:
                continue
            before, after = (
                _credentials(changed.get("oldValue")),
                _credentials(changed.get("newValue")),
            )
            for name in sorted(before.keys() | after.keys()):
                if before.get(name) != after.get(name):
                    yield application, _facts(application, name, before.get(name), after.get(name))


def _facts(
    application: str, name: str, before: dict[str, Any] | None, after: dict[str, Any] | None
) -> dict[str, Any]:
    told = after or before or {}
    facts: dict[str, Any] = {
        "change": "write" if after else "delete",
        "body": True,
        "identity": f"application/{application}",
        "credential": name,
    }
    for field in ("issuer", "subject", "audiences"):
        if told.get(field):
            facts[field] = told[field]
    if before and after:
        facts["before"] = f"{before.get('issuer', '')} {before.get('subject', '')}"
    return scrub_fields(facts)


def _credentials(text: Any) -> dict[str, dict[str, Any]]:
    """Read the list of credentials, which is JSON in a text, by name; keys in lower case."""
    try:
        listed = msgspec.json.decode(text) if isinstance(text, str) else text
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        listed = None
    found: dict[str, dict[str, Any]] = {}
    for each in _objects(listed)[:_MOST_CREDENTIALS]:
        low = {name.lower(): value for name, value in each.items()}
        found[str(low.get("name", ""))[:_MOST_WORD]] = low
    return found


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _asker(entry: dict[str, Any]) -> tuple[str, str, str]:
    """Return object id, client id and address of who did it; their names are left."""
    by = entry.get("initiatedby")
    by = by if isinstance(by, dict) else {}
    user, app = by.get("user"), by.get("app")
    user, app = user if isinstance(user, dict) else {}, app if isinstance(app, dict) else {}
    principal = user.get("id") or app.get("servicePrincipalId") or ""
    application, address = app.get("appId") or "", user.get("ipAddress") or ""
    words = (principal, application, address)
    principal, application, address = (word if isinstance(word, str) else "" for word in words)
    return principal.lower()[:_MOST_WORD], application.lower()[:_MOST_WORD], address
