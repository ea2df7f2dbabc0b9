"""The status of an allowlist: its conditions, and Events on their changes. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from control.events import build_event
from core.approvals.break_glass_egress import BreakGlassOpening, describe_openings
from core.base import names
from core.base.safe_text import shorten
from core.egress.allowlists import KIND
from core.egress.enrolment import Closure
from core.kubernetes.conditions import Condition, stamp_condition
from egress.model.openings import Addresses, Name, Opening, Problem, Service
from kube.egress.watch import Intent, IntentStatus

READY: Final = "Ready"
APPROVED: Final = "Approved"
WARNED: Final = "Warned"
EVICTED: Final = "Evicted"
LEARNING: Final = "Learning"
"""Condition, and reason of Ready and of problems, while more of a name may come than is known."""

OPEN: Final = "Open"
_LONGEST: Final = 1000
_UNTOLD: Final = frozenset({"Deleted", "NotEnrolled"})
_AT_FIRST: Final = frozenset({"Closed", "PartlyOpen", LEARNING})
_WHOLE: Final = ("Deleted", "Expired", "NotApproved")
"""Reasons of problems that close all of an allowlist."""


@dataclass(frozen=True)
class AllowlistSituation:
    """How an allowlist stands, as of one look at its namespace."""

    closure: Closure
    openings: tuple[Opening, ...] = ()
    """What is open now, by the policies."""
    problems: tuple[Problem, ...] = ()
    """Of its meaning, and of what the engine cannot say."""
    broad: str = ""
    """What of it needs approval; empty for nothing."""
    failures: tuple[str, ...] = ()
    """Writes that failed."""
    taken: tuple[str, ...] = ()
    """Names that policies of others have."""
    notes: tuple[str, ...] = ()
    """What could not be asked again just now, so that an older answer counts."""
    evicted: Condition | None = None
    """How far its eviction is, once it has expired."""
    opened: tuple[BreakGlassOpening, ...] = ()
    """What BreakGlasses open of the namespace beside."""
    unopened: str = ""
    """Which BreakGlasses open not all that they say, and why; empty for none."""


def status_of(intent: Intent, situation: AllowlistSituation, now: float) -> IntentStatus:
    """Return the status; the one that it has, where nothing of it has changed."""
    conditions = (
        _ready(intent, situation),
        _approved(situation),
        _warned(intent, situation),
        *_learning(intent, situation),
        *((situation.evicted,) if situation.evicted else ()),
    )
    stamped = tuple(
        stamp_condition(each, intent.status.condition(each.type), intent.generation, now)
        for each in conditions
    )
    return IntentStatus(intent.generation, _addresses(situation.openings), stamped)


def _ready(intent: Intent, situation: AllowlistSituation) -> Condition:
    reason, message = _closed(intent, situation)
    if reason:
        return Condition(READY, "False", reason, message)
    return Condition(READY, "True", OPEN, "all that it names is open")


def _closed(intent: Intent, situation: AllowlistSituation) -> tuple[str, str]:
    """Return the reason why not all of it is open, and what to tell; nothing where all is."""
    closing = [each for each in situation.problems if each.closes]
    whole = next((each.reason for each in closing if each.reason in _WHOLE), "")
    part = "PartlyOpen" if situation.openings else "Closed"
    taken = ", ".join(situation.taken)
    outside = f"the namespace is not enrolled ({names.EGRESS_LABEL}: deny): all is open there"
    if situation.closure.labels_pods:
        outside = f"the namespace is audited ({names.EGRESS_LABEL}: audit): all is open there"
    beside = not (situation.closure.is_whole or situation.openings or closing)
    if situation.closure.closes and beside:
        outside = "the namespace is audited, and none of its workloads that are closed is here"
    found = (
        ("Invalid", intent.problem),
        ("NotEnrolled", outside if beside or not situation.closure.closes else ""),
        (whole, _cut(_texts(closing)) if whole else ""),
        ("NameTaken", f"policies of others have the names {taken}: rename them" if taken else ""),
        ("NotWritten", _cut(situation.failures)),
        (part, _cut(_texts(closing))),
        (LEARNING, _cut(_texts(_of_learning(situation)))),
    )
    reason, message = next((each for each in found if each[1]), ("", ""))
    glass = _by_break_glass(intent, situation) if reason and situation.closure.closes else ""
    return reason, _cut([*filter(None, (glass,)), message])


def _approved(situation: AllowlistSituation) -> Condition:
    if not situation.broad:
        return Condition(APPROVED, "True", "NotNeeded", "no destination is broader than the limit")
    waiting = any(
        each.reason == "NotApproved" and (not each.path or each.path.endswith("].dnsName"))
        for each in situation.problems
    )
    if waiting:
        return Condition(APPROVED, "False", "NotApproved", _cut([situation.broad]))
    return Condition(APPROVED, "True", "TwoPeople", _cut([situation.broad]))


def _learning(intent: Intent, situation: AllowlistSituation) -> Iterator[Condition]:
    """Yield the condition of allowlists that have names which are learnt, or had one."""
    if told := _texts(_of_learning(situation)) if situation.closure.labels_pods else []:
        yield Condition(LEARNING, "True", "NotSettled", _cut(told))
    elif intent.status.condition(LEARNING) is not None:
        yield Condition(LEARNING, "False", "Settled", "")


def _of_learning(situation: AllowlistSituation) -> list[Problem]:
    return [each for each in situation.problems if each.reason == LEARNING]


def _warned(intent: Intent, situation: AllowlistSituation) -> Condition:
    warnings = [each for each in situation.problems if not each.closes and each.reason != LEARNING]
    glass = _by_break_glass(intent, situation)
    told = [*filter(None, (glass, situation.unopened)), *_texts(warnings), *situation.notes]
    if told:
        return Condition(WARNED, "True", "SeeMessage", _cut(told))
    return Condition(WARNED, "False", "Nothing", "")


def _by_break_glass(intent: Intent, situation: AllowlistSituation) -> str:
    """Say what BreakGlasses open to Pods that the allowlist may be for; empty for nothing."""
    spec = intent.allowlist.spec if intent.allowlist else None
    workloads = [(each.kind, each.name) for each in (spec and spec.workloads) or ()]
    return describe_openings(each for each in situation.opened if each.concerns(workloads))


def _texts(problems: Iterable[Problem]) -> list[str]:
    return [f"{each.path}: {each.message}" if each.path else each.message for each in problems]


def _cut(texts: Sequence[str]) -> str:
    return shorten("; ".join(dict.fromkeys(texts)), _LONGEST, " …")


def _addresses(openings: Iterable[Opening]) -> int:
    """Count the networks and addresses that are open."""
    found: set[object] = set()
    for opening in openings:
        match opening.peer:
            case Addresses(blocks):
                found.update(blocks)
            case Name():
                found.update(opening.peer.addresses)
            case Service():
                found.update(each for one in opening.peer.backends for each in one.addresses)
    return len(found)


def status_changes(before: IntentStatus, after: IntentStatus) -> Iterator[tuple[str, str, str]]:
    """Yield what people are told of a change: type, reason and message of an Event.

    That all is open is told where it was not before. That somebody deletes it or has not enrolled
    the namespace is not, nor what is closed at first: names and rights are still being asked for.
    """
    was, now = before.condition(READY), after.condition(READY)
    if now is None or (was is not None and (was.status, was.reason) == (now.status, now.reason)):
        return
    if now.status == "True":
        if was is not None and was.reason != "NotEnrolled":
            yield "Normal", now.reason, now.message
    elif now.reason not in _UNTOLD and not (was is None and now.reason in _AT_FIRST):
        yield "Warning", now.reason, now.message


def allowlist_event(intent: Intent, what: tuple[str, str, str], now: float) -> dict[str, Any]:
    """Return the Event (core v1) of a change; the same one has the same name, and is kept once."""
    kind, reason, message = what
    involved = {
        "apiVersion": names.API_VERSION,
        "kind": KIND,
        "name": intent.name,
        "namespace": intent.namespace,
        "uid": intent.uid,
    }
    return build_event(involved, (kind, reason, message), now)


def openings_of(openings: Iterable[Opening]) -> dict[str, tuple[Opening, ...]]:
    """Return the openings of each allowlist."""
    found: dict[str, list[Opening]] = {}
    for each in openings:
        found.setdefault(each.allowlist, []).append(each)
    return {name: tuple(some) for name, some in found.items()}
