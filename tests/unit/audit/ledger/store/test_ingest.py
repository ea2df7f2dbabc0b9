"""A delivery is kept as a whole: records, places, checkpoints, and what follows from the new."""

from typing import Any

import pytest

from audit.ledger.records.frames import FrameKind
from audit.ledger.store.delivery import Delivery, StoredDelivery
from audit.ledger.store.store import Store
from core.base.errors import LedgerError
from core.weights.documents.access import decode_access, encode_access
from tests.unit.audit.ledger.store.conftest import Sql, clock
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS
from tests.unit.audit.ledger.store.log_invariants import access, finding, framed, life, sound

DAY_MS = 86_400_000


async def test_accesses_as_values_and_as_frames_are_the_same(store: Store, sql: Sql) -> None:
    """Whichever way an access comes, its row and its document are the same."""
    made = access(1, account="a" * 600, bytes_out=2**70, status=-5)
    await store.ingest(CLUSTER, Delivery(accesses=[made]))
    rows = sql("SELECT * FROM accesses")
    sql("DELETE FROM accesses")
    framed_one = framed(FrameKind.ACCESS, made.id, encode_access(made))
    assert (await store.deliver(CLUSTER, [framed_one])).stored == 1
    assert [row[:-1] for row in sql("SELECT * FROM accesses")] == [row[:-1] for row in rows]
    (found,) = await store.documents(FrameKind.ACCESS, NOW_MS, NOW_MS + 10)
    assert decode_access(found.payload) == made


async def test_what_follows_is_kept_with_it(store: Store) -> None:
    """`then` is told of what is new, and what it gives is kept in the same transaction."""
    told: list[StoredDelivery] = []

    def then(stored: StoredDelivery) -> Delivery:
        told.append(stored)
        return Delivery(frames=[finding(9)], checkpoints={"detections": b"state 2"})

    await store.ingest(CLUSTER, Delivery(accesses=[access(1)]))
    given = Delivery(accesses=[access(1), access(2)], places={"storage": b"blob 7"})
    stored = await store.ingest(CLUSTER, given, then)
    assert [[each.id for each in one.accesses] for one in told] == [[access(2).id]]
    assert (told[0].stored, told[0].known) == (1, 1)
    assert (stored.stored, stored.known, stored.log_size) == (2, 1, 3)
    assert await store.places(CLUSTER) == {"storage": b"blob 7"}
    assert await store.load_checkpoint(CLUSTER, "detections") == (3, b"state 2")
    assert len(await sound(store)) == 3


async def test_failed_ingest_stores_neither_records_nor_places(store: Store) -> None:
    """Neither records nor places, when what follows cannot be made or kept."""
    delivery = Delivery(
        accesses=[access(1)], places={"storage": b"1"}, checkpoints={"detections": b"1"}
    )

    def broken(_: StoredDelivery) -> Delivery:
        raise LedgerError("no state")

    with pytest.raises(LedgerError, match="no state"):
        await store.ingest(CLUSTER, delivery, broken)
    assert await store.places(CLUSTER) == {}
    assert await store.load_checkpoint(CLUSTER, "detections") is None
    assert await sound(store) == []
    assert (await store.ingest(CLUSTER, delivery)).stored == 1


async def test_places_and_checkpoints_are_those_of_their_cluster(store: Store) -> None:
    """The last one counts; another cluster's is another."""
    for place in (b"1", b"2"):
        await store.ingest(CLUSTER, Delivery(places={"storage": place, "hub": place}))
        await store.save_checkpoint(CLUSTER, "memory", 7, place)
    await store.ingest("other", Delivery(places={"storage": b"9"}))
    assert await store.places(CLUSTER) == {"storage": b"2", "hub": b"2"}
    assert await store.places("other") == {"storage": b"9"}
    assert await store.load_checkpoint(CLUSTER, "memory") == (7, b"2")
    assert await store.load_checkpoint("other", "memory") is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"id": "0193"}, "no UUID"),
        ({"cluster": "other"}, "another cluster"),
        ({"id": access(1, NOW_MS + 3 * DAY_MS).id}, "ahead"),
        ({"id": access(1, NOW_MS - 40 * DAY_MS).id}, "before the days that are kept"),
    ],
    ids=["id", "cluster", "ahead", "old"],
)
async def test_an_access_that_cannot_be_kept_is_set_aside(
    url: str, sql: Sql, changes: dict[str, Any], reason: str
) -> None:
    """With its document and the reason; it is counted, and the others are stored."""
    async with Store(url, clock, keep_days=30) as store:
        bad = access(1, **changes)
        stored = await store.ingest(CLUSTER, Delivery(accesses=[access(2), bad]))
        assert (stored.stored, stored.quarantined) == (1, 1)
        ((payload, why),) = sql("SELECT payload, reason FROM quarantine")
        assert decode_access(bytes(payload)) == bad
        assert reason in why
        await sound(store)


async def test_a_pod_of_long_ago_that_is_still_there_is_kept(url: str) -> None:
    """Its document's time is its beginning's; however often it is seen, it is stored once."""
    now = [clock()]
    async with Store(url, lambda: now[0], keep_days=30) as store:
        old = life(1, NOW_MS - 200 * DAY_MS)
        assert (await store.deliver(CLUSTER, [old])).stored == 1
        now[0] += 86_400
        assert (await store.deliver(CLUSTER, [old, life(2)])).stored == 1
        found = await store.documents(FrameKind.POD_LIFE, 0, NOW_MS + 1)
        assert [each.payload for each in found] == [old.payload, life(2).payload]
        await sound(store)


async def test_documents_come_in_pages_by_time(store: Store) -> None:
    """Ids that two clusters have in common are given for both, and none is left out."""
    for cluster in (CLUSTER, "another"):
        batch = [access(number, cluster=cluster) for number in range(5)]
        await store.ingest(cluster, Delivery(accesses=batch))
    after, found = None, []
    while page := await store.documents(
        FrameKind.ACCESS, NOW_MS + 1, NOW_MS + 4, after=after, limit=2
    ):
        found += page
        after = page[-1].key
    expected = [(access(n).id, cluster) for n in (1, 2, 3) for cluster in (CLUSTER, "another")]
    assert [(decode_access(each.payload).id, each.cluster) for each in found] == expected
    one = await store.documents(FrameKind.ACCESS, 0, 2**48, cluster="another")
    assert [each.cluster for each in one] == ["another"] * 5
