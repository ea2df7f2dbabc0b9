"""The requester note: what an object must say of who asked for it, and what it may not. Pure.

The note counts only because nobody but the gate decides it: whoever creates an object or changes
its templates is noted, whoever does neither leaves the note as it is, and what a controller makes
carries the note of its root or none. So the note that is nearest on the way from a Pod to its
root is its maker's (docs/adr/0022).
"""

import enum
from collections.abc import Iterator

import msgspec

from core.base import names
from core.decision.decision import Action, Finding
from core.decision.requester_notes import NO_NOTES, RequesterNotes

RULE_REQUESTER = "notes/requester"
RULE_PROFILE = "notes/profile"
RULE_OWNER = "notes/owner"
RULE_GRANTS = "notes/grants"

REQUESTER_PATH = f"metadata.annotations[{names.REQUESTER_ANNOTATION}]"
GRANTS_PATH = f"metadata.annotations[{names.GRANTS_ANNOTATION}]"
PROFILE_PATH = f"metadata.annotations[{names.PROFILE_ANNOTATION}]"

_AGAIN = (
    "Submit it again; if this stays, tell your cluster's operators that Sallyport's mutating "
    "webhook does not run."
)


class NotedChange(enum.Enum):
    """What a request does to an object that carries notes."""

    RENEWED = "renewed"
    """Someone who is no configured controller creates it, or changes its templates."""
    KEPT = "kept"
    """It is updated otherwise, by whomever."""
    MADE = "made"
    """A configured controller creates it, or writes notes on it."""


class NoteChange(msgspec.Struct, frozen=True, gc=False):
    """All that the notes of a request are decided by."""

    change: NotedChange
    requester: str
    """`Subject.label` of who asks."""
    new: RequesterNotes
    old: RequesterNotes = NO_NOTES
    """Of the old object; none where it is created."""
    root: RequesterNotes = NO_NOTES
    """What is noted of the root of what a controller made."""
    workload: bool = True
    """Whether it is a workload, whose notes are demanded; those of a Pod must only not be wrong:
    nothing is traced to a Pod, and its own decision names its maker."""
    copied: bool = False
    """Whether its controller copies the notes together with the templates that they belong to, as
    the Deployment controller does to its ReplicaSets."""
    taken: bool = False
    """Whether its requester, who is no controller, puts it under a controller that made it not."""


def required_notes(change: NoteChange, profile: str | None, grants: str = "") -> dict[str, str]:
    """Return the annotations that the mutating webhook has to set; `profile` is the chosen one.

    `grants` is what is to be noted of AccessGrants; an empty value takes an annotation away.

    What somebody changed without changing the templates is not put right silently: that is
    refused. What was only dropped, as `kubectl replace` drops it, is put back.
    """
    if change.change is NotedChange.MADE:
        return {}
    if change.change is NotedChange.RENEWED:
        due = {names.REQUESTER_ANNOTATION: change.requester}
        if grants or change.new.grants:
            due[names.GRANTS_ANNOTATION] = grants
        return due | {names.PROFILE_ANNOTATION: profile} if profile else due
    if not change.workload:
        return {}
    pairs = (
        (names.REQUESTER_ANNOTATION, change.old.requester, change.new.requester),
        (names.PROFILE_ANNOTATION, change.old.profile, change.new.profile),
        (names.GRANTS_ANNOTATION, change.old.grants, change.new.grants),
    )
    return {key: old for key, old, new in pairs if old and new is None}


def wrong_notes(
    change: NoteChange, profile: str | None, *, refused: bool = False, grants: str = ""
) -> tuple[Finding, ...]:
    """Return what is wrong with the notes of the final state; `profile` is the one admitted under.

    It is None where none must be noted. Nothing is missed on what is `refused` for what it needs:
    the mutating webhook noted nothing on it for the same reason.
    """
    if change.change is NotedChange.RENEWED:
        missed = change.workload and not refused
        return (
            *_after_renewal(change, profile, missed=missed),
            *_grants_after_renewal(change, grants, missed=missed),
        )
    if change.change is NotedChange.MADE:
        return tuple(_after_making(change))
    return tuple(_after_keeping(change))


def _after_renewal(change: NoteChange, profile: str | None, *, missed: bool) -> Iterator[Finding]:
    new = change.new
    if new.requester is None and missed:
        missing = "does not say who asked for it: the gate notes that, and did not get to"
        yield _finding(RULE_REQUESTER, REQUESTER_PATH, missing, _AGAIN)
    elif new.requester not in {None, change.requester}:
        wrong = "names someone else than who asks; only the gate writes this note"
        remedy = f"Leave the annotation out of your manifest. {_AGAIN}"
        yield _finding(RULE_REQUESTER, REQUESTER_PATH, wrong, remedy)
    if profile and new.profile is None and missed:
        missing = f"does not say that it is admitted under the profile {profile}"
        yield _finding(RULE_PROFILE, PROFILE_PATH, missing, _AGAIN)


def _grants_after_renewal(change: NoteChange, grants: str, *, missed: bool) -> Iterator[Finding]:
    new = change.new.grants or ""
    if new and new != grants:
        wrong = "names other AccessGrants than those that name who asks; only the gate writes it"
        remedy = f"Leave the annotation out of your manifest. {_AGAIN}"
        yield _finding(RULE_GRANTS, GRANTS_PATH, wrong, remedy)
    elif grants and not new and missed:
        missing = "does not say which AccessGrants name who asks: the gate notes that"
        yield _finding(RULE_GRANTS, GRANTS_PATH, missing, _AGAIN)


def _after_keeping(change: NoteChange) -> Iterator[Finding]:
    old, new = change.old, change.new
    if not change.workload:
        if new.requester not in {None, old.requester}:
            yield _changed(RULE_REQUESTER, REQUESTER_PATH, old.requester)
        return
    if new.requester != old.requester:
        yield _changed(RULE_REQUESTER, REQUESTER_PATH, old.requester)
    if new.profile != old.profile:
        yield _changed(RULE_PROFILE, PROFILE_PATH, old.profile)
    if new.grants != old.grants:
        yield _changed(RULE_GRANTS, GRANTS_PATH, old.grants)
    if change.taken and new.requester is None:
        message = "puts it under a controller that did not make it; its Pods would pass for others'"
        remedy = "Leave the owner references as they are, or create the object anew."
        yield _finding(RULE_OWNER, "metadata.ownerReferences", message, remedy)


def _after_making(change: NoteChange) -> Iterator[Finding]:
    """Demand the root's notes, or none: a template must not say whose its Pods are."""
    new = change.new
    if change.copied or new.requester is None or new in {change.old, change.root}:
        return
    message = "is not the note of the workload that this is made for"
    remedy = "Take the annotation out of the workload's template: only the gate writes this note."
    yield _finding(RULE_REQUESTER, REQUESTER_PATH, message, remedy)


def _changed(rule: str, path: str, old: str | None) -> Finding:
    message = "is the gate's own note, and changes only together with the templates"
    back = "Set it back to what it was" if old else "Take it away"
    return _finding(rule, path, message, f"{back}, or leave the annotation out of your manifest.")


def _finding(rule: str, path: str, message: str, remedy: str) -> Finding:
    return Finding(rule, Action.DENY, path, message, remedy)
