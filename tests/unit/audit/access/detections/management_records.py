"""Records of management that stories of several folders are told with.

In the form of an export of Azure's activity log. Operations and bodies are those of Microsoft's
REST reference and of its list of permissions.
"""

from collections.abc import Sequence
from typing import Any, Final

from audit.access.model.detection import Event
from audit.access.model.findings import moment_text
from audit.access.parsers.activity_log import BegunOperations, activities_of
from audit.access.parsers.caller_networks import CallerLocator, CallerNetworks
from audit.access.parsers.store_index import WeightStores
from core.weights.documents.events import Activity, Topic
from tests.unit.audit.access.detections.events import BOB, OWN_SUBSCRIPTION, Around, activity, at
from tests.unit.audit.access.parsers.activity_records import exported


def changed(topic: Topic, day: float = 1, **facts: Any) -> Activity:
    """Make an activity with these facts."""
    return activity(at(day), topic, facts=facts)


GROUP: Final = f"/subscriptions/{OWN_SUBSCRIPTION}/resourceGroups/weights"
PROVIDERS: Final = f"{GROUP}/providers"
ACCOUNT: Final = f"{PROVIDERS}/Microsoft.Storage/storageAccounts/weightsa"
STORAGE: Final = "Microsoft.Storage/storageAccounts"
CONTAINERS: Final = "/blobServices/default/containers"
_OBJECT_ID: Final = "http://schemas.microsoft.com/identity/claims/objectidentifier"


def logged(
    operation: str,
    resource: str = ACCOUNT,
    body: Any = None,
    *,
    day: float = 1,
    who: str = BOB,
    **fields: Any,
) -> Sequence[Event]:
    """Return the activities of one exported record; `fields` are of `exported`."""
    record = exported(
        operation,
        resource=resource,
        body=body,
        time=moment_text(at(day)),
        correlationId=f"{day}-{operation}",
        identity={"claims": {_OBJECT_ID: who, "appid": who}},
        **fields,
    )
    stores = WeightStores(Around().stores.values())
    callers = CallerLocator(CallerNetworks())
    return activities_of(record, "east", "azure", stores, callers, BegunOperations())


DELETE_GROUP: Final = "Microsoft.Resources/subscriptions/resourceGroups/delete"
DELETE_CONTAINER: Final = f"{STORAGE}/blobServices/containers/delete"

SETTINGS: Final = "Microsoft.Insights/diagnosticSettings"
HUBS: Final = f"{PROVIDERS}/Microsoft.EventHub/namespaces/logs"
WORKSPACE: Final = f"{PROVIDERS}/Microsoft.OperationalInsights/workspaces/sec"
ARCHIVE: Final = f"{PROVIDERS}/Microsoft.Storage/storageAccounts/logarchive"


def sent_to(
    account: str = "weightsa", day: float = 0, hub: str = "storage", **logs: bool
) -> Sequence[Event]:
    """Write a diagnostic setting that sends logs to each kind of target."""
    properties = {
        "eventHubAuthorizationRuleId": f"{HUBS}/authorizationRules/Root",
        **({"eventHubName": hub} if hub else {}),
        "workspaceId": WORKSPACE,
        "storageAccountId": ARCHIVE,
        "logs": [
            {("categoryGroup" if name in {"audit", "allLogs"} else "category"): name, "enabled": on}
            for name, on in (logs or {"audit": True}).items()
        ],
    }
    above = f"{PROVIDERS}/Microsoft.Storage/storageAccounts/{account}/blobServices/default"
    resource = f"{above}/providers/{SETTINGS}/all"
    return logged(f"{SETTINGS}/write", resource, {"properties": properties}, day=day)


TERRAFORM: Final = "55555555-5555-5555-5555-555555555555"


def twice_a_day(operation: str, resource: str, days: int, **fields: Any) -> Sequence[Event]:
    """Do as Terraform does at each plan."""
    return [
        one
        for half in range(2 * days)
        for one in logged(operation, resource, day=1 + half / 2, who=TERRAFORM, **fields)
    ]
