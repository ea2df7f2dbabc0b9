"""The log over all that is kept, and the tables of what is recorded of weights.

What was stored before has no place in the log yet; `audit.ledger.store.adoption` gives it one.
Here as well no index begins with the time: an id of version 7 sorts by it.
"""

import secrets

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"

_ID = sa.LargeBinary(16).with_variant(postgresql.UUID(), "postgresql")
_FORMER = ("decisions", "sweeps", "look_backs", "quarantine")
_NO_PLACE = sa.text("position IS NULL")
_OF_WEIGHTS = sa.text("store <> ''")


def upgrade() -> None:
    """Make the tables, and let the rows of those that are there have a place."""
    for table in _FORMER:
        op.add_column(table, sa.Column("position", sa.BigInteger, nullable=True))
        _index(table, "cluster", where=_NO_PLACE, called="no_place")
    op.create_index("quarantine_frame", "quarantine", ["frame_id"])
    _make_log()
    _make_reached()
    _make_accesses()
    _make_events()
    _make_lives()


def _make_log() -> None:
    log = op.create_table(
        "log",
        sa.Column("one", sa.Integer, primary_key=True, autoincrement=False),
        _text("id"),
        _number("size"),
        _bytes("frontier"),
        _number("prefix_size"),
        _bytes("prefix_frontier"),
        _number("adopt_until_ms"),
    )
    op.create_table(
        "leaves",
        # INTEGER is the row's own number in SQLite, which needs no index beside the table.
        sa.Column(
            "position",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("kind", sa.Integer, nullable=False),
        _text("cluster"),
        _bytes("id"),
        _bytes("digest"),
        sa.Column("aside", sa.Boolean, nullable=False),
    )
    op.create_table(
        "tiles",
        sa.Column("level", sa.Integer, nullable=False),
        _number("tile"),
        _bytes("hash"),
        sa.PrimaryKeyConstraint("level", "tile"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "heads",
        _number("size"),
        _number("time_ms"),
        _text("key"),
        _bytes("head"),
        sa.PrimaryKeyConstraint("size", "time_ms", "key"),
    )
    empty = {"frontier": b"", "prefix_size": 0, "prefix_frontier": b"", "size": 0}
    row = {"one": 1, "id": secrets.token_hex(16), **empty, "adopt_until_ms": 0}
    op.bulk_insert(log, [row])


def _make_reached() -> None:
    op.create_table(
        "places",
        _text("cluster"),
        _text("source"),
        _bytes("place"),
        sa.PrimaryKeyConstraint("cluster", "source"),
    )
    op.create_table(
        "checkpoints",
        _text("cluster"),
        _text("name"),
        _number("position"),
        _bytes("content"),
        sa.PrimaryKeyConstraint("cluster", "name"),
    )


def _make_accesses() -> None:
    names = ("account", "container", "store", "who", "application", "act", "signed_by")
    _make(
        "accesses",
        *map(_text, (*names, "confidence")),
        sa.Column("status", sa.Integer, nullable=False),
        _number("bytes_out"),
        by_day=True,
    )
    _index("accesses", "who")
    _index("accesses", "store", where=_OF_WEIGHTS)


def _make_events() -> None:
    _make("activities", *map(_text, ("topic", "account", "store", "who")))
    _make("findings", *map(_text, ("detection", "severity", "store", "who")))
    _index("findings", "detection")
    _make("gaps", *map(_text, ("log", "subject")))
    for table in ("refused", "intakes"):
        _make(table, _text("source"))
    _make("retentions")
    _make("adoptions")


def _make_lives() -> None:
    _make("lives", *map(_text, ("uid", "service_account", "node", "event")), by_day=True)
    _index("lives", "uid")
    _index("lives", "service_account")
    _index("lives", "day")
    _make("changes", *map(_text, ("kind", "namespace", "name", "event")))
    _index("changes", "kind", "namespace", "name")


def _make(table: str, *columns: sa.Column[str] | sa.Column[int], by_day: bool = False) -> None:
    op.create_table(
        table,
        _text("cluster"),
        sa.Column("id", _ID, nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
        *columns,
        _bytes("document"),
        _number("position"),
        sa.PrimaryKeyConstraint("id", "cluster", "day"),
        postgresql_partition_by="RANGE (day)" if by_day else None,
    )


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False)


def _bytes(name: str) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary, nullable=False)


def _index(table: str, *columns: str, where: sa.TextClause | None = None, called: str = "") -> None:
    key = "digest" if table == "quarantine" else "id"
    op.create_index(
        f"{table}_{called or columns[0]}",
        table,
        [*columns, key],
        sqlite_where=where,
        postgresql_where=where,
    )
