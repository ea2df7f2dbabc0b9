"""The ledger's room: measured in both databases, and given back when refusals go for want of it."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.ledger.store import postgres as postgres_store
from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.refusal_removal import SLACK, plan_removal
from audit.ledger.store.room import (
    BUDGET_PART,
    LEAST_REFUSALS,
    LedgerRoom,
    LedgerSize,
    RoomForecast,
    RoomLimits,
)
from audit.ledger.store.store import Store
from core.base.errors import LedgerError
from tests.harness.programs.postgres import Postgres
from tests.unit.audit.ledger.store.conftest import Sql
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS
from tests.unit.audit.ledger.store.log_invariants import sound
from tests.unit.audit.ledger.store.test_refusals_by_size import (
    FLOOD,
    KEEP,
    TODAY,
    others,
    refusals,
    share,
    verified,
)

GIB = 1024**3
HOUR = 3600.0


def room(
    used: int, refused: int = 0, *, most: int | None = None, disk: int | None = None, held: int = 0
) -> LedgerRoom:
    """Return a room of so many bytes."""
    limits = RoomLimits(max_refusal_bytes=8 * GIB, max_bytes=most)
    return LedgerRoom(LedgerSize(used, disk), limits, refused, held)


def test_without_a_budget_it_is_a_part_of_what_the_file_system_has() -> None:
    """Measured, so that a volume that was enlarged has what it has, and no refusal goes."""
    enlarged = room(200 * GIB, 8 * GIB, disk=300 * GIB)
    assert enlarged.limit == int(500 * BUDGET_PART * GIB)
    assert not enlarged.is_over
    assert enlarged.most_refusals() == 8 * GIB
    assert room(90 * GIB, 2 * GIB, disk=10 * GIB).is_over


def test_without_a_budget_nothing_is_known_of_postgresql() -> None:
    """No refusal goes but beyond its own bound."""
    assert room(5 * GIB, 3 * GIB).limit is None
    assert room(5 * GIB).free is None
    assert room(500 * GIB, 3 * GIB).most_refusals() == 8 * GIB
    assert not room(500 * GIB).is_over


def test_with_a_budget_refusals_are_room() -> None:
    """Those under hold are not, nor a tenth of the budget: they stay."""
    assert room(30 * GIB, 8 * GIB, most=40 * GIB).free == 14 * GIB
    assert room(30 * GIB, 8 * GIB, most=40 * GIB, held=3 * GIB).free == 11 * GIB
    assert room(30 * GIB, 3 * GIB, most=40 * GIB).free == 10 * GIB
    assert room(41 * GIB, 8 * GIB, most=40 * GIB).most_refusals() == 7 * GIB
    assert room(41 * GIB, 8 * GIB, most=40 * GIB).most_refusals(2.0) == 7.5 * GIB
    assert room(60 * GIB, 8 * GIB, most=40 * GIB).free == 0


@pytest.mark.parametrize("used", [60, 1000])
def test_what_was_admitted_does_not_make_all_refusals_go(used: int) -> None:
    """However much that is: a tenth of the budget is of refusals that may go, beside those held."""
    assert room(used * GIB, 8 * GIB, most=40 * GIB).most_refusals() == 4 * GIB
    assert room(used * GIB, 8 * GIB, most=40 * GIB, held=2 * GIB).most_refusals() == 6 * GIB
    assert room(used * GIB, 3 * GIB, most=40 * GIB).most_refusals() >= 3 * GIB
    assert room(used * GIB, 8 * GIB, most=200 * GIB).most_refusals() == 8 * GIB


def test_a_budget_that_the_disk_does_not_have_counts_as_what_it_has() -> None:
    """A disk that fills stops every gate; refusals go before."""
    small = room(9 * GIB, 2 * GIB, most=40 * GIB, disk=GIB)
    assert small.limit == int(9.5 * GIB)
    assert not small.is_over
    full = room(10 * GIB, 2 * GIB, most=40 * GIB, disk=0)
    assert full.is_over
    assert full.most_refusals() == int(1.5 * GIB)


@given(
    sizes=st.lists(st.integers(1, GIB), max_size=20),
    kept=st.integers(0, 10 * GIB),
    most=st.integers(1, 20 * GIB),
)
def test_what_goes_brings_the_ledger_below_its_budget_where_refusals_can(
    sizes: list[int], kept: int, most: int
) -> None:
    """By the plan of removals as it is; else a tenth of the budget stays, and that is too much."""
    refused = sum(sizes)
    full = room(kept + refused, refused, most=most)
    plan = plan_removal([share(at, size) for at, size in enumerate(sizes)], full.most_refusals())
    gone = sum(size for _, size in plan)
    assert not plan or refused > full.most_refusals()
    least = most // LEAST_REFUSALS
    assert kept + refused - gone <= most or refused - gone <= least
    assert not plan or refused - gone >= int(least * SLACK) - len(sizes)


def test_the_forecast_says_when_it_is_full() -> None:
    """By the last hour and by the last day; nothing where nothing grows."""
    forecast = RoomForecast()
    assert forecast.left_s() == {}
    for minute in range(24 * 60 + 1):
        forecast.note(room(GIB + 1000 * minute, most=2 * GIB), minute * 60.0)
    assert set(forecast.growth()) == {"1h", "1d"}
    assert all(abs(rate - 1000 / 60) < 0.01 for rate in forecast.growth().values())
    assert all(abs(left - GIB * 60 / 1000) < 1e5 for left in forecast.left_s().values())
    for minute in range(60, 121):
        forecast.note(room(GIB, most=2 * GIB), (24 * 60 + minute) * 60.0)
    assert "1h" not in forecast.left_s()
    forecast.note(room(GIB), 40 * HOUR)
    assert forecast.left_s() == {}


async def test_the_size_is_what_is_on_the_disk(url: str, tmp_path: Path) -> None:
    """It grows with what is kept; SQLite's is its file, beside what the disk has."""
    made = refusals(2000, *FLOOD)
    async with Store(url, lambda: NOW_MS / 1000, keep_days=KEEP) as store:
        before = await store.size()
        await store.deliver(CLUSTER, made)
        after = await store.size()
        path = store.path
    grown = after.used - before.used
    assert grown > 0.2 * sum(len(each.payload) for each in made)  # PostgreSQL compresses them.
    if path is None:
        assert after.disk_free is None
        return
    assert after.used == path.stat().st_size  # The write-ahead log is in the file now.
    assert after.disk_free is not None
    assert abs(after.disk_free - shutil.disk_usage(tmp_path).free) < GIB


async def test_room_of_refusals_that_went_is_given_back(url: str, sql: Sql) -> None:
    """Also in PostgreSQL, in whose tables of past days nothing is written any more."""
    async with Store(url, lambda: NOW_MS / 1000, keep_days=KEEP) as store:
        await store.deliver(CLUSTER, refusals(5000, *FLOOD) + others())
        full = await store.size()
        shares = await store.refusal_shares()
        assert sum(each.size for each in shares) > 0
        assert await store.shrink(0, KEEP, TODAY, frozenset()) == 5000
        left = await store.size()
        assert left.used < full.used - 0.4 * sum(each.size for each in shares)
        assert sum(each.size for each in await store.refusal_shares()) == 0
        await store.deliver(CLUSTER, refusals(3, "web", "user:alice"))
        await sound(store)
    assert (await verified(url)).sound
    assert sql("SELECT count(*) FROM decisions") == [(25,)]


async def test_no_more_goes_while_room_cannot_be_given_back(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that stays holds a day's table: what is free there would count as used for ever."""
    monkeypatch.setattr(postgres_store, "_LOCK_WAIT", "200ms")
    name = postgres.new_database()
    async with Store(postgres.url(name), lambda: NOW_MS / 1000, keep_days=KEEP) as store:
        await store.deliver(CLUSTER, refusals(300, *FLOOD))
        with postgres.connect(name) as reader, reader.transaction():
            reader.execute("SELECT count(*) FROM decisions")
            with pytest.raises(LedgerError, match="lock timeout"):
                await store.shrink(40_000, KEEP, TODAY, frozenset())
            left = len(await store.find(DecisionQuery(limit=1000)))
            assert 0 < left < 300
            with pytest.raises(LedgerError, match="lock timeout"):
                await store.shrink(0, KEEP, TODAY, frozenset())
            assert len(await store.find(DecisionQuery(limit=1000))) == left
        assert await store.shrink(0, KEEP, TODAY, frozenset()) == left
    postgres.drop_database(name)
