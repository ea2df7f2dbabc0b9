"""The ledger: takes what is delivered, each once, and forgets what is too old."""

import datetime as dt
from collections.abc import AsyncIterator, Collection, Sequence

import sqlalchemy as sa

from audit.ledger.log.heads import TreeHead
from audit.ledger.records.destination import QuarantinedFrame, Receipt
from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.store.batch_write import write_batch
from audit.ledger.store.delivery import Delivery, FollowUp, StoredDelivery
from audit.ledger.store.documents import write_checkpoints, write_places
from audit.ledger.store.log_append import OpenLog
from audit.ledger.store.log_entries import write_head
from audit.ledger.store.queries import LedgerQueries
from audit.ledger.store.refusal_removal import (
    RefusalShare,
    RemovedRefusals,
    plan_removal,
    read_shares,
    remove_refusals,
)
from audit.ledger.store.retention import (
    MASSES,
    KeptDays,
    RemovedCounts,
    date_of,
    note_retention,
    remove_leaves,
    remove_others,
)
from audit.ledger.store.room import LedgerSize
from audit.ledger.store.rows import RowBatch, make_batch, quarantine_row
from audit.ledger.store.tables import checkpoints, heads, places


class Store(LedgerQueries):
    """The ledger in SQLite (`sqlite:///PATH`) or PostgreSQL (`postgresql+psycopg://…`).

    It is a `Destination`. Every method raises LedgerError when the database fails; the message
    names the database, never its password.
    """

    async def deliver(
        self,
        cluster: str,
        frames: Sequence[Frame],
        quarantined: Sequence[QuarantinedFrame] = (),
    ) -> Receipt:
        """Keep frames of a cluster: when this returns, all of them survive a crash.

        `quarantined` are kept in the quarantine, and in the log.

        Raises:
            LedgerError: none of them is kept; send them again later.
        """
        stored = await self.ingest(cluster, Delivery(frames=frames, quarantined=quarantined))
        return Receipt(stored.stored, stored.known, stored.quarantined)

    async def ingest(
        self, cluster: str, delivery: Delivery, then: FollowUp | None = None
    ) -> StoredDelivery:
        """Keep all of a delivery at once, and what `then` makes of that which is new.

        When this returns, all of it survives a crash. What is given covers both.

        Raises:
            LedgerError: nothing of it is kept; bring it again later.
        """
        return await self._do(self._ingest, cluster, delivery, then)

    async def save_checkpoint(self, cluster: str, name: str, size: int, content: bytes) -> None:
        """Keep what was computed of the log's first `size` entries, instead of the one before."""
        await self._do(self._save_checkpoint, cluster, name, size, content)

    async def add_head(self, head: TreeHead) -> None:
        """Keep a signed head."""
        await self._do(self._add_head, head)

    async def retain(self, days: int, today: dt.date) -> RemovedCounts:
        """Keep the last `days` whole days (UTC), today's included, and remove what is older.

        What is to go is recorded in the log before it goes. It goes in parts, so that what is
        delivered meanwhile need not wait for all.

        Raises:
            LedgerError: the database fails; or the log is not what its heads say it was, and so
                nothing is removed.
        """
        kept = KeptDays(days, today, self._now_ms)
        leaves = await self._do(self._note_retention, kept)
        gone = {day async for day in self._remove_days(kept)}
        others = await self._do(self._remove_others, kept.first_day)
        while not await self._do(self._remove_leaves):
            pass
        return RemovedCounts(tuple(map(date_of, sorted(gone))), *others, leaves)

    async def shrink(
        self, most_bytes: int, days: int, today: dt.date, held: Collection[str]
    ) -> int:
        """Keep at most so many bytes of refusals; give how many refusals went.

        The largest share of a namespace and a requester loses first, its oldest before others.
        Whatever admitted something, or is no decision of the gate, never goes by size, nor what is
        of `held` namespaces. What goes is recorded in the log, and counted in aggregates.

        Raises:
            LedgerError: the database fails.
        """
        kept = KeptDays(days, today, self._now_ms)
        gone = 0
        await self._compact()
        for share, size in plan_removal(await self._read(read_shares), most_bytes, held):
            left = size
            while left > 0:
                removed = await self._do(self._remove_refusals, kept, share, left)
                if not removed.count:
                    break
                self._loose_days |= removed.days
                gone, left = gone + removed.count, left - removed.size
        await self._compact()
        return gone

    async def size(self) -> LedgerSize:
        """Return what the ledger takes, and what it still can where that is known."""
        return await self._read(self._backend.measure)

    async def refusal_shares(self) -> list[RefusalShare]:
        """Return what refusals take that may go by size."""
        return await self._read(read_shares)

    async def _compact(self) -> None:
        """Give back what was removed by size, also before more is: else it would count as used."""
        while self._loose_days:
            day = min(self._loose_days)
            await self._do(self._backend.compact, [day])
            self._loose_days.discard(day)

    def _remove_refusals(self, kept: KeptDays, share: RefusalShare, size: int) -> RemovedRefusals:
        with self._engine().begin() as connection:
            return remove_refusals(connection, self._backend, kept, share, size)

    async def _remove_days(self, kept: KeptDays) -> AsyncIterator[int]:
        """Remove what comes in masses, day by day."""
        for kind in MASSES:
            oldest = self._backend.oldest_day
            while (day := await self._read(oldest, kind)) is not None and day < kept.first_day:
                while not await self._do(self._remove_day, kind, day):
                    pass
                yield day

    def _ingest(self, cluster: str, delivery: Delivery, then: FollowUp | None) -> StoredDelivery:
        engine = self._engine()
        batch = self._batch(cluster, delivery)
        self._backend.make_room(batch.days)
        with engine.begin() as connection:
            open_log = OpenLog(connection, self._backend)
            stored = self._keep(connection, open_log, cluster, delivery, batch)
            if then is not None:
                more = then(stored)
                made = self._keep(connection, open_log, cluster, more, self._batch(cluster, more))
                stored = _sum(stored, made)
            open_log.save()
        return stored

    def _batch(self, cluster: str, delivery: Delivery) -> RowBatch:
        batch = make_batch(
            cluster, delivery.frames, self._now_ms, self._keep_days, delivery.accesses
        )
        batch.quarantine.extend(
            quarantine_row(cluster, batch.today, each.frame, each.reason)
            for each in delivery.quarantined
        )
        return batch

    def _keep(
        self,
        connection: sa.Connection,
        open_log: OpenLog,
        cluster: str,
        delivery: Delivery,
        batch: RowBatch,
    ) -> StoredDelivery:
        backend = self._backend
        written = write_batch(connection, backend, batch, open_log)
        write_places(connection, backend.insert(places), cluster, delivery.places)
        table = backend.insert(checkpoints)
        write_checkpoints(connection, table, cluster, open_log.size, delivery.checkpoints)
        quarantined = len(batch.quarantine)
        came = len(delivery.frames) + len(delivery.accesses) + len(delivery.quarantined)
        new = written.ids.get(FrameKind.ACCESS, ())
        if list(new) == list(batch.accesses):  # Mostly all are new.
            accesses = tuple(batch.accesses.values())
        else:
            accesses = tuple(batch.accesses[each] for each in new if each in batch.accesses)
        return StoredDelivery(
            accesses=accesses,
            known=came - quarantined - written.stored,
            stored=written.stored,
            quarantined=quarantined,
            log_size=open_log.size,
            ids=written.ids,
        )

    def _save_checkpoint(self, cluster: str, name: str, size: int, content: bytes) -> None:
        with self._engine().begin() as connection:
            table = self._backend.insert(checkpoints)
            write_checkpoints(connection, table, cluster, size, {name: content})

    def _add_head(self, head: TreeHead) -> None:
        with self._engine().begin() as connection:
            write_head(connection, self._backend.insert(heads), head)

    def _note_retention(self, kept: KeptDays) -> int:
        with self._engine().begin() as connection:
            return note_retention(connection, self._backend, kept)

    def _remove_day(self, kind: FrameKind, day: int) -> bool:
        with self._engine().begin() as connection:
            return self._backend.remove_day(connection, kind, day)

    def _remove_others(self, day: int) -> tuple[int, int, int, int]:
        with self._engine().begin() as connection:
            return remove_others(connection, day)

    def _remove_leaves(self) -> bool:
        with self._engine().begin() as connection:
            return remove_leaves(connection)


def _sum(first: StoredDelivery, second: StoredDelivery) -> StoredDelivery:
    return StoredDelivery(
        first.accesses + second.accesses,
        first.known + second.known,
        first.stored + second.stored,
        first.quarantined + second.quarantined,
        second.log_size,
    )
