"""Answers what is asked of the store, on one connection."""

import heapq
import uuid
from itertools import islice
from operator import itemgetter
from typing import Final

import sqlalchemy as sa

from audit.ledger.store.query import Query, bounds, in_ids, statements
from audit.ledger.store.rows import column_text
from audit.ledger.store.tables import decisions, look_backs, projections, sweeps
from core.document import DecisionDocument, SweepDocument, decode_document, decode_sweep
from core.errors import LedgerError
from core.look_back import LookBackDocument, decode_look_back

SHORTEST_PREFIX: Final = 8
"""Hex digits of an id. As few stand for 65 seconds."""

_MOST_NAMED: Final = 5
_MOST_READ: Final = 1000


def find(connection: sa.Connection, query: Query) -> list[bytes]:
    """Give the documents (JSON) that the query means, in its order."""
    pages = [connection.execute(each).all() for each in statements(query)]
    merged = heapq.merge(*pages, key=itemgetter(0), reverse=not query.oldest_first)
    return [document for _, document in islice(merged, query.limit)]


def find_one(connection: sa.Connection, decision_id: str) -> list[DecisionDocument]:
    """Give the decision of an id, or of an id that begins so; of each cluster that has it.

    Raises:
        LedgerError: it is no id, it is too short, or several ids begin so.
    """
    try:
        low, high = bounds(decision_id)
    except ValueError:
        raise LedgerError(f"{decision_id!r} is no id: give its hex digits") from None
    if len(decision_id.replace("-", "")) < SHORTEST_PREFIX:
        raise LedgerError(f"{decision_id!r} is too short: give {SHORTEST_PREFIX} hex digits of it")
    chosen = sa.select(decisions.c.id, decisions.c.document).where(in_ids(decisions, low, high))
    rows = connection.execute(chosen.order_by(decisions.c.id).limit(_MOST_READ)).all()
    ids = list(dict.fromkeys(str(uuid.UUID(bytes=row.id)) for row in rows))
    if len(ids) > 1:
        named = ", ".join(ids[:_MOST_NAMED]) + (" …" if len(ids) > _MOST_NAMED else "")
        raise LedgerError(f"several ids begin with {decision_id!r}: {named}: give more of it")
    return [decode_document(row.document) for row in rows]


def find_projection(connection: sa.Connection, cluster: str, digest: str) -> bytes | None:
    """Give the projection (JSON) of a decision; `digest` is its `projection`."""
    key = bytes.fromhex(digest.removeprefix("sha256:"))
    return connection.scalar(
        sa.select(projections.c.projection).where(
            projections.c.cluster == cluster, projections.c.digest == key
        )
    )


def find_look_backs(
    connection: sa.Connection, subject: str, cluster: str | None, limit: int
) -> list[LookBackDocument]:
    """Give what was last found of an identity, the newest first; of each cluster without one.

    None in a ledger of the release before, which had no table for it: readers change nothing.
    """
    if not sa.inspect(connection).has_table(look_backs.name):
        return []
    chosen = sa.select(look_backs.c.document).where(look_backs.c.subject == column_text(subject))
    if cluster is not None:
        chosen = chosen.where(look_backs.c.cluster == cluster)
    found = connection.scalars(chosen.order_by(look_backs.c.id.desc()).limit(limit))
    return [decode_look_back(document) for document in found]


def find_sweeps(connection: sa.Connection, limit: int) -> list[SweepDocument]:
    """Give the last sweeps, the newest first."""
    chosen = sa.select(sweeps.c.document).order_by(sweeps.c.id.desc()).limit(limit)
    return [decode_sweep(document) for document in connection.scalars(chosen)]
