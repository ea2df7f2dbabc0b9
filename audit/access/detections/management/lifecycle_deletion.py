"""28: a rule of lifecycle management that deletes or archives weights, added or changed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from audit.access.model.detection import Detection, EventContext, ResponseStep
from audit.access.model.findings import make_finding
from audit.access.model.sightings import MOST_RAISED, is_change
from audit.access.parsers.activity_facts import actor_text, fact_text, is_delete
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


class LifecycleDeletionState(msgspec.Struct):
    """What this detection remembers."""

    digests: dict[str, str] = {}
    """Of all rules, by account."""
    rules: dict[str, list[str]] = {}
    """By account, what its rules delete or archive: `WORD DAYS PREFIX`."""


def _see(event: Activity, state: LifecycleDeletionState, known: EventContext) -> Sequence[Finding]:
    if not known.done:
        return ()
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
        return [_finding(event, known, digest, Severity.MEDIUM, "the log does not say to what")]
    stores = _stores_at(event.account, known)
    new = [rule for rule in now if not _was_there(rule, before)]
    grave = [rule for rule in new if any(_touches(rule, store) for store in stores)]
    if not grave:
        return ()
    told = "; ".join(_text_of(rule) for rule in grave[:5])
    return [_finding(event, known, digest, max(map(_severity_of, grave), key=_RANK.index), told)]


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
    "log does not say what was written. What the policy said before is remembered: writing the "
    "same again is quiet. The first policy that is seen counts as added.",
    severity=Severity.CRITICAL,
    techniques=("T1485.001", "T1490"),
    needs=("Azure's Activity log of the accounts' subscriptions",),
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
    bound="4096 accounts",
    begin=LifecycleDeletionState,
    see=_see,
    topics=frozenset({Topic.LIFECYCLE}),
)
