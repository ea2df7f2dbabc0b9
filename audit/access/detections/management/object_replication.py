"""17: object replication set up: storage itself copies all that is written."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.detection import Detection, EventContext
from audit.access.model.findings import make_finding
from audit.access.model.sightings import is_news
from audit.access.parsers.activity_facts import actor_text, fact_text, is_delete
from core.weights.documents.events import Activity, Finding, Severity, Topic


class ObjectReplicationState(msgspec.Struct):
    """What this detection remembers."""

    raised: dict[str, int] = {}


def _see(event: Activity, state: ObjectReplicationState, known: EventContext) -> Sequence[Finding]:
    if not known.done or is_delete(event):
        return ()
    source, destination = fact_text(event, "source"), fact_text(event, "destination")
    if destination == event.account and source and source != event.account:
        # Into this account: whoever reads the other one is seen there.
        accounts = {store.spec.account for store in known.surroundings.stores.values()}
        if source not in accounts:
            return ()
    name = f"{source or event.account} {destination} {known.day}"
    if not is_news(state.raised, name):
        return ()
    held = {store.spec.account for store in known.surroundings.stores.values()}
    severity = Severity.HIGH if destination in held else Severity.CRITICAL
    containers = event.facts.get("containers") or ()
    return [
        make_finding(
            DETECTION,
            event,
            known,
            (name,),
            severity,
            f"Object replication from {source or event.account} to {destination or 'elsewhere'}",
            f"Containers: {', '.join(map(str, containers)) or 'not told'}. The target "
            + ("has" if destination in held else "has no")
            + f" WeightStore. Set up by {actor_text(event)}. Storage copies what is written from "
            "now on, and what is there if told so; no read shows it.",
        )
    ]


DETECTION: Final = Detection(
    id="object-replication",
    number=17,
    title="Object replication set up",
    about="A replication policy was written at an account of a WeightStore: critical where the "
    "target has no WeightStore of its own, else high. Once for source, target and day (the policy "
    "is written at both ends). Deleting a policy is quiet, and so is replication into an account "
    "from one that holds no weights.",
    severity=Severity.CRITICAL,
    techniques=("T1537", "T1020", "AML.T0025"),
    needs=("Azure's Activity log",),
    blind=("a policy that was there before the log", "copies by a service: see detection 7"),
    remedy="Delete the policy at the source account, delete the copies, and set "
    "allowCrossTenantReplication to false.",
    bound="4096 findings",
    begin=ObjectReplicationState,
    see=_see,
    topics=frozenset({Topic.REPLICATION}),
)
