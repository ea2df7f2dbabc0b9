"""Which operations of Azure Resource Manager concern weights, and the facts that each tells. Pure.

`facts` of every topic: `change` (`write`, `delete`, `action`), `body` (whether the record, or the
one of its beginning, said what was asked for; without it what was set is not known),
`callerTenant`. And by topic:

| Topic | facts |
|---|---|
| KEYS_LISTED, KEY_REGENERATED | `keyRef`: its name |
| SAS_ISSUED | `permissions`, `expires`, `services`, `addresses`, as far as they are told |
| DELEGATION_KEY_ISSUED | `expires` |
| PUBLIC_ACCESS | `public`: whether anyone may read now; `value` as set |
| NETWORK_RULES | `open`: whether the internet may come in; `defaultAction`, `bypass`,
|               | `publicNetworkAccess`, `addresses`, `networks` (how many of each) |
| DIAGNOSTICS | `setting`; `categories` that are on; `off`: those switched off;
|             | `targetAccount`, `targetWorkspace`, `targetHub`, `targetRule`: resource ids of
|             | where they go |
| FEDERATED_CREDENTIAL | `identity` (resource id), `credential`, `issuer`, `subject`,
|                      | `audiences`; `before` where it is known (`parsers.entra_audit`) |
| ROLE_ASSIGNMENT | `assignment`, `principalId`, `principalType`, `roleDefinitionId`, `scope`,
|                 | `condition` |
| PRIVATE_ENDPOINT | `connection`, `endpoint` (resource id), `subscription` of it, `tenant` if told,
|                  | `status`, `approved` |
| REPLICATION | `policy`, `source`, `destination`: accounts; `containers` |
| SFTP_OR_LOCAL_USERS | `sftp`, `localUsers`: as set; `user`: a mark, where it is about one |
| PROTECTION | `which`: what it is about; `off`: what of it was switched off or shortened |
| SHARED_KEY | `allowed` |
| DELETION | `kind`: `container`, `account`, `group`, or `rollback` (to an earlier time) |
| LIFECYCLE | `deletes`, `deletesCopies` (versions, snapshots), `archives`: of rules that are
|           | on, each `DAYS PREFIX`; `digest` of all; none where the record has no rules |
| ENCRYPTION | `keySource`, `vault` (host), `vaultKey`, `federated`, `asked`; `state` of a scope;
|            | `gone` where the vault itself was `deleted` or `purged` |
| OTHER_TENANT | `replication`, `copyScope`, `rules` (`TENANT RESOURCE`), `asked`: of which names |
| TRANSPORT | `httpsOnly`, `minimumTls`, `asked` |
| ROLE_DEFINITION | `role`: its id; `opens`: what of storage it lets do; `scopes` |
| LOG_TARGET | `kind`: `namespace`, `hub`, `rule`, `workspace` or `purge` |
| CLUSTER_CREDENTIAL | `kind`: `credential` or `command` |

`asked` says whether the request itself set it; else it is how Azure answered that all stands.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from audit.access.parsers.redaction import scrub_fields
from audit.access.parsers.setting_facts import (
    Body,
    access_rules,
    encryption_facts,
    lifecycle_facts,
    log_targets,
    role_definition_facts,
    tenant_facts,
    transport_facts,
)
from audit.access.parsers.storage_paths import account_of
from core.people.subject import pseudonymous_user
from core.weights.documents.events import Activity, Topic

_DELETE: Final = "/delete"

_STORAGE: Final = "microsoft.storage/storageaccounts/"

ALWAYS: Final = {
    f"{_STORAGE}listkeys/action": Topic.KEYS_LISTED,
    f"{_STORAGE}regeneratekey/action": Topic.KEY_REGENERATED,
    f"{_STORAGE}rotatekey/action": Topic.KEY_REGENERATED,
    f"{_STORAGE}listaccountsas/action": Topic.SAS_ISSUED,
    f"{_STORAGE}listservicesas/action": Topic.SAS_ISSUED,
    f"{_STORAGE}blobservices/generateuserdelegationkey/action": Topic.DELEGATION_KEY_ISSUED,
    f"{_STORAGE}objectreplicationpolicies/write": Topic.REPLICATION,
    f"{_STORAGE}objectreplicationpolicies/delete": Topic.REPLICATION,
    f"{_STORAGE}privateendpointconnections/write": Topic.PRIVATE_ENDPOINT,
    f"{_STORAGE}privateendpointconnections/delete": Topic.PRIVATE_ENDPOINT,
    f"{_STORAGE}privateendpointconnectionproxies/write": Topic.PRIVATE_ENDPOINT,
    f"{_STORAGE}privateendpointconnectionsapproval/action": Topic.PRIVATE_ENDPOINT,
    f"{_STORAGE}localusers/write": Topic.SFTP_OR_LOCAL_USERS,
    f"{_STORAGE}localusers/delete": Topic.SFTP_OR_LOCAL_USERS,
    f"{_STORAGE}localusers/listkeys/action": Topic.SFTP_OR_LOCAL_USERS,
    f"{_STORAGE}localusers/regeneratepassword/action": Topic.SFTP_OR_LOCAL_USERS,
    f"{_STORAGE}managementpolicies/write": Topic.LIFECYCLE,
    f"{_STORAGE}managementpolicies/delete": Topic.LIFECYCLE,
    f"{_STORAGE}storagetaskassignments/write": Topic.LIFECYCLE,
    f"{_STORAGE}encryptionscopes/write": Topic.ENCRYPTION,
    "microsoft.keyvault/vaults/delete": Topic.ENCRYPTION,
    "microsoft.keyvault/locations/deletedvaults/purge/action": Topic.ENCRYPTION,
    "microsoft.dataprotection/backupvaults/backupinstances/delete": Topic.PROTECTION,
    "microsoft.dataprotection/backupvaults/backupinstances/stopprotection/action": Topic.PROTECTION,
    "microsoft.dataprotection/backupvaults/backupinstances/suspendbackups/action": Topic.PROTECTION,
    f"{_STORAGE}blobservices/containers/setlegalhold/action": Topic.PROTECTION,
    f"{_STORAGE}blobservices/containers/clearlegalhold/action": Topic.PROTECTION,
    f"{_STORAGE}blobservices/containers/migrate/action": Topic.PROTECTION,
    f"{_STORAGE}blobservices/containers/immutabilitypolicies/write": Topic.PROTECTION,
    f"{_STORAGE}blobservices/containers/immutabilitypolicies/delete": Topic.PROTECTION,
    f"{_STORAGE}blobservices/containers/immutabilitypolicies/lock/action": Topic.PROTECTION,
    f"{_STORAGE}blobservices/containers/immutabilitypolicies/extend/action": Topic.PROTECTION,
    "microsoft.authorization/locks/write": Topic.PROTECTION,
    "microsoft.authorization/locks/delete": Topic.PROTECTION,
    "microsoft.authorization/roledefinitions/write": Topic.ROLE_DEFINITION,
    "microsoft.authorization/roledefinitions/delete": Topic.ROLE_DEFINITION,
    "microsoft.authorization/elevateaccess/action": Topic.ELEVATED_ACCESS,
    "microsoft.authorization/roleassignments/write": Topic.ROLE_ASSIGNMENT,
    "microsoft.authorization/roleassignments/delete": Topic.ROLE_ASSIGNMENT,
    "microsoft.insights/diagnosticsettings/write": Topic.DIAGNOSTICS,
    "microsoft.insights/diagnosticsettings/delete": Topic.DIAGNOSTICS,
    "microsoft.managedidentity/userassignedidentities/federatedidentitycredentials/write": (
        Topic.FEDERATED_CREDENTIAL
    ),
    "microsoft.managedidentity/userassignedidentities/federatedidentitycredentials/delete": (
        Topic.FEDERATED_CREDENTIAL
    ),
}

SETTING: Final = {
    f"{_STORAGE}write": "account",
    f"{_STORAGE}blobservices/write": "service",
    f"{_STORAGE}blobservices/containers/write": "container",
}
"""Operations that can set several things: what they set is in their body."""

OTHERS: Final = (
    "microsoft.authorization/",
    "microsoft.containerservice/managedclusters/",
    "microsoft.keyvault/",
    "microsoft.managedidentity/",
    "microsoft.storage/",
)
"""What else is kept, as OTHER, but for reading: of stores, keys, roles, credentials, clusters."""

_NAMED: Final = re.compile(
    r"key(?!word)|secret|credential|password|token|certificate|role(?!out)|identit|elevateaccess|/sas\b"
)
"""The same, of providers that nobody listed: `…/listAdminKeys/action`."""

_EVALUATED: Final = re.compile(r"microsoft\.authorization/policies/\w+/action")
"""Azure Policy looked at something: it changed nothing."""

_QUIET: Final = ("/read", "/validate/action", "/listkeys/read", "checknameavailability/action")

_DELETED: Final = {
    f"{_STORAGE}delete": "account",
    f"{_STORAGE}blobservices/containers/delete": "container",
    "microsoft.resources/subscriptions/resourcegroups/delete": "group",
    f"{_STORAGE}restoreblobranges/action": "rollback",
}
"""Operations that delete what holds blobs, and what (Microsoft Learn, "Azure permissions for
Storage" and "… for Management and governance")."""

_LOG_TARGETS: Final = {
    "microsoft.eventhub/namespaces/delete": "namespace",
    "microsoft.eventhub/namespaces/eventhubs/delete": "hub",
    "microsoft.eventhub/namespaces/authorizationrules/delete": "rule",
    "microsoft.operationalinsights/workspaces/delete": "workspace",
    "microsoft.operationalinsights/workspaces/purge/action": "purge",
}

_CLUSTERS: Final = "microsoft.containerservice/managedclusters/"
_CLUSTER_ACTS: Final = {
    f"{_CLUSTERS}listclusteradmincredential/action": "credential",
    f"{_CLUSTERS}accessprofiles/listcredential/action": "credential",
    f"{_CLUSTERS}runcommand/action": "command",
}

_NAMED_KINDS: Final[Mapping[Topic, Mapping[str, str]]] = {
    Topic.DELETION: _DELETED,
    Topic.LOG_TARGET: _LOG_TARGETS,
    Topic.CLUSTER_CREDENTIAL: _CLUSTER_ACTS,
}
"""Topics whose only fact is what kind of thing an operation is about."""

_SET: Final = {
    Topic.PUBLIC_ACCESS: frozenset({"allowblobpublicaccess", "publicaccess"}),
    Topic.NETWORK_RULES: frozenset({"networkacls", "networkruleset", "publicnetworkaccess"}),
    Topic.SFTP_OR_LOCAL_USERS: frozenset({"issftpenabled", "islocaluserenabled"}),
    Topic.SHARED_KEY: frozenset({"allowsharedkeyaccess"}),
    Topic.ENCRYPTION: frozenset({"encryption"}),
    Topic.OTHER_TENANT: frozenset({"allowcrosstenantreplication", "allowedcopyscope"}),
    Topic.TRANSPORT: frozenset({"supportshttpstrafficonly", "minimumtlsversion"}),
    Topic.PROTECTION: frozenset(
        {
            "deleteretentionpolicy",
            "containerdeleteretentionpolicy",
            "isversioningenabled",
            "restorepolicy",
            "immutablestoragewithversioning",
            "immutabilitypolicy",
            "haslegalhold",
        }
    ),
}


def fact_text(event: Activity, *names: str) -> str:
    """Return the first of these facts that is there, in lower case; empty where none is."""
    for name in names:
        value = event.facts.get(name)
        if value is not None and value != "":
            return str(value).lower()
    return ""


def is_delete(event: Activity) -> bool:
    """Return whether an entry of Azure's activity log took something away."""
    return event.facts.get("change") == "delete" or event.operation.lower().endswith(_DELETE)


def subscription_of(resource: str) -> str:
    """Return the subscription in a resource id, lower case; empty where it has none."""
    parts = resource.lower().split("/")
    return parts[2] if len(parts) > 2 and parts[1] == "subscriptions" else ""  # noqa: PLR2004


def actor_text(event: Activity) -> str:
    """Say who did it, for a person."""
    who = event.who or "nobody whom the log names"
    return f"{who} from {event.address}" if event.address else who


def topics_of(operation: str, body: Body) -> tuple[Topic, ...]:
    """Return what an operation, in lower case, is about; nothing where it is of no concern."""
    if operation in ALWAYS:
        return (ALWAYS[operation],)
    named = next((topic for topic, kinds in _NAMED_KINDS.items() if operation in kinds), None)
    if named:
        return (named,)
    if operation in SETTING:
        names = body.keys() | ({"allowedcopyscope"} if access_rules(body) is not None else set())
        setting = tuple(topic for topic, settings in _SET.items() if settings & names)
        return setting or (Topic.OTHER,)
    kept = operation.startswith(OTHERS) or _NAMED.search(operation)
    quiet = operation.endswith(_QUIET) or _EVALUATED.fullmatch(operation)
    return (Topic.OTHER,) if kept and not quiet else ()


def facts_of(topic: Topic, operation: str, resource: str, body: Body) -> dict[str, Any]:
    """Return what detections read of an operation; the resource and the keys are in lower case."""
    *_, last = operation.split("/")
    found = {"change": last if last in {"write", "delete"} else "action", "body": bool(body)}
    told = _TOLD.get(topic)
    said = told(operation, resource, body) if told else {}
    if topic in _NAMED_KINDS:
        said = {"kind": _NAMED_KINDS[topic][operation]}
    return found | scrub_fields({name: value for name, value in said.items() if value is not None})


def _key(_operation: str, _resource: str, body: Body) -> dict[str, Any]:
    return {"keyRef": body.get("keyname")}


def _sas(_operation: str, _resource: str, body: Body) -> dict[str, Any]:
    return {
        "permissions": body.get("signedpermission"),
        "expires": body.get("signedexpiry") or body.get("keyexpirytime"),
        "services": body.get("signedservices"),
        "addresses": body.get("signedip"),
    }


def _public(_operation: str, _resource: str, body: Body) -> dict[str, Any]:
    value = body.get("publicaccess", body.get("allowblobpublicaccess"))
    shut = value is False or str(value).lower() in {"none", "false", ""}
    return {"public": None if value is None else not shut, "value": value}


def _network(_operation: str, _resource: str, body: Body) -> dict[str, Any]:
    rules = body.get("networkacls") or body.get("networkruleset") or {}
    rules = rules if isinstance(rules, dict) else {}
    action, access = rules.get("defaultaction"), body.get("publicnetworkaccess")
    shut = str(access).lower() in {"disabled", "securedbyperimeter"}
    return {
        "open": not shut and str(action or "Allow").lower() == "allow",
        "defaultAction": action,
        "bypass": rules.get("bypass"),
        "publicNetworkAccess": access,
        "addresses": _count(rules.get("iprules")),
        "networks": _count(rules.get("virtualnetworkrules")),
    }


def _diagnostics(_operation: str, resource: str, body: Body) -> dict[str, Any]:
    logs = body.get("logs")
    logs = [one for one in logs if isinstance(one, dict)] if isinstance(logs, list) else []
    named = [(one.get("category") or one.get("categorygroup"), one.get("enabled")) for one in logs]
    return {
        "setting": resource.rpartition("/")[2],
        "categories": [name for name, on in named if name and on is not False],
        "off": [name for name, on in named if name and on is False],
        **log_targets(body),
    }


def _federated(_operation: str, resource: str, body: Body) -> dict[str, Any]:
    identity, _, name = resource.rpartition("/federatedidentitycredentials/")
    return {
        "identity": identity,
        "credential": name,
        "issuer": body.get("issuer"),
        "subject": body.get("subject"),
        "audiences": body.get("audiences"),
    }


def _role(_operation: str, resource: str, body: Body) -> dict[str, Any]:
    scope, found, assignment = resource.rpartition("/providers/microsoft.authorization/")
    told = body.get("scope")
    return {
        "assignment": assignment.rpartition("/")[2],
        "principalId": _low(body.get("principalid")),
        "principalType": body.get("principaltype"),
        "roleDefinitionId": (_low(body.get("roledefinitionid")) or "").rpartition("/")[2] or None,
        "scope": _low(told) or scope or ("/" if found else ""),
        "condition": body.get("condition"),
    }


def _endpoint(_operation: str, resource: str, body: Body) -> dict[str, Any]:
    endpoint = body.get("privateendpoint") or body.get("remoteprivateendpoint") or {}
    where = _low(endpoint.get("id")) if isinstance(endpoint, dict) else None
    state = body.get("privatelinkserviceconnectionstate") or {}
    status = state.get("status") if isinstance(state, dict) else None
    parts = (where or "").split("/")
    return {
        "connection": resource.rpartition("/")[2],
        "endpoint": where,
        "subscription": parts[2] if len(parts) > 2 and parts[1] == "subscriptions" else None,  # noqa: PLR2004  /subscriptions/ID
        "tenant": _low(body.get("tenantid") or body.get("remotetenantid")),
        "status": status,
        "approved": None if status is None else str(status).lower() == "approved",
    }


def _replication(_operation: str, resource: str, body: Body) -> dict[str, Any]:
    rules = body.get("rules")
    rules = [one for one in rules if isinstance(one, dict)] if isinstance(rules, list) else []
    return {
        "policy": body.get("policyid") or resource.rpartition("/")[2],
        "source": _account(body.get("sourceaccount")),
        "destination": _account(body.get("destinationaccount")),
        "containers": [
            f"{r.get('sourcecontainer')}>{r.get('destinationcontainer')}" for r in rules
        ],
    }


def _sftp(_operation: str, resource: str, body: Body) -> dict[str, Any]:
    _, found, user = resource.rpartition("/localusers/")
    return {
        "sftp": body.get("issftpenabled"),
        "localUsers": body.get("islocaluserenabled"),
        "user": pseudonymous_user(user.partition("/")[0]) if found else None,
    }


def _encryption(operation: str, resource: str, body: Body) -> dict[str, Any]:
    """Return whose key encrypts, or which vault is gone: its host begins with its name."""
    if not operation.startswith("microsoft.keyvault/"):
        return encryption_facts(operation, resource, body)
    gone = "purged" if operation.endswith("/action") else "deleted"
    return {"vault": f"{resource.rpartition('/')[2]}.", "gone": gone}


def _protection(operation: str, _resource: str, body: Body) -> dict[str, Any]:
    which = [name for name in sorted(_SET[Topic.PROTECTION]) if name in body]
    off = [name for name in which if _is_off(body[name])]
    if operation not in SETTING:
        named = next(
            (w for w in ("legalhold", "immutabilitypolicies", "locks", "backup") if w in operation),
            "",
        )
        which = [named or "immutablestoragewithversioning"]
        gone = operation.endswith("/delete") or "clearlegalhold" in operation or named == "backup"
        off = which if gone and named else off
        return {
            "which": which,
            "off": off,
            "days": body.get("immutabilityperiodsincecreationindays"),
        }
    return {"which": which, "off": off}


def _is_off(value: Any) -> bool:
    return value is False or (isinstance(value, dict) and value.get("enabled") is False)


def _shared_key(_operation: str, _resource: str, body: Body) -> dict[str, Any]:
    return {"allowed": body.get("allowsharedkeyaccess")}


def _low(value: Any) -> str | None:
    return value.lower() if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    return len(value) if isinstance(value, list) else None


def _account(value: Any) -> str | None:
    low = _low(value)
    return low and (account_of(low) or low)


_TOLD: Final[Mapping[Topic, Callable[[str, str, Body], dict[str, Any]]]] = {
    Topic.KEYS_LISTED: _key,
    Topic.KEY_REGENERATED: _key,
    Topic.SAS_ISSUED: _sas,
    Topic.DELEGATION_KEY_ISSUED: _sas,
    Topic.PUBLIC_ACCESS: _public,
    Topic.NETWORK_RULES: _network,
    Topic.DIAGNOSTICS: _diagnostics,
    Topic.FEDERATED_CREDENTIAL: _federated,
    Topic.ROLE_ASSIGNMENT: _role,
    Topic.PRIVATE_ENDPOINT: _endpoint,
    Topic.REPLICATION: _replication,
    Topic.SFTP_OR_LOCAL_USERS: _sftp,
    Topic.PROTECTION: _protection,
    Topic.SHARED_KEY: _shared_key,
    Topic.ROLE_DEFINITION: role_definition_facts,
    Topic.LIFECYCLE: lifecycle_facts,
    Topic.ENCRYPTION: _encryption,
    Topic.OTHER_TENANT: tenant_facts,
    Topic.TRANSPORT: transport_facts,
}
