"""Ledgers of either database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from audit.ledger.store.store import Store
from tests.harness.programs.postgres import Postgres
from tests.unit.audit.weights.ingest.world import CLUSTER, cluster


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new ledger can be made."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.url(server.new_database())


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Store]:
    """A ledger in SQLite that knows the cluster."""
    async with Store(f"sqlite:///{tmp_path / 'ledger.db'}") as store:
        await store.deliver(CLUSTER, cluster())
        yield store
