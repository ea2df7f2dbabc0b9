"""Ways to tamper with a ledger's database, by someone who also holds the signing key."""

from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from audit.ledger.log.heads import decode_head, encode_head, sign_head
from audit.ledger.log.problems import Flaw
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.tables import (
    checkpoints,
    decisions,
    heads,
    leaves,
    log,
    places,
    quarantine,
    retentions,
    rules,
    tiles,
)
from tests.unit.audit.ledger.log_verify.honest_ledgers import (
    ANCHORED,
    ASIDE,
    EACH,
    OLD,
    SIZE,
    Tamper,
    decision,
    leaf_hashes,
    sign_again,
    sign_heads_again,
)
from tests.unit.audit.ledger.log_verify.honest_log import DAY_MS, OTHER_KEY
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS

AT: Final = 123
_ROW: Final = decisions.c.position == AT
_LEAF: Final = leaves.c.position == AT


@dataclass(frozen=True)
class RowTampering:
    """A way to tamper with rows, and what must be said of it."""

    name: str
    change: Tamper
    wrong: Flaw | None
    """None: it is harmless, and the ledger stays sound."""
    at: int | None = None


def rows(*statements: Any, again: bool = False) -> Tamper:
    """Run these; with `again`, make all that hangs on it agree with it."""

    def change(connection: sa.Connection) -> None:
        for statement in statements:
            done = connection.execute(statement)
            assert done.rowcount != 0
        if again:
            sign_again(connection)

    return change


def document(at: int, old: bytes, new: bytes, *, again: bool = False) -> Tamper:
    """Change bytes of a document."""

    def change(connection: sa.Connection) -> None:
        row = decisions.c.position == at
        before = connection.scalar(sa.select(decisions.c.document).where(row))
        assert before is not None
        assert old in before
        after = before.replace(old, new, 1)
        connection.execute(sa.update(decisions).where(row).values(document=after))
        if again:
            sign_again(connection)

    return change


def _swapped(connection: sa.Connection) -> None:
    for table in (decisions, leaves):
        for before, after in ((AT, -1), (AT + 1, AT), (-1, AT + 1)):
            where = table.c.position == before
            connection.execute(sa.update(table).where(where).values(position=after))
    sign_again(connection)


def _removed(first: int, end: int, *, again: bool) -> Tamper:
    def change(connection: sa.Connection) -> None:
        for table in (decisions, leaves):
            connection.execute(sa.delete(table).where(table.c.position.between(first, end - 1)))
        if again:
            table = decisions
            later = table.c.position >= end
            by = end - first
            connection.execute(sa.update(table).where(later).values(position=table.c.position - by))
            sign_again(connection)

    return change


def _rolled_back(connection: sa.Connection) -> None:
    """Take the newest batches away, with their heads."""
    size = ANCHORED - EACH
    connection.execute(sa.delete(heads).where(heads.c.size > size))
    _removed(size, SIZE, again=True)(connection)


def _inserted(connection: sa.Connection) -> None:
    """Put a row in that no leaf is of."""
    copied(connection, position=SIZE)


def _without_place(connection: sa.Connection) -> None:
    """Put a row in as an earlier release would."""
    copied(connection, position=None)


def _rule_of_nothing(connection: sa.Connection) -> None:
    new = decision(9000, NOW_MS + 5)
    values = {"cluster": CLUSTER, "day": NOW_MS // DAY_MS, "id": new.id}
    connection.execute(sa.insert(rules).values(**values, rule="latest-tag", action="deny"))


def copied(connection: sa.Connection, **changes: Any) -> None:
    """Put a row in that is like another."""
    row = connection.execute(sa.select(decisions).where(_ROW)).one()._mapping  # noqa: SLF001  As above.
    new = decision(9000, NOW_MS + 5)
    values = {**row, "id": new.id, "document": new.payload, **changes}
    connection.execute(sa.insert(decisions).values(values))


def _moved_cluster(connection: sa.Connection) -> None:
    for table, where in ((decisions, _ROW), (leaves, _LEAF)):
        connection.execute(sa.update(table).where(where).values(cluster="other"))
    sign_again(connection)


def _forked(connection: sa.Connection) -> None:
    head = decode_head(
        connection.scalar(sa.select(heads.c.head).where(heads.c.size == SIZE)) or b""
    )
    at_ms = NOW_MS + 1000
    other = sign_head(head.log, head.size, bytes(32), at_ms, OTHER_KEY)
    values = {"size": SIZE, "time_ms": at_ms, "key": other.key, "head": encode_head(other)}
    connection.execute(sa.insert(heads).values(**values))


def _other_key(connection: sa.Connection) -> None:
    sign_heads_again(connection, leaf_hashes(connection), OTHER_KEY)


def _older_head(connection: sa.Connection) -> None:
    """Say that an anchored head is of an hour before."""
    row = connection.execute(sa.select(heads).where(heads.c.size == ANCHORED)).one()
    at_ms = row.time_ms - 1
    connection.execute(sa.update(heads).where(heads.c.size == ANCHORED).values(time_ms=at_ms))
    sign_heads_again(connection, leaf_hashes(connection))


def _prefix(connection: sa.Connection) -> None:
    """Say that the first leaves went by policy, without a record of it."""
    connection.execute(sa.delete(leaves).where(leaves.c.position < ASIDE))
    connection.execute(sa.update(log).values(prefix_size=16, prefix_frontier=bytes(32)))


ALL: Final = [
    RowTampering("document", document(AT, b'"pss-baseline"', b'"pss-baselime"'), Flaw.CHANGED, AT),
    RowTampering(
        "document, digest, tree, tiles, heads",
        document(AT, b'"pss-baseline"', b'"pss-baselime"', again=True),
        Flaw.CHANGED,
        AT,
    ),
    RowTampering(
        "white space in a document", document(AT, b'"format":1', b'"format": 1'), Flaw.CHANGED, AT
    ),
    RowTampering(
        "digest of a leaf",
        rows(sa.update(leaves).where(_LEAF).values(digest=bytes(32))),
        Flaw.CHANGED,
        AT,
    ),
    RowTampering(
        "verdict's column",
        rows(sa.update(decisions).where(_ROW).values(verdict="warn")),
        Flaw.COLUMN,
        AT,
    ),
    RowTampering(
        "requester's column",
        rows(sa.update(decisions).where(_ROW).values(requester="oid:1")),
        Flaw.COLUMN,
        AT,
    ),
    RowTampering(
        "position's column",
        rows(sa.update(decisions).where(_ROW).values(position=SIZE + 9)),
        Flaw.ROW,
        AT,
    ),
    RowTampering(
        "a rule's row removed",
        rows(sa.delete(rules).where(rules.c.id == decision(100, NOW_MS + 100).id)),
        Flaw.COLUMN,
        OLD + 2 + 100,
    ),
    RowTampering("row removed", rows(sa.delete(decisions).where(_ROW)), Flaw.REMOVAL, AT),
    RowTampering("row and leaf removed", _removed(AT, AT + 1, again=False), Flaw.POSITION, AT),
    RowTampering(
        "row and leaf removed, all made to agree",
        _removed(AT, AT + 1, again=True),
        Flaw.REMOVED,
        AT,
    ),
    RowTampering("first removed, all made to agree", _removed(0, 1, again=True), Flaw.REMOVED, 0),
    RowTampering(
        "thirty removed, all made to agree", _removed(AT, AT + 30, again=True), Flaw.REMOVED, AT
    ),
    RowTampering("rolled back to an old head", _rolled_back, Flaw.TRUNCATED, ANCHORED - EACH),
    RowTampering("two swapped, all made to agree", _swapped, Flaw.MOVED, AT),
    RowTampering("a row put in", _inserted, Flaw.ROW, SIZE),
    RowTampering("a row without a place put in", _without_place, Flaw.ROW),
    RowTampering("a rule's row put in, of no decision", _rule_of_nothing, Flaw.ROW),
    RowTampering("moved to another cluster", _moved_cluster, Flaw.CHANGED, AT),
    RowTampering(
        "kind of a leaf",
        rows(sa.update(leaves).where(_LEAF).values(kind=int(FrameKind.SWEEP)), again=True),
        Flaw.CHANGED,
        AT,
    ),
    RowTampering(
        "id of a leaf",
        rows(sa.update(leaves).where(_LEAF).values(id=decision(7, 9).id), again=True),
        Flaw.CHANGED,
        AT,
    ),
    RowTampering(
        "hidden as unreadable",
        rows(sa.update(leaves).where(_LEAF).values(aside=True)),
        Flaw.REMOVAL,
        AT,
    ),
    RowTampering("row of the quarantine removed", rows(sa.delete(quarantine)), Flaw.REMOVAL, ASIDE),
    RowTampering("retention record removed", rows(sa.delete(retentions)), Flaw.REMOVAL, 0),
    RowTampering("heads deleted", rows(sa.delete(heads)), Flaw.HEAD, OLD + 2 + EACH),
    RowTampering("a head made older", _older_head, Flaw.HEAD, ANCHORED),
    RowTampering("key replaced", _other_key, Flaw.HEAD, OLD + 2 + EACH),
    RowTampering("a second head of one size", _forked, Flaw.FORK, SIZE),
    RowTampering("a tile", rows(sa.update(tiles).values(hash=bytes(32))), Flaw.ROW, 0),
    RowTampering(
        "the frontier",
        rows(sa.update(log).values(frontier=bytes(32 * SIZE.bit_count()))),
        Flaw.ROW,
    ),
    RowTampering("the log's id", rows(sa.update(log).values(id="ab" * 16)), Flaw.KEY),
    RowTampering("a prefix that no record removed", _prefix, Flaw.REMOVAL, 0),
    RowTampering(
        "where sources go on",
        rows(sa.insert(places).values(cluster=CLUSTER, source="x", place=b"y")),
        None,
    ),
    RowTampering(
        "a checkpoint",
        rows(sa.insert(checkpoints).values(cluster=CLUSTER, name="x", position=1, content=b"y")),
        None,
    ),
]
