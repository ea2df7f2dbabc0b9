"""The end of an opening of egress is told to sinks two weeks, three days and a day before."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from audit.notifications.delivery import SinkDelivery
from audit.notifications.egress_endings import MOST_OPENINGS, TOLD_DAYS, EgressEndings
from audit.notifications.notice import DUE_EVENTS, Notice, NoticeEvent
from audit.notifications.pending_follower import PendingFollower
from audit.notifications.routes import Route
from core.base.times import DAY_MS, milli_text
from core.weights.documents.events import Severity
from core.weights.documents.object_change import ENDED_IN_USE, ObjectChange
from kube.weights.recorded_objects import MOST_SPEC, read_recorded
from tests.unit.audit.notifications.notices import AT_MS, open_store
from tests.unit.audit.notifications.test_delivery import Clock, ScriptedSink
from tests.unit.audit.notifications.test_pending import END_MS, TERMS, record_change
from tests.unit.audit.notifications.test_pending import make_change as change_of
from webhooks.log import get_logger

DAYS = (14, 3, 1)
SPEC: dict[str, Any] = {"to": [{"cidr": "192.0.2.0/24"}], "expiresAt": milli_text(END_MS)}
NAMES_SET: dict[str, Any] = {**SPEC, "to": [{"destinations": {"name": "models"}}]}


def make_change(event: str, at_ms: int = AT_MS, **changes: Any) -> ObjectChange:
    """Return a change of an allowlist that ends after thirty days."""
    fields = {"kind": "EgressAllowlist", "name": "pypi", "spec": SPEC, **changes}
    return change_of(event, at_ms, **fields)


def make_set(**changes: Any) -> ObjectChange:
    """Return a set that ends after thirty days."""
    fields = {"kind": "EgressDestinations", "namespace": "", "name": "models", "uid": "s-1"}
    return make_change("there", **{**fields, **changes})


def due(changes: Sequence[ObjectChange], at_ms: int) -> list[Notice]:
    """Return what is due at a time after these changes."""
    endings = EgressEndings()
    for change in changes:
        endings.take(change)
    return list(endings.due(at_ms))


def left(changes: Sequence[ObjectChange], at_ms: int) -> list[str]:
    """Return the titles of what is due."""
    return [notice.title for notice in due(changes, at_ms)]


THERE = make_change("there")
IN_USE = make_change(ENDED_IN_USE, END_MS, why="2 Pods that it was for still run", spec=None)


def test_each_time_before_the_end_is_told_once() -> None:
    """Under an id of its own, which stays; one at a time; nothing before and nothing after."""
    assert not due([THERE], END_MS - 14 * DAY_MS - 1)
    ids = []
    for days in DAYS:
        (notice,) = due([THERE], END_MS - days * DAY_MS)
        assert notice.event is NoticeEvent.ENDS_SOON
        assert notice.time == milli_text(END_MS - days * DAY_MS)
        assert milli_text(END_MS) in notice.detail
        assert due([THERE], END_MS - days * DAY_MS + DAY_MS - 1) == [notice]
        ids.append(notice.id)
    assert len(set(ids)) == 3
    assert left([THERE], END_MS - DAY_MS) == ["EgressAllowlist research/pypi ends within a day"]
    assert left([THERE], END_MS - 3 * DAY_MS) == [
        "EgressAllowlist research/pypi ends within 3 days"
    ]
    assert not due([THERE], END_MS)


def test_what_was_written_for_less_is_not_told_of_before() -> None:
    """Whoever writes one for two days knows."""
    late = make_change("there", END_MS - 2 * DAY_MS)
    assert not due([late], END_MS - 2 * DAY_MS + 1)
    assert len(due([late], END_MS - DAY_MS)) == 1


@pytest.mark.parametrize("event", ["approved", "ended"])
def test_approvals_change_nothing(event: str) -> None:
    """Whether it needs any is not known here."""
    story = [THERE, make_change(event, AT_MS + 1, why="ann approves no more")]
    assert len(due(story, END_MS - DAY_MS)) == 1


def test_one_that_was_renewed_or_deleted_is_told_no_more() -> None:
    """And again before its new end, under another id."""
    later = END_MS + 60 * DAY_MS
    renewed = make_change(
        "changed",
        END_MS - 2 * DAY_MS,
        digest="sha256:2",
        spec={**SPEC, "expiresAt": milli_text(later)},
    )
    assert not due([THERE, renewed], END_MS - DAY_MS)
    (before,), (after,) = (
        due([THERE], END_MS - DAY_MS),
        due([THERE, renewed], later - DAY_MS),
    )
    assert before.id != after.id
    assert not due([THERE, make_change("deleted", AT_MS + 1)], END_MS - DAY_MS)


@pytest.mark.parametrize(
    ("allowlist", "told"),
    [
        ({"spec": NAMES_SET}, True),
        ({"spec": {**NAMES_SET, "expiresAt": milli_text(END_MS - 7 * DAY_MS)}}, False),
        ({"spec": SPEC}, False),
        ({"spec": {"omitted": "40000 bytes", "expiresAt": milli_text(END_MS)}}, True),
        ({"spec": NAMES_SET, "cluster": "other"}, False),
    ],
    ids=["used", "used by one that ended", "unused", "used perhaps", "used in another cluster"],
)
def test_a_set_is_told_where_a_live_allowlist_names_it(
    allowlist: dict[str, Any], *, told: bool
) -> None:
    """Also where that is not recorded, since the allowlist is too large."""
    story = [make_change("there", **allowlist), make_set()]
    titles = left(story, END_MS - DAY_MS)
    assert ("EgressDestinations models ends within a day" in titles) is told


def test_a_set_without_an_end_never_ends() -> None:
    """It is no error."""
    story = [make_change("there", spec=NAMES_SET), make_set(spec={"to": []})]
    assert len(due(story, END_MS - DAY_MS)) == 1


def test_an_end_in_use_is_told_for_some_days() -> None:
    """It says how many Pods are left, and claims nothing of connections."""
    story = [THERE, IN_USE]
    assert not due([THERE], END_MS + 1)
    (notice,) = due(story, END_MS)
    assert (notice.event, notice.severity) == (NoticeEvent.ENDED_IN_USE, Severity.MEDIUM)
    assert "2 Pods that it was for still run" in notice.detail
    assert "flow logs say" in notice.detail
    assert due(story, END_MS + TOLD_DAYS * DAY_MS - 1) == [notice]
    assert not due(story, END_MS + TOLD_DAYS * DAY_MS)
    renewed = make_change(
        "changed",
        END_MS + 1,
        digest="sha256:2",
        spec={**SPEC, "expiresAt": milli_text(END_MS + 90 * DAY_MS)},
    )
    assert not due([*story, renewed], END_MS + 2)


def test_an_end_in_use_of_what_was_renewed_meanwhile_is_told_at_no_end() -> None:
    """Neither when it comes, nor at the new end: the Pods were those of the end before."""
    later = END_MS + 90 * DAY_MS
    spec = {**SPEC, "expiresAt": milli_text(later)}
    renewed = make_change("changed", END_MS + 1, digest="sha256:2", spec=spec)
    assert not due([THERE, renewed, IN_USE], END_MS + 2)
    assert not due([THERE, renewed, IN_USE], later)
    again = make_change(ENDED_IN_USE, later, digest="sha256:2", why="a Pod is left", spec=None)
    (notice,) = due([THERE, renewed, IN_USE, again], later)
    assert "a Pod is left" in notice.detail


def test_an_end_in_use_says_what_is_open_still() -> None:
    """By a BreakGlass: then nothing is said to be closed before it is over."""
    left = "a Pod that it was for still runs: closed once this is over: open by BreakGlass fire"
    (notice,) = due([THERE, make_change(ENDED_IN_USE, END_MS, why=left, spec=None)], END_MS)
    assert left in notice.detail
    assert "closed to them" not in notice.detail


def test_an_end_in_use_is_told_where_retention_left_no_more() -> None:
    """An allowlist lasts for a year, and a ledger may keep less."""
    assert not due([IN_USE], END_MS - 1)
    (notice,) = due([IN_USE], END_MS)
    assert notice == due([THERE, IN_USE], END_MS)[0]


def test_other_kinds_and_the_sample_are_told_to_nobody() -> None:
    """Grants have an end of their own."""
    grant = make_change("there", kind="AccessGrant")
    sample = make_change("there", cluster="sample-month")
    assert not due([grant, sample], END_MS - DAY_MS)
    assert not due([make_change(ENDED_IN_USE, END_MS, cluster="sample-month")], END_MS)


def test_memory_is_bounded() -> None:
    """What was written last is remembered."""
    endings = EgressEndings()
    for number in range(MOST_OPENINGS + 10):
        endings.take(make_change("there", AT_MS + number, uid=f"u-{number}", name=f"n-{number}"))
    list(endings.due(AT_MS))
    titles = {each.title for each in endings.due(END_MS - DAY_MS)}
    assert len(titles) == MOST_OPENINGS
    assert "EgressAllowlist research/n-0 ends within a day" not in titles


def test_the_end_of_a_large_allowlist_is_recorded() -> None:
    """Of its `spec` only the size is, beside."""
    entry = {"cidr": "192.0.2.0/24", "ports": [{"protocol": "TCP", "port": 443}]}
    spec = {**SPEC, "to": [{**entry, "dnsName": "a" * MOST_SPEC}]}
    head = {"apiVersion": "sallyport.dev/v1alpha1", "kind": "EgressAllowlist"}
    metadata = {
        "name": "pypi",
        "namespace": "research",
        "uid": "u-1",
        "creationTimestamp": "2026-11-01T00:00:00Z",
    }
    raw = msgspec.json.encode({**head, "metadata": metadata, "spec": spec})
    found = read_recorded("EgressAllowlist", raw)
    assert found is not None
    assert found.spec.keys() == {"omitted", "expiresAt"}
    made = make_change("there", spec=found.spec)
    assert len(due([made], END_MS - DAY_MS)) == 1


async def test_a_sink_is_told_of_each_once_also_across_a_restart(tmp_path: Path) -> None:
    """Three times before the end, and of what was left after it."""
    clock = Clock(AT_MS / 1000)
    sink = ScriptedSink(most=2)

    async def step(at_ms: int, *changes: ObjectChange) -> int:
        clock.now = at_ms / 1000
        async with open_store(tmp_path) as store:
            for change in changes:
                await record_change(store, change)
            pending = PendingFollower(store, TERMS, get_logger(), clock)
            route = Route(events=DUE_EVENTS)
            made = SinkDelivery("a", sink, route, store, get_logger(), clock=clock, due=pending.due)
            await made.step()
            await made.step()
        return len(sink.told)

    end_ms = AT_MS - 10 * DAY_MS  # A ledger takes nothing of the future.
    spec = {**SPEC, "expiresAt": milli_text(end_ms)}
    there = make_change("there", end_ms - 30 * DAY_MS, spec=spec)
    in_use = make_change(ENDED_IN_USE, end_ms, why="2 Pods that it was for still run", spec=None)
    assert await step(end_ms - 30 * DAY_MS, there) == 0
    for told, days in enumerate(DAYS, start=1):
        for _ in range(2):
            assert await step(end_ms - days * DAY_MS) == told
    assert await step(end_ms) == 3
    for _ in range(2):
        assert await step(end_ms + 1, in_use) == 4
    assert len(set(sink.told)) == 4
