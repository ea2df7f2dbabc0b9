"""20: immutability, versioning, soft delete or locks switched off."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.detection import Detection, EventContext
from audit.access.model.findings import make_finding
from audit.access.model.sightings import is_news
from audit.access.parsers.activity_facts import actor_text, is_delete
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Activity, Finding, Severity, Topic

_BACKUP: Final = "backup"
_GRAVE: Final = frozenset({"legalhold", "immutabilitypolicies", "locks", "haslegalhold", _BACKUP})


class ProtectionOffState(msgspec.Struct):
    """What this detection remembers."""

    raised: dict[str, int] = {}


def _see(
    event: Access | Activity, state: ProtectionOffState, known: EventContext
) -> Sequence[Finding]:
    if not known.done:
        return ()
    if isinstance(event, Access):
        what = _BY_REQUEST.get(event.operation.lower(), "")
        where, severity = f"{event.account}/{event.container}", Severity.MEDIUM
        by = known.who
    else:
        what, severity = _of_activity(event)
        where, by = event.account or event.resource, actor_text(event)
    name = f"{where} {event.container} {what} {known.day}"
    if not what or not is_news(state.raised, name):
        return ()
    return [
        make_finding(
            DETECTION,
            event,
            known,
            (name,),
            severity,
            f"{where.rstrip('/').rsplit('/', 1)[-1]}: switched off or shortened: {what}",
            f"By {by}: {event.operation} at {where}. What is deleted or overwritten from now on "
            "may be gone for good.",
        )
    ]


def _of_activity(event: Activity) -> tuple[str, Severity]:
    """Say what an activity switched off, nothing where it did not, and how grave that is."""
    off = [str(one) for one in event.facts.get("off") or ()]
    if not off and is_delete(event):
        off = [str(one) for one in event.facts.get("which") or ("a protection",)]
    if _BACKUP in off and not event.store:
        return "", Severity.MEDIUM
    return ", ".join(off), Severity.HIGH if _GRAVE.intersection(off) else Severity.MEDIUM


_BY_REQUEST: Final = {
    "deleteblobimmutabilitypolicy": "immutability of a blob",
    "deleteimmutabilitypolicy": "immutability",
    "setblobserviceproperties": "perhaps soft delete: the properties of the blob service were set",
}
"""What requests to storage's own interface do; only its own log tells of them."""

DETECTION: Final = Detection(
    id="protection-off",
    number=20,
    title="Immutability, versioning, soft delete or a lock switched off",
    about="What keeps weights, checkpoints and logs from being deleted or overwritten was switched "
    "off, shortened or deleted: immutability policies, legal holds, locks, and the backup of an "
    "account of a WeightStore in a backup vault (high), versioning, soft delete, point-in-time "
    "restore, and what is done over storage's own interface (medium). Switching on is quiet.",
    severity=Severity.HIGH,
    techniques=("T1490", "T1485", "T1070"),
    needs=("Azure's Activity log", "the StorageWrite and StorageDelete logs"),
    blind=(
        "a retention that is made shorter, where the log does not say how long it was",
        "what the properties of the blob service were set to over storage's own interface",
        "a backup vault that is deleted whole, and backups by other products",
        "legal holds of single blobs: the log does not say whether they were set or cleared",
    ),
    remedy="Switch it on again, and look at what was deleted since (detections 21 and 22).",
    bound="4096 findings",
    begin=ProtectionOffState,
    see=_see,
    acts=frozenset({Act.POLICY}),
    topics=frozenset({Topic.PROTECTION}),
)
