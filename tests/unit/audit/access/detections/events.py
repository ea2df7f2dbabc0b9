"""Makes events, and surroundings, as detections are shown them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from audit.access.detections.engine import DetectionEngine
from audit.access.model.detection import HOUR_S, Event
from audit.access.model.findings import moment_text
from core.base.ids import stable_id
from core.base.times import DAY_S
from core.weights.documents.access import (
    FORMAT,
    Access,
    AccessedBy,
    Act,
    Attribution,
    Caller,
    Confidence,
    SignedBy,
)
from core.weights.documents.events import Activity, Finding, Log, LogGap, Topic
from core.weights.stores import WeightStore, parse_store

START: Final = 1_772_409_600.0
"""2026-03-02T00:00:00Z, a Monday."""

ANN: Final = "11111111-1111-1111-1111-111111111111"
BOB: Final = "22222222-2222-2222-2222-222222222222"
OWN_SUBSCRIPTION: Final = "aaaaaaaa-0000-0000-0000-000000000000"
CHECKPOINT: Final = 1000 << 30
SHARD: Final = 10 << 30


def at(day: float, hour: float = 0.0) -> float:
    """Return Unix seconds of a day and an hour since START."""
    return START + day * DAY_S + hour * HOUR_S


def make_store(
    name: str = "frontier", account: str = "weightsa", size: str = "1000Gi"
) -> WeightStore:
    """Make a WeightStore of one account, two containers and one listed identity."""
    resource = (
        f"/subscriptions/{OWN_SUBSCRIPTION}/resourceGroups/weights"
        f"/providers/Microsoft.Storage/storageAccounts/{account}"
    )
    spec = {
        "account": account,
        "containers": [{"name": "checkpoints"}, {"name": "archive"}],
        "owner": "training",
        "resourceId": resource,
        "identities": [{"objectId": ANN, "rights": ["read"]}],
        **({"checkpointSize": size} if size else {}),
    }
    meta = {"name": name, "uid": "u"}
    kind = {"apiVersion": "sallyport.dev/v1alpha1", "kind": "WeightStore"}
    return parse_store(msgspec.json.encode({**kind, "metadata": meta, "spec": spec}))


@dataclass
class Around:
    """Surroundings that a test sets."""

    cluster: str = "east"
    stores: Mapping[str, WeightStore] = field(
        default_factory=lambda: {"frontier": make_store(), "small": make_store("small", "weightsb")}
    )
    watermark: float = 0.0
    tenants: frozenset[str] = frozenset()
    subscriptions: frozenset[str] = frozenset({OWN_SUBSCRIPTION})
    risks: dict[str, tuple[float, float, str]] = field(default_factory=dict)
    """By identity, from when until when it was at risk, and how."""

    def at_risk(self, who: str, unix_s: float) -> str:
        """Say how an identity stood."""
        begin, end, standing = self.risks.get(who, (0.0, 0.0, ""))
        return standing if begin <= unix_s < end else ""


def pod(name: str = "train-0", **over: Any) -> AccessedBy:
    """Make a Pod that was admitted, and that Bob asked for."""
    told = {"pod": f"research/{name}", "uid": f"uid-{name}", "decision": "d1", "node": "node-1"}
    return AccessedBy(**{**told, "requester": f"oid:{BOB}", **over})


def attributed(*pods: AccessedBy, **over: Any) -> Attribution:
    """Make an attribution to these Pods."""
    confidence = Confidence.EXACT if len(pods) == 1 else Confidence.ONE_OF
    if not pods:
        confidence = Confidence.UNATTRIBUTED
    told = {"confidence": confidence, "why": "told by a test", "among": len(pods)}
    return Attribution(**{**told, "pods": list(pods), **over})


def access(when: float, **over: Any) -> Access:
    """Make a granted, attributed read of one shard by Ann's identity from the cluster."""
    told: dict[str, Any] = {
        "account": "weightsa",
        "container": "checkpoints",
        "blob": "step-1/shard-0",
        "store": "frontier",
        "operation": "GetBlob",
        "act": Act.READ,
        "status": 200,
        "signed_by": SignedBy.OAUTH,
        "principal": ANN,
        "application": "c1",
        "token": "t1",
        "address": "10.0.0.4",
        "caller": Caller.NODE,
        "user_agent": "azsdk-python-storage-blob/12.19.0 Python/3.11",
        "bytes_out": SHARD,
        "attribution": attributed(pod()),
        "grant": "research/train@g1",
    }
    told |= over
    words = [str(told[name]) for name in ("blob", "operation", "principal", "address")]
    told.setdefault("correlation", f"{when}-{'-'.join(words)}")
    count = str(told.get("operation_count", 0))
    made = stable_id(round(when * 1000), "access", told["correlation"], count)
    return Access(
        **{"format": FORMAT, "id": made, "time": moment_text(when), "cluster": "east", **told}
    )


def reads(
    when: float, shards: Iterable[int], step: str = "step-1", seconds: float = 10.0, **over: Any
) -> Iterator[Access]:
    """Make reads of shards, one after the other."""
    for index, shard in enumerate(shards):
        yield access(when + index * seconds, blob=f"{step}/shard-{shard}", **over)


def write(when: float, blob: str, size: int = SHARD, **over: Any) -> Access:
    """Make a write of a whole blob."""
    told = {"operation": "PutBlob", "act": Act.WRITE, "bytes_in": size, "bytes_out": 0}
    return access(when, **{"blob": blob, **told, **over})


def delete(when: float, blob: str, **over: Any) -> Access:
    """Make a deletion of a blob."""
    told = {"operation": "DeleteBlob", "act": Act.DELETE, "bytes_out": 0}
    return access(when, **{"blob": blob, **told, **over})


def activity(when: float, topic: Topic, **over: Any) -> Activity:
    """Make an entry of Azure's activity log about the account of the store."""
    facts = over.pop("facts", {})
    told: dict[str, Any] = {
        "log": Log.AZURE,
        "topic": topic,
        "operation": "microsoft.storage/storageaccounts/write",
        "account": "weightsa",
        "store": "frontier",
        "principal": BOB,
        "address": "203.0.113.9",
        "facts": {"change": "write", "body": True, **facts},
    }
    told |= over
    words = [str(told["principal"]), str(told["facts"]), str(told.get("resource"))]
    made = stable_id(round(when * 1000), "activity", topic.value, str(told["account"]), *words)
    return Activity(
        **{"format": FORMAT, "id": made, "time": moment_text(when), "cluster": "east", **told}
    )


def gap(
    begin: float, end: float, log: str = "storage", subject: str = "weightsa/StorageRead"
) -> LogGap:
    """Make a gap."""
    made = stable_id(round(end * 1000), "gap", log, subject)
    told = {
        "begin": moment_text(begin),
        "end": moment_text(end),
        "why": "an hour's blob is missing",
    }
    return LogGap(format=FORMAT, id=made, cluster="east", log=log, subject=subject, **told)


def shown(
    events: Iterable[Event],
    detection: str = "",
    around: Around | None = None,
    engine: DetectionEngine | None = None,
) -> list[Finding]:
    """Show events to all detections; give what this one found, or all did."""
    engine = engine or DetectionEngine()
    around = around or Around()
    found = [one for event in events for one in engine.see(event, around)]
    assert engine.broken == {}
    return [one for one in found if detection in {"", one.detection}]
