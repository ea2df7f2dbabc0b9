"""What long-lived parts remember, filled by what they take in, and given to one that begins anew.

These are no single types: what they save is put together by hand, key by key.
"""

import math
import zlib
from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec

from audit.access.detections.engine import FORMAT as ENGINE_FORMAT
from audit.access.detections.engine import BrokenDetection, DetectionEngine
from audit.access.detections.engine import _Snapshot as _EngineSnapshot
from audit.access.ingest.detection_feed import DetectionFeed, MemorySurroundings
from audit.access.ingest.event_order import EventOrder, event_seconds
from audit.access.ingest.memory import IngestMemory
from audit.access.ingest.state import restore_memory, save_memory
from audit.access.model.detection import Event
from audit.access.parsers.activity_log import BegunOperations
from audit.behaviour.cluster_habits import ClusterHabits
from audit.behaviour.habits import Habits
from audit.behaviour.rates import Norm, Rate
from audit.behaviour.state_file import (
    FORMAT,
    StoredCluster,
    StoredState,
    decode_state,
    encode_state,
    store_habits,
)
from audit.ledger.records.frames import FrameKind
from core.base.ids import stable_id
from core.base.times import milli_text
from core.decision.document import DecisionDocument, encode_document
from core.risk.look_back import LookBackDocument, encode_look_back
from core.weights.documents.access import Access
from core.weights.documents.events import Activity, LogGap, encode_event
from core.weights.documents.object_change import ObjectChange, encode_change
from core.weights.documents.pod_life import LifeEvent, PodLife, encode_life
from core.weights.documents.roll_calls import build_roll_call
from tests.compat.examples import example_of

CLUSTER: Final = "5f0c3c1e-6f0b-4c39-9d0e-2a5c7c4f9f10"
POD: Final = "c7d3f5a0-1b8e-4f0a-8a57-70f86f3c2b11"
NAMELESS: Final = "d7d3f5a0-1b8e-4f0a-8a57-70f86f3c2b12"
GONE: Final = "e7d3f5a0-1b8e-4f0a-8a57-70f86f3c2b13"
CLIENT: Final = "11111111-2222-4333-8444-555555555555"
PERSON: Final = "11111111-2222-4333-8444-555555555556"
BEGIN_MS: Final = 1_795_262_400_000
_MINUTE_MS: Final = 60_000
_POSITION: Final = 4711


def memory() -> bytes:
    """Return what an ingest saves of Pods, identities, grants, stores and risks."""
    made = IngestMemory()
    for kind, payload, projection in _documents():
        made.take(kind, payload, projection)
    assert (made.grants.unreadable, made.unreadable) == ({}, {})
    made.forget(BEGIN_MS / 1000 - 3600)
    return save_memory(made, _POSITION)


def memory_again(content: bytes) -> bytes:
    """Return what one saves that was given what another saved."""
    made = IngestMemory()
    return save_memory(made, restore_memory(made, content))


def _documents() -> Iterator[tuple[int, bytes, bytes | None]]:
    for change in _changes():
        yield FrameKind.CHANGE, encode_change(change), None
    for life in _lives():
        yield FrameKind.POD_LIFE, encode_life(life), None
    for uid in (POD, "waiting"):
        yield FrameKind.DECISION, encode_document(_decision(uid)), _PROJECTION
    for log in ("pods", "identities"):
        gap = {**_at(LogGap, 3), "log": log, "begin": _time(-30), "end": _time(3)}
        yield FrameKind.LOG_GAP, encode_event(example_of(LogGap, gap)), None
    for standing in ("high", "clean"):
        said = {**_at(LookBackDocument, 4), "standing": standing, "subject": f"oid:{PERSON}"}
        document = example_of(LookBackDocument, {**said, "since": _time(-5)})
        yield FrameKind.LOOK_BACK, encode_look_back(document), None


_PROJECTION: Final = msgspec.json.encode(
    {"containers": [{"image": f"registry.example/llm@sha256:{'a' * 64}"}]}
)


def _time(minute: int) -> str:
    return milli_text(BEGIN_MS + minute * _MINUTE_MS)


def _at(kind: type[object], minute: int) -> dict[str, Any]:
    at = BEGIN_MS + minute * _MINUTE_MS
    made = stable_id(at, "compat", kind.__doc__ or "", str(minute))
    return {"format": 1, "id": made, "time": milli_text(at), "cluster": CLUSTER}


def _changes() -> Iterator[ObjectChange]:
    store = {
        "account": "weightsa",
        "containers": [{"name": "checkpoints"}],
        "owner": "training",
        "identities": [{"objectId": PERSON, "clientId": CLIENT, "rights": ["read"]}],
    }
    grant = {"store": "frontier", "rights": ["read"], "reason": "r", "groups": ["evals"]}
    account = {"clientId": CLIENT, "tenantId": PERSON}
    for minute, kind, name, spec in (
        (0, "WeightStore", "frontier", store),
        (1, "AccessGrant", "evals", grant | {"expiresAt": "2026-12-31T18:00:00Z"}),
        (2, "ServiceAccount", "llm", account),
    ):
        fixed = {**_at(ObjectChange, minute), "kind": kind, "namespace": "train", "name": name}
        yield example_of(ObjectChange, {**fixed, "event": "there", "spec": spec})
    yield from build_roll_call(CLUSTER, [POD, NAMELESS], BEGIN_MS - 90 * _MINUTE_MS, "")
    part = build_roll_call(CLUSTER, [POD], BEGIN_MS, "")[0]
    yield msgspec.structs.replace(part, spec={**part.spec, "parts": 2})


def _lives() -> Iterator[PodLife]:
    lived = {**_at(PodLife, 5), "namespace": "train", "name": "llm-0", "began": _time(0)}
    alive = {**lived, "event": LifeEvent.SEEN.value, "ended": ""}
    yield example_of(PodLife, {**alive, "uid": POD, "serviceAccount": "llm"})
    poor: dict[str, Any] = {"serviceAccount": "poor", "clientIds": [], "volumes": []}
    yield example_of(PodLife, {**alive, **poor, "uid": NAMELESS, "name": "poor-0"})
    ended = {"event": LifeEvent.ENDED.value, "ended": _time(-120), "began": _time(-180)}
    yield example_of(PodLife, {**lived, **ended, "uid": GONE, "name": "gone-0"})


def _decision(uid: str) -> DecisionDocument:
    asked = {"kind": "Pod", "operation": "CREATE", "objectUid": uid, "dryRun": False}
    said = {"source": "validate", "allowed": True, "standing": "high", "since": _time(-5)}
    return example_of(DecisionDocument, {**_at(DecisionDocument, 6), **asked, **said})


def engine() -> bytes:
    """Return what an engine saves that remembers something for each detection."""
    made = DetectionEngine()
    states = {
        each.id: msgspec.Raw(msgspec.msgpack.encode(example_of(type(each.begin()))))
        for each in made.detections
    }
    snapshot = _EngineSnapshot(
        format=ENGINE_FORMAT,
        newest=1.5,
        known=[2, 3],
        known_before=[4, 5],
        unraised={"copy-out": 6},
        broken={"ungranted": example_of(BrokenDetection)},
        states=states,
    )
    return msgspec.msgpack.encode(snapshot)


def plain(content: bytes) -> bytes:
    """Take zlib off, and a checksum over it: its bytes are its own, what is in it is ours."""
    for begin in (0, len(_MAGIC) + 32):
        with suppress(zlib.error):
            return content[: min(begin, len(_MAGIC))] + zlib.decompress(content[begin:])
    return content


_MAGIC: Final = b"sallyport-behaviour\n"


def engine_again(content: bytes) -> bytes:
    """Return what an engine saves that was given what another saved; nothing of it begins anew."""
    made = DetectionEngine()
    assert made.restore(content) == ()
    return made.snapshot()


def watch() -> bytes:
    """Return what is saved of events on their way to the detections."""
    made = _watch()
    assert made.restore(msgspec.msgpack.encode(_NOT_BEGUN | {"engine": engine()}))
    ordering = made.around.ordering
    held: tuple[Event, ...] = (
        example_of(Access, _at(Access, 1), json=True),
        example_of(Activity, _at(Activity, 2), json=True),
        example_of(LogGap, _at(LogGap, 3), json=True),
    )
    for event in held:
        assert list(ordering.put(event, event_seconds(event))) == []
    ordering.watermark = BEGIN_MS / 1000
    return made.saved()


_NOT_BEGUN: Final[dict[str, Any]] = {
    "format": 1,
    "events": 7,
    "accesses": 8,
    "ordering": {"held": [], "newest": [], "watermark": -math.inf},
}


def watch_again(content: bytes) -> bytes:
    """Return what is saved by who was given it."""
    made = _watch()
    assert made.restore(content)
    return made.saved()


def _watch() -> DetectionFeed:
    def complain(problem: str) -> None:
        raise AssertionError(problem)

    return DetectionFeed(
        DetectionEngine(), MemorySurroundings(CLUSTER, IngestMemory(), EventOrder()), complain
    )


def begun() -> bytes:
    """Return what is saved of operations of Azure's that have begun."""
    made = BegunOperations()
    for number in range(2):
        made.note((f"correlation-{number}", "operation", "resource"), {"sku": {"name": number}})
    return made.saved()


def begun_again(content: bytes) -> bytes:
    """Return what is saved by who was given it."""
    made = BegunOperations()
    made.restore(content)
    return made.saved()


def behaviour() -> bytes:
    """Return what is saved of the habits of two identities of a cluster."""
    norms = {bit: example_of(Norm) for bit in (16, 32, 64)}
    person, machine = _record(b"p" * 16, 1), _record(b"m" * 16, 100)
    acting = [(b"p" * 16, {1: 1_795_262_400})]
    stored = StoredCluster(CLUSTER, b"salt", 1.5, [person], [machine], [norms, norms], acting)
    return encode_state(StoredState(FORMAT, [stored], 7, "0f" * 16, {CLUSTER: 1_795_262_400.5}))


def _record(who: bytes, begin: int) -> Any:
    habits = Habits(
        last=begin + 0.5,
        day=begin + 1,
        days=begin + 2,
        acts=begin + 3,
        hour=begin % 24 + 4,
        namespaces=array("Q", [begin + 5, begin + 6]),
        profiles=array("Q", [begin + 7]),
        hours=array("f", range(24)),
        refusal=begin + 8,
        creates=example_of(Rate),
        enters=example_of(Rate),
        refusals=example_of(Rate),
    )
    return store_habits(who, habits)


def behaviour_again(content: bytes) -> bytes:
    """Return what is saved by who was given it: as `audit.behaviour.learner` collects it."""
    read = decode_state(content)
    clusters = [_collected(name, each) for name, each in read.clusters.items()]
    return encode_state(StoredState(FORMAT, clusters, read.position, read.log, read.audited))


def _collected(name: str, habits: ClusterHabits) -> StoredCluster:
    return StoredCluster(
        name,
        habits.salt,
        habits.began,
        [store_habits(who, each) for who, each in habits.people],
        [store_habits(who, each) for who, each in habits.machines],
        [{bit.value: norm for bit, norm in habits.norms[which].items()} for which in (False, True)],
        [(who, {bit.value: at for bit, at in each.until.items()}) for who, each in habits.acting],
    )


REMEMBERED: Final[dict[str, tuple[Callable[[], bytes], Callable[[bytes], bytes]]]] = {
    "memory": (memory, memory_again),
    "detections": (engine, engine_again),
    "watched-events": (watch, watch_again),
    "begun-operations": (begun, begun_again),
    "behaviour": (behaviour, behaviour_again),
}
