"""The store in PostgreSQL: decisions and their rules by day, written by COPY."""

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import psycopg
import sqlalchemy as sa
from psycopg import sql
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format
from sqlalchemy.dialects import postgresql

from audit.ledger.store.rows import Batch
from audit.ledger.store.tables import decisions, rules

_BY_DAY: Final = (decisions, rules)

_LOCK: Final = 0x53414C4C59504F52
"""Of pg_advisory_xact_lock: whoever makes tables holds it. "SALLYPOR" in ASCII."""

_LOCK_WAIT: Final = "5s"
"""How long making or dropping a table waits for readers, while all others wait behind it."""

_EPOCH: Final = dt.date(1970, 1, 1)

_DECISIONS_OF_DAY: Final = re.compile(r"decisions_([0-9]{8})")
"""The names of partitions made here; an operator may have attached others."""

_CONNECT_ARGUMENTS: Final = {"connect_timeout": 10, "tcp_user_timeout": 30_000}
"""Seconds, milliseconds: a server that is gone is an error, not a wait without end."""


class Postgres:
    """How the store uses PostgreSQL."""

    insert = staticmethod(postgresql.insert)
    path = None
    """It is in no file of this machine's."""

    def __init__(self, url: sa.URL) -> None:
        self.name = f"postgresql://{url.host or ''}:{url.port or 5432}/{url.database or ''}"
        arguments = {
            name: value for name, value in _CONNECT_ARGUMENTS.items() if name not in url.query
        }
        self.engine = sa.create_engine(
            url, hide_parameters=True, connect_args=arguments, pool_size=1
        )
        sa.event.listen(self.engine, "connect", _configure)

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

    def make_room(self, days: Iterable[int]) -> None:
        """Make the partitions of these days, where they are missing."""
        wanted = {(table.name, day) for table in _BY_DAY for day in days}
        with self.engine.connect() as connection:
            missing = {each for each in wanted if not _exists(connection, *each)}
        if not missing:
            return
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

    def write(self, connection: sa.Connection, batch: Batch) -> int:
        """Copy decisions and their rules in; give how many decisions were not there before."""
        if not batch.decisions:
            return 0
        try:
            with connection.begin_nested():
                _copy(connection, decisions, decisions.name, batch.decisions)
                _copy(connection, rules, rules.name, batch.rules)
        except psycopg.errors.UniqueViolation:
            stored = _merge(connection, decisions, batch.decisions)
            _merge(connection, rules, batch.rules)
            return stored
        return len(batch.decisions)

    def oldest_day(self, connection: sa.Connection) -> int | None:
        """Give the oldest day that has a partition."""
        names = connection.scalars(
            sa.text(
                "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
                "WHERE i.inhparent = 'decisions'::regclass"
            )
        )
        return min((day for day in map(_day_of, names) if day is not None), default=None)

    def remove_day(self, connection: sa.Connection, day: int) -> bool:
        """Drop the day's partitions; nothing is left of it."""
        connection.execute(sa.text(f"SET LOCAL lock_timeout = '{_LOCK_WAIT}'"))
        for table in _BY_DAY:
            connection.execute(sa.text(f"DROP TABLE IF EXISTS {_partition(table.name, day)}"))
        return True


class _IdDumper(Dumper):
    """Gives COPY the 16 bytes of an id as they are."""

    format = Format.BINARY
    oid = psycopg.adapters.types["uuid"].oid

    def dump(self, obj: Any) -> Buffer:
        """Give the bytes."""
        return obj  # type: ignore[no-any-return]


def _copy(
    connection: sa.Connection, table: sa.Table, into: str, rows: Sequence[tuple[Any, ...]]
) -> None:
    raw: psycopg.Connection[Any] = connection.connection.dbapi_connection  # type: ignore[assignment]
    names = [column.name for column in table.columns]
    command = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(
        sql.Identifier(into), sql.SQL(", ").join(map(sql.Identifier, names))
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


def _merge(connection: sa.Connection, table: sa.Table, rows: Sequence[tuple[Any, ...]]) -> int:
    """Insert the rows that are not there yet, over a table of this transaction's own."""
    staged = f"staged_{table.name}"
    connection.execute(
        sa.text(f"CREATE TEMP TABLE {staged} (LIKE {table.name} INCLUDING DEFAULTS) ON COMMIT DROP")
    )
    _copy(connection, table, staged, rows)
    done = connection.execute(
        sa.text(f"INSERT INTO {table.name} SELECT * FROM {staged} ON CONFLICT DO NOTHING")  # noqa: S608 (names of ours)
    )
    return done.rowcount


def _exists(connection: sa.Connection, table: str, day: int) -> bool:
    found = sa.select(sa.func.to_regclass(_partition(table, day)))
    return connection.scalar(found) is not None


def _partition(table: str, day: int) -> str:
    return f"{table}_{_EPOCH + dt.timedelta(days=day):%Y%m%d}"


def _day_of(partition: str) -> int | None:
    """Give the day of a partition of decisions; None where the name is not of our making."""
    named = _DECISIONS_OF_DAY.fullmatch(partition)
    try:
        return (dt.date.fromisoformat(named[1]) - _EPOCH).days if named else None
    except ValueError:
        return None


def _configure(connection: psycopg.Connection[Any], _: object) -> None:
    """Let a commit be on the server's disk when it returns, whatever the server's default is."""
    setting = "synchronous_commit"
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT set_config('{setting}', 'on', false) "
            f"WHERE current_setting('{setting}') = 'off'"
        )
    connection.commit()
