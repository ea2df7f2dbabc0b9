"""The tables of what is recorded of weights. Texts are cut short to be indexed; documents are not.

In each, `day` (days since 1970-01-01, UTC) is the one after which the row is forgotten, and
`position` its place in the log.
"""

from typing import Final

import sqlalchemy as sa

from audit.ledger.records.frames import FrameKind
from audit.ledger.store.tables import METADATA, Id, decisions, look_backs, sweeps
from audit.ledger.store.tables_log import adoptions, retentions


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text) for name in names]


def _table(name: str, *columns: sa.Column[str] | sa.Column[int] | sa.Column[bool]) -> sa.Table:
    return sa.Table(
        name,
        METADATA,
        sa.Column("cluster", sa.Text),
        sa.Column("id", Id),
        sa.Column("day", sa.Integer),
        *columns,
        sa.Column("document", sa.LargeBinary),
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
}
"""Where the documents of each kind are. Each of these tables has cluster, id, day, document and
position."""

OWN: Final = frozenset({FrameKind.RETENTION, FrameKind.ADOPTION})
"""What the ledger records of itself: it goes with the log's beginning alone."""

STANDING: Final = frozenset({FrameKind.POD_LIFE, FrameKind.CHANGE})
"""Kinds whose documents may be of long ago when they come: a Pod or a grant that is still there."""
