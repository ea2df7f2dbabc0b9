"""Stories of weights that are overwritten, deleted, encrypted or archived."""

from typing import Any

from audit.access.model.detection import Event
from core.weights.documents.access import Caller, SignedBy
from core.weights.documents.events import Severity, Topic
from tests.unit.audit.access.detections.events import ANN, BOB, access, activity, at, delete, write
from tests.unit.audit.access.detections.examples import fires, quiet
from tests.unit.audit.access.detections.storage_requests import (
    CAROL,
    KEY,
    OUTSIDE,
    SAS,
    SCANNER,
    copied,
)

LOW, MEDIUM, HIGH, CRITICAL = Severity


def wiped(shards: int, **over: Any) -> list[Event]:
    """Tell of a checkpoint whose shards are deleted one after the other."""
    return [delete(at(1) + n, f"step-1/shard-{n}", **over) for n in range(shards)]


fires("key-or-anonymous-change", "a key deletes", lambda: wiped(3, **KEY), HIGH)
fires(
    "key-or-anonymous-change",
    "a key deletes a checkpoint",
    lambda: wiped(16, **KEY),
    HIGH,
    CRITICAL,
)
fires(
    "key-or-anonymous-change",
    "a key deletes a checkpoint from the internet",
    lambda: wiped(16, **KEY, **OUTSIDE),
    CRITICAL,
)
fires(
    "key-or-anonymous-change",
    "a key deletes a container",
    lambda: [delete(at(1), "", operation="DeleteContainer", **KEY)],
    CRITICAL,
)
fires("key-or-anonymous-change", "a SAS writes", lambda: [write(at(1), "step-1/a", **SAS)], HIGH)
fires(
    "key-or-anonymous-change",
    "a copy into the store by a key",
    lambda: copied(at(1), **KEY),
    HIGH,
)
fires(
    "key-or-anonymous-change",
    "a lease by a SAS, each day",
    lambda: [
        write(at(day), "step-1/a", 0, operation="AcquireBlobLease", **SAS) for day in (1, 1.5, 2)
    ],
    MEDIUM,
    MEDIUM,
)
fires(
    "key-or-anonymous-change",
    "one that calls itself the lifecycle scanner",
    lambda: wiped(40, **SAS, user_agent=SCANNER),
    MEDIUM,
)
fires(
    "key-or-anonymous-change",
    "one that calls itself so from the internet",
    lambda: wiped(1, **SAS, **OUTSIDE, user_agent=SCANNER),
    CRITICAL,
)
quiet("key-or-anonymous-change", "Entra ID", lambda: [*wiped(16), write(at(2), "step-1/a")])
quiet("key-or-anonymous-change", "refused", lambda: wiped(16, **KEY, status=403))
quiet(
    "key-or-anonymous-change",
    "elsewhere",
    lambda: wiped(16, **{**KEY, "store": "", "account": "l"}),
)
quiet(
    "key-or-anonymous-change",
    "a copy by a key that only reads the store",
    lambda: copied(at(1), **KEY, account="thief", container="loot"),
)
quiet(
    "key-or-anonymous-change",
    "the lifecycle scanner, signed by Azure",
    lambda: wiped(
        400,
        **{**KEY, "signed_by": SignedBy.UNKNOWN, "token": "", "caller": Caller.PRIVATE},
        user_agent=SCANNER,
        extra={"identityType": "TrustedAccess"},
    ),
)


def made_by(who: str, shards: int, day: float = 0.0) -> list[Event]:
    """Tell of a checkpoint that somebody writes."""
    return [write(at(day) + n, f"step-1/shard-{n}", principal=who) for n in range(shards)]


def protection(day: float, which: list[str], off: list[str]) -> Event:
    """Tell of settings of the account that are set."""
    return activity(at(day), Topic.PROTECTION, facts={"which": which, "off": off})


fires(
    "mass-delete",
    "many deleted",
    lambda: [delete(at(1) + n, f"b{n}") for n in range(1200)],
    MEDIUM,
    HIGH,
)
fires(
    "mass-delete",
    "40 folders deleted",
    lambda: [delete(at(1) + n, f"step-{n}", operation="DeleteDirectory") for n in range(41)],
    MEDIUM,
    HIGH,
)
fires(
    "mass-delete",
    "a checkpoint that another wrote",
    lambda: [*made_by(BOB, 16), *wiped(16)],
    MEDIUM,
)
fires(
    "mass-delete",
    "a checkpoint that another wrote and that is in use",
    lambda: [
        *made_by(BOB, 16),
        *(access(at(0.5) + n, blob=f"step-1/shard-{n}") for n in range(16)),
        *wiped(16),
    ],
    HIGH,
)
fires(
    "mass-delete",
    "a checkpoint that another wrote, without a grant",
    lambda: [*made_by(BOB, 16), *wiped(16, grant="")],
    HIGH,
)
fires(
    "mass-delete",
    "a container, granted, and soft delete switched off before",
    lambda: [
        protection(0, ["containerdeleteretentionpolicy"], ["containerdeleteretentionpolicy"]),
        delete(at(1), "", operation="DeleteContainer"),
    ],
    HIGH,
)
fires(
    "mass-delete",
    "a container, from elsewhere",
    lambda: [delete(at(1), "", operation="DeleteContainer", **OUTSIDE)],
    CRITICAL,
)
fires(
    "mass-delete",
    "one that calls itself the lifecycle scanner",
    lambda: [delete(at(1) + n, f"b{n}", **SAS, user_agent=SCANNER) for n in range(1200)],
    MEDIUM,
)
fires(
    "mass-delete",
    "one that signed in and calls itself the lifecycle scanner",
    lambda: [delete(at(1) + n, f"b{n}", user_agent=SCANNER) for n in range(1200)],
    MEDIUM,
    HIGH,
)
fires(
    "mass-delete",
    "the folder of a checkpoint that another wrote and that is in use",
    lambda: [
        *made_by(BOB, 16),
        *(access(at(0.5) + n, blob=f"step-1/shard-{n}") for n in range(16)),
        delete(at(1), "step-1", operation="DeleteDirectory"),
    ],
    HIGH,
)
quiet(
    "mass-delete",
    "the folder of one's own checkpoint",
    lambda: [*made_by(ANN, 16), delete(at(1), "step-1", operation="DeleteDirectory")],
)
quiet(
    "mass-delete",
    "a job that deletes 150 old blobs each night, after three nights",
    lambda: [delete(at(day) + n, f"{day}/{n}") for day in range(9) for n in range(90 + day)],
)
quiet("mass-delete", "one's own checkpoint", lambda: [*made_by(ANN, 16), *wiped(16)])
quiet("mass-delete", "refused", lambda: [*made_by(BOB, 16), *wiped(16, status=403)])
quiet(
    "mass-delete",
    "the lifecycle scanner, signed by Azure",
    lambda: wiped(
        1200,
        **{**KEY, "signed_by": SignedBy.UNKNOWN, "token": "", "caller": Caller.PRIVATE},
        user_agent=SCANNER,
        extra={"identityType": "TrustedAccess"},
    ),
)


def published() -> list[Event]:
    """Tell of a checkpoint that Bob writes, and that Ann reads days later."""
    return [
        *made_by(BOB, 4),
        *(access(at(3) + n, blob=f"step-1/shard-{n}") for n in range(4)),
    ]


fires(
    "overwritten-weights",
    "by another, with a grant, in its Pod",
    lambda: [*published(), write(at(4), "step-1/shard-0", principal=CAROL)],
    HIGH,
)
fires(
    "overwritten-weights",
    "by its own writer, while others use it",
    lambda: [*published(), write(at(4), "step-1/shard-0", principal=BOB)],
    HIGH,
)
fires(
    "overwritten-weights",
    "by another, before anybody uses it: all shards, in blocks",
    lambda: [
        *made_by(BOB, 4),
        *(
            write(at(0, 1) + n, f"step-1/shard-{n}", 900, operation=operation, principal=CAROL)
            for n in range(4)
            for operation in ("PutBlock", "PutBlockList")
        ),
    ],
    MEDIUM,
)
fires(
    "overwritten-weights",
    "what was only seen to be read, without a grant",
    lambda: [access(at(1)), write(at(4), "step-1/shard-0", principal=BOB, grant="")],
    HIGH,
)
fires(
    "overwritten-weights",
    "by a copy from the internet, versioning on",
    lambda: [
        protection(0, ["isversioningenabled"], []),
        *published(),
        *copied(at(4), blob="step-1/shard-1", principal=CAROL, **OUTSIDE),
    ],
    CRITICAL,
)
quiet("overwritten-weights", "new shards", lambda: [*published(), *made_by(BOB, 9, 0.001)[4:]])
quiet(
    "overwritten-weights",
    "a trainer's last.ckpt, that an evaluator reads",
    lambda: [
        event
        for n in range(60)
        for event in (
            write(at(0, 2 * n), "run/last.ckpt", principal=BOB),
            access(at(0, 2 * n + 1), blob="run/last.ckpt"),
        )
    ],
)
quiet(
    "overwritten-weights",
    "a copy that each night replaces the one before",
    lambda: [
        event
        for night in range(9)
        for event in copied(at(night, 3), blob="backup/a", principal=CAROL)
    ],
)
quiet(
    "overwritten-weights",
    "written again after it was deleted",
    lambda: [*published(), *wiped(1, principal=BOB), write(at(5), "step-1/shard-0")],
)
quiet(
    "overwritten-weights",
    "refused",
    lambda: [*published(), write(at(4), "step-1/shard-0", principal=CAROL, status=403)],
)


ENCRYPTED: dict[str, Any] = {
    "status": 409,
    "status_text": "BlobUsesCustomerSpecifiedEncryption",
    "bytes_out": 0,
}
ARCHIVED: dict[str, Any] = {**ENCRYPTED, "status_text": "BlobArchived"}


def each_shard(day: float, shards: int, **over: Any) -> list[Event]:
    """Tell of reads of the shards, one after the other."""
    return [access(at(day) + n, blob=f"step-1/shard-{n}", **over) for n in range(shards)]


def rewritten(shards: int) -> list[Event]:
    """Tell of shards that Bob writes, Ann reads, and Carol writes anew."""
    again = [write(at(4) + n, f"step-1/shard-{n}", principal=CAROL) for n in range(shards)]
    return [*made_by(BOB, shards), *each_shard(3, shards), *again]


fires(
    "customer-key",
    "a shard that could be read before",
    lambda: [*rewritten(1), *each_shard(5, 1, **ENCRYPTED)],
    HIGH,
)
fires(
    "customer-key",
    "a checkpoint that could be read before",
    lambda: [*rewritten(9), *each_shard(5, 9, **ENCRYPTED)],
    HIGH,
    CRITICAL,
)
fires(
    "customer-key",
    "a shard of which nothing is known",
    lambda: [*each_shard(5, 9, **ENCRYPTED)],
    MEDIUM,
)
quiet("customer-key", "a rewrite that all can read", lambda: [*rewritten(9), *each_shard(5, 9)])
quiet(
    "customer-key",
    "other refusals",
    lambda: [
        *rewritten(9),
        *each_shard(5, 9, status=403, status_text="AuthorizationPermissionMismatch"),
        *each_shard(6, 9, **ARCHIVED),
    ],
)


def moved(day: float, shards: int, tier: str = "Archive", **over: Any) -> list[Event]:
    """Tell of shards whose tier is set."""
    told = {"operation": "SetBlobTier", "extra": {"tier": tier} if tier else {}, **over}
    return [write(at(day) + n, f"step-1/shard-{n}", 0, **told) for n in range(shards)]


fires(
    "archived-weights",
    "a checkpoint in use",
    lambda: [*each_shard(1, 9), *moved(2, 9, principal=CAROL)],
    HIGH,
)
fires(
    "archived-weights",
    "to a tier that the log does not name, until a read is refused",
    lambda: [
        *each_shard(1, 9),
        *moved(2, 9, "", principal=CAROL),
        *each_shard(3, 9, **ARCHIVED),
    ],
    MEDIUM,
    HIGH,
)
fires(
    "archived-weights",
    "one that calls itself the lifecycle scanner",
    lambda: [*each_shard(1, 9), *moved(2, 9, **SAS, user_agent=SCANNER)],
    MEDIUM,
)
quiet("archived-weights", "to Cool", lambda: [*each_shard(1, 9), *moved(2, 9, "Cool")])
quiet("archived-weights", "what nobody reads", lambda: moved(2, 99))
quiet("archived-weights", "old ones", lambda: [*each_shard(1, 9), *moved(20, 9)])
quiet("archived-weights", "a read of what lay there", lambda: each_shard(3, 9, **ARCHIVED))
