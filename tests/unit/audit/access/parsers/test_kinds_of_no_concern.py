"""Each record of no concern is counted by its kind; what is of a log of storage's is never one."""

from typing import Any

import pytest

from audit.access.model.batch import SourceRecord
from audit.access.parsers.reader import MOST_KINDS, OTHER_KINDS, RecordReader
from core.weights.documents.access import Access
from core.weights.documents.intake import RefusedRecord
from tests.harness.worlds.storage_logs import encoded, storage_record
from tests.unit.audit.access.parsers.activity_records import exported, kubernetes
from tests.unit.audit.access.parsers.stores import CALLERS, STORES

ELSEWHERE = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/one"
START = "Microsoft.Compute/virtualMachines/start/action"


def read(reader: RecordReader, record: dict[str, Any]) -> Any:
    """Return what a reader makes of a record."""
    return reader.read(SourceRecord(encoded(record), "a@0"), "logs", STORES, 1)


@pytest.fixture
def reader() -> RecordReader:
    """A reader that has read nothing."""
    return RecordReader("aks-1", CALLERS)


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (exported(START, resource=ELSEWHERE), f"azure-activity: {START.lower()}"),
        (
            exported(START, resource=ELSEWHERE, result="Start"),
            f"azure-activity, not ended: {START.lower()}",
        ),
        (
            {"category": "AuditLogs", "operationName": "Add user", "properties": {"id": "1"}},
            "entra-audit: Add user",
        ),
        (kubernetes("get", "configmaps", annotations={}), "kubernetes-audit: get configmaps"),
        ({"metricName": "Transactions", "time": "2026-05-01T09:00:00Z"}, "metrics"),
    ],
    ids=["activity", "not ended", "entra", "kubernetes", "metrics"],
)
def test_a_record_of_no_concern_is_counted_by_kind(
    reader: RecordReader, record: dict[str, Any], kind: str
) -> None:
    """Once, until somebody takes the counts."""
    assert read(reader, record) == ()
    assert read(reader, record) == ()
    assert reader.take_skipped() == {kind: 2}
    assert reader.take_skipped() == {}


def test_kinds_are_bounded(reader: RecordReader) -> None:
    """Whoever may write a log cannot fill memory with kinds of it."""
    for number in range(MOST_KINDS + 9):
        read(reader, exported(f"Microsoft.Any/{number}/action", resource=ELSEWHERE))
    taken = reader.take_skipped()
    assert (len(taken), taken[OTHER_KINDS]) == (MOST_KINDS + 1, 9)


@pytest.mark.parametrize("category", ["storageread", "STORAGEREAD", "StorageRead"])
def test_a_category_of_storage_is_read_in_any_case(reader: RecordReader, category: str) -> None:
    """The id is the same: it is the same record."""
    known = read(reader, storage_record())
    flat = {**storage_record(), "category": category, "NewField": "x"}
    for record in (storage_record() | {"category": category}, flat):
        access = read(reader, record)
        assert isinstance(access, Access)
        assert access.id == known.id


@pytest.mark.parametrize(
    "change",
    [
        {"category": "StorageMove", "NewField": "x"},
        {"category": "StorageMove"},
        {"category": "Audit", "Type": "StorageBlobLogs"},
        {"category": "", "objectKey": "/weightsprod/llama/x"},
    ],
)
def test_a_record_of_storage_that_cannot_be_read_is_refused(
    reader: RecordReader, change: dict[str, Any]
) -> None:
    """It is never of no concern."""
    assert isinstance(read(reader, storage_record() | change), RefusedRecord)
    assert reader.take_skipped() == {}


@pytest.mark.parametrize("category", ["kube-audit", "Kube-Audit-Admin"])
def test_a_row_of_azure_diagnostics_has_the_event_in_a_column(
    reader: RecordReader, category: str
) -> None:
    """`log_s`, where exports have `properties.log`."""
    event = encoded(kubernetes()).decode()
    told = read(reader, {"category": category, "properties": {"log": event}})
    assert told
    assert read(reader, {"Category": category, "log_s": event, "Type": "AzureDiagnostics"}) == told
