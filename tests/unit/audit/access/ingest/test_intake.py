"""A stretch of a log is in the ledger whole: attributed, bound to its grant, counted, each once."""

import asyncio
import json
from typing import Any

from audit.ledger.records.frames import FrameKind
from audit.ledger.store.store import Store
from core.weights.documents.access import Confidence, decode_access
from core.weights.documents.events import decode_activity
from core.weights.documents.intake import decode_intake, decode_refused
from tests.harness.worlds.storage_logs import BEGIN_MS, encoded, lines, log_time, storage_record
from tests.unit.audit.access.ingest.training_cluster import (
    CLUSTER,
    SOURCE,
    assert_log_is_whole,
    cluster,
    entries,
    given,
    ids,
    ingest_of,
    life,
    stretch,
    stretches,
    take_all,
)


async def of_kind(store: Store, kind: FrameKind) -> list[bytes]:
    """Return the payloads of a kind in the order of the log."""
    return [each.payload or b"" for each in await entries(store) if each.kind == kind]


async def test_attributed_and_bound(url: str) -> None:
    """Each access to weights has its Pod; half of the service accounts have a grant, no human."""
    async with Store(url) as store:
        await store.deliver(CLUSTER, cluster())
        await take_all(ingest_of(store), stretches(1200))
        found = [decode_access(each) for each in await of_kind(store, FrameKind.ACCESS)]
        assert len(found) == 1200
        weights = [each for each in found if each.store]
        assert 400 < len(weights) < 800
        assert {each.attribution.confidence for each in weights} == {Confidence.EXACT}
        assert all(each.ungranted and not each.grant for each in weights)
        reasons = {each.ungranted.partition(" does ")[2].split(" sa-")[0] for each in weights}
        assert "not name the service account" in reasons
        assert any("nobody is known who asked" in each.ungranted for each in weights)
        assert not any(each.ungranted for each in found if not each.store)
        await assert_log_is_whole(store)


async def test_intake_counts_each_record_once(ledger: Store) -> None:
    """Stored, known, refused and skipped are all that was read; places go with them."""
    start = {"operationName": "Microsoft.Storage/storageAccounts/listKeys/action"}
    start |= {"category": "Administrative", "time": log_time(BEGIN_MS), "correlationId": "k"}
    raws = [
        *lines(3),
        next(lines(1)),
        b"no record",
        encoded(storage_record(time="yesterday")).strip(),
        json.dumps({**start, "resultType": "Start"}).encode(),
    ]
    ingest = ingest_of(ledger)
    await take_all(ingest, [stretch(raws, end="7"), stretch(list(lines(3)), begin="7", end="10")])
    first, second = [decode_intake(each) for each in await of_kind(ledger, FrameKind.INTAKE)]
    assert (first.read, first.stored, first.known, first.refused, first.skipped) == (7, 3, 1, 2, 1)
    assert (second.read, second.stored, second.known) == (3, 0, 3)
    assert (first.begin, first.end, second.begin, second.end) == ("", "k@7", "k@7", "k@10")
    assert (first.first, first.last) == ("2026-05-01T09:00:00.000Z", "2026-05-01T09:00:00.020Z")
    assert await ingest.places() == {f"{SOURCE}:k": "10"}
    assert ingest.counts.records[SOURCE, "known"] == 4


async def test_quarantine_says_where_and_why(ledger: Store) -> None:
    """What cannot be read is kept with its place and its reason."""
    raws = [next(lines(1)), encoded(storage_record(time="yesterday")).strip()]
    await take_all(ingest_of(ledger), [stretch(raws)])
    (refused,) = [decode_refused(each) for each in await of_kind(ledger, FrameKind.REFUSED)]
    assert (refused.source, refused.place) == (SOURCE, "k@1")
    assert refused.reason.startswith("time: ")
    assert json.loads(refused.record)["time"] == "yesterday"


async def test_activities_of_azure_and_kubernetes_come_the_same_way(ledger: Store) -> None:
    """A source may bring any of the three logs: each record tells which it is of."""
    keys = {
        "time": log_time(BEGIN_MS),
        "category": "Administrative",
        "operationName": "MICROSOFT.STORAGE/STORAGEACCOUNTS/LISTKEYS/ACTION",
        "resultType": "Success",
        "correlationId": "c1",
        "resourceId": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage"
        "/storageAccounts/weightsprod",
    }
    entered = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "auditID": "a1",
        "stage": "ResponseComplete",
        "verb": "create",
        "user": {"username": "alice@example.com"},
        "objectRef": {
            "resource": "pods",
            "subresource": "exec",
            "namespace": "team",
            "name": "train-1-0",
        },
        "responseStatus": {"code": 101},
        "requestReceivedTimestamp": "2026-05-01T09:00:00.000000Z",
    }
    made = stretch([json.dumps(keys).encode(), json.dumps(entered).encode()])
    ingest = ingest_of(ledger)
    await take_all(ingest, [made, stretch([json.dumps(keys).encode()], begin="2", end="3")])
    found = [decode_activity(each) for each in await of_kind(ledger, FrameKind.ACTIVITY)]
    assert {each.log.value for each in found} == {"azure-activity", "kubernetes-audit"}
    assert {each.store for each in found} == {"prod", ""}
    assert ingest.counts.records[SOURCE, "stored"] == 2
    assert ingest.counts.records[SOURCE, "known"] == 1
    assert b"alice" not in b"".join([each.payload or b"" for each in await entries(ledger)])


async def test_the_same_again_changes_nothing(ledger: Store) -> None:
    """Records that come twice, by another source or in another order, are stored and seen once."""
    await take_all(ingest_of(ledger, checkpoint_every=100), stretches(600))
    before = await ids(ledger)
    again = stretch(list(lines(600))[::-1], key="other")
    await take_all(ingest_of(ledger), [again])
    after = await ids(ledger)
    for kind in (FrameKind.ACCESS, FrameKind.FINDING):
        assert before.get(kind) == after.get(kind)


async def test_patience_waits_for_what_is_recorded_of_pods(ledger: Store) -> None:
    """A fresh record is attributed by what `control` records while it is left lying."""
    ingest = ingest_of(ledger, clock=lambda: BEGIN_MS / 1000, patience_s=0.3)
    await ingest.begin()
    raw = encoded(storage_record(address="10.244.250.0")).strip()
    taking = asyncio.create_task(ingest.run(given([stretch([raw])])))
    await asyncio.sleep(0.1)
    late = life(1, 7, addresses=["10.244.250.0"], began="2026-05-01T08:00:00Z")
    await ledger.deliver(CLUSTER, [late])
    await taking
    (found,) = [decode_access(each) for each in await of_kind(ledger, FrameKind.ACCESS)]
    assert found.attribution.confidence is Confidence.EXACT
    assert found.attribution.pods[0].uid == "uid-1-7"


class Watched:
    """A store that notes after which position it was asked for entries."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.after: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def entries(self, after: int, *arguments: Any) -> Any:
        """Note it, and answer."""
        self.after.append(after)
        return await self._store.entries(after, *arguments)


async def test_the_log_is_not_gone_through_again(ledger: Store) -> None:
    """Following what is new begins where the last look ended, whatever stood there."""
    watched = Watched(ledger)
    ingest = ingest_of(watched)  # type: ignore[arg-type]
    await ingest.run(given(stretches(600)))
    await ingest.idle()
    await ingest.idle()
    size = (await ledger.log_state()).tree.size
    await ingest.idle()
    assert watched.after[-1] >= size - 1


async def test_nobody_waits_for_records_of_tomorrow(ledger: Store) -> None:
    """One that is dated ahead would hold up each stretch that it comes in."""
    ingest = ingest_of(ledger, clock=lambda: BEGIN_MS / 1000 - 7200, patience_s=30)
    raw = encoded(storage_record()).strip()
    async with asyncio.timeout(10):
        await ingest.run(given([stretch([raw])]))
    assert await of_kind(ledger, FrameKind.ACCESS)
