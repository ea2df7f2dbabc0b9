"""A cluster that trains, three WeightStores, and logs of storage: what an ingest works with."""

import itertools
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from hashlib import sha256
from typing import Any, Final

from audit.access.detections.engine import DetectionEngine
from audit.access.ingest.parser_process import ParserProcess
from audit.access.ingest.pipeline import Ingest
from audit.access.ingest.state import IngestOptions
from audit.access.model.batch import RecordBatch, SourceRecord
from audit.access.parsers.caller_networks import CallerLocator, CallerNetworks
from audit.access.parsers.reader import RecordReader
from audit.ledger.log.entries import LogEntry
from audit.ledger.log.merkle import root_of
from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.store.store import Store
from core.base.ids import stable_id
from core.base.networks import network_of
from core.base.times import milliseconds_of, second_text
from core.weights.documents.object_change import ObjectChange, encode_change
from core.weights.documents.pod_life import LifeEvent, PodLife, encode_life
from tests.harness.worlds.storage_logs import BEGIN_MS, application, lines, node_address

CLUSTER: Final = "c1"
BEFORE_S: Final = BEGIN_MS // 1000 - 3 * 86_400
"""When everything began."""

PEOPLE: Final = 200
SOURCE: Final = "logs"
STORES: Final = {"weightsprod": "prod", "weightseval": "eval", "weightsarchive": "archive"}
HUMAN: Final = "oid:0d000000-0000-4000-8000-00000000000a"


def life(who: int, place: int = 0, **fields: Any) -> Frame:
    """Return the record of one of a principal's Pods; `lines` read from its node."""
    address = node_address((2 * who + place) % 400 + 1)
    event = LifeEvent.ENDED if "ended" in fields else LifeEvent.ADDRESSED
    given = {
        "time": f"{second_text(BEFORE_S)}Z",
        "uid": f"uid-{who}-{place}",
        "name": f"train-{who}-{place}",
        "addresses": [f"10.244.{who}.{place}"],
        "began": f"{second_text(BEFORE_S)}Z",
        **fields,
    }
    document = PodLife(
        format=1,
        id=stable_id(milliseconds_of(given["time"]), "life", given["uid"], event.value),
        cluster=CLUSTER,
        event=event,
        namespace="team",
        service_account=f"sa-{who}",
        node=f"node-{address}",
        node_addresses=[address],
        client_ids=[application(who)],
        **given,
    )
    return Frame(FrameKind.POD_LIFE, decision_frame_id(document.id), encode_life(document))


def change(kind: str, name: str, event: str, at: float = BEFORE_S, **fields: Any) -> Frame:
    """Return the record of a change."""
    identity = stable_id(int(at * 1000), "change", kind, name, event)
    document = ObjectChange(
        format=1,
        id=identity,
        time=f"{second_text(int(at))}Z",
        cluster=CLUSTER,
        event=event,
        kind=kind,
        name=name,
        uid=f"uid-{name}",
        **{"digest": "sha256:1", **fields},
    )
    return Frame(FrameKind.CHANGE, decision_frame_id(identity), encode_change(document))


def grant(store: str) -> Iterator[Frame]:
    """Yield the record of a grant of a store to half of the service accounts."""
    spec = {
        "store": store,
        "rights": ["read", "write", "delete"],
        "reason": "training",
        "expiresAt": "2026-07-01T00:00:00Z",
        "serviceAccounts": [f"sa-{who}" for who in range(1, 31)],
        "people": [HUMAN],
    }
    yield change("AccessGrant", f"of-{store}", "there", namespace="team", spec=spec)
    approved = {"namespace": "team", "approvers": ["oid:b", "oid:c"]}
    yield change("AccessGrant", f"of-{store}", "approved", BEFORE_S + 1, **approved)


def cluster(people: int = PEOPLE) -> list[Frame]:
    """Return all that `control` recorded before the logs begin."""
    frames = [life(who, place) for who in range(1, people + 1) for place in (0, 1)]
    for account, name in STORES.items():
        held = {"account": account, "containers": [{"name": "llama"}], "owner": "ml"}
        frames.append(change("WeightStore", name, "there", spec=held))
        frames += grant(name)
    return frames


def stretches(
    count: int, *, seed: int = 1, size: int = 500, begin: int = 0, key: str = "PT1H.json"
) -> Iterator[RecordBatch]:
    """Yield records of an ordinary time, from the one where a source goes on."""
    made = itertools.islice(lines(count, seed), begin, None)
    for at in itertools.count(begin, size):
        raws = list(itertools.islice(made, size))
        if not raws:
            return
        yield stretch(raws, begin=str(at) if at else "", end=str(at + len(raws)), key=key)


def stretch(
    raws: Iterable[bytes], *, begin: str = "", end: str = "1", key: str = "k"
) -> RecordBatch:
    """Return records that stand together."""
    first = int(begin or 0)
    records = [SourceRecord(raw, f"{key}@{first + n}") for n, raw in enumerate(raws)]
    return RecordBatch(SOURCE, key, begin, end, records)


async def given(made: Iterable[RecordBatch]) -> AsyncIterator[RecordBatch]:
    """Yield stretches as a source does."""
    for each in made:
        yield each


def ingest_of(
    store: Store,
    *,
    engine: Any = DetectionEngine,
    clock: Any = None,
    beside: ParserProcess | None = None,
    **options: Any,
) -> Ingest:
    """Return an ingest into a store; without a clock, long after the logs."""
    networks = CallerNetworks(nodes=(network_of("10.224.0.0/16"),))
    now = clock or (lambda: BEGIN_MS / 1000 + 30 * 86_400)
    reader = RecordReader(CLUSTER, CallerLocator(networks))
    beside = beside or ParserProcess(CLUSTER, networks)
    return Ingest(
        store, CLUSTER, reader, engine, IngestOptions(**options), beside=beside, clock=now
    )


async def entries(store: Store) -> list[LogEntry]:
    """Return the whole log."""
    found: list[LogEntry] = []
    while page := await store.entries(len(found) - 1, None, 10_000):
        found += page
    return found


async def ids(store: Store) -> dict[int, list[bytes]]:
    """Return the ids of the log's entries by kind, in the order of the log."""
    found: defaultdict[int, list[bytes]] = defaultdict(list)
    for entry in await entries(store):
        found[entry.kind].append(entry.id)
    return dict(found)


async def assert_log_is_whole(store: Store) -> None:
    """Compute the root from the rows: it is the one that the log has."""
    found = await entries(store)
    state = await store.log_state()
    assert [each.position for each in found] == list(range(state.tree.size))
    assert all(sha256(each.payload or b"").digest() == each.digest for each in found)
    assert root_of([each.leaf.hash for each in found]) == state.tree.root


async def take_all(ingest: Ingest, made: Iterable[RecordBatch]) -> None:
    """Take stretches in, show what was held back, and end as a process does."""
    await ingest.run(given(made))
    await ingest.idle()
    await ingest.save()
