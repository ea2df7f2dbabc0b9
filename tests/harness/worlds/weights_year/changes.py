"""What is planted that changes settings of accounts, identities or logs; and innocent changes."""

import json
from typing import Any, Final

import msgspec

from audit.ledger.records.frames import FrameKind
from core.base.ids import stable_id
from core.weights.documents.events import FORMAT, LogGap, encode_event
from tests.harness.worlds.storage_logs import GROUP, SUBSCRIPTION, TENANT, log_time
from tests.harness.worlds.weights_year.attacks import Attack, Planted
from tests.harness.worlds.weights_year.logs import Year
from tests.harness.worlds.weights_year.people import (
    CLUSTER,
    DAY,
    HOUR,
    LOG,
    START,
    Happening,
    Job,
    text_of,
)

_CLAIMS: Final = "http://schemas.microsoft.com/identity/claims/"
MALLORY: Final = "0f000000-0000-4000-8000-00000000000e"
ROBOT: Final = "0f000000-0000-4000-8000-0000000000aa"
"""The operator's automation: named in `weights.expected` for what it does each month."""
OWNER: Final = "b7e6dc6d-f1e8-4753-8033-0f276bb0955b"
"""The built-in role Storage Blob Data Owner."""


def activity(  # noqa: PLR0913  One argument a field.
    at: float,
    operation: str,
    account: str,
    body: Any = None,
    *,
    who: str = MALLORY,
    below: str = "",
) -> Happening:
    """Return an entry of Azure's activity log, as diagnostic settings export it."""
    resource = (
        f"/SUBSCRIPTIONS/{SUBSCRIPTION}/RESOURCEGROUPS/{GROUP}/PROVIDERS/MICROSOFT.STORAGE"
        f"/STORAGEACCOUNTS/{account.upper()}{below}"
    )
    record = {
        "time": log_time(int(at * 1000)),
        "resourceId": resource,
        "operationName": operation.upper(),
        "category": "Administrative",
        "resultType": "Success",
        "resultSignature": "Succeeded.OK",
        "callerIpAddress": "198.51.100.20",
        "correlationId": f"{int(at * 1000):032x}",
        "identity": {
            "authorization": {"scope": resource, "action": operation},
            "claims": {f"{_CLAIMS}objectidentifier": who, f"{_CLAIMS}tenantid": TENANT},
        },
        "properties": {"statusCode": "OK", **({"requestbody": json.dumps(body)} if body else {})},
    }
    return Happening(at + 120, LOG, msgspec.json.encode(record))


def _planted(name: str, detection: str, year: Year, day: int, *found: Happening) -> Planted:
    begin = min(one.at for one in found) - HOUR
    del year, day
    return Planted(name, frozenset({detection}), "", begin, begin + 6 * HOUR, frozenset(), [*found])


def _when(year: Year, day: int) -> tuple[float, str]:
    return START + day * DAY + 14 * HOUR + year.draw.uniform(0, HOUR), year.people[0].store.account


def keys_listed(year: Year, day: int) -> Planted:
    """Somebody lists the keys of an account."""
    at, account = _when(year, day)
    happening = activity(at, "Microsoft.Storage/storageAccounts/listKeys/action", account)
    return _planted("keys listed", "keys-and-logging", year, day, happening)


def made_public(year: Year, day: int) -> Planted:
    """A container is made public."""
    at, account = _when(year, day)
    operation = "Microsoft.Storage/storageAccounts/blobServices/containers/write"
    below = "/BLOBSERVICES/DEFAULT/CONTAINERS/LLAMA"
    body = {"properties": {"publicAccess": "Container"}}
    happening = activity(at, operation, account, body, below=below)
    return _planted("made public", "keys-and-logging", year, day, happening)


def logs_off(year: Year, day: int) -> Planted:
    """The diagnostic setting is deleted."""
    at, account = _when(year, day)
    operation = "Microsoft.Insights/diagnosticSettings/delete"
    below = "/BLOBSERVICES/DEFAULT/PROVIDERS/MICROSOFT.INSIGHTS/DIAGNOSTICSETTINGS/AUDIT"
    happening = activity(at, operation, account, below=below)
    return _planted("logs switched off", "keys-and-logging", year, day, happening)


def credential(year: Year, day: int) -> Planted:
    """An identity is made to trust another cluster, each time one that nobody named before."""
    at, _ = _when(year, day)
    happening = activity(at, "", "x")
    record = msgspec.json.decode(happening.content)
    identity = (
        f"/SUBSCRIPTIONS/{SUBSCRIPTION}/RESOURCEGROUPS/{GROUP}/PROVIDERS"
        "/MICROSOFT.MANAGEDIDENTITY/USERASSIGNEDIDENTITIES/TRAINER/FEDERATEDIDENTITYCREDENTIALS/X"
    )
    record["resourceId"] = identity
    record["operationName"] = (
        "MICROSOFT.MANAGEDIDENTITY/USERASSIGNEDIDENTITIES/FEDERATEDIDENTITYCREDENTIALS/WRITE"
    )
    body = {"properties": {"issuer": f"https://evil-{day}.example", "subject": "system:x"}}
    record["properties"]["requestbody"] = json.dumps(body)
    changed = Happening(happening.at, LOG, msgspec.json.encode(record))
    return _planted("federated credential", "federated-credential", year, day, changed)


def role(year: Year, day: int) -> Planted:
    """Somebody gives themselves a role on the account."""
    at, account = _when(year, day)
    operation = "Microsoft.Authorization/roleAssignments/write"
    below = (
        "/PROVIDERS/MICROSOFT.AUTHORIZATION/ROLEASSIGNMENTS/0C0C0C0C-0000-4000-8000-000000000001"
    )
    definition = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions"
    body = {"properties": {"roleDefinitionId": f"{definition}/{OWNER}", "principalId": MALLORY}}
    happening = activity(at, operation, account, body, below=below)
    return _planted("role assignment", "role-assignment", year, day, happening)


def private_endpoint(year: Year, day: int) -> Planted:
    """A private endpoint of another subscription is let in."""
    at, account = _when(year, day)
    operation = "Microsoft.Storage/storageAccounts/privateEndpointConnections/write"
    below = "/PRIVATEENDPOINTCONNECTIONS/PE-1"
    endpoint = (
        "/subscriptions/99999999-0000-4000-8000-000000000009/resourceGroups/x/providers"
        "/Microsoft.Network/privateEndpoints/pe-1"
    )
    body = {
        "properties": {
            "privateEndpoint": {"id": endpoint},
            "privateLinkServiceConnectionState": {"status": "Approved"},
        }
    }
    happening = activity(at, operation, account, body, below=below)
    return _planted("private endpoint", "private-endpoint", year, day, happening)


def replication(year: Year, day: int) -> Planted:
    """Every new blob is copied into another account."""
    at, account = _when(year, day)
    operation = "Microsoft.Storage/storageAccounts/objectReplicationPolicies/write"
    body = {"properties": {"sourceAccount": account, "destinationAccount": "elsewhere"}}
    happening = activity(at, operation, account, body, below="/OBJECTREPLICATIONPOLICIES/1")
    return _planted("object replication", "object-replication", year, day, happening)


def sftp(year: Year, day: int) -> Planted:
    """SFTP is switched on: users of its own, with passwords."""
    at, account = _when(year, day)
    body = {"properties": {"isSftpEnabled": True, "isLocalUserEnabled": True}}
    happening = activity(at, "Microsoft.Storage/storageAccounts/write", account, body)
    return _planted("SFTP", "sftp-or-local-users", year, day, happening)


def protection(year: Year, day: int) -> Planted:
    """Soft delete and versioning are switched off."""
    at, account = _when(year, day)
    body = {
        "properties": {"isVersioningEnabled": False, "deleteRetentionPolicy": {"enabled": False}}
    }
    operation = "Microsoft.Storage/storageAccounts/blobServices/write"
    happening = activity(at, operation, account, body, below="/BLOBSERVICES/DEFAULT")
    return _planted("protection off", "protection-off", year, day, happening)


def gap(year: Year, day: int) -> Planted:
    """A log says nothing for eight hours, and its source notices."""
    begin = START + day * DAY + 2 * HOUR
    account = year.named(Job.TRAIN).store.account
    year.silent[account] = (begin, begin + 8 * HOUR)
    document = LogGap(
        format=FORMAT,
        id=stable_id(int((begin + 8 * HOUR) * 1000), "gap", account, str(day)),
        cluster=CLUSTER,
        log="storage",
        subject=f"{account}/StorageRead",
        begin=text_of(begin),
        end=text_of(begin + 8 * HOUR),
        why="no blob of these hours",
    )
    happening = Happening(begin + 10 * HOUR, FrameKind.LOG_GAP, encode_event(document))
    return _planted("gap in the log", "log-gap", year, day, happening)


def at_risk(year: Year, day: int) -> Planted:
    """A workload's human is compromised; it becomes known two days later."""
    one = year.named(Job.EVALUATE, year.draw.randrange(30))
    since = START + day * DAY
    told = since + 2 * DAY
    content = {
        "format": 1,
        "id": stable_id(int(told * 1000), "look-back", one.human, str(day)),
        "cluster": CLUSTER,
        "subject": one.human,
        "begin": text_of(since),
        "end": text_of(told),
        "standing": "high",
        "since": text_of(since)[:19] + "Z",
    }
    happening = Happening(told, FrameKind.LOOK_BACK, msgspec.json.encode(content))
    oid, client = one.ids(day)
    whos = frozenset({one.human, f"oid:{oid}", f"client:{client}"})
    finds = frozenset({"access-at-risk"})
    end = START + year.shape.days * DAY  # Nobody says that it is over.
    return Planted("at risk", finds, one.store.name, since, end, whos, [happening])


def rotation(year: Year, day: int) -> list[Happening]:
    """Each month the operator's automation rotates the keys: no attack."""
    at, account = _when(year, day)
    operations = ("regenerateKey/action", "listKeys/action")
    return [
        activity(at + 60 * n, f"Microsoft.Storage/storageAccounts/{one}", account, who=ROBOT)
        for n, one in enumerate(operations)
    ]


CHANGING: Final[tuple[Attack, ...]] = (
    keys_listed,
    made_public,
    logs_off,
    credential,
    role,
    private_endpoint,
    replication,
    sftp,
    protection,
    gap,
    at_risk,
)
