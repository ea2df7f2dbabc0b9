"""A small cluster's history, and accesses to its weights."""

from typing import Any, Final

import msgspec

from audit.access.attribution.candidates import PodAttribution, attribute
from audit.access.attribution.histories import Histories
from audit.access.attribution.rules import ORDINARY, AttributionRules
from audit.ledger.records.frames import FrameKind
from core.base.ids import stable_id
from core.base.times import second_text
from core.weights.documents.access import Access, Act, Caller, SignedBy
from core.weights.documents.events import LogGap, encode_event
from core.weights.documents.object_change import ObjectChange, encode_change
from core.weights.documents.pod_life import LifeEvent, PodLife, encode_life

CLUSTER: Final = "c1"
NOON: Final = 1_777_636_800
"""2026-05-01T12:00:00Z."""

CLIENT: Final = "0b000000-0000-4000-8000-000000000001"
OTHER_CLIENT: Final = "0b000000-0000-4000-8000-000000000002"
OBJECT: Final = "0a000000-0000-4000-8000-000000000001"
ALICE: Final = "oid:0d000000-0000-4000-8000-00000000000a"


def text(at: float) -> str:
    """Return a time as documents have it."""
    return f"{second_text(int(at))}.{round(at % 1 * 1000):03d}Z"


def life(name: str = "train-0", **fields: Any) -> PodLife:
    """Return a Pod that runs since eleven, unless `fields` say otherwise."""
    event = LifeEvent.ENDED if fields.get("ended") else LifeEvent.ADDRESSED
    began, ended = fields.pop("began", NOON - 3600), fields.pop("ended", None)
    given = {
        "format": 1,
        "id": stable_id(int(began * 1000), "life", CLUSTER, name, event.value),
        "time": text(ended or began),
        "cluster": CLUSTER,
        "event": event,
        "uid": f"uid-{name}",
        "namespace": "team",
        "name": name,
        "service_account": "trainer",
        "node": "node-1",
        "addresses": ["10.244.0.5"],
        "node_addresses": ["10.224.0.4"],
        "began": text(began),
        "ended": text(ended) if ended else "",
        "client_ids": [CLIENT],
        **fields,
    }
    return PodLife(**given)


def change(
    kind: str, name: str, event: str, at: float = NOON - 7200, **fields: Any
) -> ObjectChange:
    """Return a change of an object."""
    identity = stable_id(int(at * 1000), "change", kind, name, event)
    given = {"namespace": "team", "uid": f"uid-{name}", **fields}
    return ObjectChange(
        format=1,
        id=identity,
        time=text(at),
        cluster=CLUSTER,
        event=event,
        kind=kind,
        name=name,
        **given,
    )


def decision(uid: str, **fields: Any) -> bytes:
    """Return the document of a decision that admitted a Pod."""
    given = {
        "format": 1,
        "id": stable_id((NOON - 3600) * 1000, "decision", uid),
        "time": text(NOON - 3600),
        "cluster": CLUSTER,
        "source": "validate",
        "request": {
            "uid": "r",
            "operation": "CREATE",
            "kind": "Pod",
            "version": "v1",
            "objectUid": uid,
        },
        "requester": "system:serviceaccount:kube-system:job-controller",
        "root": {"kind": "Job", "name": "train", "uid": "j", "requester": ALICE},
        "verdict": "allow",
        "allowed": True,
        "profile": "restricted",
        "sandbox": "gvisor",
        **fields,
    }
    return msgspec.json.encode(given)


def gap(log: str, begin: float, end: float) -> LogGap:
    """Return a gap of a record."""
    identity = stable_id(int(end * 1000), "gap", log)
    return LogGap(
        format=1,
        id=identity,
        cluster=CLUSTER,
        log=log,
        subject="Pod",
        begin=text(begin),
        end=text(end),
        why="a watch was away",
    )


def history(*documents: PodLife | ObjectChange | LogGap | bytes) -> Histories:
    """Return what these tell; `bytes` are decisions. The record began the day before."""
    made = Histories()
    made.gaps.begin(NOON - 30 * 3600)
    for document in documents:
        take(made, document)
    return made


def take(made: Histories, document: PodLife | ObjectChange | LogGap | bytes) -> None:
    """Take in a document that comes later; `bytes` are decisions."""
    if isinstance(document, PodLife):
        made.take(FrameKind.POD_LIFE, encode_life(document))
    elif isinstance(document, ObjectChange):
        made.take(FrameKind.CHANGE, encode_change(document))
    elif isinstance(document, LogGap):
        made.take(FrameKind.LOG_GAP, encode_event(document))
    else:
        made.take(FrameKind.DECISION, document)


def access(at: float = NOON, **fields: Any) -> Access:
    """Return a read of weights from the Pod's own address, unless `fields` say otherwise."""
    given = {
        "format": 1,
        "id": stable_id(int(at * 1000), "access", "a"),
        "time": text(at),
        "cluster": CLUSTER,
        "account": "weightsprod",
        "container": "llama",
        "blob": "run-7/shard-1",
        "store": "llama",
        "operation": "GetBlob",
        "act": Act.READ,
        "status": 200,
        "signed_by": SignedBy.OAUTH,
        "principal": OBJECT,
        "application": CLIENT,
        "address": "10.244.0.5",
        "caller": Caller.POD,
        **fields,
    }
    return Access(**given)


def asked(
    one: Access,
    *documents: PodLife | ObjectChange | LogGap | bytes,
    rules: AttributionRules = ORDINARY,
) -> PodAttribution:
    """Attribute an access by a history."""
    return attribute(one, history(*documents), rules)
