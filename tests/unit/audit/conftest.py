"""Both databases: each test that asks for `url` holds in SQLite and in PostgreSQL alike."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.programs.postgres import Postgres


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a new ledger can be made."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'ledger.db'}"
        (tmp_path / "ledger.db").unlink(missing_ok=True)  # A proof's has 23 GB.
        return
    server: Postgres = request.getfixturevalue("postgres")
    name = server.new_database()
    yield server.url(name)
    server.drop_database(name)
