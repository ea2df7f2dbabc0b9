"""What bodies of requests to Azure Resource Manager set: rules that delete, keys, tenants. Pure.

Shapes are those of Microsoft's REST reference: "Management Policies", "Storage Accounts",
"Encryption Scopes", "Role Definitions" and "Diagnostic Settings", each "Create Or Update".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from audit.access.parsers.redaction import MOST_ITEMS, MOST_VALUE

Body = Mapping[str, Any]
"""What was asked for: its keys are in lower case, `properties` taken out."""

ASKED: Final = "\x00asked"
"""Of a body: the keys that the request set; the others are how Azure answered that all stands."""

_AGES: Final = (
    "daysaftermodificationgreaterthan",
    "daysafterlastaccesstimegreaterthan",
    "daysaftercreationgreaterthan",
    "daysafterlasttierchangegreaterthan",
)
_COPIES: Final = ("snapshot", "version")
_BLOBS: Final = "microsoft.storage/storageaccounts/blobservices/containers/blobs/"
_ACCOUNT: Final = "microsoft.storage/storageaccounts/"
_OPENS: Final[Mapping[str, Mapping[str, str]]] = {
    "dataactions": {
        f"{_BLOBS}read": "read blobs",
        f"{_BLOBS}write": "write blobs",
        f"{_BLOBS}add/action": "write blobs",
        f"{_BLOBS}delete": "delete blobs",
        f"{_BLOBS}deleteblobversion/action": "delete blobs",
        f"{_BLOBS}move/action": "write blobs",
        f"{_BLOBS}runassuperuser/action": "write blobs",
        f"{_BLOBS}manageownership/action": "set access of blobs",
        f"{_BLOBS}modifypermissions/action": "set access of blobs",
    },
    "actions": {
        f"{_ACCOUNT}listkeys/action": "list keys",
        f"{_ACCOUNT}regeneratekey/action": "list keys",
        f"{_ACCOUNT}listaccountsas/action": "issue SAS",
        f"{_ACCOUNT}listservicesas/action": "issue SAS",
        f"{_ACCOUNT}blobservices/generateuserdelegationkey/action": "issue SAS",
        f"{_ACCOUNT}blobservices/containers/delete": "delete containers",
        f"{_ACCOUNT}delete": "delete accounts",
        "microsoft.authorization/roleassignments/write": "give roles",
    },
}
"""Actions that reach weights, and what they let do (Microsoft Learn, "Azure permissions for
Storage")."""

_SUBSCRIPTION_PARTS: Final = 3
"""Of `/subscriptions/ID`, with the empty one before the first slash."""

_VAULT: Final = "microsoft.keyvault"


def is_asked(body: Body, *names: str) -> bool:
    """Return whether the request itself set one of these."""
    asked = body.get(ASKED)
    return isinstance(asked, list) and any(name in asked for name in names)


def lifecycle_facts(_operation: str, _resource: str, body: Body) -> dict[str, Any]:
    """Return what rules of lifecycle management that are on delete or archive.

    Each is `DAYS PREFIX`; a prefix begins with the container's name, an empty one is everything.
    """
    rules = object_of(body.get("policy")).get("rules")
    found: dict[str, set[str]] = {"deletes": set(), "deletesCopies": set(), "archives": set()}
    for rule in objects_of(rules):
        if rule.get("enabled") is False:
            continue
        definition = object_of(rule.get("definition"))
        actions = object_of(definition.get("actions"))
        base = object_of(actions.get("baseblob"))
        prefixes = object_of(definition.get("filters")).get("prefixmatch") or [""]
        for prefix in prefixes if isinstance(prefixes, list) else [""]:
            _note(found["deletes"], base.get("delete"), prefix)
            _note(found["archives"], base.get("tiertoarchive"), prefix)
            for copies in _COPIES:
                _note(found["deletesCopies"], object_of(actions.get(copies)).get("delete"), prefix)
    if rules is None:
        return {}
    told = {name: sorted(entries) for name, entries in found.items()}
    digest = sha256(msgspec.json.encode(told)).hexdigest()[:16]
    return {**{name: _fitting_rules(one) for name, one in told.items()}, "digest": digest}


def _fitting_rules(entries: list[str]) -> list[str]:
    """Return as many entries as the ledger keeps: of whole containers, or one for everything.

    What is shortened takes more than the rules do, and sooner: never less.
    """
    containers: dict[str, float] = {}
    for entry in entries:
        days, _, prefix = entry.partition(" ")
        head, slash, _ = prefix.partition("/")
        wider = head + slash
        containers[wider] = min(float(days), containers.get(wider, float(days)))
    whole = [f"{days:g} {prefix}" for prefix, days in sorted(containers.items())]
    soonest = min(containers.values(), default=0.0)
    return next((one for one in (entries, whole) if _is_fitting(one)), [f"{soonest:g} "])


def _is_fitting(entries: list[str]) -> bool:
    return len(entries) <= MOST_ITEMS and len(msgspec.json.encode(entries)) <= MOST_VALUE


def _note(found: set[str], action: Any, prefix: Any) -> None:
    if isinstance(action, dict):
        days = [action[name] for name in _AGES if isinstance(action.get(name), int | float)]
        found.add(f"{min(days, default=0):g} {prefix if isinstance(prefix, str) else ''}")


def encryption_facts(_operation: str, _resource: str, body: Body) -> dict[str, Any]:
    """Return whose key encrypts an account or a scope: `keySource`, `vault`, `vaultKey`.

    `federated` is the application by which a vault of another tenant is reached.
    """
    told = object_of(body.get("encryption")) or body
    source = told.get("keysource") or told.get("source")
    held = object_of(told.get("keyvaultproperties"))
    uri = held.get("keyvaulturi") or held.get("keyuri")
    parts = urlsplit(uri) if isinstance(uri, str) else urlsplit("")
    *_, key = [part for part in parts.path.split("/") if part][:2] or [""]
    identity = object_of(told.get("identity"))
    is_vault = isinstance(source, str) and source.lower() == _VAULT
    return {
        "keySource": source,
        "vault": parts.netloc.lower() or None,
        "vaultKey": (held.get("keyname") or key or None) if is_vault else None,
        "federated": identity.get("federatedidentityclientid") or None,
        "state": body.get("state") if isinstance(body.get("state"), str) else None,
        "asked": is_asked(body, "encryption", "source", "keyvaultproperties"),
    }


def tenant_facts(_operation: str, _resource: str, body: Body) -> dict[str, Any]:
    """Return what lets other tenants in: `replication`, `copyScope`, `rules`."""
    found: dict[str, Any] = {"replication": body.get("allowcrosstenantreplication")}
    if "allowedcopyscope" in body:
        found["copyScope"] = str(body["allowedcopyscope"] or "All")
    rules = access_rules(body)
    if rules is not None:
        found["rules"] = _fitting_places(
            [(_low(one.get("tenantid")), _low(one.get("resourceid"))) for one in rules]
        )
    names = ("allowcrosstenantreplication", "allowedcopyscope", "networkacls", "networkruleset")
    return {**found, "asked": [name for name in names if is_asked(body, name)]}


def _fitting_places(places: list[tuple[str, str]]) -> list[str] | str:
    """Return tenants with resources, with subscriptions or alone, as far as the ledger keeps it."""
    for parts in (None, _SUBSCRIPTION_PARTS, 0):
        told = {f"{tenant} {'/'.join(where.split('/')[:parts])}" for tenant, where in places}
        if _is_fitting(sorted(told)):
            return sorted(told)
    return "of too many tenants to be kept"


def _low(value: Any) -> str:
    return value.lower() if isinstance(value, str) else ""


def access_rules(body: Body) -> Sequence[Body] | None:
    """Return the rules of a firewall that let in resources by their id; None where none says."""
    rules = object_of(body.get("networkacls") or body.get("networkruleset"))
    return objects_of(rules["resourceaccessrules"]) if "resourceaccessrules" in rules else None


def transport_facts(_operation: str, _resource: str, body: Body) -> dict[str, Any]:
    """Return `httpsOnly` and `minimumTls` as they were set."""
    return {
        "httpsOnly": body.get("supportshttpstrafficonly"),
        "minimumTls": body.get("minimumtlsversion"),
        "asked": is_asked(body, "supportshttpstrafficonly", "minimumtlsversion"),
    }


def log_targets(body: Body) -> dict[str, str]:
    """Return the resource ids of where a diagnostic setting sends logs, in lower case.

    `targetHub` is the Event Hub, or its namespace where none is named; `targetRule` its
    authorization rule.
    """
    rule = _low(body.get("eventhubauthorizationruleid"))
    namespace = rule.partition("/authorizationrules/")[0]
    hub = _low(body.get("eventhubname"))
    found = {
        "targetAccount": _low(body.get("storageaccountid")),
        "targetWorkspace": _low(body.get("workspaceid")),
        "targetHub": f"{namespace}/eventhubs/{hub}" if namespace and hub else namespace,
        "targetRule": rule,
    }
    return {name: where for name, where in found.items() if where}


def role_definition_facts(_operation: str, resource: str, body: Body) -> dict[str, Any]:
    """Return what of storage a role lets do (`opens`), and where it may be assigned (`scopes`)."""
    opens: set[str] = set()
    for one in objects_of(body.get("permissions")):
        for given, taken in (("actions", "notactions"), ("dataactions", "notdataactions")):
            patterns, but = list(texts_of(one.get(given))), list(texts_of(one.get(taken)))
            opens |= {
                word
                for action, word in _OPENS[given].items()
                if _is_matched(action, patterns) and not _is_matched(action, but)
            }
    scopes = sorted({one.rstrip("/") or "/" for one in texts_of(body.get("assignablescopes"))})
    return {
        "role": resource.rpartition("/")[2],
        "opens": sorted(opens),
        "scopes": scopes if _is_fitting(scopes) else ["/"],
    }


def _is_matched(action: str, patterns: Iterable[str]) -> bool:
    """Return whether a pattern of Azure's, in which `*` is anything, covers an action."""
    return any(_is_covered(action, pattern) for pattern in patterns)


def _is_covered(action: str, pattern: str) -> bool:
    head, *middle = pattern.split("*")
    if not middle:
        return action == pattern
    tail, at = middle.pop(), len(head)
    for part in middle:
        found = action.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return action.startswith(head) and action.endswith(tail) and len(action) - len(tail) >= at


def object_of(value: Any) -> Body:
    """Return an object; an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def objects_of(value: Any) -> list[Body]:
    """Return the objects of a list; an empty one where it is none."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def texts_of(value: Any) -> Iterator[str]:
    """Yield the texts of a list in lower case; nothing where it is none."""
    if isinstance(value, list):
        yield from (each.lower() for each in value if isinstance(each, str))
