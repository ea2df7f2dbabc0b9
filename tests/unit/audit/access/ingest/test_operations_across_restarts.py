"""An operation of Azure's that a restart falls into keeps what it asked for."""

import json
from typing import Any

from audit.access.parsers import activity_log
from audit.access.parsers.activity_log import BegunOperations
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.store import Store
from core.weights.documents.events import Activity, decode_activity
from tests.harness.worlds.storage_logs import BEGIN_MS, encoded, log_time, resource_id
from tests.unit.audit.access.ingest.training_cluster import entries, ingest_of, stretch, take_all

ASKED = {"properties": {"publicNetworkAccess": "Enabled"}}


def records() -> tuple[bytes, bytes]:
    """Return the beginning and the end of opening an account to the public."""
    given: dict[str, Any] = {
        "resourceId": resource_id("weightsprod"),
        "operationName": "Microsoft.Storage/storageAccounts/write",
        "category": "Administrative",
        "correlationId": "6a4e2a1e-0001-4000-8000-000000000001",
    }
    begun = {"time": log_time(BEGIN_MS), "resultType": "Start"}
    ended = {"time": log_time(BEGIN_MS + 9000), "resultType": "Success"}
    body = {"properties": {"requestbody": json.dumps(ASKED)}}
    return encoded({**given, **begun, **body}).strip(), encoded({**given, **ended}).strip()


async def found(store: Store) -> list[Activity]:
    """Return the activities of the log."""
    return [
        decode_activity(each.payload or b"")
        for each in await entries(store)
        if each.kind == FrameKind.ACTIVITY
    ]


async def test_restart_in_between(ledger: Store) -> None:
    """The activity says what was asked for, as if one process had read both."""
    begun, ended = records()
    await take_all(ingest_of(ledger), [stretch([begun], end="1")])
    await take_all(ingest_of(ledger), [stretch([ended], begin="1", end="2")])
    (activity,) = await found(ledger)
    assert activity.facts["publicNetworkAccess"] == "Enabled"


async def test_what_cannot_be_read_is_told(ledger: Store) -> None:
    """Another release's checkpoint is not guessed at: the end is taken in without its beginning."""
    begun, ended = records()
    ingest = ingest_of(ledger)
    await take_all(ingest, [stretch([begun], end="1")])
    await ledger.save_checkpoint("c1", "weights/begun", 0, b"nonsense")
    ingest = ingest_of(ledger)
    await take_all(ingest, [stretch([ended], begin="1", end="2")])
    (problem,) = ingest.counts.problems
    assert "what has begun cannot be read" in problem
    (activity,) = await found(ledger)
    assert "publicNetworkAccess" not in activity.facts


def test_kept_are_the_last_within_the_bounds() -> None:
    """Neither many operations nor large ones make a checkpoint large."""
    begun = BegunOperations()
    for number in range(activity_log.MOST_KEPT + 50):
        begun.note(("s", "o", str(number)), {"n": number})
    kept = BegunOperations()
    kept.restore(begun.saved())
    assert not kept.of(("s", "o", "49"))
    assert kept.of(("s", "o", "50")) == {"n": 50}
    for number in range(100):
        begun.note(("s", "large", str(number)), {"n": "x" * 60_000})
    assert len(begun.saved()) < activity_log.MOST_KEPT_BYTES + 70_000
