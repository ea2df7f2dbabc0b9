"""Answers what is asked of the store, on one connection."""

import heapq
import uuid
from collections.abc import Sequence
from itertools import islice
from operator import itemgetter
from typing import Final

import sqlalchemy as sa

from audit.ledger.store.columns import column_text
from audit.ledger.store.decisions import Query, bounds, in_ids, statements
from audit.ledger.store.tables import decisions, look_backs, projections, sweeps
from core.base.errors import LedgerError
from core.decision.document import DecisionDocument, SweepDocument, decode_document, decode_sweep
from core.risk.look_back import LookBackDocument, decode_look_back

SHORTEST_PREFIX: Final = 8
"""Hex digits of an id. As few stand for 65 seconds."""

MOST_DIGESTS: Final = 500
"""Projections asked for at once: SQLite takes 999 parameters in its oldest builds."""

_MOST_NAMED: Final = 5
_MOST_READ: Final = 1000


def find(connection: sa.Connection, query: Query, placed: bool) -> list[bytes]:  # noqa: FBT001 (through _read, by position; as below)
    """Give the documents (JSON) that the query means, in its order.

    Here and elsewhere: with `placed`, what is not in the log is left out.
    """
    pages = [connection.execute(each).all() for each in statements(query, placed=placed)]
    merged = heapq.merge(*pages, key=itemgetter(0), reverse=not query.oldest_first)
    return [document for _, document in islice(merged, query.limit)]


def find_one(connection: sa.Connection, decision_id: str, placed: bool) -> list[DecisionDocument]:  # noqa: FBT001
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
    if placed:
        chosen = chosen.where(decisions.c.position.is_not(None))
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


def find_projections(
    connection: sa.Connection, cluster: str, digests: Sequence[str]
) -> dict[str, bytes]:
    """Give the same of several, of at most MOST_DIGESTS; what the ledger has not is left out."""
    keys = [bytes.fromhex(digest.removeprefix("sha256:")) for digest in digests]
    rows = connection.execute(
        sa.select(projections.c.digest, projections.c.projection).where(
            projections.c.cluster == cluster, projections.c.digest.in_(keys)
        )
    )
    return {f"sha256:{row.digest.hex()}": row.projection for row in rows}


def find_look_backs(
    connection: sa.Connection,
    subject: str,
    cluster: str | None,
    limit: int,
    placed: bool,  # noqa: FBT001
) -> list[LookBackDocument]:
    """Give what was last found of an identity, the newest first; of each cluster without one.

    None in a ledger of the release before, which had no table for it: readers change nothing.
    """
    if not sa.inspect(connection).has_table(look_backs.name):
        return []
    chosen = sa.select(look_backs.c.document).where(look_backs.c.subject == column_text(subject))
    if cluster is not None:
        chosen = chosen.where(look_backs.c.cluster == cluster)
    if placed:
        chosen = chosen.where(look_backs.c.position.is_not(None))
    found = connection.scalars(chosen.order_by(look_backs.c.id.desc()).limit(limit))
    return [decode_look_back(document) for document in found]


def find_sweeps(connection: sa.Connection, limit: int, placed: bool) -> list[SweepDocument]:  # noqa: FBT001
    """Give the last sweeps, the newest first."""
    chosen = sa.select(sweeps.c.document).order_by(sweeps.c.id.desc()).limit(limit)
    if placed:
        chosen = chosen.where(sweeps.c.position.is_not(None))
    return [decode_sweep(document) for document in connection.scalars(chosen)]
