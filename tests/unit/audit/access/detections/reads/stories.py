"""Stories of weights that are read, looked for or copied away."""

from typing import Any

from audit.access.model.detection import Event
from core.weights.documents.access import Act, Caller, Confidence, SignedBy
from core.weights.documents.events import Severity
from tests.unit.audit.access.detections.events import (
    BOB,
    SHARD,
    Around,
    access,
    at,
    attributed,
    delete,
    make_store,
    reads,
    write,
)
from tests.unit.audit.access.detections.examples import fires, quiet
from tests.unit.audit.access.detections.storage_requests import DEFENDER, UNGRANTED, copied, habit

LOW, MEDIUM, HIGH, CRITICAL = Severity


def key_read(day: float, **over: Any) -> Event:
    """Make a read with an account key."""
    told = {"signed_by": SignedBy.ACCOUNT_KEY, "principal": "", "application": "", "token": "k1"}
    return access(at(day), **{**told, "bytes_out": 1 << 20, **over})


fires("key-or-anonymous-read", "a key", lambda: [key_read(1)], HIGH)
fires(
    "key-or-anonymous-read",
    "a SAS, each day once",
    lambda: [
        access(at(day, hour), signed_by=SignedBy.SAS, principal="", application="", bytes_out=9)
        for day in (1, 2)
        for hour in (3, 4, 5)
    ],
    HIGH,
    HIGH,
)
fires(
    "key-or-anonymous-read",
    "a key, then much with it",
    lambda: [key_read(1), *(key_read(1 + n / 50, bytes_out=SHARD) for n in range(1, 20))],
    HIGH,
    CRITICAL,
)
fires(
    "key-or-anonymous-read",
    "nobody at all",
    lambda: [access(at(1), signed_by=SignedBy.ANONYMOUS, principal="", application="", token="")],
    CRITICAL,
)
fires(
    "key-or-anonymous-read",
    "a key from the internet",
    lambda: [key_read(1, caller=Caller.PUBLIC, address="203.0.113.7")],
    CRITICAL,
)
quiet("key-or-anonymous-read", "Entra ID", lambda: [access(at(1))])
quiet("key-or-anonymous-read", "a key that was refused", lambda: [key_read(1, status=403)])
quiet("key-or-anonymous-read", "a key elsewhere", lambda: [key_read(1, store="", account="logs")])

fires(
    "volume-above-baseline",
    "ten times as many shards",
    lambda: [*habit(range(10)), *reads(at(11, 9), range(60), "step-2")],
    MEDIUM,
)
fires(
    "volume-above-baseline",
    "forty times as many, found twice",
    lambda: [*habit(range(10)), *reads(at(11, 9), range(200), "step-2")],
    MEDIUM,
    HIGH,
)
fires(
    "volume-above-baseline",
    "a checkpoint by one who reads a fifth of it each day",
    lambda: [*habit(range(20), 20), *reads(at(21, 9), range(100), "step-2")],
    MEDIUM,
)
fires(
    "volume-above-baseline",
    "many small blobs",
    lambda: [
        *habit(range(10), 2, bytes_out=1 << 20),
        *reads(at(11, 9), range(400), "step-2", bytes_out=1 << 20),
    ],
    MEDIUM,
)
fires(
    "volume-above-baseline",
    "a newcomer that reads more than anybody",
    lambda: [*habit(range(10)), *reads(at(11, 9), range(60), principal=BOB)],
    LOW,
)
quiet("volume-above-baseline", "a habit", lambda: [*habit(range(40))])
quiet(
    "volume-above-baseline",
    "a restart: the same shards twelve times a day",
    lambda: [
        *habit(range(10), 60),
        *(one for hour in range(12) for one in reads(at(11, hour), range(60))),
    ],
)
quiet(
    "volume-above-baseline",
    "from 10 to 2,000 Pods: the same shards from everywhere",
    lambda: [
        *habit(range(10)),
        *(
            access(at(11) + n, blob=f"step-1/shard-{n % 5}", address=f"10.0.{n % 9}.{n % 250}")
            for n in range(2000)
        ),
    ],
)
quiet(
    "volume-above-baseline",
    "an evaluation at the month's end, as two months before",
    lambda: [
        *habit(range(20), 15),
        *(one for day in (26, 27) for one in reads(at(day, 9), range(45), f"eval-{day}")),
        *habit(range(30, 50), 15),
        *(one for day in (56, 57) for one in reads(at(day, 9), range(48), f"eval-{day}")),
    ],
)
quiet("volume-above-baseline", "a first week", lambda: [*habit(range(5), 30, principal=BOB)])
quiet("volume-above-baseline", "refused", lambda: [*habit(range(10)), access(at(11), status=403)])


def slowly(days: int, shards: int, **over: Any) -> list[Event]:
    """Tell of a principal that reads some other shards each day."""
    return [
        one
        for day in range(days)
        for one in reads(at(day, 9), range(day * shards, (day + 1) * shards), **over)
    ]


fires("slow-exfiltration", "four shards a day, granted", lambda: slowly(25, 4), MEDIUM)
fires("slow-exfiltration", "without a grant", lambda: slowly(25, 4, **UNGRANTED), HIGH)
fires(
    "slow-exfiltration",
    "from a network that nobody listed",
    lambda: slowly(25, 4, caller=Caller.PRIVATE),
    HIGH,
)
quiet("slow-exfiltration", "the same shards each day", lambda: [*habit(range(29), 20)])
quiet("slow-exfiltration", "all at once", lambda: [*reads(at(1), range(100))])
quiet("slow-exfiltration", "half a checkpoint", lambda: slowly(12, 4))
quiet("slow-exfiltration", "in a quarter of a year", lambda: [*slowly(90, 1)][::4])
quiet(
    "slow-exfiltration",
    "where nobody said how large a checkpoint is",
    lambda: slowly(25, 4),
    lambda: Around(stores={"frontier": make_store(size="")}),
)
quiet(
    "slow-exfiltration",
    "a blob of known size, by ranges, again and again",
    lambda: [
        write(at(0), "step-1/shard-0", 10 << 30, principal=BOB),
        *(access(at(1 + n / 10), status=206, bytes_out=20 << 30) for n in range(250)),
    ],
)


def looks(
    count: int, operation: str = "ListBlobs", seconds: float = 1.0, **over: Any
) -> list[Event]:
    """Tell of somebody who looks around."""
    act = Act.POLICY if "ACL" in operation else Act.LIST
    return [
        access(at(1) + n * seconds, operation=operation, act=act, blob=f"b{n}", bytes_out=0, **over)
        for n in range(count)
    ]


fires("enumeration", "listings", lambda: looks(150), LOW)
fires("enumeration", "listings without a grant", lambda: looks(150, **UNGRANTED), MEDIUM)
fires("enumeration", "refused listings", lambda: looks(150, status=403, grant=""), MEDIUM)
fires("enumeration", "looks at properties", lambda: looks(700, "GetBlobProperties", 0.1), LOW)
fires("enumeration", "who may read", lambda: looks(12, "GetContainerACL"), MEDIUM)
fires("enumeration", "changes to who may read", lambda: looks(3, "SetContainerACL"), MEDIUM)
quiet("enumeration", "a listing a minute", lambda: looks(150, seconds=60))
quiet(
    "enumeration",
    "2,000 Pods on 500 nodes that list once",
    lambda: [
        access(
            at(1) + n / 10,
            operation="ListBlobs",
            act=Act.LIST,
            address=f"10.1.{n % 2}.{n % 250}",
            correlation=f"l{n}",
        )
        for n in range(2000)
    ],
)
quiet(
    "enumeration",
    "a mount that looks before it reads",
    lambda: [
        one
        for n in range(900)
        for one in (
            access(at(1) + n / 5, operation="GetBlobProperties", act=Act.LIST, blob=f"s{n}"),
            access(
                at(1) + n / 5 + 0.1,
                blob=f"s{n}",
                attribution=attributed(confidence=Confidence.NODE),
            ),
        )
    ],
)


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


def copies(day: float, blobs: int, name: str = "snapshot", **over: Any) -> list[Event]:
    """Tell of reads of earlier states."""
    state = {name: "2026-03-02T00:00:00.0000000Z"}
    return [
        access(at(day) + n, blob=f"step-1/shard-{n}", extra=state, **over) for n in range(blobs)
    ]


def snapshots(day: float, blobs: int, **over: Any) -> list[Event]:
    """Tell of snapshots that are made."""
    return [
        write(at(day) + n, f"step-1/shard-{n}", 0, operation="SnapshotBlob", **over)
        for n in range(blobs)
    ]


fires("snapshot-read", "made and read", lambda: [*snapshots(1, 16), *copies(1.1, 16)], MEDIUM)
fires("snapshot-read", "versions", lambda: copies(1, 16, "version", **UNGRANTED), HIGH)
fires(
    "snapshot-read",
    "a backup, until it is known",
    lambda: [one for day in range(9) for one in copies(day, 40)],
    MEDIUM,
    MEDIUM,
    MEDIUM,
)
quiet("snapshot-read", "made", lambda: snapshots(1, 99))
quiet("snapshot-read", "one of them", lambda: copies(1, 1) * 2)
quiet("snapshot-read", "the present state", lambda: list(reads(at(1), range(99))))
quiet("snapshot-read", "refused", lambda: copies(1, 40, status=404))

fires(
    "key-or-anonymous-read",
    "a key that lists, and then reads",
    lambda: [
        key_read(1, operation="ListContainers", act=Act.LIST, container="", blob=""),
        key_read(1.1, operation="GetContainerProperties", act=Act.LIST, blob=""),
        key_read(1.2),
        key_read(1.3, operation="ListBlobs", act=Act.LIST, blob=""),
    ],
    MEDIUM,
    HIGH,
)
quiet(
    "key-or-anonymous-read",
    "listings with Entra ID",
    lambda: [access(at(1), operation="ListBlobs", act=Act.LIST, blob="")],
)


def feed(day: float, container: str = "$blobchangefeed", blob: str = "log/x.avro") -> Event:
    """Make a read of what no WeightStore holds."""
    told = {"store": "", "container": container, "blob": blob}
    return access(at(day), grant="", **told)


REPORT = "2026/03/02/01-02-03/all/all.csv"

fires(
    "enumeration", "the change feed, each day", lambda: [feed(d) for d in range(9)], LOW, LOW, LOW
)
fires("enumeration", "an inventory", lambda: [feed(1, "inventory", REPORT)], LOW)
fires(
    "enumeration",
    "an inventory, with a key",
    lambda: [key_read(1, store="", container="inventory", blob=REPORT)],
    MEDIUM,
)
quiet("enumeration", "a table beside the weights", lambda: [feed(1, "data", "2026/03/all.csv")])

quiet(
    "slow-exfiltration",
    "Defender's scanner, which reads each new blob",
    lambda: [one for day in range(40) for one in reads(at(day), range(9), f"s{day}", **DEFENDER)],
)
quiet(
    "volume-above-baseline",
    "Defender's scanner on the day of a checkpoint",
    lambda: [
        *(one for day in range(20) for one in reads(at(day), range(2), f"s{day}", **DEFENDER)),
        *reads(at(20), range(99), "new", **DEFENDER),
    ],
)
