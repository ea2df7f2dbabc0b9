"""What retention removes it records first, so that policy can be told from tampering."""

import datetime as dt
from collections.abc import AsyncIterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.ledger.log.heads import TreeHead, sign_head
from audit.ledger.log.merkle import proves_consistency, proves_inclusion
from audit.ledger.log.retention import (
    MARGIN_DAYS,
    Retention,
    decode_retention,
    encode_retention,
    first_kept,
    may_collapse,
)
from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.store.columns import day_of
from audit.ledger.store.delivery import Delivery
from audit.ledger.store.store import Store
from core.base.errors import LedgerError
from tests.unit.audit.ledger.store.conftest import Sql
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS, document, frame
from tests.unit.audit.ledger.store.log_invariants import access, finding, framed, life, sound

KEEP = 10
DAY_MS = 86_400_000
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
EPOCH = dt.date(1970, 1, 1)


def unreadable(at_ms: int) -> Frame:
    """Return a frame of a later release."""
    return Frame(99, b"x", str(at_ms).encode())


class Days:
    """A clock that goes by days."""

    now_ms = NOW_MS - 40 * DAY_MS

    def __call__(self) -> float:
        """Return seconds since the epoch."""
        return self.now_ms / 1000

    @property
    def today(self) -> dt.date:
        """The day."""
        return EPOCH + dt.timedelta(days=self.now_ms // DAY_MS)


@pytest.fixture
def days() -> Days:
    """The store's clock."""
    return Days()


@pytest.fixture
async def store(url: str, days: Days) -> AsyncIterator[Store]:
    """A store that keeps ten days."""
    async with Store(url, days, keep_days=KEEP) as opened:
        yield opened


async def live(store: Store, days: Days, count: int) -> None:
    """Let days go by: some of each kind on each, retention, and a head at its end."""
    for _ in range(count):
        at = days.now_ms
        frames = [frame(document(at)), finding(1, at), life(at, at), unreadable(at)]
        batch = [access(n, at) for n in range(30)]
        await store.ingest(CLUSTER, Delivery(accesses=batch, frames=frames))
        await store.retain(KEEP, days.today)
        await head_of(store, days)
        days.now_ms += DAY_MS


async def head_of(store: Store, days: Days) -> TreeHead:
    """Sign a head and keep it."""
    state = await store.log_state()
    head = sign_head(state.id, state.tree.size, state.tree.root, days.now_ms, KEY)
    await store.add_head(head)
    return head


async def retentions(store: Store) -> list[tuple[int, Retention]]:
    """Return the records of removals that are there, with their positions."""
    found = await store.entries(kinds=frozenset({FrameKind.RETENTION}), limit=10_000)
    assert all(each.cluster == "" and each.payload for each in found)
    return [(each.position, decode_retention(each.payload or b"")) for each in found]


async def test_nothing_old_records_nothing(store: Store, days: Days) -> None:
    """A ledger of days that are kept has no record of removals."""
    await live(store, days, KEEP)
    assert await retentions(store) == []


async def test_each_missing_payload_is_explained(store: Store, days: Days) -> None:
    """By a record later in the log, whose days are those of the policy at its own time."""
    await live(store, days, KEEP + 2)
    records = await retentions(store)
    of_a_day = {"decision": 1, "access": 30, "finding": 1, "pod_life": 1, "quarantine": 1}
    assert [each.removed for _, each in records] == [of_a_day] * 2
    for _, record in records:
        time = dt.datetime.fromisoformat(record.time)
        assert record.first_kept_day == first_kept(time.date(), KEEP).isoformat()
    entries = await sound(store)
    missing = [entry for entry in entries if entry.payload is None]
    assert {entry.kind for entry in missing} == {1, 5, 7, 9, 99}
    position, last = records[-1]
    for entry in missing:
        assert entry.position < position
        if not entry.aside:
            day = EPOCH + dt.timedelta(days=day_of(entry.id))
            assert day.isoformat() < last.first_kept_day


async def test_the_beginning_becomes_its_frontier(store: Store, days: Days, sql: Sql) -> None:
    """Leaves go whole up to a head of which no day is kept; all that is later is proved as ever."""
    await live(store, days, 1)
    early = (await store.log_state()).tree
    await live(store, days, KEEP + 2 * MARGIN_DAYS)
    state = await store.log_state()
    (_, record), *_ = [each for each in (await retentions(store))[::-1] if each[1].prefix]
    assert record.prefix is not None
    assert record.prefix.tree == state.prefix
    assert record.prefix.head.size == state.prefix.size > early.size
    assert record.prefix.head.root == state.prefix.root.hex()
    assert may_collapse(record.prefix.head, dt.date.fromisoformat(record.first_kept_day))
    entries = await sound(store)
    assert entries[0].position == state.prefix.size
    assert sql("SELECT min(position) FROM leaves") == [(state.prefix.size,)]
    assert sql("SELECT min(size) FROM heads") == [(state.prefix.size,)]
    proof = await store.consistency(state.prefix.size, state.tree.size)
    sizes = state.prefix.size, state.tree.size
    assert proves_consistency(*sizes, state.prefix.root, state.tree.root, proof)
    for entry in (entries[0], entries[len(entries) // 2], entries[-1]):
        leaf, size = entry.leaf.hash, state.tree.size
        proof = await store.inclusion(entry.position, size)
        assert proves_inclusion(leaf, entry.position, size, proof, state.tree.root)
    with pytest.raises(LedgerError, match=f"removed its first {state.prefix.size} leaves"):
        await store.inclusion(early.size - 1, state.tree.size)


async def test_rows_without_leaves_and_leaves_of_kept_rows_do_not_exist(
    store: Store, days: Days, sql: Sql
) -> None:
    """After weeks of retention, what is there has its leaf, whatever went."""
    await live(store, days, KEEP + 8)
    for table in ("decisions", "accesses", "findings", "lives", "retentions"):
        text = f"SELECT count(*) FROM {table} t LEFT JOIN leaves l ON l.position = t.position "  # noqa: S608
        assert sql(f"{text} WHERE l.position IS NULL") == [(0,)]
    assert sql("SELECT count(*) FROM accesses") == [(KEEP * 30,)]


async def test_a_log_that_was_tampered_with_is_not_shortened(
    store: Store, days: Days, sql: Sql
) -> None:
    """Nothing at all is removed: what is there is evidence."""
    await live(store, days, 2)
    other = "SELECT digest FROM leaves WHERE position = 5"
    sql(f"UPDATE leaves SET digest = ({other}) WHERE position = 6")  # noqa: S608 (a test's own)
    days.now_ms += (KEEP + MARGIN_DAYS) * DAY_MS
    with pytest.raises(LedgerError, match=r"do not lead to the root .* nothing is removed"):
        await store.retain(KEEP, days.today)
    assert sql("SELECT count(*) FROM accesses") == [(60,)]


async def test_nobody_else_says_what_was_removed(store: Store, days: Days) -> None:
    """A record of removals that a sender brings is set aside, and explains nothing."""
    made = Retention(
        format=1,
        id=access(1, days.now_ms).id,
        time="2026-11-21T12:00:00.000Z",
        keep_days=1,
        first_kept_day="2026-11-21",
    )
    sent = framed(FrameKind.RETENTION, made.id, encode_retention(made))
    for cluster in (CLUSTER, ""):
        assert (await store.deliver(cluster, [sent])).quarantined == 1
    assert await retentions(store) == []


@pytest.mark.parametrize("days_before", [MARGIN_DAYS - 1, MARGIN_DAYS])
def test_a_head_carries_the_margin_of_clocks(days_before: int) -> None:
    """What it covers may be of days after it: an id ahead of its time, an auditor's clock."""
    at = dt.datetime(2026, 11, 21, 23, 59, tzinfo=dt.UTC)
    head: Any = sign_head("ab" * 16, 1, bytes(32), int(at.timestamp() * 1000), KEY)
    first = at.date() + dt.timedelta(days=days_before)
    assert may_collapse(head, first) == (days_before == MARGIN_DAYS)
