"""Stories of logs that are missing, or whose target is deleted."""

from collections.abc import Sequence
from typing import Any, Final

from audit.access.model.detection import Event
from core.weights.documents.access import Access
from core.weights.documents.events import Severity, Topic
from tests.unit.audit.access.detections.events import access, at, gap
from tests.unit.audit.access.detections.examples import fires, quiet
from tests.unit.audit.access.detections.management_records import (
    ARCHIVE,
    CONTAINERS,
    DELETE_CONTAINER,
    DELETE_GROUP,
    GROUP,
    HUBS,
    STORAGE,
    WORKSPACE,
    changed,
    logged,
    sent_to,
)

LOW, MEDIUM, HIGH, CRITICAL = Severity

fires("log-gap", "an hour of storage", lambda: [gap(at(1), at(1, 1))], MEDIUM)
fires("log-gap", "a night of storage", lambda: [gap(at(1), at(1, 9))], HIGH)
fires("log-gap", "the watch of Pods", lambda: [gap(at(1), at(1, 0.1), "pods", "Pod")], LOW)
fires(
    "log-gap",
    "after the log was switched off",
    lambda: [changed(Topic.DIAGNOSTICS, change="delete"), gap(at(1, 1), at(1, 2))],
    HIGH,
)


def flow(days: range, account: str = "weightsa") -> list[Access]:
    """Tell of an account that is read each hour."""
    told = {"account": account, "store": "frontier" if account == "weightsa" else "small"}
    return [access(at(day, hour), **told) for day in days for hour in range(24)]


fires(
    "log-gap",
    "an account falls silent",
    lambda: sorted([*flow(range(20)), *flow(range(22), "weightsb")], key=lambda one: one.time),
    MEDIUM,
)
quiet(
    "log-gap",
    "all are silent over a holiday",
    lambda: sorted(
        [*flow(range(20)), *flow(range(20), "weightsb"), *flow(range(25, 27))],
        key=lambda one: one.time,
    ),
)
quiet("log-gap", "records all the time", lambda: flow(range(20)))
TARGET: Final = "log-target-deleted"


def after_setting(operation: str, resource: str, **fields: Any) -> Sequence[Event]:
    """Do something once it is known where both stores send their logs."""
    return [*sent_to(), *sent_to("weightsb"), *logged(operation, resource, **fields)]


HUB: Final = "Microsoft.EventHub/namespaces"
SPACES: Final = "Microsoft.OperationalInsights/workspaces"

fires(TARGET, "the namespace", lambda: after_setting(f"{HUB}/delete", HUBS), CRITICAL)
fires(
    TARGET,
    "the hub",
    lambda: after_setting(f"{HUB}/eventhubs/delete", f"{HUBS}/eventhubs/storage"),
    CRITICAL,
)
fires(
    TARGET,
    "a hub that Azure named",
    lambda: [
        *sent_to(hub=""),
        *logged(f"{HUB}/eventhubs/delete", f"{HUBS}/eventhubs/insights-logs-storageread"),
    ],
    CRITICAL,
)
fires(
    TARGET,
    "the rule",
    lambda: after_setting(f"{HUB}/authorizationRules/delete", f"{HUBS}/authorizationRules/Root"),
    CRITICAL,
)
fires(TARGET, "the workspace", lambda: after_setting(f"{SPACES}/delete", WORKSPACE), CRITICAL)
fires(TARGET, "a purge", lambda: after_setting(f"{SPACES}/purge/action", WORKSPACE), CRITICAL)
fires(TARGET, "the account", lambda: after_setting(f"{STORAGE}/delete", ARCHIVE), CRITICAL)
fires(TARGET, "their group", lambda: after_setting(DELETE_GROUP, GROUP), CRITICAL)
fires(
    TARGET,
    "a container of logs",
    lambda: after_setting(DELETE_CONTAINER, f"{ARCHIVE}{CONTAINERS}/insights-logs-storageread"),
    CRITICAL,
)
fires(
    TARGET,
    "in vain",
    lambda: after_setting(f"{HUB}/delete", HUBS, result="Failure"),
    MEDIUM,
)
fires(TARGET, "while no setting is known", lambda: logged(f"{HUB}/delete", HUBS), MEDIUM)
quiet(TARGET, "another hub", lambda: after_setting(f"{HUB}/delete", f"{HUBS}-of-others"))
quiet(
    TARGET,
    "another container",
    lambda: after_setting(DELETE_CONTAINER, f"{ARCHIVE}{CONTAINERS}/scratch"),
)
quiet(TARGET, "another account", lambda: logged(f"{STORAGE}/delete", ARCHIVE))
