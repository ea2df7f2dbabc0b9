"""Compares the objects that people decide with to what was recorded of them. Pure."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import msgspec

from core.base.ids import stable_id
from core.base.times import milli_text
from core.people.two_person import PEOPLE_NEEDED, Approved, Consent, NotApproved
from core.weights.documents.object_change import FORMAT, ObjectChange
from kube.weights.recorded_objects import RecordedObject

_BYTES: Final = 8
"""Of a mark: the same object with other content has another, but for one in 2^64."""


class ApprovalStage(Enum):
    """How an object that needs approval stands."""

    OPEN = ""
    """Nobody needs to approve it, or two have not yet."""
    APPROVED = "approved"
    ENDED = "ended"


class ObjectRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What was recorded of an object."""

    uid: str
    mark: bytes
    stage: str = ""


@dataclass(frozen=True)
class ObjectComparison:
    """Makes the documents of one cluster at one time, in Unix seconds."""

    cluster: str
    now: float
    since: str = ""
    """Why times are only those of noticing; empty where it was looked at all the while."""

    def compared(
        self, before: Mapping[str, ObjectRecord], live: Mapping[str, RecordedObject], kind: str
    ) -> Iterator[tuple[str, ObjectRecord | None, ObjectChange]]:
        """Yield what is new, changed or gone: its key, what is known of it from now on, and it."""
        for key, found in live.items():
            known, mark = before.get(key), mark_of(found)
            if known is not None and known.uid != found.uid:
                yield key, None, self._gone(kind, key, known)
                known = None
            if known is None:
                change = self._change(found, "there", found.made, found.by)
                yield key, ObjectRecord(found.uid, mark), change
            elif known.mark != mark:
                at, who = max(found.touched, found.made), found.editors or found.by
                change = self._change(found, "changed", at, who, self.since)
                yield key, ObjectRecord(found.uid, mark, known.stage), change
        for key, known in before.items():
            if key not in live:
                yield key, None, self._gone(kind, key, known)

    def approved(
        self,
        found: RecordedObject,
        known: ObjectRecord,
        by: Approved,
        consents: tuple[Consent, ...],
    ) -> tuple[ObjectRecord, ObjectChange]:
        """Return the record and the change of an object whose approval begins to count.

        It counts from when the second of those who approved it did; where it counted before and
        then did not, only from now.
        """
        given: dict[str, float] = {}
        for each in consents:
            label = each.approver.label
            if each.digest == found.digest and label in by.approvers:
                given[label] = min(each.given or self.now, given.get(label, self.now))
        times = sorted(given.values())
        first = known.stage == ApprovalStage.OPEN.value and len(times) >= PEOPLE_NEEDED
        at = times[PEOPLE_NEEDED - 1] if first else self.now
        change = self._change(found, "approved", max(at, found.made), found.by, self.since)
        named = msgspec.structs.replace(change, approvers=list(by.approvers))
        return msgspec.structs.replace(known, stage=ApprovalStage.APPROVED.value), named

    def ended(
        self, found: RecordedObject, known: ObjectRecord, why: NotApproved | None
    ) -> tuple[ObjectRecord, ObjectChange]:
        """Return the record and the change of an object that counts no more.

        `why` is None where its own time is over.
        """
        if why is None:
            change = self._change(found, "ended", found.expires, found.by, "it expired")
        else:
            reason = "; ".join(why.reasons)[:1000]
            change = self._change(found, "ended", self.now, found.by, reason)
        return msgspec.structs.replace(known, stage=ApprovalStage.ENDED.value), change

    def _gone(self, kind: str, key: str, known: ObjectRecord) -> ObjectChange:
        namespace, _, name = key.rpartition("/")
        ms = round(self.now * 1000)
        return ObjectChange(
            format=FORMAT,
            id=stable_id(ms, "change", self.cluster, kind, known.uid, "deleted"),
            time=milli_text(ms),
            cluster=self.cluster,
            event="deleted",
            kind=kind,
            namespace=namespace,
            name=name,
            uid=known.uid,
            why=self.since,
        )

    def _change(
        self, found: RecordedObject, event: str, at: float, by: tuple[str, ...], why: str = ""
    ) -> ObjectChange:
        ms = round(at * 1000)
        told = mark_of(found).hex()
        return ObjectChange(
            format=FORMAT,
            id=stable_id(ms, "change", self.cluster, found.kind, found.uid, event, told),
            time=milli_text(ms),
            cluster=self.cluster,
            event=event,
            kind=found.kind,
            namespace=found.namespace,
            name=found.name,
            uid=found.uid,
            digest=found.digest,
            by=list(by),
            spec=found.spec,
            why=why,
        )


def mark_of(found: RecordedObject) -> bytes:
    """Return the digest that tells one content of an object from another."""
    spec: Any = found.spec
    whole = found.digest.encode() + msgspec.json.encode(spec, order="deterministic")
    return hashlib.sha256(whole).digest()[:_BYTES]
