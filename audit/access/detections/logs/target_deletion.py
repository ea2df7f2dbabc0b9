"""33: where the logs go, deleted: the Event Hub, the workspace, the account, their container."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from audit.access.model.detection import Detection, EventContext, ResponseStep
from audit.access.model.findings import make_finding
from audit.access.model.scopes import is_subscription_or_above
from audit.access.model.sightings import MOST_RAISED, is_news, touch
from audit.access.parsers.activity_facts import actor_text, fact_text, is_delete
from core.weights.documents.events import Activity, Finding, Severity, Topic

_LOG_CONTAINER: Final = "insights-logs-"
"""How Azure Monitor names the containers that it writes ("Resource log destinations")."""

_TARGETS: Final = ("targetAccount", "targetWorkspace", "targetHub", "targetRule")
_SETTINGS: Final = "/providers/microsoft.insights/diagnosticsettings/"
_WORDS: Final = {
    "namespace": "The Event Hubs namespace",
    "hub": "The Event Hub",
    "rule": "The authorization rule of Event Hubs",
    "workspace": "The Log Analytics workspace",
    "account": "The storage account",
    "container": "The container",
    "group": "The resource group",
}


class LogTargetDeletedState(msgspec.Struct):
    """What this detection remembers."""

    targets: dict[str, list[str]] = {}
    """By diagnostic setting, the resource ids of where it sends logs."""
    accounts: dict[str, int] = {}
    """Accounts of stores of which a setting was seen, with its day."""
    raised: dict[str, int] = {}


def _see(event: Activity, state: LogTargetDeletedState, known: EventContext) -> Sequence[Finding]:
    if event.topic is Topic.DIAGNOSTICS:
        _note_targets(event, state, known)
        return ()
    kind = fact_text(event, "kind")
    level = 1 + known.done
    judged = _judge(kind, event, state, known)
    if not judged or not is_news(state.raised, f"{event.resource} {known.day}", level):
        return ()
    severity, why = judged
    what = f"{_WORDS.get(kind, 'The workspace')} {event.resource.rsplit('/', 1)[-1]}"
    did = "had logs purged" if kind == "purge" else "was deleted"
    if not known.done:
        did = "was to be purged of logs" if kind == "purge" else "was to be deleted"
    return [
        make_finding(
            DETECTION,
            event,
            known,
            (event.resource, str(known.day), str(level)),
            severity,
            f"{what} {did}: {why}",
            f"By {actor_text(event)}: {event.operation} at {event.resource}. {why[0].upper()}"
            f"{why[1:]}. Diagnostic settings stay as they are, and what they send goes nowhere.",
        )
    ]


def _note_targets(event: Activity, state: LogTargetDeletedState, known: EventContext) -> None:
    """Remember where the settings of stores' accounts and of subscriptions send logs."""
    above = event.resource.partition(_SETTINGS)[0]
    held = {store.spec.account for store in known.surroundings.stores.values()}
    if not known.done or (event.account not in held and not is_subscription_or_above(above)):
        return
    if is_delete(event):
        state.targets.pop(event.resource, None)
        return
    told = [where for name in _TARGETS if (where := fact_text(event, name))]
    if told:
        touch(state.targets, event.resource, list, MOST_RAISED)[:] = told
        if event.account:
            touch(state.accounts, event.account, int, MOST_RAISED)
            state.accounts[event.account] = known.day


def _judge(
    kind: str, event: Activity, state: LogTargetDeletedState, known: EventContext
) -> tuple[Severity, str] | None:
    is_log_container = kind == "container" and event.container.startswith(_LOG_CONTAINER)
    if kind == "container" and not is_log_container:
        return None
    resource = event.resource.partition("/blobservices/")[0]
    senders = sorted(_senders(resource, state))
    if senders:
        severity = Severity.CRITICAL if known.done else Severity.MEDIUM
        return severity, f"logs of {', '.join(senders[:3])} go there"
    if not known.done or kind in {"account", "group", "rule"}:
        return None
    held = {store.spec.account for store in known.surroundings.stores.values()}
    if is_log_container:
        return Severity.MEDIUM, "it holds logs that Azure exported"
    if held <= state.accounts.keys():
        return None
    return Severity.MEDIUM, "nobody told where the logs of all stores go, so it may be there"


def _senders(resource: str, state: LogTargetDeletedState) -> Iterator[str]:
    """Yield what sends logs to a resource, or to something in it."""
    for setting, targets in state.targets.items():
        if any(
            f"{target}/".startswith(f"{resource}/") or resource.startswith(f"{target}/eventhubs/")
            for target in targets
        ):
            above = setting.partition(_SETTINGS)[0]
            yield above.partition("/blobservices/")[0].rsplit("/", 1)[-1] or above


DETECTION: Final = Detection(
    id="log-target-deleted",
    number=33,
    title="The place where logs go deleted",
    about="The Event Hub, its namespace or authorization rule, the Log Analytics workspace, the "
    "storage account or the resource group to which a diagnostic setting of a store's account or "
    "of a subscription sends logs was deleted, or logs in it were purged: critical, and medium "
    "where it was tried and failed. Settings are remembered as they are written. Until one was "
    "seen for each store's account, an Event Hub or a workspace that is deleted may be theirs "
    "(medium), and so may a container `insights-logs-…`; after that, others are quiet.",
    severity=Severity.CRITICAL,
    techniques=("T1562.008", "T1070", "T1485"),
    needs=(
        "Azure's Activity log of the subscriptions in which the logs are kept",
        "a diagnostic setting that was written since the log began",
    ),
    blind=(
        "targets of settings from before the log: such a storage account is not known",
        "blobs of logs that are deleted over storage's own interface: make their container "
        "immutable",
        "an Event Hub whose messages run out unread: detection 14 sees the gap",
    ),
    fires=(
        "`Microsoft.EventHub/namespaces/delete` of the namespace in a setting's "
        "`eventHubAuthorizationRuleId`: critical",
        "`Microsoft.OperationalInsights/workspaces/delete` or `…/purge/action` of a setting's "
        "`workspaceId`: critical",
        "`Microsoft.Storage/storageAccounts/delete` of a setting's `storageAccountId`, or "
        "`Microsoft.Resources/subscriptions/resourceGroups/delete` of a group that holds one: "
        "critical",
        "`Microsoft.EventHub/namespaces/delete` of any, while no setting was seen: medium",
    ),
    quiet=(
        "an Event Hub or workspace to which no store sends logs, once their settings were seen",
        "storage accounts and groups that are no target",
        "settings that Azure Policy writes",
    ),
    remedy="Make it again, under the same name, and count the hours between as a gap.",
    steps=(
        ResponseStep(
            10,
            "Make the target again with the same name, or point the diagnostic settings elsewhere: "
            "records of in between are lost.",
        ),
        ResponseStep(15, "Block the principal that did it, and look at what it did at the stores."),
        ResponseStep(
            30,
            "Recover: a workspace within 14 days, a storage account mostly within 14 days, a "
            "container while soft delete keeps it.",
        ),
        ResponseStep(
            60,
            "Take in what came back (`sallyport weights ingest`), and read the metrics of the "
            "accounts for transactions and egress in the gap.",
        ),
    ),
    recoverable="A deleted workspace with its logs within 14 days, unless it was deleted for good; "
    "a storage account mostly within 14 days; a container while soft delete keeps it. An Event Hub "
    "comes back empty. Purged logs are gone, and what was sent while there was no target too. What "
    "the ledger took in before stays.",
    bound="4096 settings and as many findings",
    begin=LogTargetDeletedState,
    see=_see,
    topics=frozenset({Topic.DIAGNOSTICS, Topic.LOG_TARGET, Topic.DELETION}),
)
