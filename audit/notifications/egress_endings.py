"""Openings of egress that end soon, or have ended while somebody still used them.

It is read from the record of changes that `control` keeps (`ObjectChange`), as pending approvals
are. Whether an opening needs approval, or its namespace is closed, is not known here. Pure.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from audit.notifications.notice import Notice, NoticeEvent
from audit.notifications.recorded_objects import ObjectKey, keep_latest, key_of, name_of
from audit.reports.display_text import report_line
from audit.reports.sample.cast import CLUSTER as SAMPLE_CLUSTER
from core.base.ids import stable_id
from core.base.times import DAY_MS, milli_text, milliseconds_of
from core.egress.allowlists import ENDS_DAYS, KIND, SET_KIND
from core.weights.documents.events import Severity
from core.weights.documents.object_change import ENDED_IN_USE, ObjectChange

MOST_OPENINGS: Final = 20_000
"""That are remembered, those that were written last: some 10 MB."""

TOLD_DAYS: Final = 3
"""So long after the end a sink that was away is still told that Pods were left."""


class _Opening(msgspec.Struct, frozen=True, gc=False):
    """An allowlist or a set, as the last change shows it. Times are Unix milliseconds."""

    cluster: str
    kind: str
    name: str
    uid: str
    digest: str
    written_ms: int
    ends_ms: int
    sets: tuple[str, ...] | None
    """Of an allowlist: the sets that it names; None where that was not recorded."""
    left: str = ""
    """What was left when it ended, and closed to them; empty where nothing is known to be."""


class EgressEndings:
    """Takes changes in the order in which they were recorded; gives what is due at a time."""

    def __init__(self) -> None:
        self._openings: dict[ObjectKey, _Opening] = {}

    def take(self, change: ObjectChange) -> None:
        """Take in a change; of other kinds nothing.

        Raises:
            ValueError: its time is none.
        """
        if change.kind not in {KIND, SET_KIND} or change.cluster == SAMPLE_CLUSTER:
            return
        key = key_of(change)
        before = self._openings.get(key)
        if change.event == "deleted":
            self._openings.pop(key, None)
        elif change.event == ENDED_IN_USE:
            known = before or _ended_opening_of(change)  # Retention may have removed the others.
            if known.digest == change.digest:  # Else it was changed meanwhile, and did not end.
                self._openings[key] = msgspec.structs.replace(known, left=change.why)
        elif before is None or before.digest != change.digest:
            self._openings[key] = _opening_of(change)

    def due(self, now_ms: int) -> Iterator[Notice]:
        """Yield what is due, and forget what ended long ago."""
        for key, each in list(self._openings.items()):
            if not each.ends_ms or now_ms >= each.ends_ms + TOLD_DAYS * DAY_MS:
                if each.ends_ms:
                    del self._openings[key]
            elif now_ms >= each.ends_ms:
                if each.left:
                    yield _ended(each)
            elif (days := _days_due(each, now_ms)) and self._counts(each, now_ms):
                yield _ending(each, days)
        keep_latest(self._openings, MOST_OPENINGS)

    def _counts(self, one: _Opening, now_ms: int) -> bool:
        """Return whether it is an allowlist, or a set that a live allowlist names, or may."""
        return one.kind == KIND or any(
            each.cluster == one.cluster
            and each.kind == KIND
            and each.ends_ms > now_ms
            and (each.sets is None or one.name in each.sets)
            for each in self._openings.values()
        )


def _opening_of(change: ObjectChange) -> _Opening:
    spec: dict[str, Any] = change.spec if isinstance(change.spec, dict) else {}
    return _Opening(
        cluster=change.cluster,
        kind=change.kind,
        name=name_of(change),
        uid=change.uid,
        digest=change.digest,
        written_ms=milliseconds_of(change.time),
        ends_ms=_end_of(spec),
        sets=_sets_of(spec),
    )


def _ended_opening_of(change: ObjectChange) -> _Opening:
    """Return one of which no more is recorded than that it ended in use, and when."""
    return msgspec.structs.replace(_opening_of(change), ends_ms=milliseconds_of(change.time))


def _end_of(spec: dict[str, Any]) -> int:
    """Return when it ends; 0 where it says no time."""
    text = spec.get("expiresAt")
    try:
        return milliseconds_of(text) if isinstance(text, str) else 0
    except ValueError:
        return 0


def _sets_of(spec: dict[str, Any]) -> tuple[str, ...] | None:
    entries = spec.get("to")
    if not isinstance(entries, list):
        return None
    named = (each.get("destinations") for each in entries if isinstance(each, dict))
    return tuple(str(each.get("name")) for each in named if isinstance(each, dict))


def _days_due(each: _Opening, now_ms: int) -> int:
    """Return which of the times before its end is the last that has come; 0 for none.

    What was written when that time was over is not told of it: whoever wrote it knew.
    """
    for days in sorted(ENDS_DAYS):
        at_ms = each.ends_ms - days * DAY_MS
        if now_ms >= at_ms:
            return days if at_ms >= each.written_ms else 0
    return 0


def _ending(each: _Opening, days: int) -> Notice:
    end = milli_text(each.ends_ms)
    left = f"{days} days" if days > 1 else "a day"
    return Notice(
        id=stable_id(each.ends_ms, "egress-ends", each.cluster, each.uid, end, str(days)),
        event=NoticeEvent.ENDS_SOON,
        time=milli_text(each.ends_ms - days * DAY_MS),
        cluster=each.cluster,
        severity=Severity.LOW,
        title=report_line(f"{each.kind} {each.name} ends within {left}")[:119],
        detail=f"It ends at {end}: connections that it alone opens are closed from then on.",
        remedy="Its owner sets spec.expiresAt anew, if it is still needed.",
    )


def _ended(each: _Opening) -> Notice:
    end = milli_text(each.ends_ms)
    return Notice(
        id=stable_id(each.ends_ms, "egress-ended", each.cluster, each.uid, end),
        event=NoticeEvent.ENDED_IN_USE,
        time=end,
        cluster=each.cluster,
        severity=Severity.MEDIUM,
        title=report_line(f"{each.kind} {each.name} has ended, and Pods of it still run")[:119],
        detail=report_line(
            f"It ended at {end}, and {each.left}. Whether they tried any, flow logs say."
        ),
        remedy=report_line(
            "Write a new one, if it is still needed; sallyport egress status --flows shows what "
            "was refused since its end."
        ),
    )
