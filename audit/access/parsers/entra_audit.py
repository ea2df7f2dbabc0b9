"""Reads records of Entra ID's audit log that tell of federated credentials of applications. Pure.

Those of managed identities stand in Azure's activity log; those of app registrations here, as a
changed property of the application: `FederatedIdentityCredentials`, the whole list before and
after. `facts` are those of FEDERATED_CREDENTIAL (`audit.access.parsers.activity_facts`), and
`before`: `issuer subject` of the credential of that name, where there was one.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from audit.access.parsers.caller_networks import CallerLocator
from audit.access.parsers.log_times import parse_log_time
from audit.access.parsers.redaction import scrub_document, scrub_fields
from core.base.errors import UnreadableRecordError
from core.base.ids import stable_id
from core.weights.documents.events import FORMAT, Activity, Log, Topic

CATEGORY: Final = "AuditLogs"

_PROPERTY: Final = "federatedidentitycredentials"
_MOST_CREDENTIALS: Final = 64
_MOST_WORD: Final = 256


def parse_entra(
    found: dict[str, Any], cluster: str, source: str, callers: CallerLocator
) -> tuple[Activity, ...]:
    """Return an activity for each credential that was made, changed or deleted.

    Raises:
        UnreadableRecordError: it is no record of Entra ID's audit log.
    """
    properties = found.get("properties")
    if not isinstance(properties, dict):
        raise UnreadableRecordError("is no object", "properties")
    changes = list(_changes(properties))
    if not changes:
        return ()
    unix_ms, time = parse_log_time(
        str(found.get("time") or properties.get("activityDateTime") or "")
    )
    succeeded = str(properties.get("result", "success")).lower() == "success"
    record = str(properties.get("id") or properties.get("correlationId") or "")
    principal, application, address = _asker(properties)
    return tuple(
        scrub_document(
            Activity(
                format=FORMAT,
                id=stable_id(unix_ms, "activity", "entra", record, target, str(facts)),
                time=time,
                cluster=cluster,
                log=Log.AZURE,
                topic=Topic.FEDERATED_CREDENTIAL,
                operation=str(found.get("operationName", ""))[:_MOST_WORD],
                succeeded=succeeded,
                resource=f"application/{target}/{facts['credential']}",
                principal=principal,
                application=application,
                address=callers.of(address)[0],
                facts=facts,
                source=source,
            )
        )
        for target, facts in changes
    )


def _changes(properties: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the application and the facts of each credential that is not what it was."""
    for target in _objects(properties.get("targetResources")):
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


def _asker(properties: dict[str, Any]) -> tuple[str, str, str]:
    """Return object id, client id and address of who did it; their names are left."""
    by = properties.get("initiatedBy")
    by = by if isinstance(by, dict) else {}
    user, app = by.get("user"), by.get("app")
    user, app = user if isinstance(user, dict) else {}, app if isinstance(app, dict) else {}
    principal = user.get("id") or app.get("servicePrincipalId") or ""
    application, address = app.get("appId") or "", user.get("ipAddress") or ""
    words = (principal, application, address)
    principal, application, address = (word if isinstance(word, str) else "" for word in words)
    return principal.lower()[:_MOST_WORD], application.lower()[:_MOST_WORD], address
