"""28: a rule of lifecycle management that deletes or archives weights, added or changed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from audit.access.model.azure_scanners import ScannerClaim, scanner_claim
from audit.access.model.coverage import Coverage, Same
from audit.access.model.detection import Detection, EventContext, ResponseStep
from audit.access.model.findings import make_finding, moment_text
from audit.access.model.sightings import MOST_RAISED, is_change, is_news, touch
from audit.access.parsers.activity_facts import actor_text, fact_text, is_delete
from core.base.times import DAY_S
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Activity, Finding, Severity, Topic
from core.weights.stores import WeightStore

_AT_ONCE: Final = 1.0
"""Days: a rule that deletes what is older than this takes all that is there in its next run."""

_WORDS: Final = {
    "deletes": "deletes blobs",
    "deletesCopies": "deletes versions or snapshots",
    "archives": "moves blobs to the archive tier",
}
_UNTOLD: Final = "untold"
_TASK: Final = "storagetaskassignments"
_RUN: Final = "run"
_FIRST_RUNS_S: Final = 7 * DAY_S
"""A policy takes up to a day until it runs, and a run may take days."""


class RuleWritten(msgspec.Struct, gc=False, array_like=True):
    """Who wrote a rule that deletes weights, and when."""

    who: str
    at: float
    evidence: str


class LifecycleDeletionState(msgspec.Struct):
    """What this detection remembers."""

    digests: dict[str, str] = {}
    """Of all rules, by account."""
    rules: dict[str, list[str]] = {}
    """By account, what its rules delete or archive: `WORD DAYS PREFIX`."""
    written: dict[str, RuleWritten] = {}
    """By account, the last rule that was found."""
    raised: dict[str, int] = {}


def _see(
    event: Access | Activity, state: LifecycleDeletionState, known: EventContext
) -> Sequence[Finding]:
    if isinstance(event, Access):
        return _judge_run(event, state, known) if state.written and _is_of_run(event) else ()
    if not known.done:
        return ()
    if _TASK in event.operation.lower():
        return _task_assigned(event, state, known)
    return _judge_policy(event, state, known)


def _judge_policy(
    event: Activity, state: LifecycleDeletionState, known: EventContext
) -> Sequence[Finding]:
    if is_delete(event):
        state.digests.pop(event.account, None)
        state.rules.pop(event.account, None)
        return ()
    digest = fact_text(event, "digest") or f"{_UNTOLD} {known.day}"
    if not is_change(state.digests, event.account, digest, asked=True):
        return ()
    before = state.rules.pop(event.account, [])
    now = list(_rules_of(event))
    if len(state.rules) >= MOST_RAISED:
        del state.rules[next(iter(state.rules))]
    state.rules[event.account] = now
    if digest.startswith(_UNTOLD):
        _note_written(event, state, known)
        return [_finding(event, known, digest, Severity.MEDIUM, "the log does not say to what")]
    stores = _stores_at(event.account, known)
    new = [rule for rule in now if not _was_there(rule, before)]
    grave = [rule for rule in new if any(_touches(rule, store) for store in stores)]
    if not grave:
        return ()
    told = "; ".join(_text_of(rule) for rule in grave[:5])
    severity = max(map(_severity_of, grave), key=_RANK.index)
    if severity is not Severity.MEDIUM:
        _note_written(event, state, known)
    return [_finding(event, known, digest, severity, told)]


def _note_written(event: Activity, state: LifecycleDeletionState, known: EventContext) -> None:
    written = RuleWritten(known.who, known.at, event.id)
    touch(state.written, event.account, lambda: written, MOST_RAISED)
    state.written[event.account] = written


def _is_of_run(access: Access) -> bool:
    """Return whether lifecycle management deleted a blob."""
    is_done = access.act is Act.DELETE and access.succeeded
    return is_done and scanner_claim(access) is ScannerClaim.SHOWN


def _judge_run(
    access: Access, state: LifecycleDeletionState, known: EventContext
) -> Sequence[Finding]:
    """Judge a delete under a rule that was found: about who wrote the rule."""
    written = state.written.get(access.account)
    if written is None or known.at > written.at + _FIRST_RUNS_S:
        return ()
    name = f"{access.store} {written.evidence} {known.day}"
    if not is_news(state.raised, name):
        return ()
    found = make_finding(
        DETECTION,
        access,
        known,
        (name,),
        Severity.HIGH,
        f"Lifecycle management deletes blobs of {access.store} under a rule that was just written",
        f"The first one this day is {access.blob or access.container}. {written.who or 'Nobody'} "
        f"wrote the rule at {moment_text(written.at)}, which is a finding of its own. Azure logs "
        "each deletion without a principal.",
        first=written.at,
        evidence=[written.evidence],
        aspect=_RUN,
    )
    return [msgspec.structs.replace(found, who=written.who, addresses=[])]


def _task_assigned(
    event: Activity, state: LifecycleDeletionState, known: EventContext
) -> Sequence[Finding]:
    """Judge a storage task that was assigned: what it does stands at the task itself."""
    digest = fact_text(event, "digest") or f"{_UNTOLD} {known.day}"
    if not event.store or not is_change(state.digests, event.resource, digest, asked=True):
        return ()
    name = event.resource.rpartition("/")[2]
    return [
        make_finding(
            DETECTION,
            event,
            known,
            (event.resource, digest, str(known.day)),
            Severity.MEDIUM,
            f"The storage task {name} was assigned to {event.account}",
            f"By {actor_text(event)}: {event.operation} at {event.resource}. Storage tasks delete "
            "blobs, move them to other tiers or shorten their protection; the log of the "
            "assignment does not say which.",
        )
    ]


def _finding(
    event: Activity, known: EventContext, digest: str, severity: Severity, told: str
) -> Finding:
    return make_finding(
        DETECTION,
        event,
        known,
        (event.account, digest, str(known.day)),
        severity,
        f"Lifecycle rules of {event.account} were added or changed: {told}",
        f"By {actor_text(event)}: {event.operation}. New or sooner than before: {told}. Azure runs "
        "the rules about once a day and logs each deletion without a principal.",
    )


def _rules_of(event: Activity) -> Iterator[str]:
    """Yield what rules do, with its word."""
    for word in _WORDS:
        told: Any = event.facts.get(word)
        entries: Iterable[Any] = told if isinstance(told, list) else ()
        yield from (f"{word} {entry}" for entry in entries)


def _was_there(rule: str, before: Iterable[str]) -> bool:
    """Return whether the same was done before, after as many days or fewer."""
    word, days, prefix = _parts_of(rule)
    return any(
        (word, prefix) == (other, where) and since <= days
        for other, since, where in map(_parts_of, before)
    )


def _parts_of(rule: str) -> tuple[str, float, str]:
    word, _, rest = rule.partition(" ")
    days, _, prefix = rest.partition(" ")
    try:
        return word, float(days), prefix
    except ValueError:
        return word, 0.0, prefix


def _touches(rule: str, store: WeightStore) -> bool:
    """Return whether what a rule takes may be of a store: its prefix begins with a container."""
    *_, prefix = _parts_of(rule)
    held = (
        f"{container.name}/{below}"
        for container in store.spec.containers
        for below in container.prefixes or ("",)
    )
    return any(prefix.startswith(one) or one.startswith(prefix) for one in held)


def _stores_at(account: str, known: EventContext) -> list[WeightStore]:
    return [one for one in known.surroundings.stores.values() if one.spec.account == account]


def _severity_of(rule: str) -> Severity:
    word, days, _ = _parts_of(rule)
    if word != "deletes":
        return Severity.MEDIUM
    return Severity.CRITICAL if days <= _AT_ONCE else Severity.HIGH


def _text_of(rule: str) -> str:
    word, days, prefix = _parts_of(rule)
    return f"{_WORDS[word]} of {prefix or 'the whole account'} after {days:g} days"


_RANK: Final = list(Severity)

DETECTION: Final = Detection(
    id="lifecycle-deletion",
    number=28,
    title="A lifecycle rule that deletes weights added or changed",
    about="The policy of lifecycle management of an account was written, and a rule that is on "
    "takes weights of a WeightStore that no rule took before, or sooner than before. Critical "
    "where it deletes blobs that are a day old or less, high where it deletes older ones, medium "
    "where it deletes versions or snapshots, or moves blobs to the archive tier, and where the "
    "log does not say what was written, such as for a storage task that is assigned to the "
    "account. What the policy said before is remembered: writing the "
    "same again is quiet. The first policy that is seen counts as added. What Azure's scanner "
    "deletes of a store within a week after such a rule is high, once a day, and is about who "
    "wrote the rule.",
    severity=Severity.CRITICAL,
    techniques=("T1485.001", "T1490"),
    needs=(
        "Azure's Activity log of the accounts' subscriptions",
        "the StorageDelete log, for what a rule deleted",
    ),
    blind=(
        "rules that were there before the log",
        "filters by blob index tags and types of blobs: such a rule counts as one for its prefix",
        "more rules than fit into a record of 64 KiB: that counts as not told",
    ),
    fires=(
        "`Microsoft.Storage/storageAccounts/managementPolicies/write` with a rule `baseBlob.delete`"
        " after 30 days for a container of a WeightStore, or without a prefix: high",
        "the same after 0 days: critical",
        "a rule that was there, now after 7 days instead of 365: high",
        "`version.delete`, `snapshot.delete`, `tierToArchive`: medium",
        "`Microsoft.Storage/storageAccounts/storageTaskAssignments/write`: medium",
    ),
    quiet=(
        "the same policy written again, as Terraform does",
        "a rule that is off (`enabled: false`), is for another container, or deletes later than "
        "before",
        "deletion of the policy: no more is deleted than before",
    ),
    remedy="Switch the rule off before its next run, then look at what it deleted.",
    steps=(
        ResponseStep(
            10,
            "Set `enabled: false` on the rule, or delete the policy. A run that goes on already "
            "may still end.",
        ),
        ResponseStep(
            20, "Block the principal that wrote it, if nobody who may do so says that they did."
        ),
        ResponseStep(
            30,
            "Look in the StorageDelete log for deletions since then by `ObjectLifeCycleScanner` or "
            "`OLCMScanner`, and switch soft delete on, or its days up, while they are there.",
        ),
        ResponseStep(60, "Undelete the blobs (`Undelete Blob`, or restore to a point in time)."),
    ),
    recoverable="Blobs that the rule deleted, for as long as blob soft delete keeps them; earlier "
    "versions where versioning was on and the rule does not delete versions. What was moved to the "
    "archive tier is there, and rehydrating takes up to 15 hours. A policy that was changed takes "
    "up to 24 hours until it runs: until then nothing is lost.",
    bound="4096 accounts, as many findings",
    begin=LifecycleDeletionState,
    see=_see,
    acts=frozenset({Act.DELETE}),
    covers={_RUN: Coverage(_is_of_run, frozenset({Same.STORE}))},
    topics=frozenset({Topic.LIFECYCLE}),
)
