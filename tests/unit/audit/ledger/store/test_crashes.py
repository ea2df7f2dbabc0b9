"""What was acknowledged survives; what fails is said, and nothing of it is kept."""

import asyncio
import os
import signal
import sqlite3
import sys
import time
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from audit.ledger.store import sqlite
from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.store import Store
from core.base.errors import LedgerError
from core.decision.decision import Verdict
from tests.harness.programs.postgres import Postgres, require_postgres
from tests.harness.sizes import size
from tests.unit.audit.ledger.store.conftest import Sql, clock
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS, document, frame
from tests.unit.audit.ledger.store.log_invariants import sound

ROOT = Path(__file__).parents[5]

WRITES = """
import asyncio, sys
from audit.ledger.store.store import Store
from tests.unit.audit.ledger.store.conftest import clock
from tests.unit.audit.ledger.store.documents import CLUSTER, document, frame

async def main():
    async with Store(sys.argv[1], clock) as store:
        while True:
            made = [document() for _ in range(50)]
            await store.deliver(CLUSTER, list(map(frame, made)))
            print(*(each.id for each in made), flush=True)

asyncio.run(main())
"""


@pytest.mark.proof
@pytest.mark.parametrize("attempt", range(size(ci=2, proof=20)))
async def test_killed_writer_loses_nothing_that_it_acknowledged(url: str, attempt: int) -> None:
    """SIGKILL at any moment; the next to open goes on, and a batch is there whole or not at all."""
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITES, url, cwd=ROOT, stdout=PIPE
    )
    assert writer.stdout is not None
    said = [await writer.stdout.readline()]
    await asyncio.sleep(0.05 + 0.03 * (attempt % 10))
    os.kill(writer.pid, signal.SIGKILL)
    said += (await writer.communicate())[0].splitlines()
    acknowledged = {each.decode() for line in said for each in line.split() if len(each) == 36}
    assert len(acknowledged) >= 50
    async with Store(url, clock) as store:
        for each in acknowledged:
            assert len(await store.get(each)) == 1
        found = await store.find(DecisionQuery(limit=10_000))
        assert len(found) % 50 == 0
        assert len(await sound(store)) == len(found)


async def test_crashed_server_loses_nothing_that_was_acknowledged() -> None:
    """And the store goes on by itself once PostgreSQL is back; until then it says what is wrong."""
    server = Postgres(require_postgres())
    try:
        port = server.port
        async with Store(server.url(server.new_database()), clock) as store:
            kept = [document(NOW_MS + n, Verdict.DENY) for n in range(500)]
            await store.deliver(CLUSTER, list(map(frame, kept)))
            server.crash()
            later = [frame(document()), frame(kept[0])]
            with pytest.raises(LedgerError, match=f"the ledger postgresql://127.0.0.1:{port}/"):
                await store.deliver(CLUSTER, later)
            server.start(port)
            receipt = await store.deliver(CLUSTER, later)
            assert (receipt.stored, receipt.known) == (1, 1)
            assert len(await store.find(DecisionQuery(limit=1000))) == 501
    finally:
        server.stop()


async def test_failed_batch_leaves_nothing(store: Store, sql: Sql) -> None:
    """All of a batch or none of it, so that what is sent again is counted right."""
    sql("DROP TABLE quarantine")
    frames = [frame(document(NOW_MS + n)) for n in range(10)]
    bad = frame(document(cluster="other"))
    with pytest.raises(LedgerError, match="quarantine"):
        await store.deliver(CLUSTER, [*frames, bad])
    assert await store.find(DecisionQuery()) == []
    assert (await store.deliver(CLUSTER, frames)).stored == 10


async def test_event_loop_goes_on_while_the_file_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait is a thread's, not the loop's; a reader does not wait at all."""
    path = tmp_path / "ledger.db"
    async with Store(f"sqlite:///{path}", clock) as store, Store(f"sqlite:///{path}") as reader:
        await store.deliver(CLUSTER, [frame(document())])
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        delivering = asyncio.create_task(store.deliver(CLUSTER, [frame(document())]))
        for _ in range(10):
            await asyncio.sleep(0.01)
        assert len(await reader.find(DecisionQuery())) == 1
        assert not delivering.done()
        other.execute("COMMIT")
        other.close()
        assert (await delivering).stored == 1


async def test_lock_that_stays_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the wait it is said, and the frames can be sent again."""
    monkeypatch.setattr(sqlite, "BUSY_S", 0.1)
    path = tmp_path / "ledger.db"
    async with Store(f"sqlite:///{path}", clock) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.raises(LedgerError, match=r"ledger\.db: database is locked"):
            await store.deliver(CLUSTER, [frame(document())])
        assert time.monotonic() - began >= 0.1
        other.execute("ROLLBACK")
        other.close()
        assert (await store.deliver(CLUSTER, [frame(document())])).stored == 1


async def test_commits_are_on_the_disk(store: Store, sql: Sql, url: str) -> None:
    """SQLite syncs its log at each commit; PostgreSQL does whatever its server's default is."""
    asked = "PRAGMA synchronous" if "sqlite" in url else "SHOW synchronous_commit"
    if "sqlite" not in url:
        sql(f"ALTER DATABASE {url.rpartition('/')[2]} SET synchronous_commit = off")
    other = Store(url)
    await other.open()
    with other._backend.engine.connect() as connection:  # noqa: SLF001
        assert connection.exec_driver_sql(asked).scalar() in {2, "on"}  # 2: FULL
    await other.close()
