"""The ledger is kept within its budget: refusals go, nothing else, and the log says what is so."""

import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.registry import CollectorRegistry
from structlog.testing import capture_logs

from app.processes.auditor import ledger_room
from app.processes.auditor.ledger_room import LedgerRoomKeeper
from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.metrics import RoomCollector
from audit.ledger.store.postgres import Postgres as PostgresBackend
from audit.ledger.store.room import RoomLimits
from audit.ledger.store.store import Store
from core.base.errors import LedgerError
from tests.harness.programs.postgres import Postgres
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS
from tests.unit.audit.ledger.store.test_refusals_by_size import FLOOD, others, refusals
from webhooks.log import get_logger


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure at each beat."""
    monkeypatch.setattr(ledger_room, "MEASURE_EVERY_S", 0.0)


def keeper(store: Store, max_bytes: int | None, *held: str) -> LedgerRoomKeeper:
    """Return what keeps a store to so many bytes."""
    limits = RoomLimits(max_bytes=max_bytes, held_namespaces=frozenset(held))
    return LedgerRoomKeeper(store, 90, limits, get_logger())


def is_known(room: LedgerRoomKeeper) -> bool:
    """Return whether its room is known."""
    return room.forecast.room is not None


def counted(path: Path) -> dict[str, int]:
    """Count decisions by whether they were let through."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT allowed, count(*) FROM decisions GROUP BY allowed")
        return {str(allowed): count for allowed, count in rows}


async def test_refusals_go_when_the_budget_is_exceeded_and_evidence_stays(tmp_path: Path) -> None:
    """A flood within one hour too: each look measures, and waits for no count."""
    path = tmp_path / "ledger.db"
    async with Store(f"sqlite:///{path}", lambda: NOW_MS / 1000) as store:
        await store.deliver(CLUSTER, others() + refusals(200, "web", "user:alice"))
        budget = (await store.size()).used + 2_000_000
        room = keeper(store, budget)
        await room.beat()
        assert room.forecast.room is not None
        assert not room.forecast.room.is_over
        await store.deliver(CLUSTER, refusals(3000, *FLOOD))
        assert (await store.size()).used > budget
        with capture_logs() as lines:
            await room.beat()
        assert [line["event"] for line in lines] == ["refusals removed for want of room"]
        assert "ledger.max_mib" in lines[0]["fix"]
        assert (await store.size()).used <= budget
        shares = {each.namespace: each for each in await store.refusal_shares()}
        kept = refusals(200, "web", "user:alice")
        assert shares["web"].size == sum(len(one.payload) for one in kept)
        assert shares[FLOOD[0]].size > 0
    assert sum(counted(path).values()) > 222
    assert counted(path)["1"] == 21


async def test_where_only_evidence_is_left_it_is_said_and_nothing_goes(tmp_path: Path) -> None:
    """The metrics say that nothing is free; the log, that nothing else goes."""
    path = tmp_path / "ledger.db"
    async with Store(f"sqlite:///{path}", lambda: NOW_MS / 1000) as store:
        await store.deliver(CLUSTER, others() + refusals(50, *FLOOD))
        room = keeper(store, 1000)
        with capture_logs() as lines:
            await room.beat()
            await room.beat()
        events = [line["event"] for line in lines]
        assert events == [
            "refusals removed for want of room",
            "the ledger is larger than its budget",
        ]
        assert lines[1]["log_level"] == "error"
        registry = CollectorRegistry()
        registry.register(RoomCollector(lambda: room.forecast))
        text = generate_latest(registry).decode()
        assert "\nsallyport_ledger_free_bytes 0.0\n" in text
        assert "\nsallyport_ledger_max_bytes 1000.0\n" in text
        assert "\nsallyport_ledger_refusal_bytes 0.0\n" in text
    assert sum(counted(path).values()) == 22


async def test_refusals_under_hold_stay_whatever_the_budget_is(tmp_path: Path) -> None:
    """They count as what is kept."""
    async with Store(f"sqlite:///{tmp_path / 'ledger.db'}", lambda: NOW_MS / 1000) as store:
        await store.deliver(CLUSTER, refusals(50, *FLOOD))
        room = keeper(store, 1000, FLOOD[0])
        await room.beat()
        assert room.forecast.room is not None
        assert room.forecast.room.free == 0
        assert room.forecast.room.refusals == room.forecast.room.held > 0


async def test_postgresql_writes_days_anew_once_a_look(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deliveries wait for it: it goes on later, and no budget is said to be beyond help yet."""
    name = postgres.new_database()
    written: list[Any] = []
    compact = PostgresBackend.compact

    def counted_compact(backend: PostgresBackend, days: Any) -> None:
        written.append(days)
        compact(backend, days)

    monkeypatch.setattr(PostgresBackend, "compact", counted_compact)
    now = [0.0]
    monkeypatch.setattr(ledger_room, "time", SimpleNamespace(monotonic=lambda: now[0]))
    async with Store(postgres.url(name), lambda: NOW_MS / 1000) as store:
        await store.deliver(CLUSTER, others() + refusals(500, "web", "user:alice"))
        room = keeper(store, (await store.size()).used + 100_000)
        await store.deliver(CLUSTER, refusals(3000, *FLOOD))
        with capture_logs() as lines:
            await room.beat()
        assert len(written) == len({day for days in written for day in days}) > 0
        assert [line["event"] for line in lines] == ["refusals removed for want of room"]
        first = len(written)
        now[0] += 60.0
        await room.beat()
        assert len(written) == first
        for _ in range(3):
            now[0] += 600.0
            await room.beat()
        assert len(written) > first
        assert room.forecast.room is not None
        assert not room.forecast.room.is_over
        assert len(await store.find(DecisionQuery(limit=10_000))) > 22
    postgres.drop_database(name)


async def test_what_cannot_be_measured_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No metric has a value of before, and the log says why; the next look measures again."""
    async with Store(f"sqlite:///{tmp_path / 'ledger.db'}", lambda: NOW_MS / 1000) as store:
        room = keeper(store, None)
        await room.beat()
        assert is_known(room)
        before = Store.size

        async def fails(_: Store) -> Any:
            raise LedgerError("its disk is gone")

        monkeypatch.setattr(Store, "size", fails)
        with capture_logs() as lines:
            await room.beat()
        assert not is_known(room)
        assert lines[0]["problem"] == "its disk is gone"
        monkeypatch.setattr(Store, "size", before)
        await room.beat()
        assert is_known(room)
