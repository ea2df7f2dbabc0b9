"""27: a container, an account or a resource group with weights, deleted by Resource Manager."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.detection import Detection, EventContext, ResponseStep
from audit.access.model.findings import make_finding
from audit.access.model.scopes import stores_under
from audit.access.model.sightings import is_news
from audit.access.parsers.activity_facts import actor_text, fact_text
from core.weights.documents.events import Activity, Finding, Severity, Topic
from core.weights.stores import WeightStore

_MOST_NAMED: Final = 5

_NAMED: Final = {
    "container": "The container",
    "account": "The account",
    "group": "The resource group",
}
_ROLLBACK: Final = "rollback"

_RECOVERY: Final = {
    "container": "Container soft delete keeps it for the days that were set; without it the blobs "
    "are gone.",
    "account": "Azure can bring back an account within 14 days, if no other one took its name and "
    "its key vault still is there.",
    "group": "Make the resource group again under its name, then recover the accounts in it within "
    "14 days.",
}


class StorageDeletedState(msgspec.Struct):
    """What this detection remembers."""

    raised: dict[str, int] = {}


def _see(event: Activity, state: StorageDeletedState, known: EventContext) -> Sequence[Finding]:
    kind = fact_text(event, "kind")
    if kind == _ROLLBACK:
        return _rolled_back(event, state, known)
    stores = _stores_in(kind, event, known)
    level = 1 + known.done
    if not stores or not is_news(state.raised, f"{event.resource} {known.day}", level):
        return ()
    severity = _severity_of(kind, event, stores, known)
    names = ", ".join(store.name for store in stores[:_MOST_NAMED])
    what = f"{_NAMED[kind]} {event.resource.rsplit('/', 1)[-1]}"
    did = "was deleted" if known.done else "was to be deleted, and is still there"
    finding = make_finding(
        DETECTION,
        event,
        known,
        (event.resource, str(known.day), str(level)),
        severity,
        f"{what} of {names} {did}",
        f"By {actor_text(event)}: {event.operation} at {event.resource}. WeightStores in it: "
        f"{names}. {_RECOVERY[kind] if known.done else 'A lock or a missing right stopped it.'}",
    )
    return [msgspec.structs.replace(finding, store=stores[0].name, account=stores[0].spec.account)]


def _rolled_back(
    event: Activity, state: StorageDeletedState, known: EventContext
) -> Sequence[Finding]:
    """Say that blobs are as they were at an earlier time: what was written since is gone."""
    name = f"{_ROLLBACK} {event.resource} {known.day}"
    if not known.done or not event.store or not is_news(state.raised, name):
        return ()
    return [
        make_finding(
            DETECTION,
            event,
            known,
            (name,),
            Severity.MEDIUM,
            f"Blobs of {event.account} were rolled back to an earlier time",
            f"By {actor_text(event)}: {event.operation} at {event.resource}. What was written "
            "since is deleted, and older bytes are served again.",
        )
    ]


def _stores_in(kind: str, event: Activity, known: EventContext) -> list[WeightStore]:
    if kind == "container":
        held = known.surroundings.stores.get(event.store)
        return [held] if held else []
    found = list(stores_under(event.resource, event, known))
    sure = [store for store in found if event.account or store.spec.resource_id]
    return sure or found


def _severity_of(
    kind: str, event: Activity, stores: Sequence[WeightStore], known: EventContext
) -> Severity:
    if not known.done:
        return Severity.MEDIUM
    if kind == "container":
        return Severity.HIGH
    is_sure = bool(event.account) or bool(stores[0].spec.resource_id)
    return Severity.CRITICAL if is_sure else Severity.MEDIUM


DETECTION: Final = Detection(
    id="storage-deleted",
    number=27,
    title="A container, an account or a resource group with weights deleted",
    about="Azure Resource Manager deleted what holds the blobs of a WeightStore: the storage "
    "account or its resource group (critical), or a container (high). What was tried and failed, "
    "because of a lock or a missing right, is medium; so is a resource group of which nobody can "
    "tell whether the account of a WeightStore without resourceId lies in it, and a restore to an "
    "earlier point in time, which deletes what was written since. Once for resource and day.",
    severity=Severity.CRITICAL,
    techniques=("T1485", "T1490", "T1489"),
    needs=(
        "Azure's Activity log of the accounts' subscriptions",
        "resourceId of the WeightStore for resource groups",
    ),
    blind=(
        "containers and blobs that are deleted over storage's own interface: the StorageDelete "
        "log has those",
        "a subscription that is cancelled; for a key vault that is purged see detection 29",
    ),
    fires=(
        "`Microsoft.Storage/storageAccounts/delete` of the account: critical",
        "`Microsoft.Resources/subscriptions/resourceGroups/delete` of its group: critical",
        "`Microsoft.Storage/storageAccounts/blobServices/containers/delete` of a container that "
        "a WeightStore names: high",
        "one of them that ends with `Failure` (`ScopeLocked`): medium",
        "`Microsoft.Storage/storageAccounts/restoreBlobRanges/action` of the account: medium",
    ),
    quiet=(
        "an account, a container or a group in which no WeightStore has anything",
        "the record that says that a deletion began (`Start`, `Accept`)",
    ),
    remedy="Recover it first, then look for who did it: the days in which that is possible run.",
    steps=(
        ResponseStep(5, "Block the principal that did it, and revoke its sessions and secrets."),
        ResponseStep(
            15,
            "Put a lock (`CanNotDelete`) on what is left, and make no account, group or container "
            "of the deleted one's name.",
        ),
        ResponseStep(
            30,
            "Recover: `Restore-AzStorageContainer` or *Deleted containers*; for an account "
            "*Restore deleted account* in the portal; for a group, make it again first.",
        ),
        ResponseStep(
            60, "Compare what came back with the last inventory, and the digests of checkpoints."
        ),
    ),
    recoverable="A container for as long as container soft delete keeps it (1 to 365 days, if it "
    "was on before). An account mostly within 14 days, if it was made by Azure Resource Manager, "
    "its name is free, its resource group exists and the key vault of its key does; Microsoft "
    "promises no success. Blobs in a recovered account are as they were. Without these only "
    "copies elsewhere are left.",
    bound="4096 findings",
    begin=StorageDeletedState,
    see=_see,
    topics=frozenset({Topic.DELETION}),
)
