"""The store in SQLite: one file, one writer at a time, and readers beside it (WAL)."""

import os
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from audit.ledger.store.rows import DAY_MS, Batch, day_of
from audit.ledger.store.tables import Id, decisions, rules
from core.errors import LedgerError, SettingsError

BUSY_S: Final = 10.0
"""Seconds to wait for another process that writes."""

CHUNK: Final = 2000
"""Decisions removed in one transaction; what is delivered waits no longer than for one."""

_PAGE_BYTES: Final = 8192
_CACHE_KIB: Final = 65_536
_CHECKPOINT_PAGES: Final = 16_000
"""128 MiB: pages of indexes are written again and again, and copied into the file once."""

_READS: Final = "sallyport_reads"


class Sqlite:
    """How the store uses SQLite."""

    insert = staticmethod(sqlite.insert)

    def __init__(self, url: sa.URL) -> None:
        if not url.database or url.database == ":memory:":
            raise SettingsError("ledger.url: name a file: sqlite:///PATH")
        self.path = Path(url.database)
        self.name = f"sqlite:///{self.path}"
        self.engine = sa.create_engine(
            url, hide_parameters=True, connect_args={"timeout": BUSY_S}, pool_size=1
        )
        sa.event.listen(self.engine, "connect", _configure)
        sa.event.listen(self.engine, "begin", _begin)

    def make(self) -> None:
        """Make the file, for this user alone, and put it into WAL mode."""
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        deadline = time.monotonic() + BUSY_S
        with self.engine.connect() as connection:
            raw: sqlite3.Connection = connection.connection.dbapi_connection  # type: ignore[assignment]
            raw.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            while not _enter_wal(raw):
                if time.monotonic() > deadline:
                    raise LedgerError(f"{self.name}: it stays locked: end who else uses it")
                time.sleep(0.05)

    def demand(self) -> None:
        """Demand that the file is there: SQLite would make it."""
        if not self.path.exists():
            raise LedgerError(
                "there is no such file: it is made when decisions are recorded, by `sallyport run` "
                "or an auditor"
            )

    def lock(self, connection: sa.Connection) -> None:
        """Keep other processes from making the tables: the transaction has done it."""

    def reading(self, connection: sa.Connection) -> sa.Connection:
        """Say that the next transaction only reads, and so need not wait for a writer."""
        return connection.execution_options(**{_READS: True})

    def make_room(self, days: Iterable[int]) -> None:
        """Prepare for decisions of these days: there is nothing to prepare."""

    def write(self, connection: sa.Connection, batch: Batch) -> int:
        """Insert decisions and their rules; give how many decisions were not there before."""
        stored = self._insert(connection, decisions, batch.decisions)
        self._insert(connection, rules, batch.rules)
        return stored

    def oldest_day(self, connection: sa.Connection) -> int | None:
        """Give the oldest day of which there are decisions."""
        oldest = connection.scalar(sa.select(sa.func.min(decisions.c.id, type_=Id)))
        return None if oldest is None else day_of(oldest)

    def remove_day(self, connection: sa.Connection, day: int) -> bool:
        """Remove some decisions of the oldest day; say whether nothing is left of it."""
        last = ((day + 1) * DAY_MS << 80).to_bytes(16)
        ids = sa.select(decisions.c.id).where(decisions.c.id < last).order_by(decisions.c.id)
        end = connection.scalar(ids.offset(CHUNK).limit(1))
        for table in (rules, decisions):
            chosen = table.c.id < (last if end is None else end)
            if table is rules:  # Its key begins with the rule.
                chosen &= rules.c.rule.in_(_rules(connection))
            connection.execute(sa.delete(table).where(chosen))
        return end is None

    def _insert(
        self, connection: sa.Connection, table: sa.Table, rows: list[tuple[Any, ...]]
    ) -> int:
        if not rows:
            return 0
        statement = sqlite.insert(table).on_conflict_do_nothing()
        text = str(statement.compile(dialect=self.engine.dialect))
        return connection.exec_driver_sql(text, rows).rowcount


def _rules(connection: sa.Connection) -> list[str]:
    """Give the rules that there are, by a leap to each in the index."""
    found: list[str] = []
    smallest = sa.select(sa.func.min(rules.c.rule))
    rule = connection.scalar(smallest)
    while rule is not None:
        found.append(rule)
        rule = connection.scalar(smallest.where(rules.c.rule > rule))
    return found


def _configure(connection: sqlite3.Connection, _: object) -> None:
    """Set what is not kept in the file; transactions are begun by `_begin` alone."""
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous = FULL")  # A commit is on the disk when it returns.
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")


def _begin(connection: sa.Connection) -> None:
    """Take the write lock at once: a lock that is taken later is refused without waiting."""
    reads = connection.get_execution_options().get(_READS)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _enter_wal(connection: sqlite3.Connection) -> bool:
    """Put the file into WAL mode, where it stays; SQLite does not wait for others here."""
    try:
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            return False
        raise
    return bool(mode == "wal")
