"""The tables as queries see them. How they are made is written in `migrations/`."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

METADATA = sa.MetaData()
"""Of all tables, those of `tables_log` and `tables_weights` included."""


class Id(sa.TypeDecorator[bytes]):
    """16 bytes of a UUID: `uuid` in PostgreSQL, a BLOB in SQLite. Both sort by its bytes."""

    impl = sa.LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        """Give the database's own type."""
        own = postgresql.UUID(as_uuid=False) if dialect.name == "postgresql" else sa.LargeBinary()
        return dialect.type_descriptor(own)

    def process_bind_param(self, value: bytes | None, dialect: sa.Dialect) -> Any:
        """Give what the driver takes."""
        return value.hex() if value is not None and dialect.name == "postgresql" else value

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> bytes | None:  # noqa: ARG002 (SQLAlchemy's signature)
        """Give the 16 bytes."""
        found: str | bytes | None = value
        return bytes.fromhex(found.replace("-", "")) if isinstance(found, str) else found


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text)


decisions = sa.Table(
    "decisions",
    METADATA,
    _text("cluster"),
    sa.Column("id", Id),
    sa.Column("time_ms", sa.BigInteger),
    sa.Column("day", sa.Integer),
    _text("source"),
    _text("verdict"),
    sa.Column("allowed", sa.Boolean),
    _text("namespace"),
    _text("kind"),
    _text("name"),
    _text("operation"),
    _text("requester"),
    _text("profile"),
    _text("mode"),
    _text("error_kind"),
    _text("object_uid"),
    _text("request_uid"),
    sa.Column("dry_run", sa.Boolean),
    _text("sandbox"),
    _text("policy_revision"),
    _text("profiles_revision"),
    _text("projection"),
    sa.Column("document", sa.LargeBinary),
    sa.Column("position", sa.BigInteger),
)
"""One row a decision. Texts are cut short to be indexed; the document is whole.

`time_ms` and `day` (days since 1970-01-01, UTC) are those of the id. `position` is the place in
the log, here and elsewhere: empty in what an earlier release wrote, until that is taken in.
"""

rules = sa.Table(
    "rules",
    METADATA,
    _text("cluster"),
    sa.Column("day", sa.Integer),
    sa.Column("id", Id),
    _text("rule"),
    _text("action"),
)
"""The rules of a decision's findings, each once; `action` is `deny` if one of them denies."""

projections = sa.Table(
    "projections",
    METADATA,
    _text("cluster"),
    sa.Column("digest", sa.LargeBinary),
    sa.Column("last_day", sa.Integer),
    sa.Column("projection", sa.LargeBinary),
)
"""What policies were evaluated on, by its SHA-256, and the last day on which it came."""

sweeps = sa.Table(
    "sweeps",
    METADATA,
    _text("cluster"),
    sa.Column("id", Id),
    sa.Column("day", sa.Integer),
    sa.Column("document", sa.LargeBinary),
    sa.Column("position", sa.BigInteger),
)

look_backs = sa.Table(
    "look_backs",
    METADATA,
    _text("cluster"),
    sa.Column("id", Id),
    sa.Column("day", sa.Integer),
    _text("subject"),
    sa.Column("document", sa.LargeBinary),
    sa.Column("position", sa.BigInteger),
)
"""What identities at risk left behind, by their labels."""

quarantine = sa.Table(
    "quarantine",
    METADATA,
    _text("cluster"),
    sa.Column("digest", sa.LargeBinary),
    sa.Column("day", sa.Integer),
    sa.Column("kind", sa.Integer),
    sa.Column("frame_id", sa.LargeBinary),
    sa.Column("payload", sa.LargeBinary),
    _text("reason"),
    sa.Column("position", sa.BigInteger),
)
"""Frames that cannot be read, with the reason, and the day on which they came."""
