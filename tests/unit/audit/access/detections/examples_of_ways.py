"""Stories for the detections 6 to 11 and 18: how accesses were made, by whom, with what right."""

from audit.access.model.detection import Event
from core.weights.documents.access import UNATTRIBUTED, Access, Act, Caller, SignedBy
from core.weights.documents.events import Severity, Topic
from tests.unit.audit.access.detections.events import (
    ANN,
    BOB,
    SHARD,
    Around,
    access,
    activity,
    at,
    attributed,
    delete,
    pod,
    write,
)
from tests.unit.audit.access.detections.examples import fires, quiet

LOW, MEDIUM, HIGH, CRITICAL = Severity


def staged(day: float, reads: int = 1, hours: float = 1.0, **reader: object) -> list[Event]:
    """Tell of a blob that is written, read and deleted."""
    return [
        write(at(day), f"tmp/{day}"),
        *(access(at(day, 0.2 + n / 10), blob=f"tmp/{day}", **reader) for n in range(reads)),
        delete(at(day, hours), f"tmp/{day}"),
    ]


fires("create-read-delete", "once, by itself", lambda: staged(1), MEDIUM)
fires(
    "create-read-delete",
    "read by somebody without a grant",
    lambda: staged(1, principal=BOB, grant=""),
    HIGH,
)
quiet("create-read-delete", "read often", lambda: staged(1, reads=5))
quiet("create-read-delete", "deleted a day later", lambda: staged(1, hours=20))
quiet("create-read-delete", "never read", lambda: staged(1, reads=0))
quiet(
    "create-read-delete",
    "small temporary files",
    lambda: [
        write(at(1), "tmp/a", 4096),
        access(at(1, 0.1), blob="tmp/a", bytes_out=4096),
        delete(at(1, 0.2), "tmp/a"),
    ],
)


def copied(when: float, **over: object) -> list[Access]:
    """Make the three records of one copy."""
    told = {"act": Act.COPY, "correlation": f"copy-{when}", "bytes_out": 0}
    told |= {"copy_source": "weightsa/checkpoints/step-1/shard-0", **over}
    names = ("CopyBlob", "CopyBlobSource", "CopyBlobDestination")
    return [
        access(when + n / 10, operation=name, operation_count=n, **told)
        for n, name in enumerate(names)
    ]


AWAY = {"account": "thief", "container": "loot", "store": ""}

fires("copy-out", "into another account", lambda: copied(at(1), **AWAY), HIGH)
fires("copy-out", "into another store", lambda: copied(at(1), account="weightsb"), MEDIUM)
fires("copy-out", "into another container", lambda: copied(at(1), container="public"), MEDIUM)
fires(
    "copy-out",
    "out of order",
    lambda: copied(at(1), **AWAY)[::-1],
    HIGH,
)
quiet("copy-out", "a backup within the account", lambda: copied(at(1), container="archive"))
quiet("copy-out", "a rename", lambda: copied(at(1)))
quiet("copy-out", "refused", lambda: copied(at(1), status=403, **AWAY))
quiet(
    "copy-out",
    "into the account, of what is no weights",
    lambda: copied(at(1), copy_source="logs/app/today"),
)

fires("no-live-pod", "none", lambda: [access(at(1), attribution=attributed(), grant="")], HIGH)
fires(
    "no-live-pod",
    "one that nobody admitted",
    lambda: [access(at(1), attribution=attributed(pod(decision="")))],
    MEDIUM,
)
fires(
    "no-live-pod",
    "none, but there is a gap",
    lambda: [access(at(1), attribution=attributed(gaps=True), grant="")],
    LOW,
)
quiet("no-live-pod", "one that was admitted", lambda: [access(at(1))])
quiet("no-live-pod", "a person with a grant", lambda: [access(at(1), attribution=attributed())])
quiet(
    "no-live-pod",
    "where nobody looked",
    lambda: [access(at(1), attribution=UNATTRIBUTED, grant="")],
)


def used(*addresses: tuple[str, Caller], **over: object) -> list[Event]:
    """Tell of one token that is used from these addresses."""
    return [
        access(at(1, n), address=address, caller=caller, attribution=attributed(), **over)
        for n, (address, caller) in enumerate(addresses)
    ]


NODE = ("10.0.0.4", Caller.NODE)
POD = ("10.244.0.9", Caller.POD)
NAT = ("198.51.100.10", Caller.PUBLIC)
NAT_2 = ("198.51.100.11", Caller.PUBLIC)
AWAY_ADDRESS = ("203.0.113.7", Caller.PUBLIC)

fires("token-two-addresses", "a node and the internet", lambda: used(NODE, AWAY_ADDRESS), HIGH)
fires(
    "token-two-addresses",
    "two Pods",
    lambda: used(POD, ("10.244.0.10", Caller.POD)),
    MEDIUM,
)
quiet("token-two-addresses", "one address", lambda: used(NODE, NODE))
quiet("token-two-addresses", "a NAT pool", lambda: used(NAT, NAT_2))
quiet("token-two-addresses", "a Pod and its node", lambda: used(POD, NODE))
quiet("token-two-addresses", "SNAT", lambda: used(POD, ("192.0.2.1", Caller.NETWORK)))
quiet(
    "token-two-addresses",
    "two addresses of one Pod",
    lambda: [access(at(1)), access(at(1, 1), address="10.0.0.5")],
)
quiet(
    "token-two-addresses",
    "a day later: no token lives so long",
    lambda: [used(NODE)[0], access(at(3), address="203.0.113.7", caller=Caller.PUBLIC)],
)


def risky(who: str, standing: str) -> Around:
    """Return surroundings in which an identity is at risk on the first day."""
    return Around(risks={who: (at(1), at(2), standing)})


ticks = [access(at(4, n), principal="9" * 8 + "-9999-9999-9999-" + "9" * 12) for n in range(20)]

fires(
    "access-at-risk",
    "high",
    lambda: [access(at(1, 2))],
    HIGH,
    around=lambda: risky(f"oid:{ANN}", "high"),
)
fires(
    "access-at-risk",
    "the human behind the Pod, compromised",
    lambda: [access(at(1, 2)), access(at(1, 3))],
    CRITICAL,
    around=lambda: risky(f"oid:{BOB}", "compromised"),
)
quiet("access-at-risk", "nobody", lambda: [access(at(1, 2)), *ticks])
quiet(
    "access-at-risk",
    "before and after",
    lambda: [access(at(0, 2)), access(at(3)), *ticks],
    lambda: risky(f"oid:{ANN}", "high"),
)

NONE = {"grant": "", "ungranted": "no grant names the service account"}

fires("ungranted", "a read", lambda: [access(at(1), bytes_out=9, **NONE)], HIGH)
fires("ungranted", "a listing", lambda: [access(at(1), act=Act.LIST, **NONE)], LOW)
fires(
    "ungranted",
    "much",
    lambda: [access(at(1, n / 10), blob=f"s{n}", **NONE) for n in range(12)],
    HIGH,
    CRITICAL,
)
fires(
    "ungranted",
    "with a gap",
    lambda: [access(at(1), bytes_out=9, attribution=attributed(pod(), gaps=True), **NONE)],
    MEDIUM,
)
quiet("ungranted", "granted", lambda: [access(at(1))])
quiet("ungranted", "refused by storage", lambda: [access(at(1), status=403, **NONE)])
quiet("ungranted", "by key", lambda: [access(at(1), signed_by=SignedBy.ACCOUNT_KEY, **NONE)])


def key_issued(day: float, principal: str = BOB) -> Event:
    """Make a request for a user delegation key."""
    told = {"operation": "GetUserDelegationKey", "act": Act.POLICY, "container": "", "blob": ""}
    return access(at(day), principal=principal, bytes_out=0, **told)


SAS = {"signed_by": SignedBy.DELEGATION_SAS, "principal": "", "delegator": BOB}

fires("delegation-key", "to somebody", lambda: [key_issued(1), key_issued(1.1)], HIGH)
fires("delegation-key", "to who is listed", lambda: [key_issued(1, ANN)], MEDIUM)
fires(
    "delegation-key",
    "told by both logs",
    lambda: [key_issued(1), activity(at(1, 1), Topic.DELEGATION_KEY_ISSUED)],
    HIGH,
)
fires(
    "delegation-key",
    "used from the internet",
    lambda: [access(at(1), caller=Caller.PUBLIC, bytes_out=SHARD, **SAS)],
    HIGH,
)
fires(
    "delegation-key",
    "by a service, until it is one",
    lambda: [key_issued(day, ANN) for day in range(1, 30)],
    MEDIUM,
    MEDIUM,
    MEDIUM,
)
quiet("delegation-key", "used inside", lambda: [access(at(1), **SAS)])
