"""Stories for the detections 12 to 20 (but 18): changes around the accounts, and gaps."""

from typing import Any

from audit.access.model.detection import Event
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Activity, Severity, Topic
from tests.unit.audit.access.detections.events import (
    ANN,
    BOB,
    OWN_SUBSCRIPTION,
    Around,
    access,
    activity,
    at,
    gap,
)
from tests.unit.audit.access.detections.examples import fires, quiet

LOW, MEDIUM, HIGH, CRITICAL = Severity


def changed(topic: Topic, day: float = 1, **facts: Any) -> Activity:
    """Make an activity with these facts."""
    return activity(at(day), topic, facts=facts)


fires("keys-and-logging", "keys listed", lambda: [changed(Topic.KEYS_LISTED)], HIGH)
fires("keys-and-logging", "a key regenerated", lambda: [changed(Topic.KEY_REGENERATED)], MEDIUM)
fires("keys-and-logging", "a SAS issued", lambda: [changed(Topic.SAS_ISSUED)], HIGH)
fires("keys-and-logging", "public", lambda: [changed(Topic.PUBLIC_ACCESS, public=True)], CRITICAL)
fires("keys-and-logging", "keys allowed", lambda: [changed(Topic.SHARED_KEY, allowed=True)], HIGH)
fires("keys-and-logging", "opened", lambda: [changed(Topic.NETWORK_RULES, open=True)], HIGH)
fires(
    "keys-and-logging", "unlogged", lambda: [changed(Topic.DIAGNOSTICS, change="delete")], CRITICAL
)
fires("keys-and-logging", "less logged", lambda: [changed(Topic.DIAGNOSTICS, off=["Read"])], HIGH)
fires(
    "keys-and-logging",
    "tried",
    lambda: [activity(at(1), Topic.KEYS_LISTED, succeeded=False)],
    LOW,
)
fires(
    "keys-and-logging",
    "listed again and again",
    lambda: [changed(Topic.KEYS_LISTED, day=1 + n / 100) for n in range(50)],
    HIGH,
)


def requested(operation: str, **over: Any) -> Event:
    """Make a request to storage's own interface about who may, or what is kept."""
    return access(at(1), operation=operation, act=Act.POLICY, bytes_out=0, **over)


fires("keys-and-logging", "a container's access", lambda: [requested("SetContainerACL")], MEDIUM)
fires("keys-and-logging", "in vain", lambda: [requested("SetContainerACL", status=403)], LOW)
quiet("keys-and-logging", "asked about", lambda: [requested("GetContainerACL")])
quiet("keys-and-logging", "made private", lambda: [changed(Topic.PUBLIC_ACCESS, public=False)])
quiet("keys-and-logging", "keys forbidden", lambda: [changed(Topic.SHARED_KEY, allowed=False)])
quiet("keys-and-logging", "closed", lambda: [changed(Topic.NETWORK_RULES, open=False)])

EAST = "https://oidc.example/east"


def trusted(day: float, subject: str, issuer: str = EAST, name: str = "c", **over: Any) -> Event:
    """Make a write of a federated credential."""
    facts = {"issuer": issuer, "subject": subject, "credential": name, **over}
    told = {"account": "", "store": "", "resource": f"/identities/train/{name}"}
    return activity(at(day), Topic.FEDERATED_CREDENTIAL, facts=facts, **told)


TRAIN, OTHER = "system:serviceaccount:research:train", "system:serviceaccount:default:web"

fires("federated-credential", "the first issuer", lambda: [trusted(1, TRAIN)], HIGH)
fires(
    "federated-credential",
    "another issuer",
    lambda: [trusted(1, TRAIN), trusted(2, TRAIN, "https://attacker.example")],
    HIGH,
    HIGH,
)
fires(
    "federated-credential",
    "another service account",
    lambda: [trusted(1, TRAIN), trusted(2, OTHER)],
    HIGH,
    MEDIUM,
)
fires(
    "federated-credential",
    "a new identity in place of an old one",
    lambda: [trusted(1, TRAIN), trusted(2, TRAIN, name="green")],
    HIGH,
    LOW,
)
quiet(
    "federated-credential",
    "deleted",
    lambda: [trusted(1, "", change="delete")],
)

fires("log-gap", "an hour of storage", lambda: [gap(at(1), at(1, 1))], MEDIUM)
fires("log-gap", "a night of storage", lambda: [gap(at(1), at(1, 9))], HIGH)
fires("log-gap", "the watch of Pods", lambda: [gap(at(1), at(1, 0.1), "pods", "Pod")], LOW)
fires(
    "log-gap",
    "after the log was switched off",
    lambda: [changed(Topic.DIAGNOSTICS, change="delete"), gap(at(1, 1), at(1, 2))],
    HIGH,
)


def flow(days: range, account: str = "weightsa") -> list[Access]:
    """Tell of an account that is read each hour."""
    told = {"account": account, "store": "frontier" if account == "weightsa" else "small"}
    return [access(at(day, hour), **told) for day in days for hour in range(24)]


fires(
    "log-gap",
    "an account falls silent",
    lambda: sorted([*flow(range(20)), *flow(range(22), "weightsb")], key=lambda one: one.time),
    MEDIUM,
)
quiet(
    "log-gap",
    "all are silent over a holiday",
    lambda: sorted(
        [*flow(range(20)), *flow(range(20), "weightsb"), *flow(range(25, 27))],
        key=lambda one: one.time,
    ),
)
quiet("log-gap", "records all the time", lambda: flow(range(20)))

GROUP = f"/subscriptions/{OWN_SUBSCRIPTION}/resourcegroups/weights"
READER = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"


def assigned(principal: str, scope: str = GROUP, role: str = READER, **over: Any) -> Event:
    """Make a role assignment."""
    facts = {"principalId": principal, "scope": scope, "roleDefinitionId": role, **over}
    return activity(at(1), Topic.ROLE_ASSIGNMENT, facts=facts, account="", store="")


fires("role-assignment", "to somebody", lambda: [assigned(BOB)], HIGH)
fires("role-assignment", "to who is listed", lambda: [assigned(ANN)], LOW)
fires("role-assignment", "a role of one's own", lambda: [assigned(BOB, role="custom")], MEDIUM)
fires(
    "role-assignment",
    "in the subscription",
    lambda: [assigned(BOB, f"/subscriptions/{OWN_SUBSCRIPTION}")],
    HIGH,
)
quiet("role-assignment", "in another group", lambda: [assigned(BOB, f"{GROUP}-of-others")])
quiet("role-assignment", "taken away", lambda: [assigned(BOB, change="delete")])
quiet(
    "role-assignment",
    "to look at settings",
    lambda: [assigned(BOB, role="acdd72a7-3385-48ef-bd42-f606fba81ae7")],
)


def connected(subscription: str, **over: Any) -> Event:
    """Make an approval of a connection."""
    facts = {"endpoint": f"/subscriptions/{subscription}/endpoints/e", "approved": True, **over}
    return changed(Topic.PRIVATE_ENDPOINT, subscription=subscription, **facts)


fires("private-endpoint", "of another subscription", lambda: [connected("b")], HIGH)
fires(
    "private-endpoint",
    "of who knows whom",
    lambda: [connected("b")],
    MEDIUM,
    around=lambda: Around(subscriptions=frozenset()),
)
fires(
    "private-endpoint",
    "of another tenant",
    lambda: [connected(OWN_SUBSCRIPTION, tenant="foreign")],
    HIGH,
    around=lambda: Around(tenants=frozenset({"own"})),
)
quiet("private-endpoint", "one's own", lambda: [connected(OWN_SUBSCRIPTION)])
quiet("private-endpoint", "rejected", lambda: [connected("b", approved=False)])


def replicated(source: str, destination: str, **over: Any) -> Event:
    """Make a replication policy."""
    return changed(Topic.REPLICATION, source=source, destination=destination, **over)


fires("object-replication", "away", lambda: [replicated("weightsa", "thief")], CRITICAL)
fires("object-replication", "to another store", lambda: [replicated("weightsa", "weightsb")], HIGH)
quiet("object-replication", "into it", lambda: [replicated("logs", "weightsa")])
quiet("object-replication", "deleted", lambda: [replicated("weightsa", "thief", change="delete")])

SFTP = Topic.SFTP_OR_LOCAL_USERS

fires("sftp-or-local-users", "SFTP", lambda: [changed(SFTP, sftp=True)], HIGH)
fires("sftp-or-local-users", "a local user", lambda: [changed(SFTP, user="user:1")], HIGH)
quiet("sftp-or-local-users", "switched off", lambda: [changed(SFTP, sftp=False)])
quiet("sftp-or-local-users", "deleted", lambda: [changed(SFTP, user="u", change="delete")])

OFF = Topic.PROTECTION

fires("protection-off", "versioning", lambda: [changed(OFF, off=["isversioningenabled"])], MEDIUM)
fires("protection-off", "a legal hold", lambda: [changed(OFF, off=["legalhold"])], HIGH)
fires(
    "protection-off",
    "a lock",
    lambda: [changed(OFF, off=["locks"], which=["locks"], change="delete")],
    HIGH,
)
fires("protection-off", "asked", lambda: [requested("DeleteBlobImmutabilityPolicy")], MEDIUM)
fires("protection-off", "properties", lambda: [requested("SetBlobServiceProperties")], MEDIUM)
quiet("protection-off", "in vain", lambda: [requested("SetBlobServiceProperties", status=403)])
quiet("protection-off", "on", lambda: [changed(OFF, which=["isversioningenabled"], off=[])])
quiet(
    "protection-off", "tried", lambda: [activity(at(1), OFF, succeeded=False, facts={"off": ["x"]})]
)
