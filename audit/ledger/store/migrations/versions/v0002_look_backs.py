"""A table of what identities at risk left behind."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"

_ID = sa.LargeBinary(16).with_variant(postgresql.UUID(), "postgresql")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "look_backs",
        sa.Column("cluster", sa.Text, nullable=False),
        sa.Column("id", _ID, nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", "cluster"),
    )
    op.create_index("look_backs_subject", "look_backs", ["subject", "id"])
