"""Records as Entra ID's diagnostic settings send them to an event hub, with canaries in them."""

import json
from typing import Any, Final

TENANT: Final = "5611623b-9128-461e-9d7f-a0d9c270ead2"
PERSON: Final = "51e26eae-d07b-44e5-bb0b-249f49569a8c"
EVENT: Final = "ce0ed07f9ccf5be15e4b97d2979af6569b1f67db87ddc9b88b5bb743ea091e47"
CANARIES: Final = ("Ada Canary", "ada.canary@example.com", "203.0.113.7", "Canary Town")

USER: Final[dict[str, Any]] = {
    "time": "8/22/2022 6:11:52 PM",
    "resourceId": f"/tenants/{TENANT}/providers/microsoft.aadiam",
    "operationName": "Risky user",
    "category": "RiskyUsers",
    "tenantId": TENANT,
    "durationMs": 0,
    "identity": CANARIES[0],
    "Level": 4,
    "properties": {
        "id": PERSON,
        "userDisplayName": CANARIES[0],
        "userPrincipalName": CANARIES[1],
        "riskLastUpdatedDateTime": "2022-08-22T18:11:52.702Z",
        "riskState": "atRisk",
        "riskDetail": "none",
        "riskLevel": "medium",
        "isDeleted": False,
        "isProcessing": False,
    },
}
DETECTION: Final[dict[str, Any]] = {
    "time": "8/22/2022 6:07:16 PM",
    "operationName": "User Risk Detection",
    "category": "UserRiskEvents",
    "tenantId": TENANT,
    "callerIpAddress": CANARIES[2],
    "properties": {
        "id": EVENT,
        "riskType": "anonymizedIPAddress",
        "riskEventType": "anonymizedIPAddress",
        "riskState": "atRisk",
        "riskLevel": "high",
        "ipAddress": CANARIES[2],
        "location": {"city": CANARIES[3]},
        "activityDateTime": "2022-08-22T18:05:06.133Z",
        "lastUpdatedDateTime": "2022-08-22T18:07:16.894Z",
        "userId": PERSON,
        "userPrincipalName": CANARIES[1],
    },
}


def changed(record: dict[str, Any], *gone: str, **properties: Any) -> dict[str, Any]:
    """Return a record with other properties, and without some of its own fields."""
    kept = {name: value for name, value in record.items() if name not in gone}
    return {**kept, "properties": {**record["properties"], **properties}}


def without(record: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a record that lacks a property."""
    properties = {key: value for key, value in record["properties"].items() if key != name}
    return {**record, "properties": properties}


def message(*records: Any) -> bytes:
    """Wrap records as Event Hubs has them."""
    return json.dumps({"records": records}).encode()
