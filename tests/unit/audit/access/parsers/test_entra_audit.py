"""Federated credentials of app registrations are read from Entra ID's audit log."""

import json
from typing import Any

import pytest

from audit.access.model.batch import SourceRecord
from audit.access.parsers.reader import RecordReader
from core.weights.documents.events import Activity, Topic, encode_event
from core.weights.documents.intake import RefusedRecord
from tests.harness.worlds.storage_logs import APPLICATION, PRINCIPAL, encoded
from tests.unit.audit.access.parsers.stores import CALLERS, STORES

OURS = {"Name": "aks", "Issuer": "https://aks/", "Subject": "system:serviceaccount:lab:train"}
THEIRS = {"Name": "aks", "Issuer": "https://evil/", "Subject": "system:serviceaccount:x:y"}


def changed(before: Any, after: Any, **properties: Any) -> dict[str, Any]:
    """Return a record of a change of an application's credentials."""
    return {
        "time": "2026-05-01T09:00:00.1234567Z",
        "operationName": "Update application",
        "category": "AuditLogs",
        "properties": {
            "id": "Directory_1",
            "result": "success",
            "initiatedBy": {
                "user": {
                    "id": PRINCIPAL,
                    "userPrincipalName": "grace@example.com",
                    "displayName": "Grace",
                    "ipAddress": "203.0.113.7",
                }
            },
            "targetResources": [
                {
                    "id": APPLICATION,
                    "displayName": "the training of Grace",
                    "modifiedProperties": [
                        {
                            "displayName": "FederatedIdentityCredentials",
                            "oldValue": json.dumps(before),
                            "newValue": json.dumps(after),
                        },
                        {"displayName": "Included Updated Properties", "newValue": '"x"'},
                    ],
                }
            ],
            **properties,
        },
    }


def read(record: Any) -> Any:
    """Return what a reader makes of it."""
    return RecordReader("aks-1", CALLERS).read(
        SourceRecord(encoded(record), "a@0"), "entra", STORES, 1
    )


def test_a_credential_that_trusts_another_issuer_says_whom_and_whom_before() -> None:
    """One activity a credential that is not what it was; nobody is named."""
    (activity,) = read(changed([OURS, {"Name": "kept"}], [THEIRS, {"Name": "kept"}]))
    assert isinstance(activity, Activity)
    assert activity.topic is Topic.FEDERATED_CREDENTIAL
    assert activity.facts == {
        "change": "write",
        "body": True,
        "identity": f"application/{APPLICATION}",
        "credential": "aks",
        "issuer": "https://evil/",
        "subject": "system:serviceaccount:x:y",
        "before": "https://aks/ system:serviceaccount:lab:train",
    }
    assert (activity.principal, activity.address) == (PRINCIPAL, "203.0.113.7")
    assert b"race" not in encode_event(activity)


@pytest.mark.parametrize(
    ("before", "after", "change"), [([], [THEIRS], "write"), ([OURS], [], "delete")]
)
def test_credentials_made_and_deleted_are_told_apart(before: Any, after: Any, change: str) -> None:
    """Neither has a `before`."""
    (activity,) = read(changed(before, after))
    assert activity.facts["change"] == change
    assert "before" not in activity.facts


def test_other_changes_in_the_directory_are_of_no_concern() -> None:
    """Nor is one that changed nothing."""
    assert read(changed([OURS], [OURS])) == ()
    assert read(changed(None, None, targetResources=[])) == ()


def test_what_is_no_such_record_is_refused() -> None:
    """Never silently."""
    assert isinstance(read({"category": "AuditLogs"}), RefusedRecord)
