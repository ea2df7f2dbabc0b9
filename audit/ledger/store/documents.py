"""Documents by their time, the places that sources go on from, and checkpoints."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from audit.ledger.log.entries import Document, DocumentKey
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.columns import ID_BYTES
from audit.ledger.store.tables import STANDING, checkpoints, existing_tables, places
from core.base.times import DAY_MS

MOST_DOCUMENTS: Final = 10_000
"""The most that one page holds."""

_TIME_END: Final = 2**48
_MOST_DAY: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Which documents: those of a kind from a time to before another, the oldest first."""

    kind: FrameKind
    begin_ms: int
    """Milliseconds since the epoch, by the documents' ids."""
    end_ms: int
    cluster: str | None = None
    """None: of all."""
    after: DocumentKey | None = None
    """Only those after this one; None: from the first on."""
    limit: int = 1000
    """At most MOST_DOCUMENTS."""
    removals: tuple[tuple[int, int], ...] = ()
    """Positions of retention records with the first day that each kept (days since 1970-01-01):
    what they remove is left out, whether it is gone already or not."""


def read_documents(connection: sa.Connection, page: DocumentPage, placed: bool) -> list[Document]:  # noqa: FBT001 (through _read, by position)
    """Return the documents of a page; with `placed`, only what is in the log."""
    table = existing_tables(connection).get(page.kind)
    if table is None:
        return []
    chosen = sa.select(table.c.cluster, table.c.id, table.c.document, table.c.position)
    chosen = chosen.where(table.c.id >= _first(page.begin_ms))
    if page.end_ms < _TIME_END:
        chosen = chosen.where(table.c.id < _first(page.end_ms))
    if page.kind not in STANDING:  # Partitions go by the id's own day.
        first, last = (max(time, 0) // DAY_MS for time in (page.begin_ms, page.end_ms - 1))
        chosen = chosen.where(table.c.day.between(first, min(last, _MOST_DAY)))
    for record, first_day in page.removals:
        chosen = chosen.where(sa.or_(table.c.day >= first_day, table.c.position > record))
    if placed:
        chosen = chosen.where(table.c.position.is_not(None))
    if page.cluster is not None:
        chosen = chosen.where(table.c.cluster == page.cluster)
    if page.after is not None:
        identity, cluster = page.after
        later = sa.or_(table.c.id > identity, table.c.cluster > cluster)
        chosen = chosen.where(table.c.id >= identity, later)
    ordered = chosen.order_by(table.c.id, table.c.cluster)
    rows = connection.execute(ordered.limit(min(page.limit, MOST_DOCUMENTS)))
    return [Document(row.cluster, row.id, row.document, row.position) for row in rows]


def read_places(connection: sa.Connection, cluster: str) -> dict[str, bytes]:
    """Return the places of a cluster's sources."""
    chosen = sa.select(places.c.source, places.c.place).where(places.c.cluster == cluster)
    return {row.source: row.place for row in connection.execute(chosen)}


def write_places(
    connection: sa.Connection, insert: Any, cluster: str, of_sources: Mapping[str, bytes]
) -> None:
    """Keep the places of sources; `insert` is the dialect's own, of that table."""
    for source, place in sorted(of_sources.items()):
        values = {"cluster": cluster, "source": source, "place": place}
        key = [places.c.cluster, places.c.source]
        connection.execute(
            insert.values(**values).on_conflict_do_update(index_elements=key, set_={"place": place})
        )


def read_checkpoint(connection: sa.Connection, cluster: str, name: str) -> tuple[int, bytes] | None:
    """Return a checkpoint: how many entries of the log it is of, and its content."""
    chosen = sa.select(checkpoints.c.position, checkpoints.c.content).where(
        checkpoints.c.cluster == cluster, checkpoints.c.name == name
    )
    row = connection.execute(chosen).one_or_none()
    return None if row is None else (row.position, row.content)


def write_checkpoints(
    connection: sa.Connection, insert: Any, cluster: str, size: int, contents: Mapping[str, bytes]
) -> None:
    """Keep checkpoints, each instead of the one before; `insert` is as in `write_places`."""
    for name, content in sorted(contents.items()):
        new = {"position": size, "content": content}
        key = [checkpoints.c.cluster, checkpoints.c.name]
        connection.execute(
            insert.values(cluster=cluster, name=name, **new).on_conflict_do_update(
                index_elements=key, set_=new
            )
        )


def _first(time_ms: int) -> bytes:
    """Return the first id that a time can have."""
    return (min(max(time_ms, 0), _TIME_END - 1) << 80).to_bytes(ID_BYTES)
