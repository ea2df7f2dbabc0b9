"""What an earlier release stored is taken into the log once, and what it stores while it runs."""

import datetime as dt

import pytest

from audit.ledger.log.adoption import decode_adoption
from audit.ledger.log.entries import LogEntry
from audit.ledger.records.frames import FrameKind
from audit.ledger.store import adoption, database
from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.store import Store
from core.base.errors import LedgerError
from tests.unit.audit.ledger.store.conftest import Sql, clock
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS, document, frame
from tests.unit.audit.ledger.store.earlier_releases import make_former, write_former
from tests.unit.audit.ledger.store.log_invariants import sound

COUNT = 25


def said(entries: list[LogEntry]) -> list[tuple[int, bool]]:
    """Return what the log says of what was taken in."""
    found = [
        decode_adoption(entry.payload or b"")
        for entry in entries
        if entry.kind == FrameKind.ADOPTION
    ]
    return [(each.records, each.last) for each in found]


async def test_what_was_stored_before_is_taken_in(url: str, sql: Sql) -> None:
    """Each record once, in the order of ids, when the ledger is brought up to date."""
    make_former(url)
    write_former(url, 0, COUNT)
    async with Store(url, clock) as store:
        entries = await sound(store)
        assert [entry.kind for entry in entries] == [14] + [1] * COUNT + [42]
        assert [entry.id for entry in entries[1:-1]] == sorted(entry.id for entry in entries[1:-1])
        assert said(entries) == [(COUNT + 1, False)]
        assert all(entry.payload for entry in entries)
        assert await store.adopt() == 0
        await store.deliver(CLUSTER, [frame(document())])
        assert len(await sound(store)) == COUNT + 3
        assert len(await store.find(DecisionQuery())) == COUNT + 1
    assert sql("SELECT count(*) FROM decisions WHERE position IS NULL") == [(0,)]


async def test_an_earlier_release_beside_it_is_followed(url: str) -> None:
    """While a new release is rolled out, what the old one still writes is taken in later."""
    make_former(url)
    async with Store(url, clock) as store:
        write_former(url, 0, 3)
        assert await sound(store) == []
        assert await store.adopt() == 4
        write_former(url, 3, 3)
        assert await store.adopt() == 4
        assert said(await sound(store)) == [(4, False), (4, False)]


@pytest.mark.parametrize("left", [0, 3])
async def test_it_is_done_a_day_after_the_upgrade(url: str, left: int) -> None:
    """What was left is taken in, the log says that it is done, and nothing is ever again."""
    make_former(url)
    now = [NOW_MS / 1000]
    async with Store(url, lambda: now[0]) as store:
        write_former(url, 0, left)
        now[0] += 86_400
        assert await store.adopt() == left + 1
        assert await store.outside() == 0
        assert await store.adopt() == 0
        assert said(await sound(store)) == [(left + 1, False), (0, True)]
        write_former(url, 10, 3)
        assert await store.adopt() == 0
        assert await store.outside() == 4
        assert len(await sound(store)) == left + 3
    async with Store(url, lambda: now[0]) as store:
        assert len(await store.find(DecisionQuery())) == left
        page = await store.documents(FrameKind.DECISION, 0, 2**48)
        assert len(page) == left


async def test_it_ends_also_where_somebody_writes_on(url: str) -> None:
    """Six days after the upgrade, whatever there is: a verifier expects no more then."""
    make_former(url)
    now = [NOW_MS / 1000]
    async with Store(url, lambda: now[0]) as store:
        write_former(url, 0, 2)
        assert await store.adopt() == 3
        now[0] += 6 * 86_400
        write_former(url, 2, 2)
        assert await store.adopt() == 0
        assert said(await sound(store)) == [(3, False), (0, True)]
        assert await store.outside() == 3


async def test_a_new_ledger_takes_nothing_in(url: str) -> None:
    """There is no earlier release's: a row without a place is nobody's from the first on."""
    async with Store(url, clock) as store:
        await store.deliver(CLUSTER, [frame(document())])
        write_former(url, 0, 3)
        assert await store.adopt() == 0
        assert await store.outside() == 4
        assert len(await store.find(DecisionQuery())) == 1
        assert len(await sound(store)) == 1


async def test_a_large_ledger_is_taken_in_by_steps(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that what is delivered meanwhile need not wait; nothing is left out or taken twice."""
    monkeypatch.setattr(adoption.adopt_rows, "__defaults__", (7,))
    monkeypatch.setattr(database, "_ADOPTED_AT_ONCE", 1)
    make_former(url)
    write_former(url, 0, COUNT)
    async with Store(url, clock) as store:
        steps = [len(await sound(store))]
        while await store.adopt():
            await store.deliver(CLUSTER, [frame(document())])
            steps.append(len(await sound(store)))
        assert steps == [8, 17, 26, 33]


async def test_retention_goes_on_over_what_has_no_place_yet(url: str, sql: Sql) -> None:
    """A row without a leaf is removed as any other."""
    make_former(url)
    async with Store(url, clock) as store:
        write_former(url, 0, 3)
        day = dt.date(2026, 11, 21) + dt.timedelta(days=5)
        await store.retain(3, day)
        assert len(await sound(store)) == 1
        assert sql("SELECT count(*) FROM quarantine") == [(0,)]


async def test_a_reader_of_a_ledger_without_a_log_is_told(url: str) -> None:
    """Who only reads changes nothing, and hears why there is no log."""
    make_former(url)
    reader = Store(url, clock)
    await reader.open(make=False)
    with pytest.raises(LedgerError, match="no log yet"):
        await reader.entries()
    assert await reader.find(DecisionQuery()) == []
    await reader.close()
