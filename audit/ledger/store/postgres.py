"""The store in PostgreSQL: what comes in masses is in tables by day; all is written by COPY."""

import datetime as dt
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product
from typing import Any, Final

import psycopg
import sqlalchemy as sa
from psycopg import sql
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format
from sqlalchemy.dialects import postgresql

from audit.ledger.records.frames import FrameKind
from audit.ledger.store.columns import Row
from audit.ledger.store.database_errors import DuplicateError
from audit.ledger.store.room import LedgerSize
from audit.ledger.store.tables import METADATA, accesses, decisions, lives, log, rules

_BY_DAY: Final = {
    FrameKind.DECISION: (decisions, rules),
    FrameKind.ACCESS: (accesses,),
    FrameKind.POD_LIFE: (lives,),
}

_LOCK: Final = 0x53414C4C59504F52
"""Of pg_advisory_xact_lock: whoever makes tables holds it. "SALLYPOR" in ASCII."""

_LOCK_WAIT: Final = "5s"
"""How long making or dropping a table waits for readers, while all others wait behind it."""

_APPEND_WAIT: Final = "10s"
"""How long appending waits for another auditor that appends."""

_IDLE: Final = "60s"
"""After which the server ends a transaction of a process that stands still, and so its locks."""

_SIZE: Final = """
WITH named AS (SELECT to_regclass(each) AS oid FROM unnest(CAST(:names AS text[])) each),
ours AS (SELECT oid FROM named WHERE oid IS NOT NULL
         UNION SELECT inhrelid FROM pg_inherits WHERE inhparent IN (SELECT oid FROM named))
SELECT sum(pg_total_relation_size(oid)) FROM ours
"""

_EPOCH: Final = dt.date(1970, 1, 1)

_OF_DAY: Final = re.compile(r"([a-z]+)_([0-9]{8})")
"""The names of partitions made here; an operator may have attached others."""

_CONNECT_ARGUMENTS: Final = {"connect_timeout": 10, "tcp_user_timeout": 30_000}
"""Seconds, milliseconds: a server that is gone is an error, not a wait without end."""

VERIFIED: Final = "verify-full"
"""The sslmode with which libpq verifies the server's certificate and its name."""

_TOKEN_ARGUMENTS: Final = {"sslmode": VERIFIED, "gssencmode": "disable"}
"""Of connections that are given a token: whoever has it may sign in as its owner. What is said for
a connection goes before libpq's variables and service files, and encryption by GSSAPI before TLS
(https://www.postgresql.org/docs/current/libpq-connect.html)."""


class Postgres:
    """How the store uses PostgreSQL."""

    insert = staticmethod(postgresql.insert)
    path = None
    """It is in no file of this machine's."""

    packs: bool = False
    """Whether documents of decisions are stored packed."""

    def __init__(self, url: sa.URL, password: Callable[[], str] | None = None) -> None:
        self.name = f"postgresql://{url.host or ''}:{url.port or 5432}/{url.database or ''}"
        arguments: dict[str, Any] = {
            name: value for name, value in _CONNECT_ARGUMENTS.items() if name not in url.query
        }
        if password is not None:
            arguments |= _TOKEN_ARGUMENTS
        self.engine = sa.create_engine(
            url, hide_parameters=True, connect_args=arguments, pool_size=1
        )
        sa.event.listen(self.engine, "connect", _configure)
        if password is not None:
            sa.event.listen(self.engine, "do_connect", _giving(password))

    def make(self) -> None:
        """Make what the tables are made in: the database is there, or it is an error."""

    def demand(self) -> None:
        """Demand that the database is there: opening it tells."""

    def lock(self, connection: sa.Connection) -> None:
        """Keep other processes from making tables until the transaction ends."""
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))

    def reading(self, connection: sa.Connection) -> sa.Connection:
        """Say that the next transaction only reads: here nobody waits for it."""
        return connection

    def read_any_text(self, connection: sa.Connection) -> None:
        """Let texts be read that are no UTF-8: PostgreSQL stores none."""

    def make_room(self, days: Mapping[FrameKind, set[int]]) -> None:
        """Make the partitions of these days, where they are missing."""
        wanted = {
            (table.name, day)
            for kind, its_days in days.items()
            for table in _BY_DAY.get(kind, ())
            for day in its_days
        }
        with self.engine.connect() as connection:
            missing = {each for each in wanted if not _exists(connection, *each)}
        if missing:
            with self.engine.begin() as connection:
                self.lock(connection)
                connection.execute(sa.text(f"SET LOCAL lock_timeout = '{_LOCK_WAIT}'"))
                for table, day in sorted(missing):
                    connection.execute(
                        sa.text(
                            f"CREATE TABLE IF NOT EXISTS {_partition(table, day)} "
                            f"PARTITION OF {table} FOR VALUES FROM ({day}) TO ({day + 1})"
                        )
                    )

    def append_lock(self, connection: sa.Connection) -> None:
        """Keep other processes from appending to the log until the transaction ends."""
        connection.execute(sa.text(f"SET LOCAL lock_timeout = '{_APPEND_WAIT}'"))
        connection.execute(sa.select(log.c.one).with_for_update())

    def copy(self, connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
        """Copy rows in.

        Raises:
            DuplicateError: one is there already; the transaction is as it was before.
        """
        if not rows:
            return
        try:
            with connection.begin_nested():
                _copy(connection, table, rows)
        except psycopg.errors.UniqueViolation:
            raise DuplicateError from None

    def oldest_day(self, connection: sa.Connection, kind: FrameKind) -> int | None:
        """Return the oldest day that has a partition of records that come in masses."""
        table = _BY_DAY[kind][0].name
        names = connection.scalars(
            sa.text(
                "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
                "WHERE i.inhparent = CAST(:of AS regclass)"
            ),
            {"of": table},
        )
        days = (_day_of(table, name) for name in names)
        return min((day for day in days if day is not None), default=None)

    def measure(self, connection: sa.Connection) -> LedgerSize:
        """Measure the tables, their partitions and indexes; the server's disk is not known."""
        names = [table.name for table in METADATA.sorted_tables]
        used = connection.scalar(sa.text(_SIZE), {"names": names})
        return LedgerSize(used=int(used or 0), disk_free=None)

    def compact(self, days: Collection[int]) -> None:
        """Write the decisions of these days anew: nothing else would take what rows left there.

        Whoever reads or writes those days waits. Needs as much room as one day then takes.
        """
        with self.engine.connect() as connection:
            alone = connection.execution_options(isolation_level="AUTOCOMMIT")
            alone.execute(sa.text(f"SET lock_timeout = '{_LOCK_WAIT}'"))
            try:
                for table, day in product(_BY_DAY[FrameKind.DECISION], sorted(days)):
                    if _exists(alone, table.name, day):
                        alone.execute(sa.text(f"VACUUM (FULL) {_partition(table.name, day)}"))
            finally:
                alone.execute(sa.text("RESET lock_timeout"))

    def remove_day(self, connection: sa.Connection, kind: FrameKind, day: int) -> bool:
        """Drop the day's partitions; nothing is left of it."""
        connection.execute(sa.text(f"SET LOCAL lock_timeout = '{_LOCK_WAIT}'"))
        for table in _BY_DAY[kind]:
            connection.execute(sa.text(f"DROP TABLE IF EXISTS {_partition(table.name, day)}"))
        return True


class _IdDumper(Dumper):
    """Gives COPY the 16 bytes of an id as they are."""

    format = Format.BINARY
    oid = psycopg.adapters.types["uuid"].oid

    def dump(self, obj: Any) -> Buffer:
        """Return the bytes."""
        return obj  # type: ignore[no-any-return]


def _copy(connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
    raw: psycopg.Connection[Any] = connection.connection.dbapi_connection  # type: ignore[assignment]
    names = [column.name for column in table.columns]
    command = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(
        sql.Identifier(table.name), sql.SQL(", ").join(map(sql.Identifier, names))
    )
    types = [
        column.type.dialect_impl(connection.dialect).compile(connection.dialect).lower()
        for column in table.columns
    ]
    with raw.cursor() as cursor:
        cursor.adapters.register_dumper(bytes, _IdDumper)
        with cursor.copy(command) as copy:
            copy.set_types(types)
            for row in rows:
                copy.write_row(row)


def _exists(connection: sa.Connection, table: str, day: int) -> bool:
    found = sa.select(sa.func.to_regclass(_partition(table, day)))
    return connection.scalar(found) is not None


def _partition(table: str, day: int) -> str:
    return f"{table}_{_EPOCH + dt.timedelta(days=day):%Y%m%d}"


def _day_of(table: str, partition: str) -> int | None:
    """Return the day of a partition; None where the name is not of our making."""
    named = _OF_DAY.fullmatch(partition)
    try:
        return (
            (dt.date.fromisoformat(named[2]) - _EPOCH).days if named and named[1] == table else None
        )
    except ValueError:
        return None


def _giving(password: Callable[[], str]) -> Callable[..., None]:
    """Return what gives each new connection its password."""

    def give(_dialect: object, _record: object, _args: object, named: dict[str, Any]) -> None:
        named["password"] = password()

    return give


def _configure(connection: psycopg.Connection[Any], _: object) -> None:
    """Let a commit be on the server's disk when it returns, whatever the server's default is."""
    setting = "synchronous_commit"
    with connection.cursor() as cursor:
        cursor.execute(f"SET idle_in_transaction_session_timeout = '{_IDLE}'")
        cursor.execute(
            f"SELECT set_config('{setting}', 'on', false) "
            f"WHERE current_setting('{setting}') = 'off'"
        )
    connection.commit()
