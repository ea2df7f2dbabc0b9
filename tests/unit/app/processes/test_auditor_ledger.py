"""The auditor's ledger comes and goes; whoever asks `/readyz` hears of both."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.processes.auditor import ledger as kept_ledger
from app.processes.auditor.ledger import KeptLedger, open_kept_ledger
from app.settings.root import read_settings
from audit.ledger.log.head_publisher import HeadPublisher
from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.store.retention import RemovedCounts
from audit.ledger.store.store import Store
from core.base.errors import LedgerError
from tests.harness.programs.postgres import Postgres, require_postgres
from tests.unit.audit.ledger.store.conftest import clock
from tests.unit.audit.ledger.store.earlier_releases import write_former
from webhooks.log import get_logger

CLUSTER = "c1"
FRAMES = [Frame(FrameKind.PROJECTION, b"\0" * 32, b"{}")]
"""Kept, as quarantined: what matters here is whether the ledger takes it."""

SOON_S = 30.0


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look after the ledger more often."""
    monkeypatch.setattr(kept_ledger, "LOOK_EVERY_S", 0.05)


@pytest.fixture
def server() -> Iterator[Postgres]:
    """A PostgreSQL server of the test's own, to be killed."""
    server = Postgres(require_postgres())
    yield server
    server.stop()


@asynccontextmanager
async def looked_after(store: Store) -> AsyncIterator[KeptLedger]:
    """Yield a ledger that is looked after; at the end its task must still run."""
    ledger = KeptLedger(store, 30, get_logger())
    task = asyncio.create_task(ledger.look_after())
    try:
        yield ledger
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await ledger.close()


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(SOON_S):
        while not holds():  # noqa: ASYNC110  The ledger has no event for it.
            await asyncio.sleep(0.01)


async def test_a_database_that_goes_away_and_comes_back(server: Postgres) -> None:
    """It is missing while it is away, although nothing is delivered; then it takes frames again."""
    async with looked_after(Store(server.url())) as ledger:
        await until(lambda: not ledger.missing())
        assert (await ledger.deliver(CLUSTER, FRAMES)).quarantined == 1
        server.crash()
        await until(lambda: bool(ledger.missing()))
        assert server.password not in ledger.missing()[0]
        with pytest.raises(LedgerError):
            await ledger.deliver(CLUSTER, FRAMES)
        server.start(server.port)
        await until(lambda: not ledger.missing())
        await ledger.deliver(CLUSTER, FRAMES)


async def test_a_ledger_that_cannot_be_made_is_made_later(tmp_path: Path) -> None:
    """A folder stands where the file shall be; the log says so once, and when it is open."""
    path = tmp_path / "ledger.db"
    path.mkdir()
    with capture_logs() as lines:
        async with looked_after(Store(f"sqlite:///{path}")) as ledger:
            await until(lambda: "ledger.db" in ledger.missing()[0])
            await asyncio.sleep(0.2)
            path.rmdir()
            await until(lambda: not ledger.missing())
            await ledger.deliver(CLUSTER, FRAMES)
    assert [line["event"] for line in lines] == ["ledger fails", "ledger open"]


async def test_a_failed_delivery_is_missed_at_once(tmp_path: Path) -> None:
    """Before the next look, and until a delivery or a look succeeds."""
    store = Store(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger = KeptLedger(store, 30, get_logger())
    with pytest.raises(LedgerError):
        await ledger.deliver(CLUSTER, FRAMES)
    assert ledger.missing() == ["it has not been opened yet"]
    await store.open()
    await ledger.deliver(CLUSTER, FRAMES)
    assert ledger.missing() == []
    await ledger.close()
    with pytest.raises(RuntimeError):  # What nobody foresaw: its worker has ended.
        await ledger.deliver(CLUSTER, FRAMES)
    assert ledger.missing() == ["unexpected RuntimeError"]


async def test_rows_past_the_log_are_loud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody wrote past the ledger is said once, with its number, and counted."""
    monkeypatch.setattr(kept_ledger, "LOOK_EVERY_S", 0.01)
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    store = Store(url, clock)
    publishing = HeadPublisher(store, tmp_path / "ledger.key", [], get_logger())
    ledger = KeptLedger(store, 30, get_logger(), publishing, 0.02)
    with capture_logs() as lines:
        task = asyncio.create_task(ledger.look_after())
        await until(lambda: ledger.outside == 0)
        write_former(url, 0, 2)
        await until(lambda: ledger.outside == 3)
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await ledger.close()
    said = [line for line in lines if line["event"] == "rows outside of the log"]
    assert [(line["rows"], line["log_level"]) for line in said] == [(3, "error")]


@pytest.mark.parametrize(
    ("anchors", "event"),
    [("none", "no anchor"), ("beside", "anchor beside the ledger"), ("away", "")],
)
async def test_what_anchors_cannot_prove_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, anchors: str, event: str
) -> None:
    """None at all, or one on the ledger's own disk: the log warns at the start."""
    places = {"none": [], "beside": [{"file": str(tmp_path / "anchor.jsonl")}]}
    away = [{"file": "/proc/nowhere/anchor.jsonl"}]
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    key = str(tmp_path / "ledger.key")
    given = {"url": url, "signing_key": key, "anchors": places.get(anchors, away)}
    with capture_logs() as lines:
        async with open_kept_ledger(read_settings(None, {"ledger": given}), get_logger()):
            pass
    warned = [line["event"] for line in lines if line["log_level"] == "warning"]
    assert warned == ([event] if event else [])


async def test_nothing_unforeseen_ends_the_looking_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A defect in retention is logged with its place, and the next look goes on."""
    looks = 0

    async def retain(_store: Store, _days: int, _today: dt.date) -> RemovedCounts:
        nonlocal looks
        looks += 1
        await asyncio.sleep(0)
        raise ZeroDivisionError

    monkeypatch.setattr(Store, "retain", retain)
    monkeypatch.setattr(kept_ledger, "_RETAIN_EVERY_S", 0.0)
    with capture_logs() as lines:
        async with looked_after(Store(f"sqlite:///{tmp_path / 'ledger.db'}")):
            await until(lambda: looks > 2)
    failed = [line for line in lines if line["event"] == "ledger fails"]
    assert {line["problem"] for line in failed} == {"unexpected ZeroDivisionError"}
    assert isinstance(failed[0]["exc_info"], ZeroDivisionError)
