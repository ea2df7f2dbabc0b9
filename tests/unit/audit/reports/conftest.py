"""The report of a small ledger."""

import asyncio

import pytest

from audit.reports.model import Report
from tests.unit.audit.reports.records import report_of, something_of_everything


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return the report of May, of a ledger with something of everything."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    return asyncio.run(report_of(path, something_of_everything()))
