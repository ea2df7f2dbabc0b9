"""Removes refusals for want of room: those of the largest namespace-and-requester share first.

Only what the log holds as REFUSAL may go, so that whoever verifies it sees that nothing else went:
the kind is in the leaf, which stays. What goes is recorded before: how many, in a retention record,
and in aggregates of whom, by which rules, and when.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import sqlalchemy as sa

from audit.ledger.log.retention import FORMAT, Retention, SizeRemoval, removed_days
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.columns import day_of, uuid_bytes
from audit.ledger.store.log_append import AppendBackend, OpenLog
from audit.ledger.store.retention import KeptDays, write_retention
from audit.ledger.store.rows import MAKERS
from audit.ledger.store.tables import aggregates, decisions, leaves, rules
from core.base.ids import uuid7
from core.base.times import milli_text
from core.decision.decision import Verdict
from core.decision.refusal_aggregate import FORMAT as AGGREGATE_FORMAT
from core.decision.refusal_aggregate import RefusalAggregate, encode_aggregate

AT_ONCE: Final = 1000
"""Refusals of one transaction; what is delivered waits no longer than for one."""

SLACK: Final = 0.9
"""When there is too much, as much goes as leaves this part of what may stay."""

_MOST_KINDS: Final = 16
"""Aggregates of a transaction that tell rules apart; others are one for each day and verdict."""


@dataclass(frozen=True, slots=True)
class RefusalShare:
    """What a requester's refusals in a namespace take."""

    cluster: str
    namespace: str
    requester: str
    size: int
    """Bytes of their documents."""


@dataclass(frozen=True, slots=True)
class RemovedRefusals:
    """What went in one transaction."""

    count: int = 0
    size: int = 0
    """Bytes of their documents."""
    days: frozenset[int] = frozenset()
    """Of their ids, since 1970-01-01."""


def plan_removal(
    shares: Iterable[RefusalShare], most: int, held: Collection[str] = ()
) -> list[tuple[RefusalShare, int]]:
    """Return how many bytes of which shares must go so that at most `most` bytes stay. Pure.

    The largest share comes first, and loses until it is as large as the next one; then both lose.
    Shares of `held` namespaces lose nothing.
    """
    every = sorted(shares, key=lambda share: share.size, reverse=True)
    total = sum(share.size for share in every)
    if total <= most:
        return []
    free = [share for share in every if share.namespace not in held]
    room = max(int(most * SLACK) - (total - sum(share.size for share in free)), 0)
    level = _level(free, room)
    return [(share, share.size - level) for share in free if share.size > level]


def _level(shares: Sequence[RefusalShare], room: int) -> int:
    """Return the size that shares, the largest first, may keep so that all fit into `room`."""
    rest = sum(share.size for share in shares)
    for count, share in enumerate(shares, 1):
        rest -= share.size
        level = max(room - rest, 0) // count
        if count == len(shares) or level >= shares[count].size:
            return level
    return 0


def read_shares(connection: sa.Connection) -> list[RefusalShare]:
    """Return what refusals take that may go."""
    columns = (decisions.c.cluster, decisions.c.namespace, decisions.c.requester)
    size = sa.func.sum(sa.func.length(decisions.c.document)).label("size")
    chosen = sa.select(*columns, size).select_from(_removable()).where(*_REFUSED).group_by(*columns)
    return [
        RefusalShare(row.cluster, row.namespace, row.requester, int(row.size))
        for row in connection.execute(chosen)
    ]


def remove_refusals(
    connection: sa.Connection,
    backend: AppendBackend,
    kept: KeptDays,
    share: RefusalShare,
    size: int,
) -> RemovedRefusals:
    """Remove the oldest refusals of a share, at least `size` bytes or AT_ONCE of them.

    What they were is recorded in the log in the same
    transaction.
    """
    open_log = OpenLog(connection, backend)
    rows = _oldest(connection, share, size)
    if not rows:
        return RemovedRefusals()
    ids = [row.id for row in rows]
    days = sa.and_(*_days(decisions, ids))
    of_rules = _rules_of(connection, share.cluster, ids)
    _write_aggregates(connection, backend, open_log, share, rows, of_rules)
    record = Retention(
        format=FORMAT,
        id=uuid7(kept.now_ms),
        time=milli_text(kept.now_ms),
        keep_days=kept.days,
        first_kept_day=kept.first.isoformat(),
        removed={FrameKind.REFUSAL.name.lower(): len(rows)},
        by_size=SizeRemoval(
            refusals=len(rows),
            cluster=share.cluster,
            namespace=share.namespace,
            requester=share.requester,
            days=removed_days((row.position, bytes(row.id)) for row in rows),
        ),
    )
    write_retention(connection, backend, open_log, record)
    open_log.save()
    for table, when in ((rules, sa.and_(*_days(rules, ids))), (decisions, days)):
        gone = table.c.id.in_(ids) & (table.c.cluster == share.cluster) & when
        connection.execute(sa.delete(table).where(gone))
    gone_days = frozenset(day_of(each) for each in ids)
    return RemovedRefusals(len(rows), sum(row.size for row in rows), gone_days)


_REFUSED: Final = (
    decisions.c.verdict.in_(sorted((Verdict.DENY.value, Verdict.ERROR.value))),
    decisions.c.verdict != sa.literal_column("'allow'"),  # As the index says it.
    leaves.c.kind == int(FrameKind.REFUSAL),
    leaves.c.aside == sa.false(),
)


def _removable() -> sa.Join:
    return decisions.join(leaves, leaves.c.position == decisions.c.position)


def _oldest(connection: sa.Connection, share: RefusalShare, size: int) -> Sequence[Any]:
    length = sa.func.length(decisions.c.document).label("size")
    chosen = (
        sa.select(
            decisions.c.id,
            decisions.c.position,
            decisions.c.time_ms,
            decisions.c.verdict,
            length,
        )
        .select_from(_removable())
        .where(
            *_REFUSED,
            decisions.c.cluster == share.cluster,
            decisions.c.namespace == share.namespace,
            decisions.c.requester == share.requester,
        )
        .order_by(decisions.c.id)
        .limit(AT_ONCE)
    )
    found = connection.execute(chosen).all()
    ends = accumulate(row.size for row in found)
    count = next((at for at, end in enumerate(ends, 1) if end >= size), len(found))
    return found[:count]


def _days(table: sa.Table, ids: Sequence[bytes]) -> tuple[sa.ColumnElement[bool], ...]:
    """Say of which days they are: partitions go by it."""
    days = [day_of(each) for each in ids]
    return (table.c.day.between(min(days), max(days)),)


def _rules_of(
    connection: sa.Connection, cluster: str, ids: Sequence[bytes]
) -> dict[bytes, list[str]]:
    found: dict[bytes, list[str]] = defaultdict(list)
    chosen = sa.select(rules.c.id, rules.c.rule).where(
        rules.c.id.in_(ids), rules.c.cluster == cluster, *_days(rules, ids)
    )
    for row in connection.execute(chosen.order_by(rules.c.rule)):
        found[row.id].append(row.rule)
    return found


def _write_aggregates(  # noqa: PLR0913, PLR0917  A transaction and all that goes.
    connection: sa.Connection,
    backend: AppendBackend,
    open_log: OpenLog,
    share: RefusalShare,
    gone: Iterable[Any],
    of_rules: dict[bytes, list[str]],
) -> None:
    groups: dict[tuple[int, str, tuple[str, ...]], list[int]] = defaultdict(list)
    for row in gone:
        key = (day_of(row.id), row.verdict, tuple(of_rules.get(row.id, ())))
        if key not in groups and len(groups) >= _MOST_KINDS:
            key = (*key[:2], ())
        groups[key].append(row.time_ms)
    rows = []
    for (_, verdict, names), times in sorted(groups.items()):
        made = RefusalAggregate(
            format=AGGREGATE_FORMAT,
            id=uuid7(max(times)),
            time=milli_text(max(times)),
            first=milli_text(min(times)),
            cluster=share.cluster,
            count=len(times),
            verdict="deny" if verdict == Verdict.DENY.value else "error",
            why="size",
            namespace=share.namespace,
            requester=share.requester,
            rules=list(names),
        )
        payload, identity = encode_aggregate(made), uuid_bytes(made.id)
        columns = MAKERS[FrameKind.AGGREGATE](payload)
        rows.append(columns.row(identity, day_of(identity), payload))
    placed = [(*row, position) for position, row in enumerate(rows, open_log.size)]
    backend.copy(connection, aggregates, placed)
    open_log.add(FrameKind.AGGREGATE, share.cluster, rows)
