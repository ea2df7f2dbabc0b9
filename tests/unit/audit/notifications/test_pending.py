"""What people must still do: approvals that wait, and grants and exceptions that end soon."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.store.store import Store
from audit.notifications.delivery import SinkDelivery
from audit.notifications.notice import DUE_EVENTS, Notice, NoticeEvent
from audit.notifications.pending_follower import PendingFollower
from audit.notifications.pending_objects import MOST_OBJECTS, PendingObjects, PendingTerms
from audit.notifications.routes import Route
from core.base.ids import stable_id
from core.base.times import DAY_MS, milli_text
from core.weights.documents.object_change import ObjectChange, encode_change
from tests.unit.audit.notifications.notices import AT_MS, CLUSTER, open_store
from tests.unit.audit.notifications.test_delivery import Clock, ScriptedSink
from webhooks.log import get_logger

HOUR_MS = 3_600_000
END_MS = AT_MS + 30 * DAY_MS
TERMS = PendingTerms(ends_days=3, waits_hours=1)


def make_change(event: str, at_ms: int = AT_MS, **changes: Any) -> ObjectChange:
    """Return a change of a grant that ends after thirty days."""
    fields = {
        "kind": "AccessGrant",
        "namespace": "research",
        "name": "llama",
        "uid": "u-1",
        "digest": "sha256:1",
        "spec": {"store": "frontier", "expiresAt": milli_text(END_MS)},
        "cluster": CLUSTER,
        **changes,
    }
    identity = stable_id(at_ms, "change", event, fields["uid"], fields["digest"])
    return ObjectChange(format=1, id=identity, time=milli_text(at_ms), event=event, **fields)


def due(changes: Sequence[ObjectChange], at_ms: int) -> list[Notice]:
    """Return what is due at a time after these changes."""
    objects = PendingObjects()
    for change in changes:
        objects.take(change)
    return list(objects.due(TERMS, at_ms))


def events(changes: Sequence[ObjectChange], at_ms: int) -> list[str]:
    """Return the events of what is due."""
    return [notice.event.value for notice in due(changes, at_ms)]


THERE = make_change("there")
APPROVED = make_change("approved", AT_MS + HOUR_MS)


@pytest.mark.parametrize("kind", ["AccessGrant", "PolicyException", "BreakGlass"])
def test_approval_that_waits_is_told_after_a_while(kind: str) -> None:
    """With the same id each time, until it is approved, deleted or over."""
    there = make_change("there", kind=kind)
    assert not due([there], AT_MS + HOUR_MS - 1)
    (notice,) = due([there], AT_MS + HOUR_MS)
    assert notice.event is NoticeEvent.APPROVAL_WAITING
    assert notice.title == f"{kind} research/llama waits for approval"
    assert due([there], AT_MS + 5 * HOUR_MS) == [notice]
    for event in ("approved", "deleted"):
        assert not due([there, make_change(event, kind=kind)], AT_MS + 5 * HOUR_MS)
    assert not due([there], END_MS)


def test_change_of_an_approved_object_waits_anew() -> None:
    """Under another id: what was approved is another thing. So does one whose approval lapsed."""
    changed = make_change("changed", AT_MS + 2 * HOUR_MS, digest="sha256:2")
    (first,) = due([THERE], AT_MS + HOUR_MS)
    assert not due([THERE, APPROVED, changed], AT_MS + 3 * HOUR_MS - 1)
    (second,) = due([THERE, APPROVED, changed], AT_MS + 3 * HOUR_MS)
    assert first.id != second.id
    lapsed = make_change("ended", AT_MS + 2 * HOUR_MS, why="ann approves no more")
    assert events([THERE, APPROVED, lapsed], AT_MS + 3 * HOUR_MS) == ["approval-waiting"]


def test_opened_break_glass_stays_approved() -> None:
    """Opening it changes nothing of it that is approved."""
    made = ("there", "approved", "changed")
    story = [make_change(event, kind="BreakGlass") for event in made]
    assert not due(story, AT_MS + 2 * HOUR_MS)


@pytest.mark.parametrize(
    ("kind", "told"), [("AccessGrant", True), ("PolicyException", True), ("BreakGlass", False)]
)
def test_end_is_told_days_before(kind: str, told: bool) -> None:  # noqa: FBT001  pytest
    """Of grants and exceptions that count; a BreakGlass is over within hours."""
    story = [make_change("there", kind=kind), make_change("approved", kind=kind)]
    assert not due(story, END_MS - 3 * DAY_MS - 1)
    found = due(story, END_MS - 3 * DAY_MS)
    assert [each.event for each in found] == ([NoticeEvent.ENDS_SOON] if told else [])
    for notice in found:
        assert milli_text(END_MS) in notice.detail
        assert notice.time == milli_text(END_MS - 3 * DAY_MS)
        assert notice.store == ("frontier" if kind == "AccessGrant" else "")
    assert not due(story, END_MS)


def test_other_kinds_and_the_sample_are_told_to_nobody() -> None:
    """An allowlist needs no approval unless it is broad."""
    allowlist = make_change("there", kind="EgressAllowlist")
    sample = make_change("there", cluster="sample-month")
    assert not due([allowlist, sample], AT_MS + 5 * HOUR_MS)


def test_memory_is_bounded() -> None:
    """What was written last is remembered."""
    made = [
        make_change("there", AT_MS + number, uid=f"u-{number}", name=f"n-{number}")
        for number in range(MOST_OBJECTS + 10)
    ]
    objects = PendingObjects()
    for change in made:
        objects.take(change)
    list(objects.due(TERMS, AT_MS))
    names = {each.title for each in objects.due(TERMS, AT_MS + 2 * HOUR_MS)}
    assert len(names) == MOST_OBJECTS
    assert "AccessGrant research/n-0 waits for approval" not in names


async def record_change(store: Store, change: ObjectChange) -> None:
    """Record a change as `control` does."""
    frame = Frame(FrameKind.CHANGE, decision_frame_id(change.id), encode_change(change))
    await store.deliver(change.cluster, [frame])


async def test_each_is_told_once_also_across_a_restart(tmp_path: Path) -> None:
    """And again where the same object waits anew; what is due no more is forgotten."""
    clock = Clock(AT_MS / 1000 + 7200)
    sink = ScriptedSink(most=2)

    async def step(store: Store) -> SinkDelivery:
        pending = PendingFollower(store, TERMS, get_logger(), clock)
        route = Route(events=DUE_EVENTS)
        made = SinkDelivery("a", sink, route, store, get_logger(), clock=clock, due=pending.due)
        await made.step()
        await made.step()
        return made

    async with open_store(tmp_path) as store:
        await record_change(store, THERE)
        await step(store)
    async with open_store(tmp_path) as store:
        await step(store)
        assert len(sink.told) == 1
        await record_change(store, APPROVED)
        made = await step(store)
        assert made.cursor is not None
        assert made.cursor.told == []
        clock.now = END_MS / 1000 - 3600
        await step(store)
    assert len(sink.told) == len(set(sink.told)) == 2
