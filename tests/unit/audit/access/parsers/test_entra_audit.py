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


def table_row(record: dict[str, Any], *, texts: bool = False) -> dict[str, Any]:
    """Return a record as a row of the table AuditLogs of Log Analytics.

    Columns as Azure Monitor's reference of the table names them; `texts` as exports write columns
    of type dynamic.
    """
    entry = record["properties"]
    dynamic = {
        name: entry[name[0].lower() + name[1:]] for name in ("InitiatedBy", "TargetResources")
    }
    if texts:
        dynamic = {name: json.dumps(value) for name, value in dynamic.items()}
    return {
        "TenantId": "00000000-0000-0000-0000-000000000009",
        "SourceSystem": "Azure AD",
        "TimeGenerated": record["time"],
        "OperationName": record["operationName"],
        "Category": "ApplicationManagement",
        "ResultType": "",
        "Result": entry["result"],
        "Id": entry["id"],
        "ActivityDisplayName": record["operationName"],
        "ActivityDateTime": record["time"],
        "AADTenantId": "x",
        "LoggedByService": "Core Directory",
        "AdditionalDetails": [],
        **dynamic,
        "Type": "AuditLogs",
    }


def graph_entry(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record as a `directoryAudit` of Microsoft Graph: it has no `operationName`."""
    return {
        "category": "ApplicationManagement",
        "activityDisplayName": record["operationName"],
        "activityDateTime": record["time"],
        "loggedByService": "Core Directory",
        "operationType": "Update",
        **record["properties"],
    }


def test_every_shape_of_the_audit_log_tells_the_same() -> None:
    """A diagnostic setting's record, a row of Log Analytics, and an answer of Microsoft Graph."""
    record = changed([OURS], [THEIRS])
    told = read(record)
    assert [each.topic for each in told] == [Topic.FEDERATED_CREDENTIAL]
    assert read(table_row(record)) == told
    assert read(table_row(record, texts=True)) == told
    assert read(graph_entry(record)) == told
    for category in ("auditlogs", "AUDITLOGS", "Auditlogs"):
        assert read({**record, "category": category}) == told
    untyped = {name: value for name, value in table_row(record).items() if name != "Type"}
    assert read(untyped) == told


def test_a_row_whose_dynamic_column_is_no_json_is_refused() -> None:
    """It names the column."""
    row = table_row(changed([OURS], [THEIRS]), texts=True)
    refused = read({**row, "TargetResources": row["TargetResources"][:-9]})
    assert isinstance(refused, RefusedRecord)
    assert refused.reason.startswith("targetresources")


def test_elevated_access_is_told_by_every_shape() -> None:
    """A Global Administrator took the right to give roles; the entry names no target."""
    category = "AzureRBACRoleManagementElevateAccess"
    record = changed(None, None, targetResources=[], category=category)
    record |= {
        "operationName": "User has elevated their access to User Access Administrator for their "
        "Azure Resources"
    }
    row = {**table_row(record), "Category": category}
    for told in (record, row, graph_entry(record)):
        (activity,) = read(told)
        assert (activity.topic, activity.principal) == (Topic.ELEVATED_ACCESS, PRINCIPAL)
        assert activity.succeeded


@pytest.mark.parametrize(
    ("operation", "named"),
    [
        ("Update application \u2013 Certificates and secrets management ", "KeyDescription"),
        ("Add service principal credentials", "KeyDescription"),
        ("Update application", "KeyDescription"),
        ("Add owner to application", "Application.ObjectID"),
        ("Add app role assignment to service principal", "AppRole.Value"),
        ("Add delegated permission grant", "DelegatedPermissionGrant.Scope"),
        ("Add member to role", "Role.DisplayName"),
        ("The role assignment of User Access Administrator has been removed from the user", ""),
    ],
)
def test_what_names_a_credential_key_or_role_is_kept_without_its_values(
    operation: str, named: str
) -> None:
    """It says which properties changed, of which application, and by whom."""
    properties = [{"displayName": named, "oldValue": None, "newValue": "the-value"}]
    target = {"id": APPLICATION, "type": "Application", "modifiedProperties": properties}
    record = changed(None, None, targetResources=[target]) | {"operationName": operation}
    (activity,) = read(record)
    assert (activity.topic, activity.principal) == (Topic.OTHER, PRINCIPAL)
    assert activity.resource == f"directory/{APPLICATION}"
    assert activity.facts["changed"] == [named]
    assert activity.facts["targets"] == [f"Application {APPLICATION}"]
    assert b"the-value" not in encode_event(activity)


@pytest.mark.parametrize("operation", ["Add user", "Update user", "Change password (self-service)"])
def test_the_life_of_people_in_the_directory_is_of_no_concern(operation: str) -> None:
    """It names no application's credential, and no role."""
    properties = [{"displayName": "AssignedPlan", "oldValue": "[]", "newValue": "[1]"}]
    target = {"id": PRINCIPAL, "type": "User", "modifiedProperties": properties}
    record = changed(None, None, targetResources=[target]) | {"operationName": operation}
    assert read(record) == ()
