"""What may be asked of the store, and the SQL of it. A page goes on after the id that ended it."""

import uuid
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from audit.ledger.store.columns import column_text, day_of
from audit.ledger.store.tables import decisions, rules
from core.decision.decision import Verdict
from core.decision.document import DecisionSource

MOST_ROWS: Final = 10_000
"""The most that one page holds."""

_LAST_TIME: Final = 2**48 - 1


class Query(msgspec.Struct, frozen=True, kw_only=True):
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


def statements(query: Query, *, placed: bool) -> Iterator[sa.Select[Any]]:
    """Give the SQL for ids and documents: one for each requester, so that each uses its index.

    With `placed`, what is not in the log is left out.
    """
    for requester in dict.fromkeys(query.requesters) or (None,):
        statement = _statement(query, requester)
        yield statement.where(decisions.c.position.is_not(None)) if placed else statement


def bounds(prefix: str) -> tuple[bytes, bytes]:
    """Give the lowest and the highest id that begin with these hex digits (hyphens do not count).

    Raises:
        ValueError: they are no hex digits, or too many.
    """
    digits = prefix.replace("-", "").lower()
    low, high = (bytes.fromhex(digits.ljust(32, filler)) for filler in "0f")
    if len(low) != len(uuid.NAMESPACE_DNS.bytes):
        raise ValueError(f"{prefix!r} is longer than an id")
    return low, high


def in_ids(table: sa.Table, low: bytes, high: bytes) -> sa.ColumnElement[bool]:
    """Say that a row's id lies between these, both included; its day is what partitions go by."""
    first, last = map(day_of, (low, high))
    return sa.and_(table.c.id.between(low, high), table.c.day.between(first, last))


def _statement(query: Query, requester: str | None) -> sa.Select[Any]:
    key = rules if query.rule is not None else decisions
    statement = sa.select(decisions.c.id, decisions.c.document)
    if query.rule is not None:
        same = (rules.c[name] == decisions.c[name] for name in ("id", "cluster", "day"))
        statement = statement.join_from(rules, decisions, sa.and_(*same))
        statement = statement.where(rules.c.rule == column_text(query.rule))
    statement = statement.where(in_ids(key, *_ids(query)), *_conditions(query, requester))
    order = key.c.id if query.oldest_first else key.c.id.desc()
    return statement.order_by(order).limit(min(query.limit, MOST_ROWS))


def _conditions(query: Query, requester: str | None) -> Iterator[sa.ColumnElement[bool]]:
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


def _ids(query: Query) -> tuple[bytes, bytes]:
    """Give the lowest and the highest id that the query means."""
    low = (query.since_ms or 0) << 80
    high = ((_LAST_TIME + 1 if query.until_ms is None else query.until_ms) << 80) - 1
    if query.after is not None:
        low = max(low, uuid.UUID(query.after).int + 1)
    if query.before is not None:
        high = min(high, uuid.UUID(query.before).int - 1)
    return tuple(min(max(each, 0), 2**128 - 1).to_bytes(16) for each in (low, high))  # type: ignore[return-value]
