"""Records of Azure's activity log and of kube-apiserver's audit log, as tests change them."""

import json
from typing import Any, Final

from tests.harness.worlds.storage_logs import ACCOUNT, GROUP, PRINCIPAL, SUBSCRIPTION, TENANT

ACCOUNT_ID: Final = (
    f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{GROUP}/providers/Microsoft.Storage"
    f"/storageAccounts/{ACCOUNT}"
)
TOOL: Final = "04b07795-8ddb-461a-bbee-02f9e1bf7b46"
_CLAIMS: Final = "http://schemas.microsoft.com/identity/claims/"
_NAMES: Final = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/"


def claims() -> dict[str, str]:
    """Return the claims of a person's token; names are among them."""
    return {
        "aud": "https://management.core.windows.net/",
        "appid": TOOL,
        f"{_CLAIMS}objectidentifier": PRINCIPAL.upper(),
        f"{_CLAIMS}tenantid": TENANT,
        f"{_NAMES}upn": "grace@example.com",
        f"{_NAMES}givenname": "Grace",
        "name": "Grace",
        "ipaddr": "203.0.113.7",
    }


def exported(
    operation: str = "Microsoft.Storage/storageAccounts/listKeys/action",
    *,
    body: Any = None,
    answer: Any = None,
    resource: str = ACCOUNT_ID,
    result: str = "Success",
    **fields: Any,
) -> dict[str, Any]:
    """Return a record as a diagnostic setting exports it: to blobs, and to Event Hubs."""
    properties: dict[str, Any] = {"statusCode": "OK", "eventCategory": "Administrative"}
    if body is not None:
        properties["requestbody"] = json.dumps(body)
    if answer is not None:
        properties["responseBody"] = json.dumps(answer)
    return {
        "time": "2026-05-01T09:00:00.1234567Z",
        "resourceId": resource.upper(),
        "operationName": operation.upper(),
        "category": "Administrative",
        "resultType": result,
        "resultSignature": "Succeeded.OK",
        "durationMs": "40",
        "callerIpAddress": "203.0.113.7",
        "correlationId": "5f3c0000-0000-4000-8000-000000000001",
        "identity": {"authorization": {"scope": resource, "action": operation}, "claims": claims()},
        "level": "Information",
        "properties": properties,
        **fields,
    }


def from_rest(
    operation: str = "Microsoft.Storage/storageAccounts/listKeys/action",
    *,
    body: Any = None,
    resource: str = ACCOUNT_ID,
    status: str = "Succeeded",
) -> dict[str, Any]:
    """Return a record as the REST API and the portal show it."""
    return {
        "authorization": {"action": operation, "scope": resource},
        "caller": "grace@example.com",
        "channels": "Operation",
        "claims": claims(),
        "correlationId": "5f3c0000-0000-4000-8000-000000000001",
        "eventDataId": "7a000000-0000-4000-8000-000000000001",
        "eventName": {"value": "EndRequest", "localizedValue": "End request"},
        "category": {"value": "Administrative", "localizedValue": "Administrative"},
        "eventTimestamp": "2026-05-01T09:00:00.1234567Z",
        "httpRequest": {"clientIpAddress": "203.0.113.7", "method": "POST"},
        "resourceId": resource,
        "operationName": {"value": operation, "localizedValue": "List Keys"},
        "properties": {"statusCode": "OK", "requestbody": json.dumps(body)} if body else {},
        "status": {"value": status, "localizedValue": status},
    }


def kubernetes(  # noqa: PLR0913  One argument a thing that tests change.
    verb: str = "create",
    resource: str = "pods",
    subresource: str = "",
    *,
    stage: str = "ResponseComplete",
    username: str = "grace@example.com",
    annotations: dict[str, str] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Return an event of the audit log."""
    path = f"/api/v1/namespaces/team/{resource}/train-0"
    return {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": "2b000000-0000-4000-8000-000000000001",
        "stage": stage,
        "requestURI": f"{path}/{subresource}?command=sh&command=-c&container=main",
        "verb": verb,
        "user": {"username": username, "groups": ["system:authenticated"]},
        "sourceIPs": ["203.0.113.7"],
        "userAgent": "kubectl/v1.34",
        "objectRef": {
            "resource": resource,
            "namespace": "team",
            "name": "train-0",
            "uid": "pod-uid",
            "subresource": subresource,
            "apiVersion": "v1",
        },
        "responseStatus": {"metadata": {}, "code": 201},
        "requestReceivedTimestamp": "2026-05-01T09:00:00.123456Z",
        "stageTimestamp": "2026-05-01T09:00:01.123456Z",
        "annotations": {
            "authorization.k8s.io/decision": "allow",
            "validate.sallyport.dev/decision": "01900000-0000-7000-8000-000000000001",
            "validate.sallyport.dev/verdict": "allow",
        }
        if annotations is None
        else annotations,
        **fields,
    }
