"""The store in SQLite: one file, one writer at a time, and readers beside it (WAL)."""

import os
import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from audit.ledger.records.frames import FrameKind
from audit.ledger.store.columns import Row, day_of, first_id
from audit.ledger.store.database_errors import DuplicateError
from audit.ledger.store.room import LedgerSize
from audit.ledger.store.tables import BY_KIND, STANDING, UuidColumn, decisions, rules
from core.base.errors import LedgerError, SettingsError

BUSY_S: Final = 10.0
"""Seconds to wait for another process that writes."""

CHUNK: Final = 2000
"""Decisions removed in one transaction; what is delivered waits no longer than for one."""

_PAGE_BYTES: Final = 8192
_CACHE_KIB: Final = 65_536
_CHECKPOINT_PAGES: Final = 16_000
"""128 MiB: pages of indexes are written again and again, and copied into the file once."""

_AT_ONCE: Final = 500
"""Rows of one statement: with each, the interpreter is let go of, and must be had again."""

_READS: Final = "sallyport_reads"

_ANY_TEXT: Final = partial(str, encoding="utf-8", errors="replace")

_DUPLICATE: Final = frozenset(
    {
        sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
        sqlite3.SQLITE_CONSTRAINT_UNIQUE,
        sqlite3.SQLITE_CONSTRAINT_ROWID,
    }
)


class Sqlite:
    """How the store uses SQLite."""

    insert = staticmethod(sqlite.insert)

    packs: bool = False
    """Whether documents of decisions are stored packed."""

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

    def read_any_text(self, connection: sa.Connection) -> None:
        """Let texts be read that are no UTF-8: SQLite stores what it is given."""
        raw: sqlite3.Connection = connection.connection.dbapi_connection  # type: ignore[assignment]
        raw.text_factory = _ANY_TEXT

    def make_room(self, days: Mapping[FrameKind, set[int]]) -> None:
        """Prepare for records of these days: there is nothing to prepare."""

    def append_lock(self, connection: sa.Connection) -> None:
        """Keep other processes from appending to the log: the transaction has done it."""

    def copy(self, connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
        """Insert rows.

        Raises:
            DuplicateError: one is there already; the transaction is as it was before.
        """
        if not rows:
            return
        raw: sqlite3.Connection = connection.connection.dbapi_connection  # type: ignore[assignment]
        raw.execute("SAVEPOINT copying")
        try:
            end = len(rows) - len(rows) % _AT_ONCE
            for start in range(0, end, _AT_ONCE):
                together = list(chain.from_iterable(rows[start : start + _AT_ONCE]))
                raw.execute(_insert(table, _AT_ONCE), together)
            raw.executemany(_insert(table, 1), rows[end:])
        except sqlite3.IntegrityError as error:
            raw.execute("ROLLBACK TO copying")
            raw.execute("RELEASE copying")
            if error.sqlite_errorcode not in _DUPLICATE:
                raise
            raise DuplicateError from None
        raw.execute("RELEASE copying")

    def oldest_day(self, connection: sa.Connection, kind: FrameKind) -> int | None:
        """Return the oldest day of which there are records that come in masses."""
        table = BY_KIND[kind]
        if kind in STANDING:
            first: int | None = connection.scalar(sa.select(sa.func.min(table.c.day)))
            return first
        oldest = connection.scalar(sa.select(sa.func.min(table.c.id, type_=UuidColumn)))
        return None if oldest is None else day_of(oldest)

    def measure(self, connection: sa.Connection) -> LedgerSize:
        """Measure the file and its file system; pages that are free are reused.

        What is in the write-ahead log alone has yet to be copied into the file.
        """
        ask = connection.exec_driver_sql
        page, pages, free = (
            ask(f"PRAGMA {name}").scalar_one()
            for name in ("page_size", "page_count", "freelist_count")
        )
        disk = os.statvfs(self.path)
        waiting = max(pages * page - self.path.stat().st_size, 0)
        left = disk.f_bavail * disk.f_frsize + free * page - waiting
        return LedgerSize(used=(pages - free) * page, disk_free=max(left, 0))

    def compact(self, days: Collection[int]) -> None:
        """Do nothing: SQLite writes into the pages that it has freed."""

    def remove_day(self, connection: sa.Connection, kind: FrameKind, day: int) -> bool:
        """Remove some records of the oldest day; say whether nothing is left of it."""
        table = BY_KIND[kind]
        old = table.c.day <= day if kind in STANDING else table.c.id < first_id(day + 1)
        ids = sa.select(table.c.id).where(old).order_by(table.c.id)
        end = connection.scalar(ids.offset(CHUNK).limit(1))
        chosen = old if end is None else old & (table.c.id < end)
        if table is decisions:  # The key of rules begins with the rule.
            same = rules.c.id < (first_id(day + 1) if end is None else end)
            known = rules.c.rule.in_(_rules(connection))
            connection.execute(sa.delete(rules).where(known, same))
        connection.execute(sa.delete(table).where(chosen))
        return end is None


@cache
def _insert(table: sa.Table, rows: int) -> str:
    """Return the statement that inserts so many rows.

    There is one of either size for each table.
    """
    names = ", ".join(column.name for column in table.columns)
    marks = f"({', '.join('?' * len(table.columns))})"
    return f"INSERT INTO {table.name} ({names}) VALUES {', '.join([marks] * rows)}"  # noqa: S608 (names of ours)


def _rules(connection: sa.Connection) -> list[str]:
    """Return the rules that there are, by a leap to each in the index."""
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
