"""What people must still do: approvals that wait, and grants and exceptions that end soon.

It is read from the record of changes that `control` keeps (`ObjectChange`). What is due depends on
the time alone, and has the same id each time, so that each sink notes which it was told. Pure.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from audit.notifications.notice import Notice, NoticeEvent
from audit.notifications.recorded_objects import ObjectKey, keep_latest, key_of, name_of
from audit.reports.display_text import report_line
from audit.reports.sample.cast import CLUSTER as SAMPLE_CLUSTER
from core.approvals.break_glass import KIND as BREAK_GLASS
from core.approvals.exceptions import KIND as EXCEPTION
from core.base.ids import stable_id
from core.base.times import DAY_MS, milli_text, milliseconds_of
from core.weights.access_grants import KIND as GRANT
from core.weights.documents.events import Severity
from core.weights.documents.object_change import ObjectChange

KINDS: Final = frozenset({GRANT, EXCEPTION, BREAK_GLASS})
"""That count only once two people have approved them."""

MOST_OBJECTS: Final = 5_000
"""That are remembered, those that were written last."""

_ENDING: Final = frozenset({GRANT, EXCEPTION})
_EXPIRED: Final = "it expired"
"""Why an object ended, in the words of its record."""

_HOUR_MS: Final = 3_600_000
_APPROVE: Final = {GRANT: "grant", EXCEPTION: "pex", BREAK_GLASS: "breakglass"}


@dataclass(frozen=True, slots=True)
class PendingTerms:
    """When somebody is told."""

    ends_days: float = 3.0
    """So long before its end a grant or an exception is told."""
    waits_hours: float = 1.0
    """So long it waits for approvals before that is told."""


class _Pending(msgspec.Struct, frozen=True, gc=False):
    """One object, as the last change shows it. Times are Unix milliseconds."""

    cluster: str
    kind: str
    name: str
    uid: str
    digest: str
    written_ms: int
    ends_ms: int
    store: str
    approved: bool


class PendingObjects:
    """Takes changes: at the start in the order of their ids, then in that of the log.

    Gives what is due at a time.
    """

    def __init__(self) -> None:
        self._objects: dict[ObjectKey, _Pending] = {}

    def take(self, change: ObjectChange) -> None:
        """Take in a change; of other kinds nothing.

        Raises:
            ValueError: its time is none.
        """
        if change.kind not in KINDS or change.cluster == SAMPLE_CLUSTER:
            return
        key = key_of(change)
        if change.event == "deleted" or change.why == _EXPIRED:
            self._objects.pop(key, None)
            return
        before, at_ms = self._objects.get(key), milliseconds_of(change.time)
        is_same = before is not None and before.digest == change.digest
        spec: dict[str, Any] = change.spec if isinstance(change.spec, dict) else {}
        approved = change.event == "approved" or (
            change.event != "ended" and before is not None and is_same and before.approved
        )
        self._objects[key] = _Pending(
            cluster=change.cluster,
            kind=change.kind,
            name=name_of(change),
            uid=change.uid,
            digest=change.digest,
            written_ms=before.written_ms if before is not None and is_same else at_ms,
            ends_ms=_end_of(spec, before),
            store=str(spec.get("store", "")) if change.kind == GRANT else "",
            approved=approved,
        )

    def due(self, terms: PendingTerms, now_ms: int) -> Iterator[Notice]:
        """Yield what is due, and forget what has ended."""
        for key, each in list(self._objects.items()):
            if each.ends_ms and each.ends_ms <= now_ms:
                del self._objects[key]
            elif not each.approved:
                if now_ms - each.written_ms >= terms.waits_hours * _HOUR_MS:
                    yield _waiting(each)
            elif each.kind in _ENDING and now_ms >= each.ends_ms - terms.ends_days * DAY_MS > 0:
                yield _ending(each, each.ends_ms - round(terms.ends_days * DAY_MS))
        keep_latest(self._objects, MOST_OBJECTS)


def _end_of(spec: dict[str, Any], before: _Pending | None) -> int:
    """Return when it ends; 0 where it says no time."""
    text = spec.get("expiresAt")
    try:
        return milliseconds_of(text) if isinstance(text, str) else 0
    except ValueError:
        return before.ends_ms if before is not None else 0


def _waiting(each: _Pending) -> Notice:
    return Notice(
        id=stable_id(each.written_ms, "approval-waiting", each.cluster, each.uid, each.digest),
        event=NoticeEvent.APPROVAL_WAITING,
        time=milli_text(each.written_ms),
        cluster=each.cluster,
        severity=Severity.LOW,
        title=report_line(f"{each.kind} {each.name} waits for approval")[:119],
        detail="Two people's approval of it does not count yet, so that it has no effect.",
        remedy=report_line(
            f"Look at it, then approve it (sallyport approve {_APPROVE[each.kind]}) or delete it."
        ),
        store=report_line(each.store),
    )


def _ending(each: _Pending, since_ms: int) -> Notice:
    end = milli_text(each.ends_ms)
    what = "access by it ends" if each.kind == GRANT else "what it excuses is refused from then on"
    return Notice(
        id=stable_id(each.ends_ms, "ends-soon", each.cluster, each.uid, end),
        event=NoticeEvent.ENDS_SOON,
        time=milli_text(max(since_ms, each.written_ms)),
        cluster=each.cluster,
        severity=Severity.LOW,
        title=report_line(f"{each.kind} {each.name} ends soon")[:119],
        detail=f"It ends at {end}: {what}.",
        remedy="Write a new one in time, and have it approved, where it is still needed.",
        store=report_line(each.store),
    )
