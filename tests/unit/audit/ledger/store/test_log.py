"""Each record that is stored has one leaf, in the transaction that stores it."""

import asyncio
import random
from hashlib import sha256

from audit.ledger.log.merkle import proves_consistency, proves_inclusion
from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.store.delivery import Delivery
from audit.ledger.store.store import Store
from tests.unit.audit.ledger.store.conftest import Sql, clock
from tests.unit.audit.ledger.store.documents import (
    CLUSTER,
    NOW_MS,
    document,
    frame,
    sweep,
    sweep_frame,
)
from tests.unit.audit.ledger.store.log_invariants import access, finding, life, sound

UNREADABLE = Frame(99, b"of a later release", b"{")


async def test_all_kinds_have_leaves_but_projections(store: Store) -> None:
    """Also what cannot be read; with the payload as it came, and its digest."""
    content = b'{"n":1}'
    projection = Frame(FrameKind.PROJECTION, sha256(content).digest(), content)
    frames = [frame(document()), sweep_frame(sweep()), finding(1), life(1), UNREADABLE, projection]
    await store.ingest(CLUSTER, Delivery(accesses=[access(1)], frames=frames))
    entries = await sound(store)
    assert sorted(entry.kind for entry in entries) == [1, 3, 5, 7, 9, 99]
    by_kind = {each.kind: each.payload for each in frames}
    for entry in entries:
        assert entry.payload is not None
        assert entry.digest == sha256(entry.payload).digest()
        assert entry.payload == by_kind.get(entry.kind, entry.payload)
        assert entry.cluster == CLUSTER
        assert entry.aside == (entry.kind == 99)


async def test_what_is_known_gets_no_second_leaf(store: Store) -> None:
    """However it is mixed with what is new, also twice in one delivery and in quarantine."""
    decisions = [frame(document(NOW_MS + number)) for number in range(6)]
    accesses = [access(number) for number in range(6)]
    first = Delivery(accesses=accesses[:4], frames=[*decisions[:4], UNREADABLE, finding(1)])
    await store.ingest(CLUSTER, first)
    second = Delivery(
        accesses=[*accesses[2:], accesses[5]],
        frames=[*decisions[::-1], decisions[5], finding(1), UNREADABLE, UNREADABLE],
    )
    stored = await store.ingest(CLUSTER, second)
    assert (stored.stored, stored.known, stored.quarantined) == (4, 9, 2)
    assert [each.id for each in stored.accesses] == [each.id for each in accesses[4:]]
    entries = await sound(store)
    assert len(entries) == 6 + 6 + 2
    assert len({(entry.kind, entry.id) for entry in entries}) == len(entries)
    assert stored.log_size == 14


async def test_rows_know_their_places(store: Store, sql: Sql) -> None:
    """The position beside each row is that of its leaf."""
    await store.deliver(CLUSTER, [frame(document(NOW_MS + n)) for n in range(5)])
    await store.ingest(CLUSTER, Delivery(accesses=[access(n) for n in range(5)]))
    await store.deliver(CLUSTER, [UNREADABLE])
    for table, kind in (("decisions", 1), ("accesses", 5)):
        text = f"SELECT t.position FROM {table} t JOIN leaves l ON l.position = t.position "  # noqa: S608
        text += f"WHERE l.kind = {kind} AND l.cluster = t.cluster ORDER BY 1"
        first = 0 if table == "decisions" else 5
        assert sql(text) == [(position,) for position in range(first, first + 5)]
    assert sql("SELECT position FROM quarantine") == [(10,)]


async def test_two_auditors_make_one_log(url: str) -> None:
    """Positions have no holes, whoever appends, and each record has one."""
    async with Store(url, clock) as first, Store(url, clock) as second:
        parts = [[access(number * 20 + n) for n in range(20)] for number in range(8)]
        jobs = [
            each.ingest(CLUSTER, Delivery(accesses=part, frames=[finding(number)]))
            for number, part in enumerate(parts)
            for each in (first, second)
        ]
        random.Random(3).shuffle(jobs)  # noqa: S311 (a test's variety)
        done = await asyncio.gather(*jobs)
        assert sum(each.stored for each in done) == 8 * 21
        assert sum(each.known for each in done) == 8 * 21
        assert len(await sound(second)) == 8 * 21


async def test_proofs_are_right_at_all_sizes(store: Store) -> None:
    """Over tiles and over what no tile covers yet: inclusion and consistency verify."""
    states = []
    for start, count in ((0, 255), (255, 1), (256, 400), (656, 1)):
        batch = [access(number) for number in range(start, start + count)]
        await store.ingest(CLUSTER, Delivery(accesses=batch))
        states.append((await store.log_state()).tree)
    entries = await sound(store)
    last = states[-1]
    for tree in states:
        proof = await store.consistency(tree.size, last.size)
        assert proves_consistency(tree.size, last.size, tree.root, last.root, proof)
        for position in (0, tree.size // 2, tree.size - 1):
            proof = await store.inclusion(position, tree.size)
            leaf = entries[position].leaf.hash
            assert proves_inclusion(leaf, position, tree.size, proof, tree.root)


async def test_an_id_leads_to_its_entry(store: Store) -> None:
    """Whatever its kind; what is not there leads to nothing."""
    await store.ingest(CLUSTER, Delivery(accesses=[access(n) for n in range(3)]))
    await store.deliver(CLUSTER, [finding(7), UNREADABLE])
    for wanted in (finding(7), UNREADABLE):
        (entry,) = await store.located(wanted.id)
        assert (entry.id, entry.payload) == (wanted.id, wanted.payload)
    assert await store.located(finding(8).id) == []


async def test_entries_come_in_pages_and_by_kind(store: Store) -> None:
    """After a position; of kinds that are asked for, without what is in quarantine."""
    frames = [finding(1), finding(2), UNREADABLE]
    await store.ingest(CLUSTER, Delivery(accesses=[access(1), access(2)], frames=frames))
    found = await store.entries(kinds=frozenset({FrameKind.FINDING}))
    assert [entry.kind for entry in found] == [7, 7]
    pages, after = [], -1
    while page := await store.entries(after, limit=2):
        pages.append([entry.position for entry in page])
        after = page[-1].position
    assert pages == [[0, 1], [2, 3], [4]]
