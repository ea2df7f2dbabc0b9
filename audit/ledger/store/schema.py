"""Makes the tables and brings them up to date; refuses those of a release too new.

Steps are numbered and only add, so that releases N - 1, N and N + 1 can use the same tables.
"""

import threading
from importlib.resources import files
from typing import Final

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from core.errors import LedgerError

HEAD: Final = 2
"""The number of this release's tables."""

_ALEMBIC: Final = threading.Lock()
"""alembic keeps what it works on in a module."""

_TABLE: Final = "alembic_version"


def prepare(connection: sa.Connection) -> None:
    """Make or update the tables, inside the caller's transaction that others wait for.

    Raises:
        LedgerError: they are of a release too new, or not of Sallyport's making.
    """
    if _usable(_number(connection)) < HEAD:
        config = Config()
        where = str(files("audit.ledger.store") / "migrations")
        config.set_main_option("script_location", where.replace("%", "%%"))
        config.attributes["connection"] = connection
        with _ALEMBIC:
            command.upgrade(config, "head")


def check(connection: sa.Connection) -> None:
    """Demand that there are tables, and that this release can read them.

    Raises:
        LedgerError: there are none, or they are of a release too new.
    """
    if _usable(_number(connection)) == 0:
        raise LedgerError("there is no ledger in it yet: it is made when decisions are recorded")


def _number(connection: sa.Connection) -> str:
    if not sa.inspect(connection).has_table(_TABLE):
        return "0"
    return (
        connection.scalar(sa.select(sa.column("version_num")).select_from(sa.table(_TABLE))) or "0"
    )


def _usable(number: str) -> int:
    if not number.isdecimal():
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
