"""The ledger's database: how it is opened, and the one thread that does all its work.

So the event loop never waits for a disk.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self, TypeVar

import sqlalchemy as sa

from audit.ledger.store import schema
from audit.ledger.store.adoption import adopt_rows, read_adoption_end
from audit.ledger.store.database_errors import translate_errors
from audit.ledger.store.postgres import VERIFIED, Postgres
from audit.ledger.store.sqlite import Sqlite
from core.base.errors import LedgerError, SettingsError

T = TypeVar("T")

GetPassword = Callable[[], Awaitable[str]]
"""Gives the password of a new connection: a token, say."""

PASSWORD_S: Final = 30.0
"""The longest that a connection waits for its password."""

_DRIVER: Final = "postgresql+psycopg"

_POSTGRES: Final = frozenset({_DRIVER, "postgresql", "postgres"})
"""Schemes of PostgreSQL: SQLAlchemy's, and libpq's own two (CloudNativePG writes the first)."""

MOST_KEEP_DAYS: Final = 3650
"""The most that `ledger.keep_days` may be."""

_ADOPTED_AT_ONCE: Final = 4
"""Steps of `adopt` that opening makes: all that a small ledger needs."""


class Database:
    """A ledger in SQLite (`sqlite:///PATH`) or PostgreSQL (`postgresql+psycopg://…`).

    Every method raises LedgerError when the database fails; the message names the database, never
    its password.
    """

    def __init__(
        self,
        url: str,
        clock: Callable[[], float] = time.time,
        *,
        keep_days: int = MOST_KEEP_DAYS,
        password: GetPassword | None = None,
        packs: bool = False,
    ) -> None:
        """Note where the ledger is; `clock` gives seconds since the epoch.

        With `packs` documents of decisions are stored compressed, which releases before cannot
        read. `password` is asked for at each new connection to PostgreSQL, on the loop that opens
        it.

        What is delivered with an id from before the last `keep_days` days, and a day more, goes
        to the quarantine.

        Raises:
            SettingsError: the URL is none of these, or has an `@` that is not percent-encoded; or
                SQLite is to have a password; or the URL would have one given to a server that is
                not verified.
        """
        self._password = password
        self._loop: asyncio.AbstractEventLoop | None = None
        self._backend, self._secret = _backend(url, self._ask_password if password else None)
        self._backend.packs = packs
        self._is_open = False
        self._has_log = False
        self._is_adopting = True
        """Whether rows of an earlier release may have no place in the log yet."""
        self._clock = clock
        self._keep_days = keep_days
        self._loose_days: set[int] = set()
        """Of which refusals went by size, and whose room was not given back yet."""
        self._worker = ThreadPoolExecutor(1, "ledger")

    def __repr__(self) -> str:
        """Name the database, without its password."""
        return f"Store({self._backend.name})"

    @property
    def path(self) -> Path | None:
        """Return the ledger's file, where it is one."""
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
        self._loop = asyncio.get_running_loop()
        await self._do(self._open, make)

    async def adopt(self) -> int:
        """Take some of what an earlier release stored into the log; give how many it were.

        Until this gives 0, and while an earlier release writes, again.
        """
        return await self._do(self._adopt)

    async def close(self) -> None:
        """Finish what was begun, and close."""
        await self._do(self._backend.engine.dispose)
        self._worker.shutdown()

    async def _read(self, ask: Callable[..., T], *arguments: object) -> T:
        """Ask on the worker thread, in a transaction that only reads."""

        def work() -> T:
            with self._reading() as connection:
                return ask(connection, *arguments)

        return await self._do(work)

    async def _read_log(self, ask: Callable[..., T], *arguments: object) -> T:
        """Ask of what there is since ledgers have a log; a reader does not make it."""
        if self._is_open and not self._has_log:
            raise LedgerError(
                f"the ledger {self._backend.name}: it has no log yet: an auditor (or `sallyport "
                "run`) of this release makes it"
            )
        return await self._read(ask, *arguments)

    async def _do(self, work: Callable[..., T], *arguments: object) -> T:
        def named() -> T:
            with translate_errors(self._backend.name, self._secret):
                return work(*arguments)

        return await asyncio.get_running_loop().run_in_executor(self._worker, named)

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with self._engine().connect() as connection:
            yield self._backend.reading(connection)

    def _ask_password(self) -> str:
        """Return the password of a new connection, on the worker thread, while the loop goes on."""
        if self._loop is None or self._password is None:
            raise LedgerError("it is not open yet: try again later")
        asked = asyncio.run_coroutine_threadsafe(_await(self._password), self._loop)
        try:
            return asked.result(PASSWORD_S)
        except TimeoutError:
            asked.cancel()
            raise LedgerError(f"nobody gave a password for it in {PASSWORD_S:.0f} s") from None

    @property
    def _now_ms(self) -> int:
        return int(self._clock() * 1000)

    def _engine(self) -> sa.Engine:
        """Return the engine; before `open`, asking SQLite would make an empty file."""
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
                schema.prepare_tables(connection, self._now_ms)
            self._has_log = True
        else:
            self._backend.demand()
            with self._backend.engine.connect() as connection:
                self._has_log = schema.check_tables(self._backend.reading(connection))
        with self._backend.engine.connect() as connection:
            reading = self._backend.reading(connection)
            self._is_adopting = not self._has_log or read_adoption_end(reading) > 0
        self._is_open = True
        for _ in range(_ADOPTED_AT_ONCE if make else 0):
            if self._adopt() == 0:
                break

    def _adopt(self) -> int:
        with self._engine().begin() as connection:
            return adopt_rows(connection, self._backend, self._now_ms)


async def _await(password: GetPassword) -> str:
    return await password()


def _backend(url: str, password: Callable[[], str] | None) -> tuple[Sqlite | Postgres, str]:
    """Return what knows the database of the URL, and the URL's password."""
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        parsed = sa.make_url("none://")
    if parsed.drivername == "sqlite":
        if password is not None:
            raise SettingsError("ledger.sign_in: SQLite knows no users; leave it at `url`")
        return Sqlite(parsed), ""
    if parsed.drivername not in _POSTGRES:
        # The URL itself stays unsaid: it may hold a password.
        raise SettingsError("ledger.url: give sqlite:///PATH or postgresql://…")
    if _is_split_wrong(url, parsed):
        raise SettingsError("ledger.url: its user or password has an @: percent-encode it (%40)")
    if password is not None and parsed.password:
        raise SettingsError("ledger.url: leave its password out where `ledger.sign_in` is `entra`")
    if password is not None and parsed.query.get("sslmode", VERIFIED) != VERIFIED:
        raise SettingsError(
            f"ledger.url: leave its sslmode out, or set {VERIFIED}, where `ledger.sign_in` is "
            "`entra`: a token goes to no server that is not verified"
        )
    return Postgres(parsed.set(drivername=_DRIVER), password), parsed.password or ""


def _is_split_wrong(url: str, parsed: sa.URL) -> bool:
    """Return whether a bare `@` in the user or password put some of it into another part.

    One that was percent-encoded is decoded in the user's name, which then is not in the URL so.
    """
    parts = (parsed.username, parsed.host, None if parsed.host else parsed.database)
    return any("@" in part and part in url for part in parts if part)
