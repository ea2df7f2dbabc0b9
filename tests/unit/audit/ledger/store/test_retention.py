"""Retention: whole days (UTC) go, and what only they used."""

import asyncio
import datetime as dt
import hashlib
from pathlib import Path

import pytest

from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.store import sqlite
from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.retention import RemovedCounts
from audit.ledger.store.store import Store
from core.decision.document import decode_document
from tests.unit.audit.ledger.store.conftest import Sql, clock
from tests.unit.audit.ledger.store.documents import (
    CLUSTER,
    NOW_MS,
    document,
    finding,
    frame,
    sweep,
    sweep_frame,
)

DAY_MS = 86_400_000
TODAY = dt.date(2026, 11, 21)
FIRST_KEPT_MS = NOW_MS // DAY_MS * DAY_MS - 2 * DAY_MS
"""Of three days that are kept, today's included."""


def ago(days: int) -> dt.date:
    """Return the day so many days before today."""
    return TODAY - dt.timedelta(days=days)


async def test_days_go_whole(store: Store, sql: Sql) -> None:
    """The last three days, today's included, are kept to their first millisecond."""
    kept = [document(at, findings=[finding()]) for at in (FIRST_KEPT_MS, NOW_MS)]
    gone = [
        document(FIRST_KEPT_MS - before, findings=[finding("site/a"), finding("site/b")])
        for before in (40 * DAY_MS, DAY_MS, 1)
    ]
    await store.deliver(CLUSTER, [frame(made) for made in (*kept, *gone)])
    removed = await store.retain(3, TODAY)
    assert removed.days == (ago(42), ago(3))
    found = await store.find(DecisionQuery(oldest_first=True))
    assert [decode_document(each).id for each in found] == [each.id for each in kept]
    assert sql("SELECT count(*) FROM rules") == [(2,)]
    assert await store.retain(3, TODAY) == RemovedCounts()


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
async def test_partitions_of_other_names_are_left(store: Store, sql: Sql) -> None:
    """An operator may have attached some; those made here go as ever."""
    for name, day in (("decisions_default", 1), ("decisions_20261399", 2), ("old_20200101", 3)):
        sql(f"CREATE TABLE {name} PARTITION OF decisions FOR VALUES FROM ({day}) TO ({day + 1})")
    await store.deliver(CLUSTER, [frame(document(FIRST_KEPT_MS - 1)), frame(document())])
    assert (await store.retain(3, TODAY)).days == (ago(3),)
    assert sql("SELECT to_regclass('decisions_default') IS NOT NULL") == [(True,)]


async def test_a_day_that_went_can_come_again(store: Store) -> None:
    """A backlog from long ago is stored all the same, until the next time."""
    late = [frame(document(FIRST_KEPT_MS - DAY_MS + n)) for n in range(3)]
    for _ in range(2):
        await store.deliver(CLUSTER, late)
        assert len(await store.find(DecisionQuery())) == 3
        assert (await store.retain(3, TODAY)).days == (ago(3),)
        assert await store.find(DecisionQuery()) == []


async def test_projections_of_days_that_are_kept_stay(url: str) -> None:
    """One is sent again on each day on which it is used, and a day more is allowed for clocks."""
    contents = [f'{{"n":{n}}}'.encode() for n in range(3)]
    frames = [Frame(FrameKind.PROJECTION, hashlib.sha256(each).digest(), each) for each in contents]
    now = [clock() - 4 * 86_400]
    async with Store(url, lambda: now[0]) as store:
        assert (await store.deliver(CLUSTER, frames)).stored == 3
        now[0] += 86_400
        assert (await store.deliver(CLUSTER, frames[:2])).known == 2
        now[0] += 86_400
        assert (await store.deliver(CLUSTER, frames[:1])).known == 1
        assert await store.retain(3, TODAY) == RemovedCounts(projections=1)
        digests = [f"sha256:{each.id.hex()}" for each in frames]
        found = [await store.projection(CLUSTER, digest) for digest in digests]
        assert found == [*contents[:2], None]


async def test_sweeps_and_unreadable_frames_go_too(url: str) -> None:
    """By the sweep's own day, and the day on which the frame came."""
    now = [clock() - 3 * 86_400]
    async with Store(url, lambda: now[0]) as store:
        sweeps = [sweep_frame(sweep(at)) for at in (FIRST_KEPT_MS - 1, FIRST_KEPT_MS)]
        await store.deliver(CLUSTER, [Frame(9, b"a", b"")])
        now[0] = clock()
        await store.deliver(CLUSTER, [*sweeps, Frame(9, b"b", b"")])
        assert await store.retain(3, TODAY) == RemovedCounts(sweeps=1, quarantined=1)
        assert len(await store.sweeps(10)) == 1


async def test_a_large_day_goes_in_parts_while_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In SQLite each part is a transaction of its own, between which frames are stored."""
    monkeypatch.setattr(sqlite, "CHUNK", 10)
    async with Store(f"sqlite:///{tmp_path / 'ledger.db'}", clock) as store:
        old = [frame(document(FIRST_KEPT_MS - 1 - n, findings=[finding()])) for n in range(95)]
        await store.deliver(CLUSTER, old)
        retaining = asyncio.create_task(store.retain(3, TODAY))
        delivered_during = 0
        while not retaining.done():
            await store.deliver(CLUSTER, [frame(document())])
            delivered_during += not retaining.done()
        assert (await retaining).days == (ago(3),)
        assert delivered_during >= 5
        kept = await store.find(DecisionQuery(limit=1000))
        assert all(decode_document(each).request.name for each in kept)
        assert len(kept) >= delivered_during
