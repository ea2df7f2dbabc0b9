"""The tables of the log: its leaves, what saves hashing them again, and where sources go on."""

import sqlalchemy as sa

from audit.ledger.store.tables import METADATA, Id

log = sa.Table(
    "log",
    METADATA,
    sa.Column("one", sa.Integer),
    sa.Column("id", sa.Text),
    sa.Column("size", sa.BigInteger),
    sa.Column("frontier", sa.LargeBinary),
    sa.Column("prefix_size", sa.BigInteger),
    sa.Column("prefix_frontier", sa.LargeBinary),
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
    sa.Column("id", sa.LargeBinary),
    sa.Column("digest", sa.LargeBinary),
    sa.Column("aside", sa.Boolean),
)
"""Header and payload's digest of each leaf, from `log.prefix_size` on."""

tiles = sa.Table(
    "tiles",
    METADATA,
    sa.Column("level", sa.Integer),
    sa.Column("tile", sa.BigInteger),
    sa.Column("hash", sa.LargeBinary),
)
"""Roots of whole subtrees of 2^8, 2^16, 2^24 … leaves; `tile` is the index among them."""

heads = sa.Table(
    "heads",
    METADATA,
    sa.Column("size", sa.BigInteger),
    sa.Column("time_ms", sa.BigInteger),
    sa.Column("key", sa.Text),
    sa.Column("head", sa.LargeBinary),
)
"""Signed heads, as `audit.ledger.log.heads` encodes them."""


def _own(name: str) -> sa.Table:
    return sa.Table(
        name,
        METADATA,
        sa.Column("cluster", sa.Text),
        sa.Column("id", Id),
        sa.Column("day", sa.Integer),
        sa.Column("document", sa.LargeBinary),
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
    sa.Column("place", sa.LargeBinary),
)
"""From where sources go on."""

checkpoints = sa.Table(
    "checkpoints",
    METADATA,
    sa.Column("cluster", sa.Text),
    sa.Column("name", sa.Text),
    sa.Column("position", sa.BigInteger),
    sa.Column("content", sa.LargeBinary),
)
"""What was computed from the log's first `position` entries."""
