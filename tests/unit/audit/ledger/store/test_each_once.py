"""Each frame is kept exactly once, however often and from wherever it comes."""

import asyncio

from audit.ledger.records.destination import Receipt
from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.store import Store
from core.decision.decision import Verdict
from core.decision.document import decode_document
from tests.unit.audit.ledger.store.conftest import Sql, clock
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS, document, finding, frame

DAY_MS = 86_400_000


async def ids(store: Store) -> list[str]:
    """Return the ids of all decisions, the oldest first."""
    found = await store.find(DecisionQuery(oldest_first=True, limit=10_000))
    return [decode_document(each).id for each in found]


async def test_what_is_sent_again_is_known(store: Store) -> None:
    """An acknowledgement that was lost costs nothing but the sending."""
    frames = [frame(document(NOW_MS + n, Verdict.DENY)) for n in range(50)]
    assert await store.deliver(CLUSTER, frames) == Receipt(50, 0, 0)
    assert await store.deliver(CLUSTER, frames) == Receipt(0, 50, 0)
    assert len(await ids(store)) == 50


async def test_new_ones_among_known_ones_are_stored(store: Store, sql: Sql) -> None:
    """With their rules; a batch is not all known or all new."""
    made = [document(NOW_MS + n, findings=[finding("site/x")]) for n in range(20)]
    await store.deliver(CLUSTER, list(map(frame, made[:10])))
    assert await store.deliver(CLUSTER, list(map(frame, made[5:]))) == Receipt(10, 5, 0)
    assert await ids(store) == [each.id for each in made]
    assert sql("SELECT count(*) FROM rules WHERE rule = 'site/x'") == [(20,)]


async def test_twice_in_one_batch_is_once(store: Store) -> None:
    """A backlog that was read twice may hold it twice."""
    one, other = frame(document()), frame(document())
    assert await store.deliver(CLUSTER, [one, other, one]) == Receipt(2, 1, 0)


async def test_clusters_may_have_the_same_id(store: Store) -> None:
    """The key is the cluster and the id: one cluster cannot take another's place."""
    made = document()
    theirs = document(id=made.id, cluster="other", namespace="theirs")
    await store.deliver(CLUSTER, [frame(made)])
    assert await store.deliver("other", [frame(theirs)]) == Receipt(1, 0, 0)
    assert {each.request.namespace for each in await store.get(made.id)} == {"train", "theirs"}


async def test_nothing_is_nothing(store: Store) -> None:
    """A batch without frames is no error."""
    assert await store.deliver(CLUSTER, []) == Receipt(0, 0, 0)


async def test_the_document_is_kept_byte_for_byte(store: Store) -> None:
    """Fields of a later release are in it, and a digest of it still fits."""
    made = frame(document())
    later = made.payload.replace(b'{"format":1', b'{"format":2,"later":{"a":[1]}')
    await store.deliver(CLUSTER, [type(made)(made.kind, made.id, later)])
    assert await store.find(DecisionQuery()) == [later]


async def test_two_writers_at_once_store_each_once(url: str) -> None:
    """Two auditors take turns, over days whose partitions neither has made, and count it once."""
    frames = [frame(document(NOW_MS - n % 7 * DAY_MS - n)) for n in range(3000)]
    async with Store(url, clock) as first, Store(url, clock) as second:
        done: list[Receipt] = []
        for start in range(0, len(frames), 300):
            part = frames[start : start + 300]
            done += await asyncio.gather(
                first.deliver(CLUSTER, part), second.deliver(CLUSTER, part[::-1])
            )
        assert sum(each.stored for each in done) == len(frames)
        assert sum(each.known for each in done) == len(frames)
        assert len(await ids(first)) == len(frames)
