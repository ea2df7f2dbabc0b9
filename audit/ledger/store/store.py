"""The ledger's database: takes frames, each once, and answers what is asked of decisions.

One thread does all the work, so that the event loop never waits for a disk.
"""

import asyncio
import datetime as dt
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypeVar

import sqlalchemy as sa

from audit.ledger.destination import Receipt
from audit.ledger.frames import Frame
from audit.ledger.store import schema
from audit.ledger.store.failures import naming
from audit.ledger.store.others import remove_others, write_others
from audit.ledger.store.postgres import Postgres
from audit.ledger.store.query import Query
from audit.ledger.store.reading import (
    find,
    find_look_backs,
    find_one,
    find_projection,
    find_sweeps,
)
from audit.ledger.store.rows import make_batch
from audit.ledger.store.sqlite import Sqlite
from core.document import DecisionDocument, SweepDocument
from core.errors import LedgerError, SettingsError
from core.look_back import LookBackDocument

T = TypeVar("T")

_EPOCH: Final = dt.date(1970, 1, 1)

MOST_KEEP_DAYS: Final = 3650
"""The most that `ledger.keep_days` may be."""


@dataclass(frozen=True)
class Removed:
    """What retention took away."""

    days: tuple[dt.date, ...] = ()
    """Whose decisions are gone, the oldest first."""
    projections: int = 0
    sweeps: int = 0
    quarantined: int = 0


class Store:
    """The ledger in SQLite (`sqlite:///PATH`) or PostgreSQL (`postgresql+psycopg://…`).

    It is a `Destination`. Every method raises LedgerError when the database fails; the message
    names the database, never its password.
    """

    def __init__(
        self,
        url: str,
        clock: Callable[[], float] = time.time,
        *,
        keep_days: int = MOST_KEEP_DAYS,
    ) -> None:
        """Note where the ledger is; `clock` gives seconds since the epoch.

        What is delivered with an id from before the last `keep_days` days, and a day more, goes
        to the quarantine.

        Raises:
            SettingsError: the URL is none of these, or has an `@` that is not percent-encoded.
        """
        self._backend, self._secret = _backend(url)
        self._is_open = False
        self._clock = clock
        self._keep_days = keep_days
        self._worker = ThreadPoolExecutor(1, "ledger")

    def __repr__(self) -> str:
        """Name the database, without its password."""
        return f"Store({self._backend.name})"

    @property
    def path(self) -> Path | None:
        """Give the ledger's file, where it is one."""
        return self._backend.path

    async def __aenter__(self) -> Self:
        """Open it, and make its tables where they are missing."""
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close()

    async def open(self, *, make: bool = True) -> None:
        """Open the ledger; with `make`, make its tables or bring them up to date.

        Raises:
            LedgerError: it cannot be opened; it is of a release too new; or without `make`, it
                is not there yet.
        """
        await self._do(self._open, make)

    async def close(self) -> None:
        """Finish what was begun, and close."""
        await self._do(self._backend.engine.dispose)
        self._worker.shutdown()

    async def deliver(self, cluster: str, frames: Sequence[Frame]) -> Receipt:
        """Keep frames of a cluster: when this returns, all of them survive a crash.

        Raises:
            LedgerError: none of them is kept; send them again later.
        """
        return await self._do(self._deliver, cluster, frames)

    async def find(self, query: Query) -> list[bytes]:
        """Give the documents (JSON) that the query means, in its order."""
        return await self._read(find, query)

    async def get(self, decision_id: str) -> list[DecisionDocument]:
        """Give the decision of an id, or of an id that begins so; of each cluster that has it.

        Raises:
            LedgerError: it is no id, it is too short, or several ids begin so.
        """
        return await self._read(find_one, decision_id)

    async def projection(self, cluster: str, digest: str) -> bytes | None:
        """Give the projection (JSON) of a decision; `digest` is its `projection`."""
        return await self._read(find_projection, cluster, digest)

    async def sweeps(self, limit: int) -> list[SweepDocument]:
        """Give the last sweeps, the newest first."""
        return await self._read(find_sweeps, limit)

    async def look_backs(
        self, subject: str, cluster: str | None, limit: int
    ) -> list[LookBackDocument]:
        """Give what was last found of an identity, the newest first; None: of each cluster."""
        return await self._read(find_look_backs, subject, cluster, limit)

    async def retain(self, days: int, today: dt.date) -> Removed:
        """Keep the last `days` whole days (UTC), today's included, and remove what is older.

        Decisions go day by day, so that what is delivered meanwhile need not wait for all.
        """
        first = (today - _EPOCH).days - days + 1
        removed: list[dt.date] = []
        while (day := await self._read(self._backend.oldest_day)) is not None and day < first:
            while not await self._do(self._remove_day, day):
                pass
            removed.append(_EPOCH + dt.timedelta(days=day))
        others = await self._do(self._remove_others, first)
        return Removed(tuple(removed), *others)

    async def _read(self, ask: Callable[..., T], *arguments: object) -> T:
        """Ask on the worker thread, in a transaction that only reads."""

        def work() -> T:
            with self._reading() as connection:
                return ask(connection, *arguments)

        return await self._do(work)

    async def _do(self, work: Callable[..., T], *arguments: object) -> T:
        def named() -> T:
            with naming(self._backend.name, self._secret):
                return work(*arguments)

        return await asyncio.get_running_loop().run_in_executor(self._worker, named)

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with self._engine().connect() as connection:
            yield self._backend.reading(connection)

    def _engine(self) -> sa.Engine:
        """Give the engine; before `open`, asking SQLite would make an empty file."""
        if not self._is_open:
            raise LedgerError("it is not open yet: try again later")
        return self._backend.engine

    def _open(self, make: bool) -> None:  # noqa: FBT001 (through _do, by position)
        if make:
            # A connection may be to a file that is gone, in whose place another is made.
            self._backend.engine.dispose()
            self._backend.make()
            with self._backend.engine.begin() as connection:
                self._backend.lock(connection)
                schema.prepare(connection)
        else:
            self._backend.demand()
            with self._backend.engine.connect() as connection:
                schema.check(self._backend.reading(connection))
        self._is_open = True

    def _deliver(self, cluster: str, frames: Sequence[Frame]) -> Receipt:
        engine = self._engine()
        batch = make_batch(cluster, frames, int(self._clock() * 1000), self._keep_days)
        self._backend.make_room(batch.days)
        with engine.begin() as connection:
            stored = self._backend.write(connection, batch)
            stored += write_others(connection, self._backend.insert, batch)
        quarantined = len(batch.quarantine)
        return Receipt(stored, len(frames) - quarantined - stored, quarantined)

    def _remove_day(self, day: int) -> bool:
        with self._engine().begin() as connection:
            return self._backend.remove_day(connection, day)

    def _remove_others(self, day: int) -> tuple[int, ...]:
        with self._engine().begin() as connection:
            return remove_others(connection, day)


def _backend(url: str) -> tuple[Sqlite | Postgres, str]:
    """Give what knows the database of the URL, and the URL's password."""
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        parsed = sa.make_url("none://")
    known: dict[str, type[Sqlite | Postgres]] = {"sqlite": Sqlite, "postgresql+psycopg": Postgres}
    if parsed.drivername not in known:
        # The URL itself stays unsaid: it may hold a password.
        raise SettingsError("ledger.url: give sqlite:///PATH or postgresql+psycopg://…")
    if known[parsed.drivername] is Postgres and _is_split_wrong(url, parsed):
        raise SettingsError("ledger.url: its user or password has an @: percent-encode it (%40)")
    return known[parsed.drivername](parsed), parsed.password or ""


def _is_split_wrong(url: str, parsed: sa.URL) -> bool:
    """Say whether a bare `@` in the user or password put some of it into another part.

    One that was percent-encoded is decoded in the user's name, which then is not in the URL so.
    """
    parts = (parsed.username, parsed.host, None if parsed.host else parsed.database)
    return any("@" in part and part in url for part in parts if part)
