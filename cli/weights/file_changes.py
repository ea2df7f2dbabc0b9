"""What the files' objects are in the ledger: changes at the times that the files say. Pure.

They are what `control` would have recorded, with ids of their own and the word that they come from
a file: nobody watched, so of what was changed or deleted before nothing is known.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from cli.weights.store_files import StoreFiles
from control.weights.changes.comparison import ObjectComparison, ObjectRecord
from core.base.errors import InvalidObjectError
from core.base.ids import stable_id, uuid7_unix_ms
from core.base.sallyport_objects import parse_time
from core.base.times import seconds_of, time_text
from core.people.two_person import (
    ORDINARY_TERMS,
    ApprovalTerms,
    Approved,
    Consent,
    NotApproved,
    judge_approval,
)
from core.weights.documents.object_change import ObjectChange
from core.weights.stores import KIND as STORE
from kube.weights.recorded_objects import RecordedObject

READ_FROM_FILE: Final = "read from a file, not from a cluster"


class FileGrant(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an AccessGrant of the files grants."""

    name: str
    """`namespace/name`."""
    store: str
    approved_since: str = ""
    """RFC 3339: from when two people's approval of it counts; empty where it never did."""
    until: str = ""
    """RFC 3339: until when, as far as the files say."""
    why: str = ""
    """Why it grants nothing, or grants no longer."""


class _Span(NamedTuple):
    """A time in which two people's approval counted, in Unix seconds."""

    begin: float
    end: float
    by: Approved
    consents: tuple[Consent, ...]
    """Those that were given when it began."""
    why: NotApproved | None
    """Why it ended; None where the grant's own time was over, or it has not."""


LastChanges = Mapping[tuple[str, str], ObjectChange]
"""The last that the ledger has of each object, by `object_key`."""


def object_key(kind: str, namespace: str, name: str, uid: str) -> tuple[str, str]:
    """Return what tells an object from others: a WeightStore's name stands for it, whoever made it.

    Of other kinds one that was made again is another.
    """
    return kind, name if kind == STORE else f"{namespace}/{name}@{uid}"


def changes_of(
    files: StoreFiles,
    cluster: str,
    now: float,
    last: LastChanges,
    terms: ApprovalTerms = ORDINARY_TERMS,
) -> tuple[list[ObjectChange], list[FileGrant]]:
    """Return what is recorded of the objects, by time, and what each grant grants.

    Whether an approver has the right to approve is asked of a cluster, and there is none: each that
    the webhook recorded counts. Only what had happened before `now`, in Unix seconds, is told.
    """
    changes: list[ObjectChange] = []
    for found in (*files.stores, *files.grants, *files.approvals):
        before = last.get(object_key(found.kind, found.namespace, found.name, found.uid))
        changes += _compared(found, cluster, now, before)
    grants = []
    for found in files.grants:
        spans, why = _spans(found, files, now, terms)
        changes += _approvals(found, cluster, spans, now)
        grants.append(_told(found, spans, why))
    return sorted(map(_from_file, changes), key=lambda each: each.id), grants


def _compared(
    found: RecordedObject, cluster: str, now: float, before: ObjectChange | None
) -> Iterator[ObjectChange]:
    """Yield what is new of an object: of one that says otherwise than before, from when it says so.

    Where it does not say when it was changed, that is when it was read.
    """
    known = {}
    if before is not None and before.event != "deleted":
        if before.digest == found.digest:
            return
        is_later = found.touched > seconds_of(before.time)
        found = msgspec.structs.replace(found, touched=found.touched if is_later else now)
        known = {found.key: ObjectRecord(found.uid, b"")}
    comparison = ObjectComparison(cluster, now)
    for _, _, change in comparison.compared(known, {found.key: found}, found.kind):
        yield change


def _from_file(change: ObjectChange) -> ObjectChange:
    words = (change.cluster, change.kind, change.namespace, change.name, change.uid, change.event)
    ms = uuid7_unix_ms(change.id)
    return msgspec.structs.replace(
        change,
        id=stable_id(ms, "file-change", *words, change.digest),
        why=f"{change.why}; {READ_FROM_FILE}" if change.why else READ_FROM_FILE,
    )


def _approvals(
    found: RecordedObject, cluster: str, spans: Sequence[_Span], now: float
) -> Iterator[ObjectChange]:
    known = ObjectRecord(found.uid, b"")
    for span in spans:
        begun = ObjectComparison(cluster, span.begin)
        yield begun.approved(found, known, span.by, span.consents)[1]
        if span.end <= now:
            yield ObjectComparison(cluster, span.end).ended(found, known, span.why)[1]


def _spans(
    found: RecordedObject, files: StoreFiles, now: float, terms: ApprovalTerms
) -> tuple[list[_Span], str]:
    """Return when two people's approval of a grant counted, and why it does not in the end."""
    if f"{found.kind} {found.key}" in files.undated:
        return [], "its file names no metadata.creationTimestamp: since when it is there is unknown"
    if found.approvable is None:
        return [], "it cannot be approved"
    consents = [
        each.consent
        for each in files.approvals
        if each.consent is not None and each.consent.uid == found.uid
        if 0.0 < each.consent.given <= now
    ]
    ends = min(found.expires, _deleted_at(found, files))
    marks = {at for each in consents for at in (each.given, each.expires)}
    spans: list[_Span] = []
    why = _why(found, consents, now, terms)
    for at in sorted(mark for mark in marks if found.made <= mark < ends):
        given = tuple(each for each in consents if each.given <= at)
        holders = {each.approval for each in given}
        answer = judge_approval(found.approvable, given, holders, at, terms)
        counted = bool(spans) and spans[-1].end == ends
        if isinstance(answer, Approved) and not counted:
            spans.append(_Span(at, ends, answer, given, _why_ends(found, ends)))
        elif isinstance(answer, NotApproved) and counted:
            spans[-1] = spans[-1]._replace(end=at, why=answer)
    return spans, why


def _why(
    found: RecordedObject, consents: Sequence[Consent], now: float, terms: ApprovalTerms
) -> str:
    """Say why a grant is not approved now; empty where it is."""
    if found.approvable is None:
        return ""
    holders = {each.approval for each in consents}
    answer = judge_approval(found.approvable, consents, holders, now, terms)
    return "; ".join(answer.reasons) if isinstance(answer, NotApproved) else ""


def _why_ends(found: RecordedObject, ends: float) -> NotApproved | None:
    return None if ends == found.expires else NotApproved(("it is being deleted",))


def _deleted_at(found: RecordedObject, files: StoreFiles) -> float:
    text = files.deleted.get(found.key)
    try:
        return parse_time(text, field="", what="") if text else found.expires
    except InvalidObjectError:
        return found.made


def _told(found: RecordedObject, spans: Sequence[_Span], why: str) -> FileGrant:
    store = found.grant.spec.store if found.grant is not None else ""
    if not spans:
        return FileGrant(name=found.key, store=store, why=why)
    last = spans[-1]
    ended = "" if last.why is None else "; ".join(last.why.reasons)
    return FileGrant(
        name=found.key,
        store=store,
        approved_since=time_text(spans[0].begin),
        until=time_text(last.end),
        why=ended,
    )
