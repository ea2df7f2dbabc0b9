"""Decisions, projections, sweeps and look-backs: what may be asked of them, and the SQL of it.

A page goes on after the id that ended it.
"""

import heapq
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from audit.ledger.store.columns import column_text, day_of
from audit.ledger.store.tables import decisions, look_backs, projections, rules, sweeps
from core.base.errors import LedgerError
from core.decision.decision import Verdict
from core.decision.document import DecisionDocument, DecisionSource, decode_document
from core.decision.sweep_document import SweepDocument, decode_sweep
from core.risk.look_back import LookBackDocument, decode_look_back

MOST_ROWS: Final = 10_000
"""The most that one page holds."""

SHORTEST_PREFIX: Final = 8
"""Hex digits of an id. As few stand for 65 seconds."""

MOST_DIGESTS: Final = 500
"""Projections asked for at once: SQLite takes 999 parameters in its oldest builds."""

_LAST_TIME: Final = 2**48 - 1

_MOST_NAMED: Final = 5
_MOST_READ: Final = 1000


class DecisionQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions; what is None or empty does not matter."""

    cluster: str | None = None
    namespace: str | None = None
    requesters: tuple[str, ...] = ()
    """Any of these, as `DecisionDocument.requester`."""
    rule: str | None = None
    """With a finding of this rule."""
    verdicts: frozenset[Verdict] = frozenset()
    since_ms: int | None = None
    """Not before this time, in milliseconds since the epoch."""
    until_ms: int | None = None
    """Before this time."""
    kind: str | None = None
    name: str | None = None
    object_uid: str | None = None
    source: DecisionSource | None = None
    before: str | None = None
    """Only ids that sort before this one."""
    after: str | None = None
    """Only ids that sort after this one."""
    oldest_first: bool = False
    limit: int = 100
    """At most MOST_ROWS."""


FindDecisions = Callable[[DecisionQuery], Awaitable[list[bytes]]]
"""Gives documents of a ledger, as `LedgerQueries.find` does."""


def build_statements(query: DecisionQuery, *, placed: bool) -> Iterator[sa.Select[Any]]:
    """Yield the SQL for ids and documents: one for each requester, so that each uses its index.

    With `placed`, what is not in the log is left out.
    """
    for requester in dict.fromkeys(query.requesters) or (None,):
        statement = _statement(query, requester)
        yield statement.where(decisions.c.position.is_not(None)) if placed else statement


def id_bounds(prefix: str) -> tuple[bytes, bytes]:
    """Return the lowest and the highest id that begin with these hex digits (hyphens do not count).

    Raises:
        ValueError: they are no hex digits, or too many.
    """
    digits = prefix.replace("-", "").lower()
    low, high = (bytes.fromhex(digits.ljust(32, filler)) for filler in "0f")
    if len(low) != len(uuid.NAMESPACE_DNS.bytes):
        raise ValueError(f"{prefix!r} is longer than an id")
    return low, high


def between_ids(table: sa.Table, low: bytes, high: bytes) -> sa.ColumnElement[bool]:
    """Say that a row's id lies between these, both included; its day is what partitions go by."""
    first, last = map(day_of, (low, high))
    return sa.and_(table.c.id.between(low, high), table.c.day.between(first, last))


def _statement(query: DecisionQuery, requester: str | None) -> sa.Select[Any]:
    key = rules if query.rule is not None else decisions
    statement = sa.select(decisions.c.id, decisions.c.document)
    if query.rule is not None:
        same = (rules.c[name] == decisions.c[name] for name in ("id", "cluster", "day"))
        statement = statement.join_from(rules, decisions, sa.and_(*same))
        statement = statement.where(rules.c.rule == column_text(query.rule))
    statement = statement.where(between_ids(key, *_ids(query)), *_conditions(query, requester))
    order = key.c.id if query.oldest_first else key.c.id.desc()
    return statement.order_by(order).limit(min(query.limit, MOST_ROWS))


def _conditions(query: DecisionQuery, requester: str | None) -> Iterator[sa.ColumnElement[bool]]:
    texts = {
        "cluster": query.cluster,
        "namespace": query.namespace,
        "requester": requester,
        "kind": query.kind,
        "name": query.name,
        "object_uid": query.object_uid,
        "source": query.source,
    }
    for column, value in texts.items():
        if value is not None:
            yield decisions.c[column] == column_text(value)
    for column in ("name", "object_uid"):
        if texts[column]:
            yield decisions.c[column] != sa.literal_column("''")  # As the index says it.
    if query.verdicts:
        yield decisions.c.verdict.in_(sorted(verdict.value for verdict in query.verdicts))
        if Verdict.ALLOW not in query.verdicts:
            yield decisions.c.verdict != sa.literal_column("'allow'")  # As the index says it.


def _ids(query: DecisionQuery) -> tuple[bytes, bytes]:
    """Return the lowest and the highest id that the query means."""
    low = (query.since_ms or 0) << 80
    high = ((_LAST_TIME + 1 if query.until_ms is None else query.until_ms) << 80) - 1
    if query.after is not None:
        low = max(low, uuid.UUID(query.after).int + 1)
    if query.before is not None:
        high = min(high, uuid.UUID(query.before).int - 1)
    return tuple(min(max(each, 0), 2**128 - 1).to_bytes(16) for each in (low, high))  # type: ignore[return-value]


def find_decisions(connection: sa.Connection, query: DecisionQuery, placed: bool) -> list[bytes]:  # noqa: FBT001 (through _read, by position; as below)
    """Return the documents (JSON) that the query means, in its order.

    Here and elsewhere: with `placed`, what is not in the log is left out.
    """
    pages = [connection.execute(each).all() for each in build_statements(query, placed=placed)]
    merged = heapq.merge(*pages, key=itemgetter(0), reverse=not query.oldest_first)
    return [document for _, document in islice(merged, query.limit)]


def find_decision(
    connection: sa.Connection,
    decision_id: str,
    placed: bool,  # noqa: FBT001
) -> list[DecisionDocument]:
    """Return the decision of an id, or of an id that begins so; of each cluster that has it.

    Raises:
        LedgerError: it is no id, it is too short, or several ids begin so.
    """
    try:
        low, high = id_bounds(decision_id)
    except ValueError:
        raise LedgerError(f"{decision_id!r} is no id: give its hex digits") from None
    if len(decision_id.replace("-", "")) < SHORTEST_PREFIX:
        raise LedgerError(f"{decision_id!r} is too short: give {SHORTEST_PREFIX} hex digits of it")
    chosen = sa.select(decisions.c.id, decisions.c.document).where(
        between_ids(decisions, low, high)
    )
    if placed:
        chosen = chosen.where(decisions.c.position.is_not(None))
    rows = connection.execute(chosen.order_by(decisions.c.id).limit(_MOST_READ)).all()
    ids = list(dict.fromkeys(str(uuid.UUID(bytes=row.id)) for row in rows))
    if len(ids) > 1:
        named = ", ".join(ids[:_MOST_NAMED]) + (" …" if len(ids) > _MOST_NAMED else "")
        raise LedgerError(f"several ids begin with {decision_id!r}: {named}: give more of it")
    return [decode_document(row.document) for row in rows]


def find_by_ids(
    connection: sa.Connection,
    cluster: str,
    ids: Sequence[bytes],
    placed: bool,  # noqa: FBT001
) -> dict[bytes, bytes]:
    """Return the documents (JSON) of a cluster's decisions by id, of at most MOST_DIGESTS ids.

    What the ledger has not is left out.
    """
    days = [day_of(each) for each in ids]
    chosen = sa.select(decisions.c.id, decisions.c.document).where(
        decisions.c.id.in_(ids),
        decisions.c.cluster == cluster,
        decisions.c.day.between(min(days), max(days)),
    )
    if placed:
        chosen = chosen.where(decisions.c.position.is_not(None))
    return {row.id: row.document for row in connection.execute(chosen)}


def find_projection(connection: sa.Connection, cluster: str, digest: str) -> bytes | None:
    """Return the projection (JSON) of a decision; `digest` is its `projection`."""
    key = bytes.fromhex(digest.removeprefix("sha256:"))
    return connection.scalar(
        sa.select(projections.c.projection).where(
            projections.c.cluster == cluster, projections.c.digest == key
        )
    )


def find_projections(
    connection: sa.Connection, cluster: str, digests: Sequence[str]
) -> dict[str, bytes]:
    """Return the same of several, of at most MOST_DIGESTS; what the ledger has not is left out."""
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
    """Return what was last found of an identity, the newest first; of each cluster without one.

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
    """Return the last sweeps, the newest first."""
    chosen = sa.select(sweeps.c.document).order_by(sweeps.c.id.desc()).limit(limit)
    if placed:
        chosen = chosen.where(sweeps.c.position.is_not(None))
    return [decode_sweep(document) for document in connection.scalars(chosen)]
