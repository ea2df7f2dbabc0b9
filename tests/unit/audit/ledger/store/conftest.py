"""The store in both databases: each test that asks for `store` runs on either."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from audit.ledger.store.store import Store
from tests.harness.programs.postgres import Postgres
from tests.unit.audit.ledger.store.documents import NOW_MS

Sql = Callable[[str], list[tuple[Any, ...]]]


def clock() -> float:
    """Return the time at which the documents were made."""
    return NOW_MS / 1000


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    """An open store with nothing in it."""
    async with Store(url, clock) as opened:
        yield opened


@pytest.fixture
def sql(url: str, request: pytest.FixtureRequest) -> Sql:
    """Run SQL on the ledger, past the store."""
    path, database = url.removeprefix("sqlite:///"), url.rpartition("/")[2]

    def run(statement: str) -> list[tuple[Any, ...]]:
        if path != url:
            connection = sqlite3.connect(path)
            rows = connection.execute(statement).fetchall()
            connection.commit()
            connection.close()
            return rows
        server: Postgres = request.getfixturevalue("postgres")
        with server.connect(database) as connected:
            done = connected.execute(statement.encode())
            return done.fetchall() if done.description else []

    return run
