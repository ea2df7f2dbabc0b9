"""32: a custom role that reaches blobs or keys; access elevated over everything."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.detection import Detection, EventContext, ResponseStep
from audit.access.model.findings import make_finding
from audit.access.model.scopes import stores_under
from audit.access.model.sightings import MOST_RAISED, is_news, touch
from audit.access.parsers.activity_facts import actor_text, fact_text, is_delete
from core.weights.documents.events import Activity, Finding, Severity, Topic

_OF_BLOBS: Final = frozenset({"read blobs", "write blobs", "delete blobs", "set access of blobs"})


class CustomRoleState(msgspec.Struct):
    """What this detection remembers."""

    roles: dict[str, list[str]] = {}
    """By role, what it lets do and where: `WORD at SCOPE`."""
    raised: dict[str, int] = {}


def _see(event: Activity, state: CustomRoleState, known: EventContext) -> Sequence[Finding]:
    if event.topic is Topic.ELEVATED_ACCESS:
        return _elevated(event, state, known)
    role = fact_text(event, "role")
    if not known.done:
        return ()
    if is_delete(event):
        state.roles.pop(role, None)
        return ()
    if not event.facts.get("body"):
        return _untold(event, state, known)
    opens, scopes = _texts(event, "opens"), _texts(event, "scopes") or ["/"]
    kept = touch(state.roles, role, list, MOST_RAISED)
    before = set(kept)
    kept[:] = [f"{word} at {scope}" for word in opens for scope in scopes]
    stores = sorted(
        {
            store.name
            for scope in scopes
            if any(f"{word} at {scope}" not in before for word in opens)
            for store in stores_under(scope, event, known)
        }
    )
    new = sorted({one.partition(" at ")[0] for one in kept if one not in before})
    if not stores or not new:
        return ()
    severity = Severity.HIGH if _OF_BLOBS.intersection(new) else Severity.MEDIUM
    finding = make_finding(
        DETECTION,
        event,
        known,
        (role, *kept, str(known.day)),
        severity,
        f"A custom role was written that may {', '.join(new)}",
        f"By {actor_text(event)}: {event.operation}. Role {role}, which may be assigned at "
        f"{', '.join(scopes)}, may now {', '.join(new)}. Stores there: {', '.join(stores[:5])}. "
        "Who has the role already has this at once.",
    )
    return [msgspec.structs.replace(finding, store=stores[0])]


def _untold(event: Activity, state: CustomRoleState, known: EventContext) -> Sequence[Finding]:
    name = f"{event.resource} {known.day}"
    if not is_news(state.raised, name):
        return ()
    return [
        make_finding(
            DETECTION,
            event,
            known,
            (name,),
            Severity.MEDIUM,
            "A custom role was written, and the log does not say what it may do",
            f"By {actor_text(event)}: {event.operation} at {event.resource}.",
        )
    ]


def _elevated(event: Activity, state: CustomRoleState, known: EventContext) -> Sequence[Finding]:
    name, level = f"elevated {known.who} {known.day}", 1 + known.done
    if not is_news(state.raised, name, level):
        return ()
    did = "took the right to give roles" if known.done else "tried to take the right to give roles"
    return [
        make_finding(
            DETECTION,
            event,
            known,
            (name, str(level)),
            Severity.HIGH if known.done else Severity.MEDIUM,
            f"A Global Administrator {did} in all subscriptions",
            f"By {actor_text(event)}: {event.operation}. User Access Administrator at the root "
            "scope gives any role on any store, to anybody.",
        )
    ]


def _texts(event: Activity, name: str) -> list[str]:
    told = event.facts.get(name)
    return [str(one) for one in told] if isinstance(told, list) else []


DETECTION: Final = Detection(
    id="custom-role",
    number=32,
    title="A custom role that reaches weights, or access elevated",
    about="A custom role was written that may be assigned at a store or above it, and lets do with "
    "blobs what it did not let do before: read, write, delete them, or set their access (high). "
    "What lists keys, issues SAS, deletes accounts or gives roles is medium. What the role let do "
    "before is remembered: writing the same again is quiet; a role of which the log does not say "
    "what it may do is medium. Also that a Global Administrator "
    "elevated access (`elevateAccess`): high, and medium where it was refused.",
    severity=Severity.HIGH,
    techniques=("T1098.003", "T1098.001", "T1548.005"),
    needs=(
        "Azure's Activity log; for elevateAccess that of the tenant, or Entra ID's AuditLogs",
        "resourceId of the WeightStore for scopes below a subscription",
    ),
    blind=(
        "what a custom role let do before the log",
        "conditions on data actions: a role counts as if it had none",
        "eligible roles until they are activated",
    ),
    fires=(
        "`Microsoft.Authorization/roleDefinitions/write` with `dataActions` "
        "`Microsoft.Storage/*` and `assignableScopes` of the store's subscription: high",
        "the same for a role that had `…/blobs/read` and now has `…/blobs/delete` too: high",
        "the same with `actions` `Microsoft.Storage/storageAccounts/listKeys/action`: medium",
        "`Microsoft.Authorization/elevateAccess/action`: high",
        "Entra ID's *User has elevated their access to User Access Administrator for their Azure "
        "Resources*: high, once with the record of the Activity log",
    ),
    quiet=(
        "a role for machines or networks alone, one whose `notDataActions` take the blobs out "
        "again",
        "the same definition written again, as Terraform does",
        "a role that may be assigned only where no WeightStore lies; deletion of a role",
    ),
    remedy="Take the actions out of the role, and look at who has it and what they did.",
    steps=(
        ResponseStep(
            10,
            "Take the data actions out of the role, or remove its assignments; of elevated access "
            "remove the assignment at `/` (`az role assignment delete --scope /`).",
        ),
        ResponseStep(
            15, "Block the principal that did it, if nobody who may do so says that they did."
        ),
        ResponseStep(
            30, "List role assignments since, everywhere: elevated access may have made others."
        ),
        ResponseStep(60, "Look at accesses of all who have the role since it was written."),
    ),
    recoverable="The role and its assignments: the Activity log has the request for the definition "
    "of before for 90 days. What was read by it is disclosed; for what was deleted see detections "
    "6 and 20.",
    bound="4096 roles and as many findings",
    begin=CustomRoleState,
    see=_see,
    topics=frozenset({Topic.ROLE_DEFINITION, Topic.ELEVATED_ACCESS}),
)
