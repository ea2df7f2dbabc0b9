"""Copies of one honest ledger in either database, each as if nobody had touched it."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from audit.ledger.log.verdict import Verdict
from audit.ledger.store.tables import METADATA
from audit.ledger.store.verification import VerifiableLedger
from tests.harness.programs.postgres import Postgres
from tests.unit.audit.ledger.log_verify import honest_ledgers

T = TypeVar("T")

Build = Callable[[str, Path], Coroutine[Any, Any, None]]
"""Makes a ledger at a URL, and its anchor in a file."""


class Copies:
    """Gives copies of one honest ledger.

    What is tampered with and verified again and again has one engine for either, as compiling the
    statements is most of what a verification of so few records takes.
    """

    def __init__(self, folder: Path, server: Postgres | None, build: Build) -> None:
        self.anchor = folder / "anchor.jsonl"
        self.dialect: Final = "sqlite" if server is None else "postgresql"
        self._folder = folder
        self._server = server
        self._names: list[str] = []
        if server is None:
            asyncio.run(build(f"sqlite:///{folder / 'honest.db'}", self.anchor))
            self._url = f"sqlite:///{folder / 'again.db'}"
        else:
            self._names.append(server.new_database())
            asyncio.run(build(server.url(self._names[0]), self.anchor))
            self._kept = self._read()
            self._url = self.copy()

    def again(self) -> str:
        """Return the URL of what is honest again, once the one before is done with."""
        if self._server is None:
            return self._restored()
        with (
            self._server.connect(self._names[1]) as connection,
            connection.transaction(),
            connection.cursor() as cursor,
        ):
            cursor.execute(b"SET LOCAL synchronous_commit = off")
            for name, content in self._kept.items():
                deleted = f"DELETE FROM {name}"  # noqa: S608 (names of ours)
                cursor.execute(deleted.encode())  # Quicker than the new files of TRUNCATE.
                with cursor.copy(f"COPY {name} FROM STDIN".encode()) as copy:
                    copy.write(content)
        return self._url

    def tamper(self, change: Callable[[sa.Connection], T]) -> T:
        """Write past the ledger into what `again` made honest."""
        with self._engine.begin() as connection:
            return change(connection)

    def verify(self, anchor: Path | None) -> Verdict:
        """Verify what `again` made honest, which is opened anew."""

        async def verify() -> Verdict:
            await self._ledger.open(make=False)
            return await honest_ledgers.verify_open(self._ledger, anchor)

        return asyncio.run(verify())

    @cached_property
    def _engine(self) -> sa.Engine:
        return sa.create_engine(self._url, hide_parameters=True)

    @cached_property
    def _ledger(self) -> VerifiableLedger:
        return VerifiableLedger(self._url)

    def _restored(self) -> str:
        """Write the honest ledger over the file, which stays: it is open."""
        honest, path = self._folder / "honest.db", self._folder / "again.db"
        with closing(sqlite3.connect(honest)) as source, closing(sqlite3.connect(path)) as target:
            target.execute("PRAGMA synchronous = off")
            source.backup(target)
        return self._url

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
        self._engine.dispose()
        asyncio.run(self._ledger.close())
        for name in self._names:
            assert self._server is not None
            self._server.drop_database(name)
