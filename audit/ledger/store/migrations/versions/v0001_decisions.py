"""The first tables: decisions by day, their rules, projections, sweeps, and what is unreadable.

No index begins with the time: an id of version 7 sorts by it.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None

_ID = sa.LargeBinary(16).with_variant(postgresql.UUID(), "postgresql")
_BY_DAY = "RANGE (day)"
_NOTABLE = sa.text("verdict <> 'allow'")


def upgrade() -> None:
    """Make the tables."""
    _make_decisions()
    _make_rules()
    _make_others()


def _make_decisions() -> None:
    op.create_table(
        "decisions",
        _text("cluster"),
        sa.Column("id", _ID, nullable=False),
        sa.Column("time_ms", sa.BigInteger, nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
        _text("source"),
        _text("verdict"),
        sa.Column("allowed", sa.Boolean, nullable=False),
        *map(_text, ("namespace", "kind", "name", "operation", "requester")),
        _text("profile", nullable=True),
        _text("mode"),
        _text("error_kind", nullable=True),
        *map(_text, ("object_uid", "request_uid")),
        sa.Column("dry_run", sa.Boolean, nullable=False),
        _text("sandbox", nullable=True),
        *map(_text, ("policy_revision", "profiles_revision", "projection")),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", "cluster", "day"),
        postgresql_partition_by=_BY_DAY,
    )
    _index("namespace")
    _index("requester")
    _index("name", where=sa.text("name <> ''"))
    _index("object_uid", where=sa.text("object_uid <> ''"))
    _index("namespace", where=_NOTABLE, called="notable_namespace")
    _index(where=_NOTABLE, called="notable")


def _make_rules() -> None:
    op.create_table(
        "rules",
        _text("cluster"),
        sa.Column("day", sa.Integer, nullable=False),
        sa.Column("id", _ID, nullable=False),
        _text("rule"),
        _text("action"),
        sa.PrimaryKeyConstraint("rule", "id", "cluster", "day"),
        sqlite_with_rowid=False,
        postgresql_partition_by=_BY_DAY,
    )


def _make_others() -> None:
    op.create_table(
        "projections",
        _text("cluster"),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("last_day", sa.Integer, nullable=False),
        sa.Column("projection", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("cluster", "digest"),
    )
    op.create_table(
        "sweeps",
        _text("cluster"),
        sa.Column("id", _ID, nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", "cluster"),
    )
    op.create_table(
        "quarantine",
        _text("cluster"),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
        sa.Column("kind", sa.Integer, nullable=False),
        sa.Column("frame_id", sa.LargeBinary, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        _text("reason"),
        sa.PrimaryKeyConstraint("cluster", "digest"),
    )


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable)


def _index(*columns: str, where: sa.TextClause | None = None, called: str = "") -> None:
    op.create_index(
        f"decisions_{called or columns[0]}",
        "decisions",
        [*columns, "id"],
        sqlite_where=where,
        postgresql_where=where,
    )
