"""Whoever writes into the ledger's database is found out, in SQLite as in PostgreSQL."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.ledger.store.store import Store
from audit.ledger.store.tables import METADATA
from tests.harness.programs.postgres import Postgres
from tests.unit.audit.ledger.log_verify import honest_ledgers
from tests.unit.audit.ledger.log_verify.tampered_by_store import BY_STORE
from tests.unit.audit.ledger.log_verify.tampered_rows import ALL, RowTampering


class Copies:
    """Gives copies of one honest ledger."""

    def __init__(self, folder: Path, server: Postgres | None) -> None:
        self.anchor = folder / "anchor.jsonl"
        self._folder = folder
        self._server = server
        self._names: list[str] = []
        if server is None:
            self._honest = f"sqlite:///{folder / 'honest.db'}"
        else:
            self._names.append(server.new_database())
            self._honest = server.url(self._names[0])
        asyncio.run(honest_ledgers.build(self._honest, self.anchor))
        self._kept = {} if server is None else self._read()

    def again(self) -> str:
        """Return the URL of what is honest again, once the one before is done with."""
        if self._server is None:
            return self.copy()
        with self._server.connect(self._names[0]) as connection, connection.cursor() as cursor:
            names = ", ".join(self._kept)
            cursor.execute(f"TRUNCATE {names}".encode())
            for name, content in self._kept.items():
                with cursor.copy(f"COPY {name} FROM STDIN".encode()) as copy:
                    copy.write(content)
        return self._honest

    def _read(self) -> dict[str, bytes]:
        """Return what each table holds, as COPY writes it."""
        assert self._server is not None
        kept = {}
        with self._server.connect(self._names[0]) as connection, connection.cursor() as cursor:
            for name in METADATA.tables:
                chosen = f"COPY (SELECT * FROM {name}) TO STDOUT"  # noqa: S608 (names of ours)
                with cursor.copy(chosen.encode()) as copy:
                    kept[name] = b"".join(map(bytes, copy))
        return kept

    def copy(self) -> str:
        """Return the URL of a copy, whose tables may be changed too."""
        if self._server is None:
            path = self._folder / "copy.db"
            for suffix in ("-wal", "-shm"):
                path.with_name(f"copy.db{suffix}").unlink(missing_ok=True)
            shutil.copyfile(self._folder / "honest.db", path)
            return f"sqlite:///{path}"
        name = f"{self._names[0]}_{len(self._names)}"
        with self._server.connect() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {self._names[0]}".encode())
        self._names.append(name)
        return self._server.url(name)

    def close(self) -> None:
        """Remove all of them."""
        for name in self._names:
            assert self._server is not None
            self._server.drop_database(name)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def copies(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Copies]:
    """An honest ledger in either database, and its anchor."""
    server = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    made = Copies(tmp_path_factory.mktemp("ledgers"), server)
    yield made
    made.close()


def test_a_ledger_that_nobody_touched_is_sound(copies: Copies) -> None:
    """The control case."""
    verdict = asyncio.run(honest_ledgers.verify(copies.copy(), copies.anchor))
    assert verdict.problems == []
    assert (verdict.size, verdict.anchored) == (honest_ledgers.SIZE, honest_ledgers.ANCHORED)
    assert (verdict.documents_removed, verdict.aside, verdict.not_anchored) == (
        honest_ledgers.OLD,
        1,
        honest_ledgers.EACH,
    )


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name.replace(" ", "-"))
def test_tampering_with_rows_is_found_where_it_is(copies: Copies, case: RowTampering) -> None:
    """It is said what was done, and to which record first; or it is harmless."""
    url = copies.again()
    honest_ledgers.tamper(url, case.change)
    verdict = asyncio.run(honest_ledgers.verify(url, copies.anchor))
    if case.wrong is None:
        assert verdict.problems == []
        return
    found = [each for each in verdict.problems if each.wrong is case.wrong]
    assert found, verdict.problems
    assert found[0].position == case.at


@pytest.mark.parametrize("name", BY_STORE)
def test_what_the_store_does_for_an_attacker_is_found(copies: Copies, name: str) -> None:
    """What is recorded properly, and should not be: by its time, or by what it removes."""
    act, wrong, at = BY_STORE[name]
    url = copies.copy()
    clock = honest_ledgers.Clock()

    async def attack() -> None:
        async with Store(url, clock) as store:
            await act(store, clock)

    asyncio.run(attack())
    verdict = asyncio.run(honest_ledgers.verify(url, copies.anchor))
    found = [each for each in verdict.problems if each.wrong is wrong]
    assert found, verdict.problems
    assert found[0].position == at
