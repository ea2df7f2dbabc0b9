"""Makes the tables and brings them up to date; refuses those of a release too new.

Steps are numbered and only add, so that releases N - 1, N and N + 1 can use the same tables.
"""

import threading
from importlib.resources import files
from typing import Final

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from audit.ledger.log.adoption import OPEN_DAYS
from audit.ledger.store.tables import log
from core.base.errors import LedgerError
from core.base.times import DAY_MS

HEAD: Final = 4
"""The number of this release's tables."""

_FIRST_LOG: Final = 3
"""From which number on there is a log."""

_ALEMBIC: Final = threading.Lock()
"""alembic keeps what it works on in a module."""

_TABLE: Final = "alembic_version"

_MOST_DIGITS: Final = 9


def prepare_tables(connection: sa.Connection, now_ms: int) -> None:
    """Make or update the tables, inside the caller's transaction that others wait for.

    What a release without a log wrote may be taken in from `now_ms` (since the epoch) on.

    Raises:
        LedgerError: they are of a release too new, or not of Sallyport's making.
    """
    before = _usable(_number(connection))
    if before < HEAD:
        config = Config()
        where = str(files("audit.ledger.store") / "migrations")
        config.set_main_option("script_location", where.replace("%", "%%"))
        config.attributes["connection"] = connection
        with _ALEMBIC:
            command.upgrade(config, "head")
    if 0 < before < _FIRST_LOG:
        until = now_ms + OPEN_DAYS * DAY_MS
        connection.execute(sa.update(log).values(adopt_until_ms=until))


def check_tables(connection: sa.Connection) -> bool:
    """Demand that there are tables, and that this release can read them; say whether with a log.

    Raises:
        LedgerError: there are none, or they are of a release too new.
    """
    number = _usable(_number(connection))
    if number == 0:
        raise LedgerError("there is no ledger in it yet: it is made when decisions are recorded")
    return number >= _FIRST_LOG


def _number(connection: sa.Connection) -> str:
    if not sa.inspect(connection).has_table(_TABLE):
        return "0"
    number = connection.scalar(sa.select(sa.column("version_num")).select_from(sa.table(_TABLE)))
    return number if isinstance(number, str) else str(number or 0)


def _usable(number: str) -> int:
    if not number.isdecimal() or len(number) > _MOST_DIGITS:
        raise LedgerError(
            f"its tables have the version {number!r}, which is none of Sallyport's: "
            "name a database of its own"
        )
    if int(number) > HEAD + 1:
        raise LedgerError(
            f"its tables have the version {int(number)}, and this release knows them up to "
            f"{HEAD + 1}: use the release that made them, or one newer"
        )
    return int(number)
