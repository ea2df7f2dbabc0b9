"""A ledger that knows the cluster."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from audit.ledger.store.store import Store
from tests.unit.audit.access.ingest.training_cluster import CLUSTER, cluster


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Store]:
    """A ledger in SQLite that knows the cluster."""
    async with Store(f"sqlite:///{tmp_path / 'ledger.db'}") as store:
        await store.deliver(CLUSTER, cluster())
        yield store
