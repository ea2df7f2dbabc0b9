"""Stories for the detections of harm: what is written, overwritten, deleted or shut away."""

from typing import Any

from audit.access.model.detection import Event
from core.weights.documents.access import Caller, SignedBy
from core.weights.documents.events import Severity, Topic
from tests.unit.audit.access.detections.events import activity, at, delete, write
from tests.unit.audit.access.detections.examples import fires, quiet
from tests.unit.audit.access.detections.examples_of_ways import copied

LOW, MEDIUM, HIGH, CRITICAL = Severity

KEY: dict[str, Any] = {
    "signed_by": SignedBy.ACCOUNT_KEY,
    "principal": "",
    "application": "",
    "token": "key1:0123",
    "grant": "",
}
SAS: dict[str, Any] = {**KEY, "signed_by": SignedBy.SAS, "token": "ab:key1:0123"}
OUTSIDE: dict[str, Any] = {"caller": Caller.PUBLIC, "address": "203.0.113.7"}
SCANNER = "xAzure/1.0 AzureStorage/1.0 ObjectLifeCycleScanner/0.50"


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


def protection(day: float, which: list[str], off: list[str]) -> Event:
    """Tell of settings of the account that are set."""
    return activity(at(day), Topic.PROTECTION, facts={"which": which, "off": off})


__all__ = ["KEY", "OUTSIDE", "SAS", "SCANNER", "protection", "wiped"]
