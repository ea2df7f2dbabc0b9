"""Opening a ledger: made once, by whoever is first; refused where it is too new."""

import asyncio
import stat
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest
import sqlalchemy as sa

from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.schema import HEAD
from audit.ledger.store.store import Store
from audit.ledger.store.tables import (
    decisions,
    look_backs,
    projections,
    quarantine,
    rules,
    sweeps,
)
from core.base.errors import LedgerError, SettingsError
from tests.unit.audit.ledger.store.conftest import Sql, clock
from tests.unit.audit.ledger.store.documents import CLUSTER, document, frame

ROOT = Path(__file__).parents[5]

OPENS = """
import asyncio, sys
from audit.ledger.store.store import Store

async def main():
    store = Store(sys.argv[1])
    sys.stdin.readline()
    await store.open()
    await store.close()

asyncio.run(main())
"""


def number(sql: Sql, version: str) -> None:
    """Say that the tables are of this version."""
    sql(f"UPDATE alembic_version SET version_num = '{version}'")  # noqa: S608 (a test's own)


async def test_many_processes_may_open_a_new_ledger_at_once(url: str, sql: Sql) -> None:
    """One makes the tables, the others wait for it; none fails."""
    starting = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", OPENS, url, cwd=ROOT, stdin=PIPE, stderr=PIPE
        )
        for _ in range(4)
    ]
    ended = await asyncio.gather(*(each.communicate(b"\n") for each in starting))
    errors = [stderr.decode() for _, stderr in ended]
    assert [each.returncode for each in starting] == [0] * 4, errors
    assert errors == [""] * 4
    assert sql("SELECT version_num FROM alembic_version") == [(f"{HEAD:04}",)]


def names(folder: Path) -> list[str]:
    """Return the names of a folder's files."""
    return sorted(path.name for path in folder.iterdir())


async def test_opening_again_changes_nothing(url: str) -> None:
    """What was stored is there."""
    async with Store(url, clock) as store:
        await store.deliver(CLUSTER, [frame(document())])
    async with Store(url, clock) as store:
        assert len(await store.find(DecisionQuery())) == 1


async def test_tables_are_as_queries_see_them(store: Store, url: str) -> None:
    """What `migrations/` makes has the columns of `tables.py`, in their order (COPY's)."""
    engine = sa.create_engine(url)
    inspector = sa.inspect(engine)
    for table in (decisions, rules, projections, sweeps, look_backs, quarantine):
        made = [column["name"] for column in inspector.get_columns(table.name)]
        assert made == [column.name for column in table.columns]
    engine.dispose()


async def test_the_next_releases_ledger_is_used_as_it_is(store: Store, url: str, sql: Sql) -> None:
    """While a new release is rolled out, the old one writes on; a new column has its default."""
    number(sql, f"{HEAD + 1:04}")
    sql("ALTER TABLE decisions ADD COLUMN later TEXT NOT NULL DEFAULT 'x'")
    known = frame(document())
    async with Store(url, clock) as other:
        assert (await other.deliver(CLUSTER, [known])).stored == 1
        assert (await other.deliver(CLUSTER, [known, frame(document())])).stored == 1
        assert len(await other.find(DecisionQuery())) == 2


@pytest.mark.parametrize("make", [True, False])
async def test_a_ledger_that_is_too_new_is_refused(
    store: Store, url: str, sql: Sql, *, make: bool
) -> None:
    """Two releases on, its tables may mean something else."""
    number(sql, f"{HEAD + 2:04}")
    other = Store(url)
    with pytest.raises(LedgerError, match=rf"version {HEAD + 2}, .* up to {HEAD + 1}: use the"):
        await other.open(make=make)
    await other.close()


async def test_tables_of_something_else_are_refused(store: Store, url: str, sql: Sql) -> None:
    """Another program's alembic numbers its steps otherwise."""
    number(sql, "ae1027a6acf")
    other = Store(url)
    with pytest.raises(LedgerError, match="none of Sallyport's: name a database of its own"):
        await other.open()
    await other.close()


async def test_reading_makes_nothing(url: str, tmp_path: Path) -> None:
    """Whoever only reads is told that there is no ledger yet."""
    store = Store(url)
    with pytest.raises(LedgerError, match="it is made when decisions are recorded"):
        await store.open(make=False)
    await store.close()
    assert names(tmp_path) == []


async def test_before_it_is_open_nothing_is_taken_or_made(url: str, tmp_path: Path) -> None:
    """While the database is away, senders are told to come again."""
    store = Store(url, clock)
    with pytest.raises(LedgerError, match="not open yet: try again later"):
        await store.deliver(CLUSTER, [frame(document())])
    with pytest.raises(LedgerError, match="not open yet"):
        await store.find(DecisionQuery())
    assert names(tmp_path) == []
    await store.open()
    assert (await store.deliver(CLUSTER, [frame(document())])).stored == 1
    await store.close()


async def test_the_file_is_its_users_alone(tmp_path: Path) -> None:
    """So are the files that SQLite puts beside it."""
    async with Store(f"sqlite:///{tmp_path / 'ledger.db'}", clock) as store:
        await store.deliver(CLUSTER, [frame(document())])
        assert names(tmp_path) == ["ledger.db", "ledger.db-shm", "ledger.db-wal"]
        modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in names(tmp_path)}
    assert modes == {0o600}


async def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    """The message names the file, and what the system said."""
    store = Store(f"sqlite:///{tmp_path / 'no' / 'ledger.db'}")
    with pytest.raises(LedgerError, match=r"no/ledger\.db: No such file or directory"):
        await store.open()
    await store.close()


async def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    """A file of something else is not overwritten."""
    path = tmp_path / "ledger.db"
    path.write_bytes(b"notes " * 1000)
    store = Store(f"sqlite:///{path}")
    with pytest.raises(LedgerError, match="file is not a database"):
        await store.open()
    await store.close()
    assert path.read_bytes() == b"notes " * 1000


async def test_a_file_that_vanished_is_made_anew(tmp_path: Path) -> None:
    """What is delivered after opening again is in the file that others see."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    async with Store(url, clock) as store:
        await store.deliver(CLUSTER, [frame(document())])
        for name in names(tmp_path):
            (tmp_path / name).unlink()
        with pytest.raises(LedgerError, match="there is no such file"):
            await store.open(make=False)
        await store.open()
        await store.deliver(CLUSTER, [frame(document())])
        async with Store(url, clock) as other:
            assert len(await other.find(DecisionQuery())) == 1


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ledger.db",
        "sqlite://",
        "sqlite:///:memory:",
        "mysql://u:hunter2@h/d",
        "postgresql+asyncpg://u:hunter2@h/d",
        "postgresql+psycopg://u:hunter2@h:port/d",
    ],
)
def test_a_url_of_something_else_is_a_wrong_setting(url: str) -> None:
    """The message says what to give, and not the URL: it may hold a password."""
    with pytest.raises(SettingsError, match="sqlite:///PATH") as raised:
        Store(url)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "where", ["u:p@hunter2@127.0.0.1:1/d", "u@hunter2:p@h/d", "u:p@/hunter2@h/d"]
)
def test_a_bare_at_sign_in_the_password_is_a_wrong_setting(where: str) -> None:
    """It would show part of the password as the host; nothing of the URL is shown."""
    with pytest.raises(SettingsError, match="percent-encode it") as raised:
        Store(f"postgresql+psycopg://{where}")
    assert "hunter2" not in f"{raised.value!r} {raised.value.__cause__!r}"


async def test_an_encoded_at_sign_is_none_too_many(tmp_path: Path) -> None:
    """In a user, in a password; and in a path it needs no encoding."""
    for url in ("postgresql+psycopg://u%40x:p%40s@127.0.0.1:1/d", f"sqlite:///{tmp_path}/a@b.db"):
        await Store(url).close()
