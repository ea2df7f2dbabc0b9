"""Turns what databases and their drivers raise into LedgerErrors that hold no secret."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import sqlalchemy as sa

from core.base.errors import LedgerError


class DuplicateError(Exception):
    """A row is there already that was to be new."""


@contextmanager
def translate_errors(ledger: str, secret: str = "") -> Iterator[None]:
    """Let what fails inside name the ledger, and never `secret`, statements or values.

    Raises:
        LedgerError: in place of what SQLAlchemy, psycopg, sqlite3 or the system raise.
    """
    try:
        yield
    except (sa.exc.SQLAlchemyError, psycopg.Error, sqlite3.Error) as error:
        # `from None`: the error has the statement and its values.
        raise LedgerError(f"the ledger {ledger}: {_first_line(error, secret)}") from None
    except OSError as error:
        raise LedgerError(f"the ledger {ledger}: {error.strerror}") from None
    except LedgerError as error:
        raise LedgerError(f"the ledger {ledger}: {error}") from None


def _first_line(error: Exception, secret: str) -> str:
    """Return the driver's own words, without the lines after, which may quote rows."""
    own = getattr(error, "orig", None) or error
    text = next(iter(str(own).splitlines()), "") or type(own).__name__
    return text.replace(secret, "***") if secret else text
