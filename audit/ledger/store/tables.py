"""The tables as queries see them: decisions, the log, what is recorded of weights.

How they are made is written in `migrations/`. Texts are cut short to be indexed; documents are
not. In the tables of weights, `day` (days since 1970-01-01, UTC) is the one after which the row is
forgotten, and `position` its place in the log.
"""

from collections.abc import Callable
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from audit.ledger.records.frames import FrameKind
from audit.ledger.store.packed_documents import unpack

METADATA = sa.MetaData()
"""Of all tables."""


class BytesColumn(sa.LargeBinary):
    """Bytes; what was stored as another type in SQLite, which lets that be, is read as its text.

    So reading fails nowhere, and `ledger verify` says of which row the type is another.
    """

    def result_processor(self, dialect: sa.Dialect, coltype: object) -> Callable[[Any], Any]:  # noqa: ARG002 (SQLAlchemy's signature)
        """Return what reads a value."""
        return _bytes_of


class DocumentColumn(BytesColumn):
    """Documents, of which some are packed."""

    def result_processor(self, dialect: sa.Dialect, coltype: object) -> Callable[[Any], Any]:  # noqa: ARG002 (SQLAlchemy's signature)
        """Return what reads a value."""
        return _document_of


def _document_of(value: Any) -> bytes | None:
    stored = _bytes_of(value)
    return None if stored is None else unpack(stored)


def _bytes_of(value: Any) -> bytes | None:
    if value is None or type(value) is bytes:
        return value
    return bytes(value) if isinstance(value, memoryview) else str(value).encode()


class UuidColumn(sa.TypeDecorator[bytes]):
    """16 bytes of a UUID: `uuid` in PostgreSQL, a BLOB in SQLite. Both sort by its bytes."""

    impl = BytesColumn
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        """Return the database's own type."""
        own = postgresql.UUID(as_uuid=False) if dialect.name == "postgresql" else BytesColumn()
        return dialect.type_descriptor(own)

    def process_bind_param(self, value: bytes | None, dialect: sa.Dialect) -> Any:
        """Return what the driver takes."""
        return value.hex() if value is not None and dialect.name == "postgresql" else value

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> bytes | None:  # noqa: ARG002 (SQLAlchemy's signature)
        """Return the 16 bytes."""
        found: str | bytes | None = value
        return bytes.fromhex(found.replace("-", "")) if isinstance(found, str) else found


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text)


decisions = sa.Table(
    "decisions",
    METADATA,
    _text("cluster"),
    sa.Column("id", UuidColumn),
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
    sa.Column("document", DocumentColumn),
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
    sa.Column("id", UuidColumn),
    _text("rule"),
    _text("action"),
)
"""The rules of a decision's findings, each once; `action` is `deny` if one of them denies."""

projections = sa.Table(
    "projections",
    METADATA,
    _text("cluster"),
    sa.Column("digest", BytesColumn),
    sa.Column("last_day", sa.Integer),
    sa.Column("projection", BytesColumn),
)
"""What policies were evaluated on, by its SHA-256, and the last day on which it came."""

sweeps = sa.Table(
    "sweeps",
    METADATA,
    _text("cluster"),
    sa.Column("id", UuidColumn),
    sa.Column("day", sa.Integer),
    sa.Column("document", BytesColumn),
    sa.Column("position", sa.BigInteger),
)

look_backs = sa.Table(
    "look_backs",
    METADATA,
    _text("cluster"),
    sa.Column("id", UuidColumn),
    sa.Column("day", sa.Integer),
    _text("subject"),
    sa.Column("document", BytesColumn),
    sa.Column("position", sa.BigInteger),
)
"""What identities at risk left behind, by their labels."""

quarantine = sa.Table(
    "quarantine",
    METADATA,
    _text("cluster"),
    sa.Column("digest", BytesColumn),
    sa.Column("day", sa.Integer),
    sa.Column("kind", sa.Integer),
    sa.Column("frame_id", BytesColumn),
    sa.Column("payload", BytesColumn),
    _text("reason"),
    sa.Column("position", sa.BigInteger),
)
"""Frames that cannot be read, with the reason, and the day on which they came."""


log = sa.Table(
    "log",
    METADATA,
    sa.Column("one", sa.Integer),
    sa.Column("id", sa.Text),
    sa.Column("size", sa.BigInteger),
    sa.Column("frontier", BytesColumn),
    sa.Column("prefix_size", sa.BigInteger),
    sa.Column("prefix_frontier", BytesColumn),
    sa.Column("adopt_until_ms", sa.BigInteger),
)
"""One row, whose lock is that of appending. Frontiers are their hashes, one after another.

Until `adopt_until_ms` an earlier release may write beside this one; 0: nothing is taken in.
"""

leaves = sa.Table(
    "leaves",
    METADATA,
    sa.Column("position", sa.BigInteger),
    sa.Column("kind", sa.Integer),
    sa.Column("cluster", sa.Text),
    sa.Column("id", BytesColumn),
    sa.Column("digest", BytesColumn),
    sa.Column("aside", sa.Boolean),
)
"""Header and payload's digest of each leaf, from `log.prefix_size` on."""

tiles = sa.Table(
    "tiles",
    METADATA,
    sa.Column("level", sa.Integer),
    sa.Column("tile", sa.BigInteger),
    sa.Column("hash", BytesColumn),
)
"""Roots of whole subtrees of 2^8, 2^16, 2^24 … leaves; `tile` is the index among them."""

heads = sa.Table(
    "heads",
    METADATA,
    sa.Column("size", sa.BigInteger),
    sa.Column("time_ms", sa.BigInteger),
    sa.Column("key", sa.Text),
    sa.Column("head", BytesColumn),
)
"""Signed heads, as `audit.ledger.log.heads` encodes them."""


def _own(name: str) -> sa.Table:
    return sa.Table(
        name,
        METADATA,
        sa.Column("cluster", sa.Text),
        sa.Column("id", UuidColumn),
        sa.Column("day", sa.Integer),
        sa.Column("document", BytesColumn),
        sa.Column("position", sa.BigInteger),
    )


retentions = _own("retentions")
"""What was removed by policy; the cluster is empty: it is the ledger's own."""

adoptions = _own("adoptions")
"""What was taken in of an earlier release; the cluster is empty as well."""

places = sa.Table(
    "places",
    METADATA,
    sa.Column("cluster", sa.Text),
    sa.Column("source", sa.Text),
    sa.Column("place", BytesColumn),
)
"""From where sources go on."""

checkpoints = sa.Table(
    "checkpoints",
    METADATA,
    sa.Column("cluster", sa.Text),
    sa.Column("name", sa.Text),
    sa.Column("position", sa.BigInteger),
    sa.Column("content", BytesColumn),
)
"""What was computed from the log's first `position` entries."""


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text) for name in names]


def _table(name: str, *columns: sa.Column[str] | sa.Column[int] | sa.Column[bool]) -> sa.Table:
    return sa.Table(
        name,
        METADATA,
        sa.Column("cluster", sa.Text),
        sa.Column("id", UuidColumn),
        sa.Column("day", sa.Integer),
        *columns,
        sa.Column("document", BytesColumn),
        sa.Column("position", sa.BigInteger),
    )


accesses = _table(
    "accesses",
    *_texts("account", "container", "store", "who", "application", "act", "signed_by"),
    *_texts("confidence"),
    sa.Column("status", sa.Integer),
    sa.Column("bytes_out", sa.BigInteger),
)
"""Requests to storage; `who` is `Access.who`."""

activities = _table("activities", *_texts("topic", "account", "store", "who"))

findings = _table("findings", *_texts("detection", "severity", "store", "who"))

gaps = _table("gaps", *_texts("log", "subject"))

lives = _table("lives", *_texts("uid", "service_account", "node", "event"))
"""`service_account` is `namespace/name`."""

changes = _table("changes", *_texts("kind", "namespace", "name", "event"))

refused = _table("refused", *_texts("source"))

intakes = _table("intakes", *_texts("source"))

aggregates = _table(
    "aggregates",
    *_texts("namespace", "requester", "verdict"),
    sa.Column("count", sa.BigInteger),
)
"""Refusals that have no records of their own."""

BY_KIND: Final = {
    FrameKind.DECISION: decisions,
    FrameKind.SWEEP: sweeps,
    FrameKind.LOOK_BACK: look_backs,
    FrameKind.ACCESS: accesses,
    FrameKind.ACTIVITY: activities,
    FrameKind.FINDING: findings,
    FrameKind.LOG_GAP: gaps,
    FrameKind.POD_LIFE: lives,
    FrameKind.CHANGE: changes,
    FrameKind.REFUSED: refused,
    FrameKind.INTAKE: intakes,
    FrameKind.RETENTION: retentions,
    FrameKind.ADOPTION: adoptions,
    FrameKind.AGGREGATE: aggregates,
}
"""Where the documents of each kind are. Each of these tables has cluster, id, day, document and
position."""


BY_LEAF: Final = {**BY_KIND, FrameKind.REFUSAL: decisions}
"""The same by the kind that a leaf has."""


def leaf_kinds(kind: FrameKind) -> tuple[int, ...]:
    """Return the kinds that leaves have of documents of a kind."""
    refusals = (int(FrameKind.REFUSAL),) if kind is FrameKind.DECISION else ()
    return (int(kind), *refusals)


def existing_tables(connection: sa.Connection) -> dict[FrameKind, sa.Table]:
    """Return those of BY_KIND that are there: a ledger of the release before lacks the last."""
    found = dict(BY_KIND)
    if not sa.inspect(connection).has_table(aggregates.name):
        del found[FrameKind.AGGREGATE]
    return found


OWN: Final = frozenset({FrameKind.RETENTION, FrameKind.ADOPTION})
"""What the ledger records of itself: it goes with the log's beginning alone."""

STANDING: Final = frozenset({FrameKind.POD_LIFE, FrameKind.CHANGE})
"""Kinds whose documents may be of long ago when they come: a Pod or a grant that is still there."""
