"""What is noticed of objects by comparing them with what was recorded."""

from typing import Any

from control.weights.changes.comparison import (
    ApprovalStage,
    ObjectComparison,
    ObjectRecord,
    mark_of,
)
from control.weights.changes.store import StoredChanges, decode_changes, encode_changes
from core.people.subject import Subject
from core.people.two_person import Approved, Consent, NotApproved
from kube.weights.recorded_objects import RecordedObject

NOW = 1_790_000_000.0
NOTICING = ObjectComparison("c-1", NOW, "noticed late")


def grant(**changes: Any) -> RecordedObject:
    """Return an AccessGrant as it is recorded."""
    fields: dict[str, Any] = {
        "kind": "AccessGrant",
        "namespace": "train",
        "name": "eval",
        "uid": "u-1",
        "digest": "sha256:a",
        "made": NOW - 500,
        "touched": NOW - 400,
        "by": ("oid:1",),
        "spec": {"store": "s"},
        "expires": NOW + 100,
    }
    return RecordedObject(**fields | changes)


def noticed(
    before: dict[str, ObjectRecord], *live: RecordedObject
) -> tuple[list[str], dict[str, ObjectRecord]]:
    """Return the events, and what is known after."""
    found = list(NOTICING.compared(before, {each.key: each for each in live}, "AccessGrant"))
    known = dict(before)
    for key, after, _ in found:
        if after is None:
            known.pop(key, None)
        else:
            known[key] = after
    return [change.event for _, _, change in found], known


def test_a_life_of_an_object() -> None:
    """There, changed, deleted: each once, with the times that the object says."""
    (there,) = NOTICING.compared({}, {"train/eval": grant()}, "AccessGrant")
    assert (there[2].time, there[2].by, there[2].why) == ("2026-09-21T14:05:00.000Z", ["oid:1"], "")
    events, known = noticed({}, grant())
    assert events == ["there"]
    assert noticed(known, grant(touched=NOW))[0] == [], "only its status moved"
    changed = grant(digest="sha256:b", spec={"store": "t"}, editors=("oid:2",))
    (change,) = NOTICING.compared(known, {"train/eval": changed}, "AccessGrant")
    assert (change[2].by, change[2].why) == (["oid:2"], "noticed late")
    events, known = noticed(known, changed)
    assert events == ["changed"]
    events, known = noticed(known)
    assert (events, known) == (["deleted"], {})


def test_another_of_the_same_name_is_another() -> None:
    """Deleted and made again while nobody looked."""
    _, known = noticed({}, grant())
    assert noticed(known, grant(uid="u-2"))[0] == ["deleted", "there"]


def test_the_same_change_has_the_same_id() -> None:
    """Whoever notices it, whenever, where the object says when it was."""
    later = ObjectComparison("c-1", NOW + 60)
    live = {"train/eval": grant()}
    one, other = NOTICING.compared({}, live, "AccessGrant"), later.compared({}, live, "AccessGrant")
    assert [each[2].id for each in one] == [each[2].id for each in other]


def consent(user: str, given: float, digest: str = "sha256:a") -> Consent:
    """Return an approval."""
    subject = Subject(user, groups=[], extra={})
    return Consent(user, subject, "u-1", digest, NOW + 50, given=given)


def test_a_grant_counts_from_its_second_approval() -> None:
    """By kube-apiserver's clock; after an end, only since now: what was old is old."""
    consents = (consent("ann", NOW - 300), consent("bo", NOW - 200), consent("cy", NOW - 100))
    by = Approved(tuple(each.approver.label for each in consents[:2]))
    known = ObjectRecord("u-1", mark_of(grant()))
    after, change = NOTICING.approved(grant(), known, by, consents)
    assert change.time == "2026-09-21T14:10:00.000Z"
    assert change.approvers == list(by.approvers)
    assert not any(name in change.approvers for name in ("ann", "bo")), "labels, never names"
    assert ApprovalStage(after.stage) is ApprovalStage.APPROVED
    ended, why = NOTICING.ended(grant(), after, NotApproved(("1 of 2",)))
    assert (why.event, why.why) == ("ended", "1 of 2")
    again = NOTICING.approved(grant(), ended, by, consents)[1]
    assert again.time == "2026-09-21T14:13:20.000Z"
    assert again.id != change.id


def test_recorded_end_of_a_grant_is_its_own_time() -> None:
    """Not when somebody looked."""
    _, change = NOTICING.ended(grant(expires=NOW - 60), ObjectRecord("u-1", b""), None)
    assert (change.time, change.why) == ("2026-09-21T14:12:20.000Z", "it expired")


def test_what_is_stored_is_read_again() -> None:
    """And what is damaged, or of another format, is not."""
    stored = StoredChanges(
        cluster="c-1", objects={"train/eval": ObjectRecord("u-1", b"12345678", "approved")}
    )
    text = encode_changes(stored)
    assert decode_changes(text) == stored
    for broken in ("", "?", text[:-8], encode_changes(StoredChanges(format=9, cluster="c-1"))):
        try:
            decode_changes(broken)
        except ValueError:
            continue
        raise AssertionError(broken)
